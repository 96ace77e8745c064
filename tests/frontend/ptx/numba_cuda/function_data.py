"""Python functions as data: from a process where kernels say `cudasim.cuda` to one where the same names are numba.cuda's.

Code goes as `marshal` has it, which both processes read where they run the same CPython. What a function names outside
of itself goes as a module, an attribute of a module, another function, or a pickled constant.
"""

import builtins
import marshal
import pickle
import sys
import types

import numpy as np

#: Modules whose names kernels use: cudasim's → Numba's.
MODULES = {
    "math": "math",
    "cmath": "cmath",
    "operator": "operator",
    "numpy": "numpy",
    "builtins": "builtins",
    "cudasim.cuda": "numba.cuda",
    "cudasim.cuda.libdevice": "numba.cuda.libdevice",
    "cudasim.cuda.random": "numba.cuda.random",
    "cudasim.cuda.cg": "numba.cuda.cg",
    "cudasim.types": "numba.types",
}
_CONSTANTS = (int, float, complex, str, bytes, bool, type(None), np.generic, np.ndarray, np.dtype, slice)


class NotDescribable(Exception):
    """A function names something that has no counterpart in the other process."""


def described(function):
    """The function and what it reaches, as data that pickle takes. :raises NotDescribable:"""
    return _described(function, [])


def _described(function, outer):
    if function in outer:
        raise NotDescribable("recursion")
    outer = [*outer, function]
    code = function.__code__
    return {
        "code": marshal.dumps(code),
        "name": function.__name__,
        "defaults": [_value(value, outer) for value in function.__defaults__ or ()],
        "globals": {
            name: _value(function.__globals__[name], outer)
            for name in _names_in(code)
            if name in function.__globals__
        },
        "cells": [_cell(cell, outer) for cell in function.__closure__ or ()],
    }


def _names_in(code):
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names_in(constant)
    return names


def _cell(cell, outer):
    try:
        return _value(cell.cell_contents, outer)
    except ValueError:  # not assigned yet
        raise NotDescribable("an empty cell") from None


def _value(value, outer):
    if isinstance(value, types.ModuleType):
        if value.__name__ in MODULES:
            return ("module", MODULES[value.__name__])
        raise NotDescribable(f"module {value.__name__}")
    if hasattr(value, "py_func") and hasattr(value, "targetoptions"):
        if value.links:
            raise NotDescribable("linked code")
        if value.device_signatures:
            raise NotDescribable("declared signatures")
        return ("device function", _described(value.py_func, outer))
    if isinstance(value, tuple) and type(value) is tuple:
        return ("tuple", [_value(element, outer) for element in value])
    if isinstance(value, _CONSTANTS) and type(value).__module__ in ("builtins", "numpy"):
        return ("constant", pickle.dumps(value))
    if isinstance(value, np.dtype):
        return ("constant", pickle.dumps(value))
    for known, counterpart in MODULES.items():
        module = sys.modules.get(known)
        for name, attribute in vars(module).items() if module else ():
            if attribute is value and not name.startswith("_"):
                return ("attribute", counterpart, name)
    if isinstance(value, types.FunctionType):
        return ("function", _described(value, outer))
    raise NotDescribable(f"{type(value).__name__} {value!r}"[:80])


def rebuilt(description):
    """The inverse, where Numba is. Device functions become those of numba.cuda."""
    names = {name: _rebuilt_value(value) for name, value in description["globals"].items()}
    made = types.FunctionType(
        marshal.loads(description["code"]),
        {"__builtins__": builtins, "__name__": "kernels", **names},
        description["name"],
        tuple(map(_rebuilt_value, description["defaults"])) or None,
        tuple(types.CellType(_rebuilt_value(value)) for value in description["cells"]),
    )
    made.__module__ = "kernels"
    return made


def _rebuilt_value(value):
    import importlib

    kind, *content = value
    if kind == "module":
        return importlib.import_module(content[0])
    if kind == "attribute":
        found = importlib.import_module(content[0])
        return getattr(found, content[1])
    if kind == "constant":
        return pickle.loads(content[0])
    if kind == "tuple":
        return tuple(map(_rebuilt_value, content[0]))
    made = rebuilt(content[0])
    if kind == "function":
        return made
    from numba import cuda

    return cuda.jit(device=True)(made)


class ArrayData:
    """An array with its strides, as the memory around it and where it lies in that."""

    def __init__(self, array):
        self.dtype, self.shape, self.strides = array.dtype, array.shape, array.strides
        self.writable = array.flags.writeable
        low = sum(min(0, step * (n - 1)) for n, step in zip(array.shape, array.strides) if n)
        high = sum(max(0, step * (n - 1)) for n, step in zip(array.shape, array.strides) if n)
        self.offset, self.bytes = -low, (high - low + array.itemsize) if array.size else 0
        address = array.__array_interface__["data"][0] + low
        self.range = (address, address + self.bytes)
        self.memory = self._read(array)

    def _read(self, array):
        memory = np.zeros(self.bytes, np.uint8)
        if array.size:
            self.over(memory)[...] = array
        return memory.tobytes()

    def over(self, memory):
        """The array in other memory of the same size."""
        return np.ndarray(self.shape, self.dtype, memory, self.offset, self.strides)

    def array(self):
        """A new array with the same content, strides and flags."""
        made = self.over(np.frombuffer(self.memory, np.uint8).copy())
        made.flags.writeable = self.writable
        return made
