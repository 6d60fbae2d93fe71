#!/bin/sh
# Cross-compiles the C tests for AArch64 (neon, portable64) and s390x (big-endian) and runs them under qemu-user.
#
#     tests/c/run_cross.sh [aarch64|s390x ...]
#
# Needs (Debian): gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user
set -eu

[ $# -gt 0 ] || set -- aarch64 s390x
for machine; do
    echo "$machine:"
    # Linked statically, so that qemu needs no library of the machine; AddressSanitizer does not run under qemu-user.
    SANITIZE='' RUN="qemu-$machine" "$(dirname "$0")/run.sh" "$machine-linux-gnu-gcc" -O3 -static
done
