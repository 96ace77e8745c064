#!/usr/bin/env bash
# test_arm64.sh — cross-compiles the engine and its GoogleTest programs for 64-bit Arm and runs them under qemu-user. The
# output of a program is shown when it fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/arm64_sysroot.sh build/arm64-sysroot
mkdir -p build/arm64
cmake --preset arm64 >build/arm64/configure.log 2>&1 || { cat build/arm64/configure.log; exit 1; }
cmake --build --preset arm64

# Compiling kernels takes seconds under emulation: the tests of a program are dealt out to as many runs as there are cores.
shards=$(nproc)
find build/arm64/tests -type f -executable -name '*_test' | sort |
    while read -r program; do for ((i = 0; i < shards; ++i)); do echo "$program $i"; done; done |
    GTEST_TOTAL_SHARDS=$shards xargs -P "$shards" -L1 bash -c '
        log=$0.$1.log
        began=$SECONDS
        if GTEST_SHARD_INDEX=$1 CUDASIM_TEST_EMULATED=1 CUDASIM_TEST_IMAGES=$PWD/build/arm64/test_images \
            build/arm64-sysroot/.tools/qemu-aarch64 -L build/arm64-sysroot "$0" --gtest_brief=1 >"$log" 2>&1; then
            echo "arm64: $(basename "$0") $1: $(grep -F "[  PASSED  ]" "$log") ($((SECONDS - began)) s)"
        else
            cat "$log"
            echo "arm64: $(basename "$0") $1: FAILED ($((SECONDS - began)) s)"
            exit 1
        fi'
