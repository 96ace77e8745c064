#!/usr/bin/env bash
# build_gpu_run.sh [x86_64|aarch64] — build/gpu-run/ARCHITECTURE/cudasim-gpu-run as it goes into wheels: it needs glibc 2.28
# (RHEL 8, Ubuntu 20.04 and all newer ones) and nothing else, whatever this machine has. Prints the program's path.
#
# A compiler makes programs for the glibc of its machine or newer ones. zig's C++ compiler (PyPI: ziglang, 440 MB unpacked)
# has the symbols of all of them; it gets a virtual environment of its own, build/zig-venv. CLI11's headers and the static
# library of zstd are those of this machine; for another architecture ZSTD_ARCHIVE names the library, and
# scripts/arm64_sysroot.sh fetches Debian's for Arm.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PIP_DISABLE_PIP_VERSION_CHECK=1
architecture=${1:-$(uname -m)}
glibc=2.28
zig_version=0.17.1
folder=build/gpu-run/$architecture
fail() { printf 'gpu-run: %s\n' "$@" >&2; exit 1; }

zig=build/zig-venv/bin/python
if ! "$zig" -c 'import ziglang' 2>/dev/null; then
    echo "gpu-run: build/zig-venv/bin/pip install ziglang==$zig_version" >&2
    "${PYTHON:-python3}" -m venv build/zig-venv
    "$zig" -m pip install -q "ziglang==$zig_version"
fi

# Headers alone, in a folder of their own: those of this machine's glibc must not be found.
cli=${CLI11_INCLUDE:-/usr/include}
zstd=${ZSTD_INCLUDE:-/usr/include}
[[ -f $cli/CLI/CLI.hpp ]] || fail "CLI11 is missing: install libcli11-dev, or let CLI11_INCLUDE name its folder"
[[ -f $zstd/zstd.h ]] || fail "zstd.h is missing: install libzstd-dev, or let ZSTD_INCLUDE name its folder"
archive=${ZSTD_ARCHIVE:-}
for candidate in "/usr/lib/$architecture-linux-gnu/libzstd.a" "build/arm64-sysroot/usr/lib/$architecture-linux-gnu/libzstd.a" \
    "/usr/lib64/libzstd.a"; do
    [[ $archive || ! -f $candidate ]] || archive=$candidate
done
[[ -f $archive ]] || fail "there is no libzstd.a for $architecture: let ZSTD_ARCHIVE name it"
rm -rf "$folder/include"
mkdir -p "$folder/include"
ln -s "$(realpath "$cli/CLI")" "$folder/include/CLI"
ln -s "$(realpath "$zstd/zstd.h")" "$(realpath "$zstd/zstd_errors.h")" "$folder/include/"

version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' frontend/python/cudasim/__init__.py)
# Objects are kept in a cache, so the second time takes seconds.
export ZIG_GLOBAL_CACHE_DIR=$PWD/build/zig-cache ZIG_LOCAL_CACHE_DIR=$PWD/build/zig-cache
sources=(gpu_backend/runner/*.cpp gpu_backend/libcuda/*.cpp simulator/records/*.cpp simulator/memory/host_memory.cpp
    simulator/memory/large_buffer.cpp simulator/findings/cuda_result.cpp gpu_backend/runner/program/main.cpp)
"$zig" -m ziglang c++ -target "$architecture-linux-gnu.$glibc" -std=c++20 -O2 -DNDEBUG -ffunction-sections -fdata-sections \
    -I. -isystem "$folder/include" "-DCUDASIM_VERSION=\"$version\"" "${sources[@]}" "$archive" -ldl -lpthread \
    -Wl,--gc-sections -s -o "$folder/cudasim-gpu-run.new"
mv "$folder/cudasim-gpu-run.new" "$folder/cudasim-gpu-run"
echo "$PWD/$folder/cudasim-gpu-run"
