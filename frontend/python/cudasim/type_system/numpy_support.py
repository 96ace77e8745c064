"""NumPy's data types as kernel types, and back."""

from __future__ import annotations

import ctypes as _ctypes
from typing import TYPE_CHECKING

import numpy as _np

from cudasim import errors as _errors
from cudasim import types as _types
from cudasim.type_system import value_types

if TYPE_CHECKING:
    from typing import Any

#: NumPy's version, (major, minor)
numpy_version = tuple(map(int, _np.__version__.split(".")[:2]))


def from_dtype(dtype: Any) -> _types.Type:
    """The kernel type of a NumPy dtype. :raises NumbaNotImplementedError: when there is none"""
    numba_types = _types.real_numba_types()
    if numba_types is not None:
        from numba.np.numpy_support import from_dtype as numba_from_dtype  # numba may be absent

        return numba_from_dtype(dtype)
    if not _np.dtype(dtype).isnative:
        raise _errors.NumbaNotImplementedError(
            f"{_np.dtype(dtype).str}: kernels take this machine's byte order"
        )
    subarray = _np.dtype(dtype).subdtype
    if subarray is not None:
        return value_types.NestedArray(from_dtype(subarray[0]), subarray[1])
    try:
        return _types.public(_types.as_type(_np.dtype(dtype)))
    except TypeError as error:
        raise _errors.NumbaNotImplementedError(str(error)) from None


def array_type(dtype: Any, ndim: Any, layout: Any) -> Any:
    """The type of arrays. :raises NumbaNotImplementedError: when there is none for the dtype"""
    element, numba_types = from_dtype(dtype), _types.real_numba_types()
    if numba_types is not None:
        return numba_types.Array(element, ndim, layout)
    return _types.Array(element, ndim, layout)


def as_dtype(nbtype: Any) -> Any:
    """The NumPy dtype of a kernel type. :raises NumbaNotImplementedError: when there is none"""
    numba_types = _types.real_numba_types()
    if numba_types is not None and not isinstance(nbtype, _types.Type):
        from numba.np.numpy_support import as_dtype as numba_as_dtype  # numba may be absent

        return numba_as_dtype(nbtype)
    dtype = getattr(nbtype, "dtype", None)
    if isinstance(nbtype, value_types.NestedArray):
        return _np.dtype((nbtype.dtype.dtype, nbtype.shape))
    if isinstance(nbtype, (value_types.NumberClass, value_types.TypeRef)):
        dtype = getattr(nbtype.instance_type, "dtype", None)
    if not isinstance(dtype, _np.dtype):
        raise _errors.NumbaNotImplementedError(f"{nbtype} cannot be represented as a NumPy dtype")
    return dtype


def from_struct_dtype(dtype: Any) -> Any:
    """The record type of a structured dtype. :raises TypeError: for any other"""
    if _np.dtype(dtype).names is None:
        raise TypeError(f"{dtype} is not a structured dtype")
    return from_dtype(dtype)


def map_arrayscalar_type(val: Any) -> Any:
    """The type of a NumPy scalar. :raises NotImplementedError: for any other value"""
    if not isinstance(val, _np.generic):
        raise NotImplementedError(f"no array scalar: {val!r}")
    return from_dtype(val.dtype)


def is_array(val: Any) -> bool:
    """Whether it is a NumPy array."""
    return isinstance(val, _np.ndarray)


def map_layout(val: Any) -> Any:
    """C, F or A: how an array lies in memory."""
    return "C" if val.flags["C_CONTIGUOUS"] else "F" if val.flags["F_CONTIGUOUS"] else "A"


def is_contiguous(dims: Any, strides: Any, itemsize: Any) -> bool:
    """Whether extents and strides are those of an array in C order."""
    expected = itemsize
    for extent, stride in zip(reversed(dims), reversed(strides)):
        if extent > 1 and stride != expected:
            return False
        expected *= extent
    return True


def is_fortran(dims: Any, strides: Any, itemsize: Any) -> Any:
    """Whether extents and strides are those of an array in Fortran order."""
    return is_contiguous(tuple(reversed(dims)), tuple(reversed(strides)), itemsize)


def carray(ptr: Any, shape: Any, dtype: Any = None) -> Any:
    """A NumPy array in C order over memory of the host.

    :param ptr: of ctypes: typed, or a c_void_p with a dtype
    """
    return _pointed_at(ptr, shape, dtype, "C")


def farray(ptr: Any, shape: Any, dtype: Any = None) -> Any:
    """As carray(), in Fortran order."""
    return _pointed_at(ptr, shape, dtype, "F")


def _pointed_at(ptr, shape, dtype, order):
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if isinstance(ptr, _ctypes.c_void_p):
        if dtype is None:
            raise TypeError("explicit dtype required for void* argument")
        address = ptr.value
    elif isinstance(ptr, _ctypes._Pointer):
        found = _np.dtype(ptr._type_)
        if dtype is not None and _np.dtype(dtype) != found:
            raise TypeError(f"mismatching dtype '{_np.dtype(dtype)}' for pointer type {type(ptr).__name__}")
        dtype, address = found, _ctypes.addressof(ptr.contents)
    else:
        raise TypeError(f"expected a ctypes pointer, got {ptr!r}")
    dtype = _np.dtype(dtype)
    memory = (_ctypes.c_byte * (int(_np.prod(shape)) * dtype.itemsize)).from_address(address)
    return _np.ndarray(shape, dtype, memory, order=order)
