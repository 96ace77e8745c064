#!/usr/bin/env bash
# set_up.sh build|test|fuzz|bench — makes the machine ready: Debian packages, then Python packages in .venv (and in
# .venv-numba, where tests and benchmarks have Numba as their oracle and peer). Says what it installs before it
# does; says nothing and takes a moment when all is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
purpose=${1:-build}
python=${PYTHON:-python3}

say() { printf 'set-up: %s\n' "$*"; }
fail() { printf 'set-up: %s\n' "$@" >&2; exit 1; }

# --- Debian packages -----------------------------------------------------------------------------------------
packages=(g++ cmake ninja-build ccache llvm-19-dev libboost-context-dev libboost-fiber-dev zlib1g-dev libzstd-dev libgtest-dev)
if [[ $purpose == test ]]; then packages+=(clang-19); fi
if [[ $purpose == fuzz ]]; then packages+=(clang-19 libclang-rt-19-dev); fi

python_has_headers() {
    "$1" -c 'import ensurepip, os, sys, sysconfig, venv
sys.exit(not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")))' 2>/dev/null
}
if [[ ! -x .venv/bin/python ]] && ! python_has_headers "$python"; then
    packages+=(python3-dev python3-venv)  # those of /usr/bin/python3
fi

if command -v dpkg-query >/dev/null; then
    missing=()
    for package in "${packages[@]}"; do
        status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
        [[ $status == installed ]] || missing+=("$package")
    done
    if ((${#missing[@]})); then
        if [[ $(id -u) == 0 ]]; then as_root=()
        elif sudo -n true 2>/dev/null; then as_root=(sudo -n)
        else fail "these Debian packages are missing; install them with" \
            "    sudo apt-get install --no-install-recommends ${missing[*]}"
        fi
        say "apt-get install ${missing[*]}"
        "${as_root[@]}" apt-get update -qq
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
            apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
    fi
else
    say "no dpkg here: assuming a C++20 compiler, CMake >= 3.24, Ninja, LLVM 19, Boost.Context and Boost.Fiber >= 1.74, zlib, zstd," \
        "GoogleTest (and clang++-19 for the tests)"
fi

# --- Python packages -----------------------------------------------------------------------------------------
# environment FOLDER PACKAGE...: a virtual environment that has these; remembered, so that pip runs once.
environment() {
    local folder=$1; shift
    if [[ ! -x $folder/bin/python ]]; then
        python_has_headers "$python" || python=/usr/bin/python3
        python_has_headers "$python" || fail "$python has no headers or no venv module: install python3-dev and" \
            "python3-venv, or name another Python >= 3.9 with PYTHON=..."
        "$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' || fail "$python is older than 3.9"
        say "$("$python" --version) -m venv $folder"
        "$python" -m venv "$folder"
    fi
    local stamp=$folder/.installed wanted="$*"
    if [[ ! -f $stamp || $(<"$stamp") != "$wanted" ]]; then
        say "$folder/bin/pip install $wanted"
        "$folder/bin/python" -m pip install -q --disable-pip-version-check "$@"
        printf '%s\n' "$wanted" >"$stamp"
    fi
}
# optionally FOLDER PACKAGE...: what an environment can do without; tried once.
optionally() {
    local folder=$1; shift
    local stamp=$folder/.optional wanted="$*"
    if [[ ! -f $stamp || $(<"$stamp") != "$wanted" ]]; then
        say "$folder/bin/pip install $wanted"
        "$folder/bin/python" -m pip install -q --disable-pip-version-check "$@" ||
            say "these could not be installed; the tests that need them are skipped"
        printf '%s\n' "$wanted" >"$stamp"
    fi
}
build_packages=('pip>=22.1' 'scikit-build-core>=0.10' 'pybind11>=2.12' 'numpy>=1.22' 'tqdm>=4.60')
environment .venv "${build_packages[@]}" 'pytest>=7' 'hypothesis>=6' 'matplotlib>=3.5' 'mpmath>=1.3'
if [[ $purpose == test || $purpose == bench ]]; then
    # Notebooks, debuggers, cffi's pointers and NumPy's bfloat16 are tested where they are installed.
    optionally .venv 'nbclient>=0.6' 'ipykernel>=6' pudb ipdb debugpy coverage cffi ml_dtypes
    # Without a CUDA toolkit numba-cuda cannot even be imported; the runtime library, 2 MB, is enough for that.
    environment .venv-numba "${build_packages[@]}" 'numba>=0.59' 'numba-cuda>=0.4' nvidia-cuda-runtime 'pytest>=7'
fi
