"""Which arrays can be copied: contiguous ones as a whole, to arrays of the same dtype, shape and strides
(as with numba.cuda; pure arithmetic, for host and device arrays).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim.type_system.array_layout import is_contiguous, layout_of

if TYPE_CHECKING:
    from typing import Any


def _squeezed(shape, values):
    """`values` of the axes whose extent is not 1."""
    return tuple(value for extent, value in zip(shape, values) if extent != 1)


def check_array_compatibility(ary1: Any, ary2: Any) -> None:
    """Refuses copies between arrays of other dtypes, shapes or strides; axes of extent 1 do not count."""
    if ary1.dtype != ary2.dtype:
        raise TypeError(f"incompatible dtype: {ary1.dtype} vs. {ary2.dtype}")
    if _squeezed(ary1.shape, ary1.shape) != _squeezed(ary2.shape, ary2.shape):
        raise ValueError(f"incompatible shape: {tuple(ary1.shape)} vs. {tuple(ary2.shape)}")
    if ary1.size and _squeezed(ary1.shape, ary1.strides) != _squeezed(ary2.shape, ary2.strides):
        raise ValueError(
            f"incompatible strides: {tuple(ary1.strides)} vs. {tuple(ary2.strides)}; both arrays must have the same "
            "layout"
        )


def array_core(ary: Any) -> Any:
    """The array without the axes along which it repeats itself."""
    if not ary.strides or not ary.size:
        return ary
    index = tuple(0 if stride == 0 else slice(None) for stride in ary.strides)
    return ary[index + (...,)]  # with the ellipsis an array, also where every axis repeats


def is_contiguous_core(ary: Any) -> Any:
    """Whether the array is C-contiguous but for axes along which it repeats itself."""
    core = [(extent, stride) for extent, stride in zip(ary.shape, ary.strides) if stride != 0]
    return is_contiguous(tuple(e for e, _ in core), tuple(s for _, s in core), ary.dtype.itemsize, "C")


def check_contiguous(array: Any) -> None:
    """Only contiguous arrays are copied to the device as a whole (as with numba.cuda); axes along which an array
    repeats itself (stride 0) do not count."""
    core = [(extent, stride) for extent, stride in zip(array.shape, array.strides) if stride != 0]
    shape, strides = tuple(extent for extent, _ in core), tuple(stride for _, stride in core)
    if array.size and layout_of(shape, strides, array.dtype.itemsize) == "A":
        raise not_contiguous(array)


#: What numba.cuda says; scripts look for it.
errmsg_contiguous_buffer = (
    "Array contains non-contiguous buffer and cannot be transferred as a single memory region. Please ensure "
    "contiguous buffer with numpy .ascontiguousarray()"
)


def not_contiguous(array: Any) -> Any:
    return ValueError(
        f"{errmsg_contiguous_buffer}: the array has shape {tuple(array.shape)} and strides {tuple(array.strides)}; "
        "pass np.ascontiguousarray(a), and copy the result back if the kernel writes to it"
    )
