"""numba.cuda.np.numpy_support: NumPy's data types as kernel types, and back."""

import numpy as _np

from cudasim import errors as _errors
from cudasim import types as _types


def from_dtype(dtype):
    """The kernel type of a NumPy dtype. :raises NumbaNotImplementedError: when there is none"""
    numba_types = _types.real_numba_types()
    if numba_types is not None:
        from numba.np.numpy_support import from_dtype as numba_from_dtype

        return numba_from_dtype(dtype)
    try:
        return _types.public(_types.name_of(_np.dtype(dtype)))
    except TypeError as error:
        raise _errors.NumbaNotImplementedError(str(error)) from None


def array_type(dtype, ndim, layout):
    """The type of arrays. :raises NumbaNotImplementedError: when there is none for the dtype"""
    element, numba_types = from_dtype(dtype), _types.real_numba_types()
    if numba_types is not None:
        return numba_types.Array(element, ndim, layout)
    return _types.parse_type(f"array({_types.name_of(element)}, {ndim}d, {layout})")


def as_dtype(nbtype):
    """The NumPy dtype of a kernel type. :raises NumbaNotImplementedError: when there is none"""
    numba_types = _types.real_numba_types()
    if numba_types is not None and not isinstance(nbtype, _types.Type):
        from numba.np.numpy_support import as_dtype as numba_as_dtype

        return numba_as_dtype(nbtype)
    dtype = getattr(nbtype, "dtype", None)
    if isinstance(dtype, _types.Type):
        dtype = getattr(dtype, "dtype", None)
    if not isinstance(dtype, _np.dtype):
        raise _errors.NumbaNotImplementedError(f"{nbtype} cannot be represented as a NumPy dtype")
    return dtype
