#!/usr/bin/env bash
# Builds the extension of this checkout with sanitizers, apart from it, and runs tests on that build; arguments go to pytest.
#
#     tests/sanitize.sh [tests/test_batch.py ...]
#
# Without arguments: the tests that call into the extension the most, which .ci/run takes too.
#
# SANITIZE  address,undefined (default), or another that gcc and the interpreter know, such as thread
# PYTHON    the interpreter, with what `pip install -e .[test]` brings (default: python3);  CC  gcc (default)
set -eu
cd "$(dirname "$0")/.."
root=$PWD
python=$(command -v "${PYTHON:-python3}")
sanitize=${SANITIZE:-address,undefined}
if [ $# -eq 0 ]; then
    set -- tests/test_raw_cksum.py tests/test_arithmetic.py tests/test_batch.py tests/test_buffers.py \
        tests/test_packets.py tests/test_packet_calls.py tests/test_capture.py tests/test_capture_formats.py \
        tests/test_columns.py tests/test_fix.py tests/test_explain.py tests/test_counters.py tests/test_abuse.py \
        tests/test_callbacks.py
    # The first builds for another Python; valgrind runs nothing that has a sanitizer's runtime in it.
    set -- "$@" -k "not (classes_of_python or callgrind or valgrind or million_calls or nothing_costs_nothing)"
fi

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -R csrc fastcksum tests LICENSE README.md pyproject.toml setup.py "$copy"
rm -f "$copy"/fastcksum/_core*.so
cd "$copy"
CC=${CC:-gcc} FASTCKSUM_SANITIZE=$sanitize "$python" setup.py -q build_ext --inplace

# The interpreter isn't linked with the runtimes, which have to come first. Its own leaks at the end are none of ours.
preload=
case $sanitize in
*address*) preload="$(gcc -print-file-name=libasan.so) " ;;
*thread*) preload="$(gcc -print-file-name=libtsan.so) " ;;
esac
case $sanitize in *undefined*) preload+="$(gcc -print-file-name=libubsan.so) " ;; esac
preload+=$(gcc -print-file-name=libstdc++.so)
export ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
export PYTHONMALLOC=malloc PYTHONPATH=$copy PYTHONDONTWRITEBYTECODE=1 SANITIZED=$sanitize
exec_python() { LD_PRELOAD=$preload "$python" "$@"; }
exec_python -c 'import fastcksum, fastcksum._core as core, sys
flags = core.build_facts()["flags"]
sys.exit(0 if "-fsanitize=" in flags and core.__file__.startswith(sys.argv[1]) else f"not sanitized: {core.__file__} {flags}")' "$copy"
exec_python -m pytest -q -p no:cacheprovider --rootdir "$copy" "$@"
