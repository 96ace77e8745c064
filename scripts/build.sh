#!/usr/bin/env bash
# build.sh [tests] — builds build/release (the extensions; with `tests` the GoogleTest programs too) and makes
# cudasim importable: in .venv as an editable installation, so that Python files are used where they lie, and
# in .venv-numba, where there is one, from a wheel. Run after set_up.sh.
#
# build.sh further .venv-3.12 — the same for one more Python: its extensions alone, in build/cp312, linked with
# libcudasim.so of build/release, which must be built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PIP_DISABLE_PIP_VERSION_CHECK=1
venv=.venv folder=build/release targets=(cudasim_native cudasim_pyfiber)
configure=(cmake --preset release) packaging=(--config-settings=cmake.define.CUDASIM_BUILD_TESTS=ON)
if [[ ${1:-} == tests ]]; then targets=(all); fi
if [[ ${1:-} == further ]]; then
    venv=$2
    folder=build/$("$venv/bin/python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
    configure=(cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCUDASIM_BUILD_TESTS=OFF
        "-DPython_EXECUTABLE=$PWD/$venv/bin/python" "-DCUDASIM_ENGINE=$PWD/build/release")
    packaging=("--config-settings=cmake.define.CUDASIM_ENGINE=$PWD/build/release")
fi
mkdir -p "$folder"

interpreter=$("$venv/bin/python" -c 'import sys; print(sys.executable, sys.version)')
if [[ ! -f $folder/build.ninja || ! -f $folder/.interpreter || $(<"$folder/.interpreter") != "$interpreter" ]]; then
    echo "build: ${configure[*]}"
    rm -f "$folder/CMakeCache.txt"
    "${configure[@]}" >"$folder/configure.log" 2>&1 || { cat "$folder/configure.log"; exit 1; }
    printf '%s\n' "$interpreter" >"$folder/.interpreter"
fi
cmake --build "$folder" --target "${targets[@]}"

# scikit-build-core works in the same build folder, so it finds everything built.
packaging+=(--no-build-isolation --no-deps "--config-settings=build-dir=$folder")

# An editable installation knows modules by name: made again when packaging or the set of modules changes.
shape=$( (pwd; cat pyproject.toml frontend/bindings/CMakeLists.txt frontend/pyfiber/CMakeLists.txt
    find frontend/python -name '*.py' | sort) | sha256sum)
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["platlib"])')
if [[ ! -f $venv/.cudasim || $(<"$venv/.cudasim") != "$shape" ]]; then
    echo "build: $venv/bin/pip install --editable ."
    "$venv/bin/python" -m pip install -q --editable . "${packaging[@]}"
    printf '%s\n' "$shape" >"$venv/.cudasim"
    # pytest warns of modules of a package with a plug-in that are imported before it, as this finder is.
    sed -i '1i """PYTEST_DONT_REWRITE"""' "$site/_editable_skbc_cudasim.py"
fi
# Unlinked, not overwritten: a process that runs keeps its own.
rm -rf "$site"/cudasim/toolkit
rm -f "$site"/cudasim/_native*.so "$site"/cudasim/_pyfiber*.so "$site"/cudasim/lib*.so*
cmake --install "$folder" --component python --prefix "$site" >/dev/null
# Where PYTHONDONTWRITEBYTECODE is set Python would compile them at every start: 30 ms.
"$venv/bin/python" -m compileall -q frontend/python

if [[ $venv == .venv && -x .venv-numba/bin/python ]]; then
    content=$( (cat pyproject.toml "$site"/cudasim/_native*.so "$site"/cudasim/_pyfiber*.so "$site"/cudasim/libcudasim.so
        find frontend/python -type f -name '*.p*' -not -name '*.pyc' | sort | xargs cat) | sha256sum)
    if [[ ! -f .venv-numba/.cudasim || $(<.venv-numba/.cudasim) != "$content" ]]; then
        echo "build: .venv-numba/bin/pip install a wheel of it"
        rm -rf build/wheel
        .venv/bin/python -m pip wheel -q . -w build/wheel "${packaging[@]}"
        .venv-numba/bin/python -m pip install -q --no-deps --force-reinstall build/wheel/*.whl
        printf '%s\n' "$content" >.venv-numba/.cudasim
    fi
fi
