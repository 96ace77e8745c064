#!/usr/bin/env bash
# demo.sh — an unchanged numba.cuda script on a photograph, then the same kernel with an off-by-one.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mkdir -p build/demo

echo '$ ENABLE_CUDASIM=1 python examples/convolution.py'
ENABLE_CUDASIM=1 .venv/bin/python examples/convolution.py --output build/demo/blurred.png || exit 1
echo
echo '$ ENABLE_CUDASIM=1 python examples/convolution.py --off-by-one'
report=$(ENABLE_CUDASIM=1 .venv/bin/python examples/convolution.py --off-by-one --output build/demo/wrong.png 2>&1)
status=$?
printf '%s\n' "$report"
if [[ $status == 0 || $report != *IndexError* ]]; then
    echo 'demo: the off-by-one was not reported' >&2
    exit 1
fi
echo
echo "That error is the point: thread, block and line of the off-by-one. The blurred photograph: build/demo/blurred.png"
