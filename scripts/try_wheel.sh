#!/usr/bin/env bash
# try_wheel.sh WHEEL FOLDER — installs the wheel in a fresh virtual environment FOLDER/venv, which gets nothing
# but the wheel and NumPy, and uses it there: command-line program, switch, an example, an error report.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
wheel=$(realpath "$1")
folder=$2
rm -rf "$folder"
mkdir -p "$folder"
"$root/.venv/bin/python" -m venv "$folder/venv"
PIP_DISABLE_PIP_VERSION_CHECK=1 "$folder/venv/bin/python" -m pip install -q "$wheel"

extension=$(find "$folder/venv" -name '_native*.so')
echo "needs: $(ldd "$extension" | awk '{print $1}' | sort | tr '\n' ' ')"
if ldd "$extension" | grep -vF "$(dirname "$extension")/" | grep -E 'libLLVM|libboost|not found'; then
    echo "wheel: the extension needs a library of the build machine" >&2
    exit 1
fi

cp "$root/examples/vector_add.py" "$folder/"
cat >"$folder/wrong.py" <<'SCRIPT'
import numpy as np
from numba import cuda


@cuda.jit
def fill(x):
    x[cuda.grid(1)] = 1


fill[1, 32](np.zeros(10))
SCRIPT
cd "$folder"  # so that nothing of the source tree is on the path
unset PYTHONPATH ENABLE_CUDASIM NUMBA_ENABLE_CUDASIM
ENABLE_CUDASIM=1 venv/bin/python vector_add.py
venv/bin/cudasim run vector_add.py
venv/bin/cudasim info | sed -n 2,4p
report=$(ENABLE_CUDASIM=1 venv/bin/python wrong.py 2>&1) && { echo "wheel: no error reported" >&2; exit 1; }
grep -F 'IndexError: tid=[10, 0, 0] ctaid=[0, 0, 0]: index 10 is out of bounds' <<<"$report"
echo "wheel: works in a fresh virtual environment"
