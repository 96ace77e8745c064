"""What kernels in Python mode call as the compiler does: functions of cudasim.kernel_library with the types that their
signatures declare, and ufuncs on arrays element by element."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cudasim import _native, types
from cudasim.python_mode.values import kernel_types

if TYPE_CHECKING:
    from typing import Any

_DTYPES = {bool: np.dtype(bool), **{kind: dtype for dtype, kind in kernel_types.items()}}


def typed_call(function: Any, find: Any) -> Any:
    """A callable for simulated threads.

    :param find: () → the Python function that runs
    """
    signatures = [(tuple(map(_kernel_type, arguments)), _result_types(result))
                  for arguments, result in function.device_signatures]  # fmt: skip

    def call(*args, **keywords):
        run = find()
        for wanted, result in signatures:
            if all(_fits(value, kind, function.exact) for value, kind in zip(args, wanted)):
                return _converted(run(*map(_as, args, wanted), **keywords), result)
        if signatures:
            given = ", ".join(type(value).__name__ for value in args)
            raise TypeError(f"No implementation of {function.name} for argument types ({given})")
        return run(*args, **keywords)

    return _native.FramelessMethod(call)


def _kernel_type(kind):
    """The class of kernels' numbers of a type, the type itself of an array, or None for other types."""
    if isinstance(kind, types.Array):
        return kind
    if not isinstance(kind, types.Scalar):
        return None
    return kernel_types.get(kind.dtype, bool if kind.dtype.kind == "b" else None)


def _result_types(kind):
    return (
        (_kernel_type(kind.dtype),) * kind.count if isinstance(kind, types.UniTuple) else _kernel_type(kind)
    )


def _dtype_of(value):
    if isinstance(value, (bool, np.bool_)):
        return np.dtype(bool)
    if type(value) in (int, float, complex):
        return np.dtype(type(value))
    return getattr(value, "dtype", None)


def _fits(value, kind, exact):
    dtype = _dtype_of(value)
    if isinstance(kind, types.Array):
        number = kind.dtype
        return hasattr(value, "shape") and isinstance(number, types.Scalar) and dtype == number.dtype
    if kind is None or dtype is None:
        return kind is None and dtype is None
    if exact and dtype.kind != _DTYPES[kind].kind:
        return False
    return np.can_cast(dtype, _DTYPES[kind], "safe")


def _as(value, kind):
    return kind(value) if isinstance(kind, type) else value


def _converted(value, kind):
    if isinstance(kind, tuple):
        return tuple(map(_as, value, kind))
    return _as(value, kind)


@_native.FramelessMethod
def array_ufunc(ufunc: Any, *args: Any) -> Any:
    """np.sin(a, out), with the values that the ufunc has for numbers."""
    *operands, out = args
    if len(operands) != ufunc.nin or not hasattr(out, "shape"):
        raise TypeError(
            f"numpy.{ufunc.__name__}: pass an output array as the last argument: kernels have no memory for one"
        )
    if not all(_broadcasts(getattr(value, "shape", ()), out.shape) for value in operands):
        raise ValueError("operands could not be broadcast together with the shape of the output array")
    for index in np.ndindex(*out.shape):
        out[index] = ufunc(*(_element(value, index) for value in operands))
    return out


def _broadcasts(shape, target):
    own = target[len(target) - len(shape) :]
    return len(own) == len(shape) and all(extent in (1, wanted) for extent, wanted in zip(shape, own))


@_native.FramelessMethod
def complex_divide(left: Any, right: Any) -> Any:
    """np.divide of complex numbers: a zero divisor gives infinities, without a warning."""
    narrow = all(np.can_cast(_dtype_of(value), np.complex64, "safe") for value in (left, right))
    dtype = np.dtype(np.complex64 if narrow else np.complex128)
    with np.errstate(all="ignore"):
        return kernel_types[dtype](np.divide(dtype.type(complex(left)), dtype.type(complex(right))))


def _element(value, index):
    shape = getattr(value, "shape", None)
    if shape is None:
        return value
    own = index[len(index) - len(shape) :]
    return value[tuple([0 if extent == 1 else i for i, extent in zip(own, shape)])]
