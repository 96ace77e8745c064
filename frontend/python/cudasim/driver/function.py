"""Kernels of the driver's modules: what they take, launching them with raw parameters, their occupancy.

What a launch is given are the parameters' bytes, as cuLaunchKernel has them: ctypes and NumPy values of the sizes that the
kernel declares, or device memory for an address.
"""

from __future__ import annotations

import ctypes
import itertools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cudasim import _native
from cudasim._cuda_errors import driver_error
from cudasim.compile.gpu_code import architecture, ptx_of, resources_of
from cudasim.launch.kernel import make_plan
from cudasim.launch.launch_configuration import (
    check_extents,
    check_stream_device,
    fits,
)
from cudasim.memory.device_memory import is_device_memory
from cudasim.reports import check_session, reporting
from cudasim.streams import stream_work
from cudasim.streams.stream import Stream, checked_stream, key_of, stream_or_zero

if TYPE_CHECKING:
    from typing import Any

    from cudasim.device.device import Device
    from cudasim.driver.module import Module


class FunctionAttributes(NamedTuple):
    """What a kernel takes: registers of a thread, bytes of shared, local and constant memory, threads of a block."""

    regs: int
    shared: int
    local: int
    const: int
    maxthreads: int


class Function:
    """A kernel of a module."""

    griddim, blockdim, stream, sharedmem = (1, 1, 1), (1, 1, 1), 0, 0

    def __init__(self, module: Module, name: str, native: Any) -> None:
        """:param native: its _native.Function"""
        self.module, self.name, self._native = module, name, native
        self.handle = self.kernel = _FunctionHandle(native.handle)
        self.handle.__cudasim_function__ = self

    def __repr__(self) -> str:
        return f"<CUDA function {self.name}>"

    @property
    def device(self) -> Device:
        return self.module.context.device

    @property
    def attrs(self) -> FunctionAttributes:
        """FunctionAttributes."""
        sm = architecture(self.device.compute_capability)
        found = resources_of(ptx_of(self.module.image, self.name, sm, {}), sm)
        return FunctionAttributes(
            found.registers,
            self.shared_mem_per_block,
            found.local,
            found.constant,
            self.max_threads_per_block,
        )

    @property
    def shared_mem_per_block(self) -> int:
        """Bytes of static shared memory."""
        return self._plan((1, 1, 1), (1, 1, 1), 0).compile()

    @property
    def max_threads_per_block(self) -> int:
        return self._native.max_threads_per_block

    def cache_config(
        self, prefer_equal: bool = False, prefer_cache: bool = False, prefer_shared: bool = False
    ) -> None:
        """Says how much cache and shared memory the kernel likes, of which nothing is simulated."""

    def set_shared_memory_carveout(self, carveout: Any) -> None:
        """The same in percent."""

    def _plan(self, grid, block, shared_bytes):
        return make_plan(
            self.module.loaded, self.module.image, self.name, self.name, grid, block, shared_bytes, {}
        )

    def _packed(self, args):
        sizes = itertools.chain(self._native.parameter_sizes, itertools.repeat(8))
        return self._native.pack([_bytes_of(value, size) for value, size in zip(args, sizes)], args)

    def launch(
        self,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        shared_bytes: int,
        stream: Any,
        args: list[Any],
        cooperative: bool = False,
    ) -> Any:
        """Launches the kernel.

        :param args: ctypes or NumPy values of the parameters' sizes, or device memory
        :param cooperative: all blocks have to be on the device at once
        :raises CudaAPIError: 720 where they cannot be
        """
        check_extents(grid, "griddim")
        check_extents(block, "blockdim")
        check_stream_device(stream, self.device)
        if cooperative:
            self._native.require_cooperative(_native.LaunchConfiguration(grid, block, shared_bytes))
        plan, buffer = self._plan(grid, block, shared_bytes), self._packed(args)

        def work():
            checks = check_session.session
            if checks is None:
                report = plan.launch(buffer)
            else:
                report = checks.run(plan, self.name, lambda: plan.launch(buffer), buffer)
            if report is not None:
                reporting.deliver(report, {}, lambda: None)
            return args

        waits = not fits(self.device, grid, block, shared_bytes)
        stream_work.submit(key_of(stream, self.device), work, waits)

    def launch_as_core_does(self, stream: Any, config: Any, args: Any) -> None:
        """cuda.core.launch(): the configuration is a cuda.core.LaunchConfig, and Python's numbers are 64 bits wide."""
        wide = {int: ctypes.c_int64, float: ctypes.c_double, bool: ctypes.c_bool, complex: np.complex128}
        values = [wide[type(value)](value) if type(value) in wide else value for value in args]
        self.launch(
            tuple(config.grid),
            tuple(config.block),
            int(config.shmem_size or 0),
            stream_or_zero(stream),
            values,
        )


