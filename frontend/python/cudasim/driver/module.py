"""Modules of the driver: PTX and linked code, loaded into a context, whose kernels and variables are found by name.

module = cuda.current_context().create_module_ptx(text)
function = module.get_function("add")
driver.launch_kernel(function.handle, 1, 1, 1, 32, 1, 1, 0, 0, [ctypes.c_void_p(address)])
memory, size = module.get_global_symbol("counter")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim import _native
from cudasim._cuda_errors import driver_error
from cudasim.compile.linked_code import module_image
from cudasim.device.device import devices
from cudasim.driver.function import Function
from cudasim.memory.memory_pointers import MemoryPointer

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cudasim.driver.context_modules import ContextModules


class LinkedCode:
    """What a linker's complete() gives: code that create_module_image() loads. `image` is a _native.KernelImage."""

    code_type = "cubin"

    def __init__(
        self, image: Any, setup_callbacks: tuple[Any, ...] = (), teardown_callbacks: tuple[Any, ...] = ()
    ) -> None:
        self.image, self.setup_callbacks, self.teardown_callbacks = image, setup_callbacks, teardown_callbacks

    @property
    def code(self) -> bytes:
        """The code as bytes, which create_module_image() takes as well."""
        return self.image.serialise()


def image_of(code: Any) -> Any:
    """The image of what create_module_image() takes: linked code, its bytes, PTX.

    :raises CudaAPIError: 200 for anything else, 218 for wrong PTX
    """
    if isinstance(code, (LinkedCode, _native.KernelImage)):
        return getattr(code, "image", code)
    text = getattr(code, "data", code)
    if isinstance(text, (bytes, bytearray)):
        try:
            return _native.KernelImage.deserialise(bytes(text))
        except (ValueError, RuntimeError):
            pass
        text = bytes(text).rstrip(b"\0")
        if b".version" not in text:
            raise driver_error(
                "cuModuleLoadDataEx",
                "CUDA_ERROR_INVALID_IMAGE",
                "this is neither PTX nor linked by cudasim; machine code (cubin, fatbin) cannot be simulated",
            )
        text = text.decode(errors="replace")
    if not isinstance(text, str):
        raise TypeError(
            f"a module is made of PTX text or of what a linker's complete() gave, not of {code!r}"
        )
    try:
        return module_image(text, getattr(code, "name", "<ptx>"))
    except _native.PtxError as error:
        reason, line = error.args
        raise driver_error("cuModuleLoadDataEx", "CUDA_ERROR_INVALID_PTX", f"line {line}: {reason}") from None


class Module:
    """An image loaded into a context."""

    def __init__(
        self,
        context: ContextModules,
        image: Any,
        setup_callbacks: tuple[Any, ...] = (),
        teardown_callbacks: Any = (),
    ) -> None:
        self.context = context
        self.image = image
        self.setup_callbacks, self.teardown_callbacks = (
            tuple(setup_callbacks or ()),
            tuple(teardown_callbacks or ()),
        )
        self.native = _native.Module.load(context.device.with_engine(), image)
        self.handle = self.native.handle
        for callback in self.setup_callbacks:
            callback(self)

    @property
    def loaded(self) -> Any:
        """The engine's part. :raises CudaAPIError: 400 after unload()"""
        return self.native.loaded

    def get_function(self, name: str) -> Function:
        """The kernel of this name. :raises CudaAPIError: 500 when there is none"""
        return Function(self, name, self.native.function(name))

    def get_global_symbol(self, name: str) -> tuple[MemoryPointer, int]:
        """The memory of a variable in global or constant memory, a MemoryPointer, and its size in bytes.

        :raises CudaAPIError: 500 when there is none
        """
        address, size = self.native.global_range(name)
        return MemoryPointer(self.context, address, size, owner=self), size

    def unload(self) -> None:
        """Forgets the code; calls the teardown callbacks."""
        if self.native.is_loaded:
            self.context.unload_module(self)

    def end(self) -> None:
        """Ends the module. Called by Context.unload_module()."""
        if self.native.is_loaded:
            for callback in self.teardown_callbacks:
                callback(self)
            self.native.unload()


def load_module_image(
    context: ContextModules,
    object_code: Any,
    setup_callbacks: Any = None,
    teardown_callbacks: list[Callable[..., Any]] | None = None,
) -> Module:
    """The code as a Module of the context, which keeps it. :param object_code: see image_of()"""
    setup = (
        setup_callbacks
        or getattr(object_code, "setup_callbacks", None)
        or _callback(object_code, "setup_callback")
    )
    teardown = (
        teardown_callbacks
        or getattr(object_code, "teardown_callbacks", None)
        or _callback(object_code, "teardown_callback")
    )
    module = Module(context, image_of(object_code), setup, teardown)
    context.modules[module.handle] = module
    return module


def module_with_handle(handle: int, call: str) -> Module:
    """The module that has a handle. :param call: the driver's call that asks

    :raises CudaAPIError: 400 where there is none
    """
    _native.Module.with_handle(handle, call)
    for device in devices():
        known = getattr(device.primary_context, "modules", {}).get(handle)
        if known is not None:
            return known
    raise driver_error(call, "CUDA_ERROR_INVALID_HANDLE", f"the module {handle} was not loaded by numba.cuda")


def _callback(code, name):
    callback = getattr(code, name, None)
    return () if callback is None else (callback,)
