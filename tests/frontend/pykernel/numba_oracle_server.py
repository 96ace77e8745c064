"""Run by the Python that has Numba: compiles functions with @njit(error_model="numpy") and runs them.

One JSON object per line on standard input: {"source", "name", "rows", "arrays"}; one per line on standard
output: {"types": {variable: [Numba type names]}, "arrays": [...]} or {"error": class name, "message"}. The
function gets each row's numbers and then the row's part of every array; arrays travel as {"dtype", "shape",
"hex"}.
"""

import collections
import json
import linecache
import math
import sys
import warnings

import numpy as np
from numba import njit

warnings.simplefilter("ignore")
np.seterr(all="ignore")


def from_wire(wire):
    return np.frombuffer(bytes.fromhex(wire["hex"]), wire["dtype"]).reshape(wire["shape"]).copy()


def to_wire(array):
    return {"dtype": array.dtype.name, "shape": list(array.shape), "hex": array.tobytes().hex()}


def types_of(function):
    """Variable → type names, over its versions (`x`, `x.1`, …)."""
    found = collections.defaultdict(set)
    for overload in function.overloads.values():
        for name, numba_type in overload.type_annotation.typemap.items():
            if not name.startswith(("$", "arg.")):
                found[name.split(".")[0]].add(str(numba_type))
    return {name: sorted(names) for name, names in found.items()}


def compiled(source, number):
    file = f"<oracle {number}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    namespace = {"math": math, "np": np, "device": njit(error_model="numpy")}
    exec(compile(source, file, "exec"), namespace)
    return namespace


def answer(request, number):
    namespace = compiled(request["source"], number)
    function = njit(error_model="numpy")(namespace[request["name"]])
    columns = [from_wire(column) for column in request["rows"]]
    arrays = [from_wire(array) for array in request["arrays"]]
    for row in range(len(arrays[0])):
        function(*(column[row] for column in columns), *(array[row] for array in arrays))
    return {"types": types_of(function), "arrays": [to_wire(array) for array in arrays]}


def main():
    for number, line in enumerate(sys.stdin):
        try:
            reply = answer(json.loads(line), number)
        except Exception as error:  # whatever Numba refuses is an answer
            reply = {"error": type(error).__name__, "message": str(error)[:2000]}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
