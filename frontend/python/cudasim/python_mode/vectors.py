"""CUDA's built-in vector types in Python mode: `cuda.float4(x, y, z, w)` on a simulated thread.

Rules as in frontend/pykernel/calls/vector_calls.cpp: components come one by one, as numbers of any type, or in smaller
vectors of the same base type; attributes x, y, z, w; no operators.
"""

import numpy as np

from cudasim import _native
from cudasim.compile.intrinsics import VECTOR_TYPES
from cudasim.python_mode.values import kernel_types

_AXES = "xyzw"


def _made(name, base, count):
    """A function that makes values of one vector type."""
    component = kernel_types[np.dtype(base)]
    # No methods: debuggers that step into a constructor are in no frame of this package.
    vector = type(name, (), {"__slots__": tuple(_AXES[:count]), "base": base, "count": count})

    def make(*parts):
        values = []
        for part in parts:
            if getattr(type(part), "base", None) == base:
                values += [getattr(part, axis) for axis in _AXES[: part.count]]
            elif isinstance(part, (bool, int, float, np.number, np.bool_)) and not isinstance(part, complex):
                values.append(component(part))
            else:
                raise TypeError(f"{name}() takes numbers and vectors of {base}, not {type(part).__name__}")
        if len(values) != count:
            raise TypeError(f"{name}() takes {count} components; {len(values)} were given")
        made = vector()
        for axis, value in zip(_AXES, values):
            setattr(made, axis, value)
        return made

    return _native.FramelessMethod(make)


#: name ("cuda.float32x4") → its constructor
constructors = {f"cuda.{name}": _made(name, base, count) for name, (base, count) in VECTOR_TYPES.items()}
