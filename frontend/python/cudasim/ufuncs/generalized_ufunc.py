"""What @guvectorize makes: a generalised ufunc whose calls run as kernels, one thread per element of the loop
dimensions.

As with numba.cuda (deviceufunc): inputs have the dtypes of a signature, or are host arrays that it casts; a device array
among the arguments means results on the device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cudasim import _native
from cudasim.memory.array_functions import device_array, to_device
from cudasim.memory.array_interface import as_device_array, is_cuda_array
from cudasim.memory.device_array import DeviceNDArray
from cudasim.ufuncs.elementwise_ufunc import threads_per_block

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cudasim.ufuncs.ufunc_engine import GUFuncEngine
    from cudasim.ufuncs.vectorizers import Recipe


class CUDAGeneralizedUFunc(_native.FramelessCall):
    """A generalised ufunc. kernelmap: dtypes of the inputs → (dtypes of the outputs, kernel).

    max_blocksize: threads that a block of its launches has at most.
    """

    def __init__(
        self,
        kernelmap: dict[tuple[np.dtype, ...], tuple[Any, ...]],
        engine: GUFuncEngine,
        py_func: Callable[..., Any],
        recipe: Recipe,
    ) -> None:
        super().__init__(self._run)
        self.kernelmap, self.engine, self._recipe = kernelmap, engine, recipe
        self.max_blocksize = 1 << 30
        self.__name__, self.__qualname__, self.__module__ = (
            py_func.__name__,
            py_func.__qualname__,
            py_func.__module__,
        )
        self.__doc__ = py_func.__doc__

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self._recipe.reduced(self)

    def __repr__(self) -> str:
        return f"<generalised ufunc {self.__name__!r} of the CUDA target>"

    def _run(self, *args, **kws):
        """The function of every element of the loop dimensions.

        :param args: inputs, and outputs behind them
        :param out: the output, where it is not among `args`; a sequence for several
        :param stream: of the launch
        """
        stream = kws.get("stream", 0)
        inputs, outputs = self._arguments(args, kws.get("out"))
        keep_on_device = any(isinstance(array, DeviceNDArray) for array in (*inputs, *outputs))
        schedule = self.engine.schedule([array.shape for array in inputs])
        wanted = self._signature_for(tuple(array.dtype for array in inputs))
        output_types, kernel = self.kernelmap[wanted]
        for shape, output in zip(schedule.output_shapes, outputs):
            if output is not None and output.shape != shape:
                raise ValueError(f"output shape mismatch: {output.shape}, the result has {shape}")
        if not schedule.loopn:
            raise AssertionError(
                "zero looping dimension: a generalised ufunc of the CUDA target has no empty loops"
            )
        inputs = [_cast(array, dtype) for array, dtype in zip(inputs, wanted)]
        results = [
            device_array(shape, dtype, stream=stream) if output is None or not keep_on_device else output
            for shape, dtype, output in zip(schedule.output_shapes, output_types, outputs)
        ]
        parameters = [
            _stretched(array, schedule.loopn, core, stream) for array, core in zip(inputs, schedule.ishapes)
        ]
        parameters += [array.reshape(schedule.loopn, *core) for array, core in zip(results, schedule.oshapes)]
        kernel.forall(schedule.loopn, tpb=threads_per_block(self.max_blocksize), stream=stream)(*parameters)
        if not keep_on_device:
            results = [array.copy_to_host(output, stream=stream) for array, output in zip(results, outputs)]
        return results[0] if len(results) == 1 else tuple(results)

    def _arguments(self, args, out):
        """(inputs, outputs) as arrays; outputs are None where they are not given."""
        nin, nout = self.engine.nin, self.engine.nout
        if out is None and len(args) not in (nin, nin + nout):
            raise TypeError(
                f"This gufunc accepts {_positional(nin)} (when providing input only) or {_positional(nin + nout)} (when "
                f"providing input and output). Got {_positional(len(args))}."
            )
        if out is not None and len(args) > nin:
            raise ValueError("cannot specify argument 'out' as both positional and keyword")
        if out is not None and len(args) != nin:
            raise TypeError(
                f"This gufunc accepts {_positional(nin)} besides out=. Got {_positional(len(args))}."
            )
        given = (
            out
            if isinstance(out, (tuple, list))
            else [out] * nout
            if out is not None
            else args[nin:] or [None] * nout
        )
        if len(given) != nout:
            raise ValueError(f"out= has {len(given)} arrays, the layout has {nout} outputs")
        return list(map(_array, args[:nin])), [value if value is None else _array(value) for value in given]

    def _signature_for(self, given):
        """The dtypes of the inputs' signature: the exact one, else the first whose dtypes all cast safely to those given
        (as numba.cuda decides, which is not NumPy's way)."""
        if given in self.kernelmap:
            return given
        for wanted in self.kernelmap:
            if all(np.can_cast(formal, actual) for formal, actual in zip(wanted, given)):
                return wanted
        known = "; ".join(f"({', '.join(map(str, wanted))})" for wanted in self.kernelmap)
        raise TypeError(
            f"no matching signature: {self.__name__}() got ({', '.join(map(str, given))}) and has {known or 'none'}; "
            "convert the arrays with .astype()"
        )


def _positional(count):
    return f"{count} positional argument{'' if count == 1 else 's'}"


def _array(value):
    return as_device_array(value) if is_cuda_array(value) else np.asarray(value)


def _cast(array, dtype):
    if array.dtype == dtype:
        return array
    if isinstance(array, DeviceNDArray):
        raise TypeError(
            f"compatible signature is possible by casting but {type(array).__name__} does not support .astype(): "
            f"the array is {array.dtype}, the signature asks for {dtype}"
        )
    return array.astype(dtype)


def _stretched(array, count, core, stream):
    """The input on the device with one loop dimension of `count` elements; stride 0 where it is the same for all."""
    if isinstance(array, DeviceNDArray):
        loops = array.shape[: array.ndim - len(core)]
        if len(loops) != 1 and loops and array.layout != "C":
            array = np.ascontiguousarray(array.copy_to_host(stream=stream))
    if not isinstance(array, DeviceNDArray):
        array = to_device(
            array if array.flags.forc and array.ndim <= len(core) + 1 else np.ascontiguousarray(array), stream
        )
    shape = (count, *core)
    if array.shape == shape:
        return array
    loops = array.shape[: array.ndim - len(core)]
    if loops in ((), (1,)) and count != 1:
        strides = (0, *array.strides[len(loops) :])
        return DeviceNDArray(shape, strides, array.dtype, gpu_data=array.gpu_data)
    return array.reshape(*shape)
