#!/usr/bin/env bash
# test_python.sh — pytest over all tests: on every core, a file at a time, then one after another the files with tests
# marked `alone`, which need a quiet machine or look at what the others left. Run after `build.sh tests`.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CUDASIM_TEST_NUMBA_PYTHON=$PWD/.venv-numba/bin/python
CUDASIM_TESTS_FOLDER=$(mktemp -d -t cudasim_tests_XXXXXX)
export CUDASIM_TESTS_FOLDER
trap 'rm -rf "$CUDASIM_TESTS_FOLDER"' EXIT
mapfile -t alone < <(grep -rl --include='test_*.py' 'mark\.alone' tests | sort)
failed=0
.venv/bin/python -m pytest -q -n "$(nproc)" --dist loadfile --durations=5 -m 'not alone' tests || failed=1
.venv/bin/python -m pytest -q -p no:xdist --durations=5 -m alone "${alone[@]}" || failed=1
exit $failed
