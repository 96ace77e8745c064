"""A program for an interpreter with numba-cuda and nvidia-nvvm: compiles recorded kernels (recording_plugin.py) to PTX.

Reads paths of files, one a line; writes a pickled (PTX, name of the kernel) or (None, reason) beside each, as
`.ptx`.

    python compile_program.py < paths
"""

import pathlib
import pickle
import re
import sys
import types
import warnings

from function_data import ArrayData, rebuilt

CAPABILITY = (9, 0)


def _argument(value):
    if isinstance(value, tuple):
        return tuple(map(_argument, value))
    return value.array() if isinstance(value, ArrayData) else value


def compiled(case):
    """(PTX, name of the kernel)"""
    import numba
    from numba import cuda

    kinds = tuple(numba.typeof(_argument(value)) for value in case["arguments"])
    text, _ = cuda.compile(
        rebuilt(case["function"]), kinds, device=False, abi="numba", cc=CAPABILITY, fastmath=case["fastmath"]
    )
    missing = re.search(r"\.extern \.func.*?\b(numba_\w+)", text, re.DOTALL)
    if missing:
        raise LookupError(f"{missing[1]} is in a file that numba-cuda compiles with NVRTC")
    return text, re.search(r"\.entry\s+([\w$]+)", text)[1]


def without_a_driver():
    """Device functions are compiled for the current device; there is none, so they get what kernels are compiled for."""
    from numba.cuda import dispatcher

    dispatcher.get_current_device = lambda: types.SimpleNamespace(compute_capability=CAPABILITY)


def main():
    warnings.simplefilter("ignore")
    without_a_driver()
    for line in sys.stdin:
        path = pathlib.Path(line.strip())
        try:
            answer = compiled(pickle.loads(path.read_bytes()))
        except Exception as error:  # noqa: BLE001 - what Numba refuses is counted
            answer = None, f"{type(error).__name__}: {error}"
        path.with_suffix(".ptx").write_bytes(pickle.dumps(answer))


if __name__ == "__main__":
    main()