class _FunctionHandle(int):
    """What stands for a kernel in calls of the driver. It keeps the Function that it stands for."""

    __cudasim_function__: Function


def _bytes_of(value, size):
    """A parameter of a kernel as bytes."""
    if is_device_memory(value):
        return int(value.device_ctypes_pointer.value or 0).to_bytes(8, "little")
    if isinstance(
        value, (ctypes._SimpleCData, ctypes.Structure, ctypes.Union, ctypes.Array, ctypes._Pointer)
    ):
        return bytes(value)
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tobytes()
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"a kernel's parameter is a ctypes or NumPy value or device memory, got {value!r}")
    return (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def function_of(function: Any) -> Function:
    """The Function that a function, or its handle, is.

    :raises CudaAPIError: 400 for what is none
    """
    if isinstance(function, Function):
        return function
    known = getattr(function, "__cudasim_function__", None)
    if known is not None:
        return known
    if not isinstance(function, int):
        raise driver_error("cuLaunchKernel", "CUDA_ERROR_INVALID_HANDLE", f"{function!r} is not a kernel")
    from cudasim.driver.module import module_with_handle  # which needs this module

    native = _native.Function.with_handle(function, "cuLaunchKernel")
    return Function(module_with_handle(native.module.handle, "cuLaunchKernel"), native.name, native)


def launch_kernel(
    cufunc_handle: Any,
    gx: int,
    gy: int,
    gz: int,
    bx: int,
    by: int,
    bz: int,
    sharedmem: int,
    hstream: Any,
    args: Any,
    cooperative: bool = False,
) -> None:
    """Launches a kernel of a module, as the driver does.

    :param cufunc_handle: a Function's handle
    :param hstream: a stream, its handle, or 0
    :param args: ctypes values, one for each parameter, or device memory
    :param cooperative: as cuLaunchCooperativeKernel
    """
    stream = (
        Stream(int(hstream), external=True)
        if isinstance(hstream, int) and hstream
        else checked_stream(hstream)
    )
    function_of(cufunc_handle).launch(
        (gx, gy, gz), (bx, by, bz), int(sharedmem or 0), stream, list(args), cooperative
    )


def active_blocks_per_multiprocessor(device: Any, func: Any, blocksize: Any, memsize: Any) -> Any:
    """Blocks of so many threads, with so many bytes of dynamic shared memory, that a multiprocessor holds at once."""
    kernel = _kernel_of(func)
    return _native.active_blocks(
        device.native, kernel.max_threads_per_block, blocksize, kernel.shared_mem_per_block + memsize
    )


def max_potential_block_size(device: Any, func: Any, b2d_func: Any, memsize: Any, blocksizelimit: Any) -> Any:
    """(blocks, threads per block) with which most threads are resident on the device.

    :param b2d_func: threads per block → bytes of dynamic shared memory; None: always `memsize`
    :param blocksizelimit: most threads per block; 0: the device's limit
    """
    kernel = _kernel_of(func)
    static = kernel.shared_mem_per_block

    def shared(threads):
        return static + (memsize if b2d_func is None else int(b2d_func(threads)))

    most = kernel.max_threads_per_block
    return _native.max_potential_block_size(device.native, most, blocksizelimit or 0, shared)


def _kernel_of(func):
    """A module's function, or a kernel of a dispatcher."""
    return func if hasattr(func, "shared_mem_per_block") else function_of(func)
