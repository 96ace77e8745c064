#!/usr/bin/env bash
# try_wheel.sh WHEEL FOLDER [PYTHON] — installs the wheel in a fresh virtual environment FOLDER/venv, which gets nothing
# but the wheel, NumPy and tqdm, and uses it there, with nothing else on the path, as on a machine without compilers:
# command-line program, switch, an example in both modes (where there is Python mode), an error report. PYTHON makes the environment.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
wheel=$(realpath "$1")
python=${3:-$root/.venv/bin/python}
rm -rf "$2"
mkdir -p "$2"
folder=$(realpath "$2")
fail() { echo "wheel: $*" >&2; exit 1; }

"$python" -m venv "$folder/venv"
PIP_DISABLE_PIP_VERSION_CHECK=1 "$folder/venv/bin/python" -m pip install -q --only-binary :all: "$wheel"

extension=$(find "$folder/venv" -name '_native*.so')
inside=$(dirname "$(dirname "$extension")")  # the package and what auditwheel put beside it
ldd "$extension" | grep -F libcudasim.so | grep -qF "$inside/" || fail "the engine does not lie beside the extension"
echo "needs: $(ldd "$extension" | awk '{print $1}' | sort | tr '\n' ' ')"
foreign='libLLVM|libboost|not found'
if [[ $wheel == *manylinux* ]]; then foreign+='|libzstd'; fi
if ldd "$extension" | grep -vF "$inside/" | grep -E "$foreign"; then
    fail "the extension needs a library of the build machine"
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
alone() { env PATH="$folder/venv/bin" "$@"; }
alone venv/bin/python - <<'SCRIPT'
import shutil
found = [tool for tool in ("cc", "c++", "gcc", "g++", "clang", "ld", "as", "cmake") if shutil.which(tool)]
assert not found, found
SCRIPT
ENABLE_CUDASIM=1 alone venv/bin/python vector_add.py
if said=$(alone venv/bin/python -c 'import cudasim._pyfiber' 2>&1); then
    CUDASIM_MODE=python ENABLE_CUDASIM=1 alone venv/bin/python -W error vector_add.py
else
    grep -o 'Python mode is not available on CPython.*' <<<"$said" || fail "$said"
fi
alone venv/bin/cudasim run vector_add.py
alone venv/bin/cudasim info | sed -n 2,4p
# The program for machines with a GPU: with nothing in its environment and, of wheels to publish, on those with glibc 2.28.
runner=$(dirname "$extension")/cudasim-gpu-run
env -i "$runner" --version
if [[ $(basename "$wheel") == *manylinux* ]] && command -v readelf >/dev/null; then
    newest=$(readelf -VW "$runner" | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -1)
    [[ $(printf '%s\n' "$newest" GLIBC_2.28 | sort -V | tail -1) == GLIBC_2.28 ]] || fail "cudasim-gpu-run needs $newest"
fi
report=$(ENABLE_CUDASIM=1 alone venv/bin/python wrong.py 2>&1) && fail "no error reported"
grep -F 'IndexError: tid=[10, 0, 0] ctaid=[0, 0, 0]: index 10 is out of bounds' <<<"$report" || fail "$report"
echo "wheel: works in a fresh virtual environment"
