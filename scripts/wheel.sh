#!/usr/bin/env bash
# wheel.sh — dist/cudasim-*.whl with LLVM inside, tried in a fresh virtual environment. Run after build.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CCACHE_NOHASHDIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
rm -rf dist
.venv/bin/python -m pip wheel -q . -w dist --no-build-isolation --no-deps \
    --config-settings=build-dir=build/release \
    --config-settings=cmake.define.CUDASIM_BUILD_TESTS=ON
ls -sh dist/*.whl
scripts/try_wheel.sh dist/*.whl build/wheel-test
