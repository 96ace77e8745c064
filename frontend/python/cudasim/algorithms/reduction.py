"""cuda.Reduce (also cuda.reduce): a binary function applied to all elements of an array, by kernels on the device.

Elements are combined in the order in which numba-cuda's kernels combine them, so that sums of floats have the same
bits and functions that only associate give the same value: columns of 128 elements per block go into one value each,
the 32 of a warp are halved until one is left, then those of 4 warps and of up to 65 blocks are combined. What differs
is who does it: a thread here has 16 neighbouring columns, so that a host reads memory line by line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cudasim.launch.dispatcher import CUDADispatcher
from cudasim.memory.array_functions import device_array
from cudasim.memory.array_interface import is_cuda_array
from cudasim.memory.borrowed_memory import BorrowedMemory

if TYPE_CHECKING:
    from typing import Any

    from cudasim.memory.device_array import DeviceNDArray

#: Columns per block, blocks at most, and columns per thread.
_COLUMNS, _MOST_BLOCKS, _PER_THREAD = 128, 64, 16


def _make_kernels(functor, dtype):
    """(kernel for whole multiples of 128 elements, kernel for fewer than 128)."""
    from cudasim.launch.cuda_module import cuda_module  # most programs reduce nothing

    cuda = cuda_module()
    combine = functor if isinstance(functor, CUDADispatcher) else cuda.jit(device=True)(functor)
    columns, per_thread, warp = _COLUMNS, _PER_THREAD, 32

    @cuda.jit(device=True)
    def halve(values, first):
        width = 16
        while width > 0:
            for lane in range(first, first + width):
                values[lane] = combine(values[lane], values[lane + width])
            width //= 2

    @cuda.jit
    def reduce_columns(arr, partials, init, use_init):
        values = cuda.shared.array(columns, dtype)
        column = cuda.threadIdx.x * per_thread
        first = cuda.blockIdx.x * columns + column
        step = cuda.gridDim.x * columns
        a, b, c, d = arr[first], arr[first + 1], arr[first + 2], arr[first + 3]
        e, f, g, h = arr[first + 4], arr[first + 5], arr[first + 6], arr[first + 7]
        i, j, k, l = arr[first + 8], arr[first + 9], arr[first + 10], arr[first + 11]  # noqa: E741
        m, n, o, p = arr[first + 12], arr[first + 13], arr[first + 14], arr[first + 15]
        for row in range(first + step, arr.size, step):
            a = combine(a, arr[row])
            b = combine(b, arr[row + 1])
            c = combine(c, arr[row + 2])
            d = combine(d, arr[row + 3])
            e = combine(e, arr[row + 4])
            f = combine(f, arr[row + 5])
            g = combine(g, arr[row + 6])
            h = combine(h, arr[row + 7])
            i = combine(i, arr[row + 8])
            j = combine(j, arr[row + 9])
            k = combine(k, arr[row + 10])
            l = combine(l, arr[row + 11])  # noqa: E741
            m = combine(m, arr[row + 12])
            n = combine(n, arr[row + 13])
            o = combine(o, arr[row + 14])
            p = combine(p, arr[row + 15])
        values[column], values[column + 1], values[column + 2], values[column + 3] = a, b, c, d
        values[column + 4], values[column + 5], values[column + 6], values[column + 7] = e, f, g, h
        values[column + 8], values[column + 9], values[column + 10], values[column + 11] = i, j, k, l
        values[column + 12], values[column + 13], values[column + 14], values[column + 15] = m, n, o, p
        cuda.syncthreads()
        if column == 0:
            for lane in range(0, columns, warp):
                halve(values, lane)
            values[0] = combine(values[0], values[2 * warp])
            values[warp] = combine(values[warp], values[3 * warp])
            block = cuda.blockIdx.x
            partials[block] = combine(values[0], values[warp])
            if use_init and block == 0:
                partials[0] = combine(partials[0], init)

    @cuda.jit
    def reduce_rest(arr, partials, init, use_init):
        values = cuda.local.array(columns, dtype)
        count = arr.size
        for element in range(count):
            values[element] = arr[element]
        for first in range(0, count, warp):
            if first + warp < count:
                halve(values, first)
            else:
                for element in range(first + 1, count):
                    values[first] = combine(values[first], values[element])
        result = values[0]
        for first in range(warp, count, warp):
            result = combine(result, values[first])
        partials[0] = result
        if use_init:
            partials[0] = combine(partials[0], init)

    return reduce_columns, reduce_rest


class Reduce:
    """A reduction by a binary function; the kernels are compiled once for each type of element.

    :param functor: a function of two elements that gives one, or a device function
    """

    def __init__(self, functor: Any) -> None:
        self._functor = functor
        self._kernels: dict[Any, Any] = {}

    def __call__(
        self,
        arr: Any,
        size: int | None = None,
        res: DeviceNDArray | None = None,
        init: Any = 0,
        stream: Any = 0,
    ) -> Any:
        """The elements and `init` combined into one value.

        :param arr: one-dimensional, on the host or on the device
        :param size: how many of its elements count; all of them when None
        :param res: a device array that gets the value as its first element; then None is returned
        :param stream: in which it is done
        """
        if arr.ndim != 1:
            raise TypeError("only support 1D array")
        if size is not None:
            arr = arr[:size]
        init = arr.dtype.type(init)
        if arr.size < 1:
            return init
        if is_cuda_array(arr):
            return self._reduced(arr, res, init, stream)
        arr = np.ascontiguousarray(arr)
        with BorrowedMemory(arr.nbytes) as memory:
            return self._reduced(memory.on_device(arr, stream), res, init, stream)

    def _reduced(self, arr, res, init, stream):
        reduce_columns, reduce_rest = self._kernels_for(np.dtype(arr.dtype))
        whole = arr.size // _COLUMNS * _COLUMNS
        blocks = min(whole // _COLUMNS, _MOST_BLOCKS)
        partials = device_array(blocks + (whole < arr.size), dtype=arr.dtype, stream=stream)
        if blocks:
            threads = _COLUMNS // _PER_THREAD
            reduce_columns[blocks, threads, stream](arr[:whole], partials[:blocks], init, True)
        if whole < arr.size:
            reduce_rest[1, 1, stream](arr[whole:], partials[blocks:], init, not blocks)
        if partials.size > 1:
            reduce_rest[1, 1, stream](partials, partials, init, False)
        if res is None:
            return partials[0]
        res[:1].copy_to_device(partials[:1], stream=stream)

    def _kernels_for(self, dtype):
        if dtype not in self._kernels:
            self._kernels[dtype] = _make_kernels(self._functor, dtype)
        return self._kernels[dtype]
