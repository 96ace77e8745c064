#!/usr/bin/env bash
# wheel.sh — dist/cudasim-*.whl with LLVM inside, then tried in a fresh virtual environment that has nothing but
# the wheel and NumPy: import, the command-line program, an example, and an error report.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CCACHE_NOHASHDIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
rm -rf dist
.venv/bin/python -m pip wheel -q . -w dist --no-build-isolation --no-deps -C build-dir=build/release \
    -C cmake.define.CUDASIM_BUILD_TESTS=ON
ls -sh dist/*.whl

fresh=build/wheel-test
rm -rf $fresh
.venv/bin/python -m venv $fresh/venv
$fresh/venv/bin/python -m pip install -q dist/*.whl
cp examples/vector_add.py $fresh/
extension=$(find $fresh/venv -name '_native*.so')
echo "needs: $(ldd "$extension" | awk '{print $1}' | sort | tr '\n' ' ')"
if ldd "$extension" | grep -E 'libLLVM|libboost|not found'; then
    echo "wheel: the extension needs a library of the build machine" >&2
    exit 1
fi
cd $fresh  # so that nothing of the source tree is on the path
env -u PYTHONPATH ENABLE_CUDASIM=1 venv/bin/python vector_add.py
env -u PYTHONPATH venv/bin/cudasim run vector_add.py
env -u PYTHONPATH venv/bin/cudasim info | head -3
echo "wheel: works in a fresh virtual environment"
