"""Numba's CPU compiler as oracle, in a process of its own: the same function body under
@njit(error_model="numpy"), with the types it infers.

    oracle = numba_oracle.start()         # None without CUDASIM_TEST_NUMBA_PYTHON; one process per test session
    answer = oracle.run(source, arrays_and_numbers)
    answer.arguments                      # as the function left them
    answer.types                          # local variable -> set of the type names of its versions
    answer.error                          # "IndexError: ..." or "" (arguments and types are None then)
    answer = oracle.run_rows(source, columns, arrays)    # called for every row with its numbers and array rows

`source` is the text of the function `kernel` (of `f` and its helpers for run_rows); np and math are its globals,
`device` is njit. Run as a program this file is the server: one JSON object per line each way.
"""

import base64
import functools
import json
import math
import os
import subprocess
import sys
from dataclasses import dataclass

import numpy as np


@dataclass
class Answer:
    arguments: list = None
    types: dict = None
    error: str = ""


class Oracle:
    def __init__(self, interpreter):
        self._process = subprocess.Popen(
            [interpreter, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, source, arguments):
        return self._ask({"source": source, "arguments": [encode(each) for each in arguments]})

    def run_rows(self, source, columns, arrays):
        return self._ask(
            {
                "source": source,
                "rows": len(columns[0]),
                "columns": [encode(each) for each in columns],
                "arguments": [encode(each) for each in arrays],
            }
        )

    def _ask(self, request):
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(
                f"the oracle ended with status {self._process.wait()} on:\n{request['source']}"
            )
        answer = json.loads(line)
        if answer["error"]:
            return Answer(error=answer["error"])
        return Answer(
            [decode(each) for each in answer["arguments"]],
            {name: set(types) for name, types in answer["types"].items()},
        )


@functools.cache
def start():
    """The oracle, or None when CUDASIM_TEST_NUMBA_PYTHON names no interpreter with numba."""
    interpreter = os.environ.get("CUDASIM_TEST_NUMBA_PYTHON")
    if not interpreter:
        return None
    found = subprocess.run([interpreter, "-c", "import numba.core"], capture_output=True)
    return Oracle(interpreter) if found.returncode == 0 else None


def encode(value):
    if isinstance(value, np.ndarray):
        order = "C" if value.flags.c_contiguous else "F" if value.flags.f_contiguous else "A"
        return {
            "array": base64.b64encode(value.tobytes()).decode(),
            "dtype": value.dtype.str,
            "shape": value.shape,
            "order": order,
        }
    if isinstance(value, np.generic):
        return {"scalar": base64.b64encode(value.tobytes()).decode(), "dtype": value.dtype.str}
    if isinstance(value, tuple):
        return {"tuple": [encode(element) for element in value]}
    return {"python": value}


def decode(value):
    if "array" in value:
        flat = np.frombuffer(base64.b64decode(value["array"]), value["dtype"]).reshape(value["shape"])
        if value["order"] == "A" and flat.ndim:
            return spread(flat)
        return np.array(flat, order="F" if value["order"] == "F" else "C")
    if "scalar" in value:
        return np.frombuffer(base64.b64decode(value["scalar"]), value["dtype"])[0]
    if "tuple" in value:
        return tuple(decode(element) for element in value["tuple"])
    return value["python"]


def spread(array):
    """A copy with room between the elements of the last axis: layout A."""
    room = np.zeros((*array.shape[:-1], max(2 * array.shape[-1], 2)), array.dtype)
    view = room[..., ::2][..., : array.shape[-1]]
    view[...] = array
    return view


def function_from(source, name="kernel", **names):
    """A Python function from its text, with its lines where compilers look for them."""
    import linecache

    file = f"<generated {source!r}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    namespace = {"np": np, "math": math, **names}
    exec(compile(source, file, "exec"), namespace)
    return namespace[name]


def _answer(request, njit):
    arguments = [decode(each) for each in request["arguments"]]
    rows = request.get("rows")
    name = "kernel" if rows is None else "f"
    try:
        function = function_from(request["source"], name, device=njit(error_model="numpy"))
        compiled = njit(error_model="numpy", boundscheck=True)(function)
        if rows is None:
            compiled(*arguments)
        else:
            columns = [decode(each) for each in request["columns"]]
            for row in range(rows):
                compiled(*(column[row] for column in columns), *(array[row] for array in arguments))
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    types = {}
    for overload in compiled.overloads.values():
        for name, numba_type in overload.type_annotation.typemap.items():
            if not name.startswith(("$", "arg.")):
                types.setdefault(name.split(".")[0], []).append(str(numba_type))
    return {"error": "", "arguments": [encode(each) for each in arguments], "types": types}


def _serve():
    import warnings

    from numba import njit

    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    for line in sys.stdin:
        print(json.dumps(_answer(json.loads(line), njit)), flush=True)


if __name__ == "__main__":
    _serve()
