"""`kernel[griddim, blockdim, stream, sharedmem]`: what may stand in the brackets, and the extents it means."""

import operator

from cudasim._cuda_errors import CudaAPIError

_AXES = "xyz"


def normalise_dimensions(value, name):
    """An int or a sequence of one to three ints → three ints, missing ones 1 (numba.cuda's rules).

    :raises TypeError: for anything but integers; floats too, even whole ones
    :raises ValueError: for more than three
    """
    items = value if isinstance(value, (tuple, list)) else (value,)
    if not 1 <= len(items) <= 3:
        raise ValueError(f"{name} is a sequence of 1, 2 or 3 integers, got {len(items)}: {list(items)!r}")
    extents = []
    for item in items:
        try:
            extents.append(operator.index(item))
        except TypeError:
            raise TypeError(
                f"{name} must consist of integers, got {item!r} ({type(item).__name__}){_float_advice(item)}"
            ) from None
    return (*extents, *(1,) * (3 - len(extents)))


def _float_advice(item):
    return "; use // or int() where it is worked out" if isinstance(item, float) else ""


def check_extents(extents, name):
    """Extents that CUDA's launch interface cannot even express (limits of the device are the engine's to check).

    :raises CudaAPIError: code 1
    """
    for axis, extent in zip(_AXES, extents):
        if not 0 < extent < 1 << 31:
            limit = "at least 1" if extent <= 0 else "at most 2147483647"
            raise CudaAPIError(
                1,
                "Call to cuLaunchKernel results in CUDA_ERROR_INVALID_VALUE: "
                f"{name}.{axis} is {extent}; it must be {limit}",
            )


def parse_brackets(items):
    """What stands in the brackets → (grid, block, stream, bytes of dynamic shared memory)."""
    if not isinstance(items, tuple) or len(items) < 2:
        raise ValueError("a launch needs at least two values: kernel[griddim, blockdim](arguments)")
    if len(items) > 4:
        raise ValueError(
            f"a launch takes kernel[griddim, blockdim, stream, sharedmem], got {len(items)} values"
        )
    griddim, blockdim, stream, shared = (*items, *(0, 0)[len(items) - 2 :])
    try:
        shared_bytes = operator.index(shared)
    except TypeError:
        raise TypeError(f"sharedmem is a number of bytes, got {shared!r}") from None
    if shared_bytes < 0:
        raise ValueError(f"sharedmem is a number of bytes, got {shared_bytes}")
    return (
        normalise_dimensions(griddim, "griddim"),
        normalise_dimensions(blockdim, "blockdim"),
        stream,
        shared_bytes,
    )
