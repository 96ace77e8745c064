#!/usr/bin/env bash
# manylinux_dependencies.sh FOLDER — LLVM 19, Boost's Context and Fiber and zstd, static and position-independent, and
# CLI11's headers, installed into FOLDER. It runs in the manylinux_2_28 image, whose own packages have none of these. Done once: where FOLDER
# is complete (a cached one) this takes a moment. Downloads are checked against their SHA-256.
set -euo pipefail
folder=$1
llvm=19.1.7 llvm_sha256=82401fea7b79d0078043f7598b835284d6650a75b93e64b6f761ea7b63097501
boost=1.86.0 boost_sha256=1bed88e40401b2cb7a1f76d4bab499e352fa4d0c5f31c0dbae64e24d34d7513b
zstd=1.5.7 zstd_sha256=eb33e51f49a15e023950cd7825ca74a4a2b43db8354825ac24fc1b7ee09e6fa3
cli11=2.5.0 cli11_sha256=17e02b4cddc2fa348e5dbdbb582c59a3486fa2b2433e70a0c3bacb871334fd55
wanted="llvm $llvm boost $boost zstd $zstd cli11 $cli11"
if [[ -f $folder/.complete && $(<"$folder/.complete") == "$wanted" ]]; then exit; fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fetch() {  # URL SHA256 FILE
    curl -fsSL --retry 5 -o "$3" "$1"
    echo "$2  $3" | sha256sum -c -
}
mkdir -p "$folder"

fetch "https://archives.boost.io/release/$boost/source/boost_${boost//./_}.tar.bz2" $boost_sha256 "$work/boost.tar.bz2"
tar -xf "$work/boost.tar.bz2" -C "$work"
(
    cd "$work/boost_${boost//./_}"
    ./bootstrap.sh --prefix="$folder" --with-libraries=context,fiber
    ./b2 -d0 -j"$(nproc)" link=static variant=release cflags=-fPIC cxxflags=-fPIC install
)

fetch "https://github.com/facebook/zstd/releases/download/v$zstd/zstd-$zstd.tar.gz" $zstd_sha256 "$work/zstd.tar.gz"
tar -xf "$work/zstd.tar.gz" -C "$work"
make -C "$work/zstd-$zstd/lib" -j"$(nproc)" MOREFLAGS=-fPIC PREFIX="$folder" install-static install-includes

fetch "https://github.com/CLIUtils/CLI11/archive/refs/tags/v$cli11.tar.gz" $cli11_sha256 "$work/cli11.tar.gz"
tar -xf "$work/cli11.tar.gz" -C "$work"
cp -r "$work/CLI11-$cli11/include/CLI" "$folder/include/"

fetch "https://github.com/llvm/llvm-project/releases/download/llvmorg-$llvm/llvm-project-$llvm.src.tar.xz" \
    $llvm_sha256 "$work/llvm.tar.xz"
tar -xf "$work/llvm.tar.xz" -C "$work"
# RTTI as in Debian's LLVM, which development uses. No compression: nothing of it is read or written.
cmake -S "$work/llvm-project-$llvm.src/llvm" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_PREFIX="$folder" -DLLVM_TARGETS_TO_BUILD="Native;NVPTX" -DLLVM_ENABLE_RTTI=ON \
    -DLLVM_ENABLE_ZLIB=OFF -DLLVM_ENABLE_ZSTD=OFF -DLLVM_ENABLE_LIBXML2=OFF -DLLVM_ENABLE_LIBEDIT=OFF \
    -DLLVM_BUILD_TOOLS=OFF -DLLVM_BUILD_UTILS=OFF -DLLVM_INCLUDE_TESTS=OFF -DLLVM_INCLUDE_EXAMPLES=OFF \
    -DLLVM_INCLUDE_BENCHMARKS=OFF -DLLVM_INCLUDE_DOCS=OFF
cmake --build "$work/build" --target install
printf '%s\n' "$wanted" >"$folder/.complete"
