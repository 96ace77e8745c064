#!/usr/bin/env bash
# arm64_sysroot.sh FOLDER — what cross-compiling the engine for 64-bit Arm and running its tests need of Debian. The
# cross compiler is installed. Arm's libraries and qemu-user are unpacked into FOLDER, not installed, so that the
# machine stays of one architecture. Says nothing when all is there.
#
# qemu-user is that of Debian's backports where the release's own is older than 8.1: it took time in proportion to the
# pages of a reservation, minutes for the 16 TiB of shadow memory.
set -euo pipefail
folder=$1
packages=(libc6-dev libstdc++-12-dev llvm-19-dev libboost-context-dev libboost-fiber-dev zlib1g-dev libzstd-dev
    libgtest-dev)
stamp="$folder/.packages"
say() { printf 'arm64: %s\n' "$*"; }

if [[ $(dpkg-query -W -f '${db:Status-Status}' g++-aarch64-linux-gnu 2>/dev/null) != installed ]]; then
    [[ $(id -u) == 0 ]] || { say "install g++-aarch64-linux-gnu with apt-get, as root"; exit 1; }
    say "apt-get install g++-aarch64-linux-gnu"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends g++-aarch64-linux-gnu >/dev/null
fi

if [[ ! -f $stamp || $(<"$stamp") != "${packages[*]}" ]]; then
    rm -rf "$folder"
    mkdir -p "$folder/.tools" "$folder/.apt"/{lists,archives}/partial
    folder=$(cd "$folder" && pwd)
    touch "$folder/.apt/status"
    # apt with lists of its own, so that the machine's are left alone.
    own_apt=(apt-get -qq -o Dir::State::Lists="$folder/.apt/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
        -o APT::Sandbox::User=root -o Acquire::Languages=none)

    qemu=$(command -v qemu-aarch64 || command -v qemu-aarch64-static || true)
    if [[ $qemu && $(printf '%s\n' 8.1 "$("$qemu" --version | sed -n '1s/.*version \([0-9.]*\).*/\1/p')" | sort -V | head -1) == 8.1 ]]; then
        ln -s "$qemu" "$folder/.tools/qemu-aarch64"
    else
        release=$(. /etc/os-release && echo "$VERSION_CODENAME")
        mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $release" "Created-By: Packages" | head -1)
        say "downloading qemu-user of $release-backports"
        echo "deb $mirror $release-backports main" >"$folder/.apt/sources"
        backports=("${own_apt[@]}" -o Dir::Etc::SourceList="$folder/.apt/sources" -o Dir::Etc::SourceParts=/nowhere)
        "${backports[@]}" update
        (cd "$folder/.apt" && "${backports[@]}" download qemu-user)
        dpkg-deb --fsys-tarfile "$folder"/.apt/qemu-user_*.deb | tar -xO ./usr/bin/qemu-aarch64 >"$folder/.tools/qemu-aarch64"
        chmod +x "$folder/.tools/qemu-aarch64"
        rm -rf "$folder/.apt/lists" && mkdir -p "$folder/.apt/lists/partial"
    fi

    # apt of an empty Arm machine, where nothing is installed, so that all dependencies come along.
    apt=("${own_apt[@]}" -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Install-Recommends=false
        -o Dir::State::status="$folder/.apt/status" -o Dir::Cache::Archives="$folder/.apt/archives")
    say "downloading ${packages[*]} for arm64"
    "${apt[@]}" update 2>/dev/null
    "${apt[@]}" install -y --download-only "${packages[@]}" >/dev/null
    for package in "$folder"/.apt/archives/*.deb; do dpkg-deb -x "$package" "$folder"; done
    # Absolute links would lead out of the folder.
    find "$folder" -xtype l -lname '/*' | while read -r link; do
        ln -sfn "$(realpath -m --relative-to="$(dirname "$link")" "$folder$(readlink "$link")")" "$link"
    done
    rm -rf "$folder/.apt"
    printf '%s\n' "${packages[*]}" >"$stamp"
fi
