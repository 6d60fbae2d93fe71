#!/usr/bin/env bash
# Fuzzes for so many seconds a target, under AddressSanitizer and UndefinedBehaviorSanitizer; stops at the first fault.
#
#     tests/fuzz/run.sh TARGET|all SECONDS
#
# TARGET  packets, captures, mending, spans, kernels or updates: a file of this folder
# CC      a clang with libFuzzer (default: clang-19);  PYTHON  one with fastcksum, which makes the seeds (default: python3)
# JOBS    targets side by side (default: the number of CPUs)
#
# build/fuzz keeps what was found: corpus/TARGET goes on from run to run, crashes/ has the inputs that failed. Each such
# input becomes a file of tests/fuzz/cases/TARGET, which every later run tries first.
set -eu

if [ $# -ne 2 ]; then
    sed -n '2,11s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
cd "$(dirname "$0")/../.."
here=tests/fuzz
seconds=$2
targets=$(basename -s .c -a $here/*.c)
if [ "$1" != all ]; then
    if [ ! -f "$here/$1.c" ]; then
        echo "no target $1: there are all," $targets >&2
        exit 2
    fi
    targets=$1
fi

flags=(-std=gnu11 -O2 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all -I csrc -I tests/c)
warnings=(-Wall -Wextra -Wconversion -Wshadow -Werror)
objects=build/fuzz/objects
export cc=${CC:-clang-19} jobs=${JOBS:-$(nproc)}
rm -rf "$objects"
mkdir -p "$objects" build/fuzz/crashes

# A thing that several targets need is compiled once.
find csrc/base csrc/kernels csrc/core csrc/packet -name '*.c' | xargs -P "$jobs" -I '{}' sh -c \
    '"$cc" -fsanitize=fuzzer-no-link "$@" -c {} -o '"$objects"'/$(echo {} | tr / _).o' compile "${flags[@]}"
for target in $targets; do
    "$cc" -fsanitize=fuzzer "${flags[@]}" "${warnings[@]}" "$here/$target.c" "$objects"/*.o -o "build/fuzz/$target"
    mkdir -p "build/fuzz/corpus/$target" "$here/cases/$target"
done
"${PYTHON:-python3}" $here/seeds.py build/fuzz/corpus

# One target: its log is shown where it failed, else the number of executions.
fuzz() {
    local log=build/fuzz/$1.log
    "build/fuzz/$1" -max_total_time="$2" -timeout=20 -rss_limit_mb=4096 -artifact_prefix="build/fuzz/crashes/$1-" \
        -print_final_stats=1 "build/fuzz/corpus/$1" "tests/fuzz/cases/$1" >"$log" 2>&1 || {
        echo "$1: FAILED" && tail -n 60 "$log"
        exit 255 # so that xargs stops
    }
    echo "$1: $(sed -n 's/^Done \([0-9]*\) runs in \([0-9]*\) second.*/\1 executions in \2 s/p' "$log"), nothing found"
}
export -f fuzz
echo "$targets" | xargs -P "$jobs" -I '{}' bash -c "fuzz {} $seconds"
