#!/usr/bin/env bash
# set_up.sh build|test|fuzz|bench|format|tidy — makes the machine ready: Debian packages, then Python packages in .venv (and in
# .venv-numba, where tests and benchmarks have Numba as their oracle and peer). Says what it installs before it
# does; says nothing and takes a moment when all is there.
#
# set_up.sh further FOLDER INTERPRETER — the virtual environment of one more Python, with what its tests need.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
purpose=${1:-build}
python=${PYTHON:-python3}

say() { printf 'set-up: %s\n' "$*"; }
fail() { printf 'set-up: %s\n' "$@" >&2; exit 1; }

# --- Debian packages -----------------------------------------------------------------------------------------
packages=(g++ cmake ninja-build ccache llvm-19-dev libboost-context-dev libboost-fiber-dev zlib1g-dev libzstd-dev libcli11-dev libgtest-dev)
if [[ $purpose == test ]]; then packages+=(clang-19); fi
if [[ $purpose == fuzz ]]; then packages+=(clang-19 libclang-rt-19-dev); fi
if [[ $purpose == bench ]]; then wished=(pocl-opencl-icd gdb oclgrind); else wished=(); fi  # peers; without one its rows are skipped

python_has_headers() {
    "$1" -c 'import ensurepip, os, sys, sysconfig, venv
sys.exit(not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")))' 2>/dev/null
}
if [[ ! -x .venv/bin/python ]] && ! python_has_headers "$python"; then
    packages+=(python3-dev python3-venv)  # those of /usr/bin/python3
fi

# missing PACKAGE...: those that are not installed
missing() {
    local package status
    for package in "$@"; do
        status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
        [[ $status == installed ]] || printf '%s\n' "$package"
    done
}
# install PACKAGE...: fails where that is not allowed
install() {
    local as_root=(env)
    if [[ $(id -u) != 0 ]]; then
        sudo -n true 2>/dev/null || return 1
        as_root=(sudo -n env)
    fi
    say "apt-get install $*"
    "${as_root[@]}" apt-get update -qq &&
        "${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" >/dev/null
}

if command -v dpkg-query >/dev/null; then
    mapfile -t needed < <(missing "${packages[@]}")
    ((${#needed[@]} == 0)) || install "${needed[@]}" || fail "these Debian packages are missing; install them with" \
        "    sudo apt-get install --no-install-recommends ${needed[*]}"
    mapfile -t optional < <(missing "${wished[@]}")
    ((${#optional[@]} == 0)) || install "${optional[@]}" || say "${optional[*]} could not be installed; its rows are skipped"
else
    say "no dpkg here: assuming a C++20 compiler, CMake >= 3.24, Ninja, LLVM 19, Boost.Context and Boost.Fiber >= 1.74, zlib, zstd, CLI11," \
        "GoogleTest (and clang++-19 for the tests)"
fi

# --- Python packages -----------------------------------------------------------------------------------------
build_packages=('pip>=22.1' 'scikit-build-core>=0.11' 'pybind11>=2.13.6' 'numpy>=1.22' 'tqdm>=4.60' "tomli>=2; python_version < '3.11'")
test_packages=('pytest>=7' 'pytest-xdist>=3' 'hypothesis>=6' 'matplotlib>=3.5' 'mpmath>=1.3')
# One version each: another one formats otherwise.
format_packages=('clang-format==19.1.7' 'ruff==0.17.6' 'mypy==2.4.1')
tidy_packages=('clang-tidy==19.1.0')
# What users have beside cudasim (notebooks, debuggers, coverage, pytest's other plug-ins, cffi's pointers, NumPy's
# bfloat16, Dask) is tested where it is installed. check-jsonschema brings the schema of workflows.
neighbours=('nbclient>=0.6' 'ipykernel>=6' pudb ipdb debugpy coverage pytest-cov cffi ml_dtypes
    check-jsonschema 'prompt_toolkit>=3.0.24' 'textual>=1.0' pyte 'distributed>=2023.9'
    'nvidia-nvvm>=13.0')

# install_in FOLDER STAMP PACKAGE...: pip installs these; remembered in the file STAMP, so that pip runs once.
install_in() {
    local folder=$1 stamp=$1/$2; shift 2
    local wanted="$*"
    if [[ ! -f $stamp || $(<"$stamp") != "$wanted" ]]; then
        say "$folder/bin/pip install $wanted"
        "$folder/bin/python" -m pip install -q --disable-pip-version-check "$@" || return
        printf '%s\n' "$wanted" >"$stamp"
    fi
}
# environment FOLDER PACKAGE...: a virtual environment that has these.
environment() {
    local folder=$1; shift
    if [[ ! -x $folder/bin/python ]]; then
        python_has_headers "$python" || python=/usr/bin/python3
        python_has_headers "$python" || fail "$python has no headers or no venv module: install python3-dev and" \
            "python3-venv, or name another Python >= 3.10 with PYTHON=..."
        "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || fail "$python is older than 3.10"
        say "$("$python" --version) -m venv $folder"
        "$python" -m venv "$folder"
    fi
    install_in "$folder" .installed "$@"
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
if [[ $purpose == further ]]; then
    folder=$2 python=$3
    if [[ -x $folder/bin/python && $("$folder/bin/python" -VV) != "$("$python" -VV)" ]]; then
        say "$folder is of another CPython than $python: it is made again"
        rm -rf "$folder"
    fi
    environment "$folder" "${build_packages[@]}" "${test_packages[@]}"
    optionally "$folder" "${neighbours[@]}"
    exit
fi
environment .venv "${build_packages[@]}" "${test_packages[@]}"
if [[ $purpose == test || $purpose == bench ]]; then
    optionally .venv "${neighbours[@]}"
    # Without a CUDA toolkit numba-cuda cannot even be imported; the runtime library, 2 MB, is enough for that.
    environment .venv-numba "${build_packages[@]}" 'numba>=0.59' 'numba-cuda>=0.4' nvidia-cuda-runtime nvidia-nvvm 'pytest>=7'
    beside_numba=('awkward>=2.6' 'vector>=1.4')  # They teach Numba types of their own.
    if [[ $purpose == bench ]]; then beside_numba+=(pyopencl); fi  # PoCL's rows
    optionally .venv-numba "${beside_numba[@]}"
fi
# tests/architecture runs them, too, and fails without them.
if [[ $purpose == test || $purpose == format ]]; then install_in .venv .format "${format_packages[@]}"; fi
if [[ $purpose == tidy ]]; then install_in .venv .tidy "${tidy_packages[@]}"; fi
