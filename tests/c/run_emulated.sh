#!/bin/sh
# Runs the C tests with the x86 vector intrinsics emulated in portable C, so that every vector kernel is tested whatever
# the machine, and an over-read by a masked load is seen.
#
#     tests/c/run_emulated.sh CC [flag ...]
#
# SIMDE     folder with simde/x86/avx512.h; by default that of the Python package simde-py (pip install simde-py)
# PYTHON    the Python that has the package
set -eu

if [ $# -lt 1 ]; then
    echo "usage: tests/c/run_emulated.sh CC [flag ...]; for example: tests/c/run_emulated.sh gcc" >&2
    exit 2
fi
find_package="import importlib.util as u; print(u.find_spec('simde_py').submodule_search_locations[0] + '/simde')"
SIMDE=${SIMDE-$("${PYTHON-python3}" -c "$find_package")}
# SIMDe itself relies on signed overflow, so not UndefinedBehaviorSanitizer; and under AddressSanitizer its portable
# loops take three times as long, while the guard pages see an over-read of any length.
SANITIZE=${SANITIZE-}
export SANITIZE
exec "$(dirname "$0")/run.sh" "$@" -O3 -DCKSUM_EMULATE_X86='"x86_emulated.h"' -isystem "$SIMDE" -fwrapv -Wno-psabi
