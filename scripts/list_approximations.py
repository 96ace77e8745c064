"""Writes gpu_backend/approximating_functions.def: which functions of NVIDIA's libdevice use instructions that the
processor approximates.

    python scripts/list_approximations.py [LIBDEVICE] > gpu_backend/approximating_functions.def

LIBDEVICE: the path of a libdevice.10.bc; by default the one that cudasim finds on this machine.
"""

import re
import sys

from cudasim import _native
from cudasim.compile import libdevice
from cudasim.compile.libdevice_version import version

#: The architecture that PTX is written for. What a function uses depends on it in `fast_tanhf` only.
ARCHITECTURE = "sm_90"
_APPROXIMATE = re.compile(r"\b(\w+)\.approx\b")

HEAD = """\
// Functions of libdevice whose PTX has instructions that the processor approximates (PTX ISA, "Floating Point
// Instructions": `.approx`): no simulator knows their last bits. Made by scripts/list_approximations.py; do
// not edit it by hand.
//
// APPROXIMATING(function, instructions)    without `__nv_`; the instructions separated by blanks
//
// Of {version}, SHA-256 {hash},
// for {architecture}: {count} of {total} functions.
"""


def approximations(path):
    """(function without __nv_, its approximate instructions) of all functions of the library that have some."""
    found = []
    for function in _native.functions_in_libdevice(path):
        text = _native.libdevice_ptx(path, function, ARCHITECTURE)
        instructions = sorted(set(_APPROXIMATE.findall(text)))
        if instructions:
            found.append((function.removeprefix("__nv_"), " ".join(instructions)))
    return found


def table(path):
    """The text of the file."""
    library = libdevice.found(path)
    if library is None:
        sys.exit('no libdevice.10.bc on this machine: pip install "cudasim[gpu]" brings one')
    found = approximations(library.path)
    head = HEAD.format(
        version=version(library.path) or "an unknown version",
        hash=library.hash,
        architecture=ARCHITECTURE,
        count=len(found),
        total=len(_native.functions_in_libdevice(library.path)),
    )
    return head + "".join(f'APPROXIMATING({name}, "{instructions}")\n' for name, instructions in found)


if __name__ == "__main__":
    sys.stdout.write(table(sys.argv[1] if len(sys.argv) > 1 else ""))
