"""The simulated driver's calls for contexts, modules and streams, by their names in the CUDA Driver API, as programs call
them beside numba.cuda: `numba.cuda.cudadrv.driver.driver.cuCtxGetCurrent()`. (Those for memory: memory_calls.py.)

Handles are the numbers that numba.cuda's objects have as `handle`. Contexts are the devices' primary ones: the simulated
driver has no others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim import _native
from cudasim._cuda_errors import driver_error
from cudasim.device.current import check_fork
from cudasim.device.device import checked_ordinal, devices
from cudasim.device.driver_binding import CUdeviceptr
from cudasim.driver import device_selection
from cudasim.driver.module import module_with_handle
from cudasim.driver.profiler import profile_start, profile_stop
from cudasim.memory.memory_calls import returns_or_stores
from cudasim.streams.stream import Stream, StreamHandle, stream

if TYPE_CHECKING:
    from typing import Any

    from cudasim.driver.function import _FunctionHandle


def _context(handle, call):
    check_fork()
    return _native.Context.with_handle(int(getattr(handle, "value", handle) or 0), call)


def _device(number, call):
    return devices()[checked_ordinal(getattr(number, "id", number), call)]


def _module(module, call):
    return module if hasattr(module, "get_global_symbol") else module_with_handle(int(module), call)


def _name(name):
    return name.decode() if isinstance(name, bytes) else name


class ObjectCalls:
    """The calls."""

    if TYPE_CHECKING:  # Driver has them (driver_object.py), which derives from this class

        def get_version(self) -> tuple[int, ...]: ...
        def pop_active_context(self) -> int | None: ...

    cuProfilerStart = staticmethod(profile_start)  # noqa: N815 - the driver's names
    cuProfilerStop = staticmethod(profile_stop)  # noqa: N815

    def cuInit(self, flags: int = 0) -> None:  # noqa: N802
        devices()

    @returns_or_stores
    def cuDriverGetVersion(self) -> int:  # noqa: N802
        major, minor = self.get_version()
        return 1000 * major + 10 * minor

    @returns_or_stores
    def cuDeviceGetCount(self) -> int:  # noqa: N802
        return len(devices())

    @returns_or_stores
    def cuDeviceGet(self, ordinal: int) -> Any:  # noqa: N802
        return _device(ordinal, "cuDeviceGet").id

    @returns_or_stores
    def cuDeviceGetAttribute(self, attribute: int, device: int) -> int:  # noqa: N802
        """:param attribute: its number (enum CUdevice_attribute)"""
        return _device(device, "cuDeviceGetAttribute").with_engine().attribute(int(attribute))

    @returns_or_stores
    def cuDeviceTotalMem(self, device: int) -> int:  # noqa: N802
        return _device(device, "cuDeviceTotalMem").native.memory_info()[1]

    # -- contexts -----------------------------------------------------------------------------------------

    @returns_or_stores
    def cuDevicePrimaryCtxRetain(self, device: int) -> StreamHandle:  # noqa: N802
        return StreamHandle(_device(device, "cuDevicePrimaryCtxRetain").driver_context.retain())

    def cuDevicePrimaryCtxRelease(self, device: Any) -> None:  # noqa: N802
        """It ends when nobody retains it any more; numba.cuda does from its first use on."""
        _device(device, "cuDevicePrimaryCtxRelease").release_context()

    def cuDevicePrimaryCtxReset(self, device: Any) -> None:  # noqa: N802
        _device(device, "cuDevicePrimaryCtxReset").reset()

    @returns_or_stores
    def cuCtxGetCurrent(self) -> StreamHandle:  # noqa: N802
        device = device_selection.gpus.current
        return StreamHandle(0 if device is None else device.driver_context.activate())

    def cuCtxSetCurrent(self, context: StreamHandle) -> None:  # noqa: N802
        check_fork()
        none = not int(getattr(context, "value", context) or 0)
        _native.set_current_context(None if none else _context(context, "cuCtxSetCurrent"))

    def cuCtxPushCurrent(self, context: Any) -> None:  # noqa: N802
        _native.push_context(_context(context, "cuCtxPushCurrent"))

    @returns_or_stores
    def cuCtxPopCurrent(self) -> StreamHandle:  # noqa: N802
        check_fork()
        return StreamHandle(_native.pop_context().activate())

    @returns_or_stores
    def cuCtxGetDevice(self) -> int:  # noqa: N802
        check_fork()
        return _native.require_current_context("cuCtxGetDevice").device

    def cuCtxSynchronize(self) -> None:  # noqa: N802
        device_selection.current_context().synchronize()

    # -- modules ------------------------------------------------------------------------------------------

    @returns_or_stores
    def cuModuleLoadData(self, image: bytes) -> StreamHandle:  # noqa: N802
        return StreamHandle(device_selection.current_context().create_module_image(image).handle)

    def cuModuleUnload(self, module: Any) -> None:  # noqa: N802
        _module(module, "cuModuleUnload").unload()

    @returns_or_stores
    def cuModuleGetFunction(self, module: StreamHandle, name: bytes) -> _FunctionHandle:  # noqa: N802
        return _module(module, "cuModuleGetFunction").get_function(_name(name)).handle

    @returns_or_stores
    def cuModuleGetGlobal(self, module: StreamHandle, name: bytes) -> tuple[CUdeviceptr, int]:  # noqa: N802
        memory, size = _module(module, "cuModuleGetGlobal").get_global_symbol(_name(name))
        return CUdeviceptr(memory), size

    # -- streams ------------------------------------------------------------------------------------------

    @returns_or_stores
    def cuStreamCreate(self, flags: int = 0) -> StreamHandle:  # noqa: N802
        """Makes a stream, for cuda.external_stream()."""
        return stream().handle

    def cuStreamSynchronize(self, handle: StreamHandle) -> None:  # noqa: N802
        Stream(int(handle), external=True).synchronize()

    def cuStreamQuery(self, handle: StreamHandle) -> None:  # noqa: N802
        """:raises CudaAPIError: 600 while something in the stream is not done"""
        if not _native.stream_is_complete(*Stream(int(handle), external=True).key):
            raise driver_error(
                "cuStreamQuery", "CUDA_ERROR_NOT_READY", f"stream {int(handle)} has work to do"
            )

    def cuStreamDestroy(self, handle: StreamHandle) -> None:  # noqa: N802
        """What waits in it is done first."""
        _native.stream_destroy(int(handle))
