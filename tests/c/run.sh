#!/bin/sh
# Compiles base, kernels, core, packet and the timing of csrc and the C tests with one compiler, and runs them.
#
#     tests/c/run.sh CC [flag ...]
#
# SANITIZE  flags instead of AddressSanitizer and UndefinedBehaviorSanitizer (may be empty)
# RUN       what to run the program with, such as qemu-s390x
set -eu

if [ $# -lt 1 ]; then
    echo "usage: tests/c/run.sh CC [flag ...]; for example: tests/c/run.sh clang-19 -O3" >&2
    exit 2
fi
cc=$1
shift

root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT

# The sanitizers see the C code; assembly and over-reads within a page's end are left to the guard pages.
: "${SANITIZE=-fsanitize=address,undefined -fno-sanitize-recover=all}"

# shellcheck disable=SC2086 # SANITIZE and RUN are lists of words
"$cc" -std=c11 -O2 -g -Wall -Wextra -Wconversion -Wshadow -Werror $SANITIZE "$@" \
    -DTEST_CAPTURES="\"$root/tests/data/captures\"" ${RUN:+-DTEST_CHANGES=10000} \
    -I "$root/csrc" -I "$root/tests/c" \
    "$root"/csrc/base/*.c "$root"/csrc/kernels/*.c "$root"/csrc/kernels/*/*.c "$root"/csrc/core/*.c \
    "$root"/csrc/packet/*.c "$root"/csrc/bench/timing.c \
    "$root"/tests/c/*.c \
    -o "$build/tests"
# shellcheck disable=SC2086
${RUN-} "$build/tests"
