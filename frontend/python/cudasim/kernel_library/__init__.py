"""Functions that kernels may call and that are themselves written as device functions: the cmath module, and those of
NumPy's that are a few lines of Python. The compiler specialises them for a call's types like any device function of
the user's, so that both modes and PTX have one definition.

`function_for(object)` is the device function behind a Python object (`cmath.exp`, `np.trace`), `named(name)` the one
that the compiler asks for by name. A module of the library is imported when a kernel first wants one of its functions.
"""

import cmath
import importlib

import numpy as np

from cudasim.types import type_named

CMATH_NAMES = ("acos acosh asin asinh atan atanh cos cosh exp isfinite isinf isnan log log10 phase polar rect sin sinh sqrt "
          "tan tanh").split()  # fmt: skip
NUMPY_NAMES = "angle average imag real searchsorted sinc trace".split()
_MODULES = {"cmath": "cmath_functions", "numpy": "numpy_functions"}
_NAMES = {id(getattr(module, name)): f"{module.__name__}.{name}"
          for module, names in ((cmath, CMATH_NAMES), (np, NUMPY_NAMES)) for name in names}  # fmt: skip


class LibraryFunction:
    """A device function of the library.

    name: what users call it. py_func: its source. device_signatures: ((argument types, ...), result type) for each
    declared overload; none: any types. exact: arguments are not converted to those types, except that float32 becomes float64 and the like.
    """

    def __init__(self, py_func, name, signatures, exact):
        self.py_func, self.name, self.exact = py_func, name, exact
        self.device_signatures = tuple(
            (tuple(map(type_named, arguments)), type_named(result)) for result, *arguments in signatures
        )

    def __call__(self, *args):
        """Refuses: kernels only."""
        raise NotImplementedError(f"cudasim's {self.name}() for kernels works in a kernel only")


def library_function(name, *signatures, exact=False):
    """Decorates the definition of a function of the library.

    :param signatures: (name of the type of the result, names of the types of the arguments, ...)
    """
    return lambda py_func: LibraryFunction(py_func, name, signatures, exact)


def function_for(value):
    """The device function for an object that kernels may name, or None."""
    name = _NAMES.get(id(value))
    return None if name is None else named(name)


def named(name):
    """The device function of this name: "cmath.exp"."""
    module, _, function = name.rpartition(".")
    return getattr(importlib.import_module("cudasim.kernel_library." + _MODULES[module]), function)
