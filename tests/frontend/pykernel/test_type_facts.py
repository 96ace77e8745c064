"""Expressions give the types that Numba's CUDA target gives (rule V1): complex numbers, cmath, operator, NumPy's functions
and constructors. numba_cuda_type_facts.json was read off it (`source` says which release); null: Numba refuses."""

import cmath
import json
import math
import operator
import pathlib
import re

import numpy as np
import pytest
from cudasim import cuda, errors
from cudasim.compile import compiler
from kernel_checks import kernel_of_source

pytestmark = pytest.mark.like_images
ROWS = json.loads((pathlib.Path(__file__).parent / "numba_cuda_type_facts.json").read_text())["rows"]
GROUPS = sorted({re.sub(r"\W*\b[a-f]\b\W*", " ", row[0]).strip() or row[0] for row in ROWS})
#: Works here, and Numba refuses it.
LENIENT = {"np.searchsorted(a,2) of bool_[:]"}
_STORE = re.compile(r"^    r = %\d+ : (.+?)    # line \d+$", re.MULTILINE)
NAMES = {"np": np, "cmath": cmath, "operator": operator, "cuda": cuda, "math": math}


def our_name(numba_name):
    """ "float32[:, :]" → "array(float32, 2d, A)"."""
    element, bracket, dimensions = numba_name.partition("[:")
    element = {"bool_": "bool"}.get(element, element)
    return f"array({element}, {1 + dimensions.count(':')}d, A)" if bracket else element


def result_type(expression, types):
    body = f"r = {expression}"
    made = kernel_of_source(body, ", ".join("abcdef"[: len(types)]), **NAMES)
    try:
        ir = compiler.compile_kernel(made, list(map(our_name, types))).typed_ir
    except (errors.NumbaError, NotImplementedError):
        return None
    found = _STORE.findall(ir)
    return re.sub(r"Literal\[bool\].*", "bool", found[0]) if found else "none"


@pytest.mark.parametrize("group", GROUPS)
def test_expressions_have_numbas_types(group):
    wrong = []
    for expression, types, expected in ROWS:
        if (re.sub(r"\W*\b[a-f]\b\W*", " ", expression).strip() or expression) == group:
            actual = result_type(expression, types)
            if actual != expected and f"{expression} of {', '.join(types)}" not in LENIENT:
                wrong.append(f"{expression} of {', '.join(types)}: {actual}, Numba says {expected}")
    assert wrong == []
