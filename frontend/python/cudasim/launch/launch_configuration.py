"""`kernel[griddim, blockdim, stream, sharedmem]`: what may stand in the brackets, and the extents it means."""

from __future__ import annotations

import numbers
import operator
from typing import TYPE_CHECKING

from cudasim import _native
from cudasim.streams.stream import checked_stream

if TYPE_CHECKING:
    from typing import Any

    from cudasim.device.device import Device


def not_configured(name: str) -> Any:
    """What a kernel without a launch configuration says; `name` is the kernel's."""
    return ValueError(
        f"Kernel launch configuration was not specified: {name}() is a kernel, launch it as "
        f"{name}[blockspergrid, threadsperblock](arguments)"
    )


def normalise_dimensions(value: Any, name: Any) -> tuple[Any, ...]:
    """An int or a sequence of one to three ints → three ints, missing ones 1 (numba.cuda's rules).

    :raises TypeError: for anything but integers; floats too, even whole ones
    :raises ValueError: for more than three
    """
    items = list(value) if isinstance(value, (tuple, list)) else [value]
    if len(items) > 3:
        raise ValueError(f"{name} must be a sequence of 1, 2 or 3 integers, got {items!r}")
    for item in items:
        if not isinstance(item, numbers.Integral):
            raise TypeError(f"{name} must be a sequence of integers, got {items!r}{_advice(items)}")
    return (*map(int, items), *(1,) * (3 - len(items)))


def _advice(items):
    return (
        "; use // or int() where it is worked out" if any(isinstance(item, float) for item in items) else ""
    )


def checked_count(value: int, name: str, meaning: str) -> None:
    """:raises TypeError: for anything but an integer; floats too, even whole ones"""
    if not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} is the number of {meaning}, an integer; got {value!r}{_advice([value])}")


def check_extents(extents: tuple[int, ...], name: str) -> None:
    """Extents that CUDA's launch interface cannot even express (limits of the device are the engine's to check).

    :raises CudaAPIError: code 1
    """
    _native.require_extents(extents, name)


def check_launch_bounds(block: Any, bounds: Any, name: Any) -> None:
    """More threads per block than the kernel's launch_bounds promise (CUDA C++ Programming Guide, "Launch Bounds").

    :raises CudaAPIError: code 1
    """
    threads = min(block[0] * block[1] * block[2], (1 << 64) - 1)
    limit = bounds[0] if isinstance(bounds, tuple) else bounds
    _native.require_launch_bounds(threads, limit, name, repr(bounds))


def fits(device: Any, grid: tuple[int, ...], block: tuple[int, ...], shared_bytes: int) -> bool:
    """Whether the device's limits allow the configuration; what they forbid fails at the launch, deferred or not.

    :param device: a Device
    """
    return shared_bytes < 1 << 63 and device.native.fits(
        _native.LaunchConfiguration(grid, block, shared_bytes)
    )


def check_stream_device(stream: Any, device: Device) -> None:
    """A stream of another device than the current one (CUDA C++ Programming Guide, "Stream and Event Behavior").

    :raises CudaAPIError: code 400
    """
    if stream is not None and stream.device is not None:
        owner = stream.device.id
        _native.require_stream_of(device.id, owner, repr(stream), f" (with cuda.gpus[{owner}]:)")


def parse_brackets(items: Any, kernel_name: Any) -> tuple[Any, ...]:
    """What stands in the brackets → (grid, block, stream, bytes of dynamic shared memory)."""
    if not isinstance(items, tuple) or not 2 <= len(items) <= 4:
        raise ValueError(
            f"must specify at least the griddim and blockdim: {kernel_name}[griddim, blockdim](arguments), or "
            f"{kernel_name}[griddim, blockdim, stream, sharedmem](arguments)"
        )
    griddim, blockdim, stream, shared = (*items, 0, 0)[:4]
    if griddim is None or blockdim is None:
        raise not_configured(kernel_name)
    try:
        shared_bytes = operator.index(shared)
    except TypeError:
        raise TypeError(f"sharedmem is a number of bytes, got {shared!r}") from None
    if shared_bytes < 0:
        raise ValueError(f"sharedmem is a number of bytes, got {shared_bytes}")
    return (
        normalise_dimensions(griddim, "griddim"),
        normalise_dimensions(blockdim, "blockdim"),
        checked_stream(stream) or 0,
        shared_bytes,
    )
