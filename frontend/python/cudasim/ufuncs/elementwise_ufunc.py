"""What @vectorize makes: a ufunc whose calls run as kernels, one thread per element.

As with numba.cuda (deviceufunc): arrays must have the very dtypes of a signature (casting='no'), plain numbers take the
dtype that the signature wants; arguments are broadcast; a device array among them means a result on the device.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

import numpy as np

from cudasim import _native
from cudasim.device.current import current_device
from cudasim.memory.array_functions import to_device
from cudasim.memory.array_interface import as_device_array, is_cuda_array
from cudasim.memory.borrowed_memory import BorrowedMemory
from cudasim.memory.device_array import DeviceNDArray
from cudasim.reports.user_warnings import warn_at_users_line
from cudasim.streams.stream import stream as new_stream

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cudasim.ufuncs.vectorizers import Recipe


class CUDAUFuncDispatcher(_native.FramelessCall):
    """A ufunc. functions: dtypes of the arguments → (dtype of the result, kernel).

    max_blocksize: threads that a block of its launches has at most.
    """

    def __init__(self, functions: dict[Any, Any], py_func: Callable[..., Any], recipe: Recipe) -> None:
        super().__init__(self._run)
        self.functions, self._recipe = functions, recipe
        self.max_blocksize = 1 << 30
        self.__name__, self.__qualname__, self.__module__ = (
            py_func.__name__,
            py_func.__qualname__,
            py_func.__module__,
        )
        self.__doc__ = py_func.__doc__

    def __reduce__(self) -> Any:
        return self._recipe.reduced(self)

    def __repr__(self) -> str:
        return f"<ufunc {self.__name__!r} of the CUDA target>"

    def _run(self, *args, **kws):
        """The function of every element.

        :param args: arrays on the host or on the device, numbers, sequences
        :param stream: of the launch
        :param out: the array to write to, on the host or on the device
        """
        stream, out = kws.pop("stream", 0), kws.pop("out", None)
        if kws:
            warnings.warn(f"unrecognized keywords: {', '.join(kws)}", stacklevel=2)
        operands = [_operand(value) for value in args]
        dtypes = self._resolve(operands)
        arrays = [value if isinstance(value, _ARRAYS) else np.array([value], dtype)
                  for value, dtype in zip(operands, dtypes)]  # fmt: skip
        on_device = any(isinstance(array, DeviceNDArray) for array in arrays)
        arrays, shape = _broadcast(arrays)
        result_type, kernel = self.functions[dtypes]
        if out is None and not on_device:
            return self._on_host(arrays, shape, result_type, kernel, stream)
        parameters = [_on_device(array, len(shape), stream) for array in arrays]
        if out is None:
            result = _unwritten(shape, result_type, stream)
        else:
            result = _checked_out(out, shape, result_type)
        target = result if isinstance(result, DeviceNDArray) else _unwritten(shape, result_type, stream)
        flat = target if target.ndim == 1 else _flat(target, stream)
        kernel.forall(flat.size, tpb=threads_per_block(self.max_blocksize), stream=stream)(*parameters, flat)
        if flat is not target and not _shares_memory(flat, target):
            target.copy_to_device(flat.copy_to_host().reshape(target.shape))
        return result if isinstance(result, DeviceNDArray) else target.copy_to_host(result, stream=stream)

    def _on_host(self, arrays, shape, result_type, kernel, stream):
        """The result for host arrays, as a new host array."""
        flat = [array if array.ndim == 1 else array.ravel() for array in arrays]
        result = np.empty(math.prod(shape), result_type)
        with BorrowedMemory(sum(array.nbytes for array in (*flat, result))) as memory:
            parameters = [memory.on_device(array, stream) for array in flat]
            lent = memory.view(result)
            target = _unwritten(result.shape, result_type, stream) if lent is None else lent
            kernel.forall(result.size, tpb=threads_per_block(self.max_blocksize), stream=stream)(
                *parameters, target
            )
            if lent is None:
                target.copy_to_host(result, stream=stream)
        return result.reshape(shape)

    def _resolve(self, operands):
        """The dtypes of the signature that fits."""
        for given in (_dtype_with_scalars, _dtype_of_arrays):
            dtypes = [given(value) for value in operands]
            matches = [formal for formal in self.functions
                       if len(formal) == len(dtypes)
                       and all(actual is None or actual == wanted for actual, wanted in zip(dtypes, formal))]  # fmt: skip
            if len(matches) == 1:
                return matches[0]
            if matches:
                raise TypeError(
                    f"Failed to resolve ufunc due to ambiguous signature. Too many untyped scalars. {self.__name__}() "
                    f"could be called for {self._shown(matches)}; write np.float32(x) and the like for x"
                )
        shown = ", ".join(str(_dtype_with_scalars(value)) for value in operands)
        raise TypeError(
            "No matching version.  GPU ufunc requires array arguments to have the exact types.  This behaves like "
            f"regular ufunc with casting='no'.  {self.__name__}() got ({shown}) and has "
            f"{self._shown(self.functions) or 'no signature'}; convert the arrays with .astype()"
        )

    @staticmethod
    def _shown(signatures):
        return ", ".join(f"({', '.join(map(str, formal))})" for formal in signatures)

    @_native.FramelessMethod
    def reduce(self, arg: Any, stream: Any = 0) -> Any:
        """One number: the function of all elements of an array of one dimension, which has to be associative.

        As on a GPU the halves are combined, then their halves; a device array holds intermediate results afterwards.
        """
        if len(next(iter(self.functions), ())) != 2:
            raise AssertionError(f"reduce() needs a binary ufunc, and {self.__name__}() is not binary")
        if arg.ndim != 1:
            raise AssertionError(f"reduce() must use 1d array, got {arg.ndim} dimensions")
        if arg.shape[0] == 0:
            raise TypeError("Reduction on an empty array.")
        if arg.shape[0] == 1:
            return arg[0]
        stream = stream or new_stream()
        with stream.auto_synchronize():
            result = self._reduced(
                as_device_array(arg) if is_cuda_array(arg) else to_device(arg, stream), stream
            )
            buffer = np.array((1,), dtype=arg.dtype)
            result.copy_to_host(buffer, stream=stream)
        return buffer[0]

    def _reduced(self, array, stream):
        size = array.shape[0]
        if size % 2:
            pairs, last = array.split(size - 1)
            total = self._reduced(pairs, stream)
            return self._run(total, last, out=total, stream=stream)
        left, right = array.split(size // 2)
        self._run(left, right, out=left, stream=stream)
        return self._reduced(left, stream) if size > 2 else left


_ARRAYS = (np.ndarray, DeviceNDArray)


def threads_per_block(max_blocksize: Any) -> Any:
    """The block size for forall(): 0, which leaves the choice to it, unless the limit is below what a block
    may have."""
    return max_blocksize if max_blocksize < current_device().MAX_THREADS_PER_BLOCK else 0


def _operand(value):
    """A device array, a plain number, or a host array."""
    if is_cuda_array(value):
        return as_device_array(value)
    return value if isinstance(value, (int, float, complex, np.number)) else np.asarray(value)


def _dtype_of_arrays(value):
    """The dtype; None for a plain number, which takes any."""
    return value.dtype if isinstance(value, _ARRAYS) else None


def _dtype_with_scalars(value):
    return np.asarray(value).dtype if not isinstance(value, _ARRAYS) else value.dtype


def _broadcast(arrays):
    """Views of the arrays that have one shape, and that shape."""
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise ValueError(f"failed to broadcast the arguments: their shapes are {shapes}") from None
    if not shape:
        raise IndexError(
            "a ufunc of the CUDA target takes no arrays without dimensions; pass numbers, or a.reshape(1)"
        )
    return [array if array.shape == shape else _stretched(array, shape) for array in arrays], shape


def _stretched(array, shape):
    if not isinstance(array, DeviceNDArray):
        return np.broadcast_to(array, shape)
    added = len(shape) - array.ndim
    strides = [0] * added + [
        stride if extent == wanted else 0
        for extent, wanted, stride in zip(array.shape, shape[added:], array.strides)
    ]
    return DeviceNDArray(shape, strides, array.dtype, gpu_data=array.gpu_data)


def _on_device(array, ndim, stream):
    """The array on the device, in one dimension."""
    if isinstance(array, DeviceNDArray):
        return array if ndim == 1 else _flat(array, stream)
    return to_device(array if ndim == 1 else array.ravel(), stream)


def _flat(array, stream):
    try:
        return array.ravel()
    except NotImplementedError:
        return to_device(array.copy_to_host(stream=stream).ravel(), stream)


def _shares_memory(flat, array):
    return flat.parameters[0] == array.parameters[0]


def _unwritten(shape, dtype, stream):
    """A device array that the kernel will write whole."""
    return DeviceNDArray(shape, None, dtype, stream, poison=False)


def _checked_out(out, shape, dtype):
    """The array to write to; on the device it may have any dtype, as with numba.cuda."""
    if is_cuda_array(out):
        return as_device_array(out)
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out= takes a NumPy array or a device array, got {type(out).__name__}")
    if out.shape != shape or out.dtype != dtype:
        raise AssertionError(
            f"out= has shape {out.shape} and dtype {out.dtype}, the result has shape {shape} and dtype {dtype}"
        )
    if len(shape) > 1:
        warn_at_users_line(
            "not-gpu-code",
            "out= with a host array of several dimensions works here; numba.cuda refuses it (AssertionError): pass a "
            "device array",
        )
    return out
