"""One kernel compiled for one tuple of argument types, and what prepares and runs its launches.

START HERE for a launch as Python sees it: dispatcher.py finds the CompiledKernel for the arguments' types;
CompiledKernel.entry() works out once what does not change from launch to launch (a LaunchEntry); a launch then
packs its arguments and calls the engine.
"""

from __future__ import annotations

import math
import threading
import weakref
from functools import partial
from typing import TYPE_CHECKING

from cudasim import _native, cache, errors, options, types
from cudasim.compile import libdevice
from cudasim.compile.frozen_constants import warn_of_changes
from cudasim.device.current import context_of, current_device
from cudasim.launch import (
    core_files,
    cuda_cpp_libraries,  # noqa: F401 - importing it registers the host
    python_mode,
    recording,
)
from cudasim.launch.arguments import HostCopies, Packer
from cudasim.launch.function_state import function_from, state_of
from cudasim.launch.inspection import GpuCode, signature_of
from cudasim.launch.launch_configuration import (
    check_extents,
    check_launch_bounds,
)
from cudasim.reports import check_session, progress, reporting

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cudasim.device.device import Device
    from cudasim.launch.dispatcher import CUDADispatcher
    from cudasim.memory.device_array import DeviceNDArray
    from cudasim.type_system.scalar_types import Type
    from cudasim.type_system.signatures import Signature


def make_kernel(
    dispatcher: CUDADispatcher, argument_types: tuple[Type, ...], converts: bool = False
) -> Launchable:
    """The kernel for these types in the mode in force (option mode): compiled, or a PythonKernel."""
    if options.get("mode") == "native":
        return CompiledKernel(dispatcher.py_func, argument_types, dispatcher.targetoptions, converts)
    return python_mode.module().choose_kernel(dispatcher, argument_types, converts)


#: Called with each CompiledKernel when it has been compiled; `cudasim ir` listens here.
compiled_listeners: list[Any] = []


class LaunchEntry:
    """A kernel, a configuration and options, ready to launch."""

    __slots__ = (
        "kernel",
        "device",
        "packer",
        "pack",
        "launch",
        "plan",
        "generation",
        "padding",
        "takes_values",
        "deferred",
    )

    def __init__(self, kernel: Any, device: Any, plan: Any, parameter_bytes: Any) -> None:
        self.kernel, self.device = kernel, device
        self.packer = kernel.packer
        self.padding = parameter_bytes - kernel.packer.size
        self.pack = kernel.packer.pack if self.padding == 0 else self._padded_pack
        self.launch = plan.launch
        #: whether device arrays, floats and ints are packed as they are
        self.takes_values = not kernel.packer.converts
        self.generation = options.generation
        self.deferred = options.get("deferred")

        if kernel.constants:
            self.launch = self._launch_with_constants
        if kernel.constants or check_session.session is not None:
            self.plan = plan
        if check_session.session is not None:
            self.launch = partial(self._checked, self.launch)
            check_session.session.add_files(file for file, _ in kernel.image.sources)

    def _launch_with_constants(self, buffer):
        warn_of_changes(self.kernel.constants)
        return self.plan.launch(buffer)

    def _checked(self, launch, buffer):
        session = check_session.session
        if session is None:  # it ended with the program, which still launches: from an exit handler
            return launch(buffer)
        return session.run(self.plan, self.kernel.py_func.__name__, lambda: launch(buffer), buffer)

    def _padded_pack(self, *values):
        return self.kernel.packer.pack(*values) + bytes(self.padding)

    def run(self, args: Any) -> None:
        """One launch. Results go back to host arrays unless it raised."""
        self.prepared(args)[0]()

    def prepared(self, args: Any) -> Any:
        """What launches the kernel, for now or later, and the copies of host arrays that it uses."""
        copies = HostCopies(self.device)
        try:
            numbers = self.packer.flatten(args, copies)
        except errors.KernelMemoryError as error:
            check_session.refuse(self.kernel.name, error)
            raise
        buffer = self.pack(*numbers)

        def launch():
            copies.copy_in()
            try:
                report = self.launch(buffer)
            except errors.GpuDifference:  # the simulator's results are there all the same
                copies.write_back()
                raise
            if report is None:
                copies.write_back()
            else:
                self.deliver(report, args, copies.write_back)
            return args  # what the buffer points to lives until here

        return launch, copies

    def prepared_values(self, args: Any, values: Any) -> Any:
        """The same for arguments that are packed already. :param args: what the values point into"""
        buffer = self.pack(*values)

        def launch():
            report = self.launch(buffer)
            if report is not None:
                self.deliver(report, args)
            return args

        return launch

    def deliver(
        self, report: Any, args: tuple[DeviceNDArray, ...], write_back: Callable[..., Any] = lambda: None
    ) -> None:
        """Raises or warns what a launch's report says."""
        code = self.kernel.py_func.__code__
        arguments = dict(zip(code.co_varnames[: code.co_argcount], args))
        names = self.kernel.py_func.__globals__
        reporting.deliver(report, names, write_back, self.kernel.exceptions, arguments=arguments)


#: Names of the options that say how a launch runs.
_OF_A_LAUNCH = tuple(option.name for option in options.TABLE if option.of_a_launch)


def launch_options(target_options: dict[str, Any]) -> dict[str, Any]:
    """The options in force that say how a launch runs, as _native.LaunchOptions takes them.

    :param target_options: @cuda.jit's, of which debug=True raises divisions of floats by zero
    """
    in_force = {name: options.get(name) for name in _OF_A_LAUNCH}
    if target_options.get("debug", False):
        in_force["raise_float_division"] = True
    return in_force


def launch_progress(name: str, mode: str) -> Any:
    """What shows how far a launch is, a _native.Progress; `name` is the kernel's, for people."""
    return _native.Progress(progress.shown_as(name, mode), progress.AFTER_SECONDS)


def make_plan(
    loaded: Any,
    image: Any,
    kernel_name: str,
    name: str,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    shared_bytes: int,
    target_options: dict[str, Any],
    arguments: Any = (),
) -> Any:
    """A _native.LaunchPlan of a kernel of an image, with the options in force.

    :param loaded: the image on its device
    :param name: what reports call the kernel
    :param target_options: @cuda.jit's
    :param arguments: (name, name of the type) of each, for records
    """
    cache.apply()
    core_files.apply()
    recording.apply_gpu_option(options.get("gpu"))
    launch = _native.LaunchOptions(
        **launch_options(target_options), optimisation=2 if target_options.get("opt", True) else 0
    )
    configuration = _native.LaunchConfiguration(grid, block, shared_bytes)
    return _native.LaunchPlan(
        loaded, image, kernel_name, name, configuration, launch, launch_progress(name, "native"), arguments
    )


class Launchable:
    """What every kernel for given argument types has, compiled or not: limits of its launches."""

    py_func: Callable[..., Any]
    argument_types: tuple[Type, ...]
    target_options: dict[str, Any]

    @property
    def shared_mem_per_block(self) -> int:
        """Bytes of static shared memory."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """What reports and errors call it."""
        return getattr(self.py_func, "__name__", type(self.py_func).__name__)

    objectmode = False

    @property
    def signature(self) -> Signature:
        """Numba's signature: no result, these arguments."""
        return signature_of(types.none, self.argument_types)

    @property
    def max_threads_per_block(self) -> int:
        """The device's limit, or the lower one of launch_bounds."""
        bounds = self.target_options.get("launch_bounds")
        limit = current_device().MAX_THREADS_PER_BLOCK
        return min(limit, bounds[0] if isinstance(bounds, tuple) else bounds) if bounds else limit

    def max_cooperative_grid_blocks(self, blockdim: Any, dynsmemsize: int = 0) -> int:
        """The blocks that a cooperative launch of this kernel may have on the current device.

        :param blockdim: threads per block, a number or a tuple of them
        :param dynsmemsize: bytes of dynamic shared memory of a block
        """
        device = current_device()
        profile = device.profile
        threads = math.prod(blockdim) if isinstance(blockdim, tuple) else blockdim
        if not 0 < threads <= profile["max_threads_per_block"]:
            return 0
        # Dynamic shared memory begins at a multiple of 16 bytes.
        shared = (self.shared_mem_per_block + 15) // 16 * 16 + dynsmemsize
        return device.native.blocks_per_multiprocessor(threads, shared) * profile["multiprocessors"]

    def launch_options(self) -> Any:
        """The options in force that say how a launch runs, as _native.LaunchOptions takes them."""
        return launch_options(self.target_options)

    def check_configuration(self, grid: Any, block: Any) -> None:
        """Refuses extents that no launch may have, and blocks above launch_bounds."""
        check_extents(grid, "griddim")
        check_extents(block, "blockdim")
        bounds = self.target_options.get("launch_bounds")
        if bounds:
            check_launch_bounds(block, bounds, self.name)


def module_with_callbacks(kernel: CompiledKernel, device: Device) -> None:
    """Calls the setup callbacks of the code that the kernel is linked with; the teardown callbacks at the end of the
    context, or of the kernel."""
    setup, teardown = (
        [callback for link in kernel.links if (callback := getattr(link, name, None)) is not None]
        for name in ("setup_callback", "teardown_callback")
    )
    if setup or teardown:
        module = context_of(device).create_module_image(kernel.image, setup, teardown)
        weakref.finalize(kernel, module.unload).atexit = False


class CompiledKernel(GpuCode, Launchable):
    """A Python kernel compiled for given argument types."""

    mode = "native"
    kernel_name: str
    typed_ir: str

    def __init__(
        self,
        py_func: Callable[..., Any],
        argument_types: tuple[Type, ...],
        target_options: dict[str, Any],
        converts: bool = False,
        without_debuggers: bool = False,
        cached: Any = None,
    ) -> None:
        """
        :param without_debuggers: see compiler.compile_kernel
        :param converts: whether arguments of other, convertible types may be passed (explicit signatures)
        :param cached: what it was compiled to before (function_cache.py)
        """
        from cudasim.compile import compiler  # start-up: the compiler is loaded by the first kernel

        self.py_func = py_func
        self.argument_types, self.converts = argument_types, converts
        self.target_options = target_options
        self.compiled = cached or compiler.compile_kernel(
            py_func,
            argument_types,
            debug=target_options.get("debug", False),
            fastmath=target_options.get("fastmath", False),
            links=target_options.get("link", ()),
            without_debuggers=without_debuggers,
        )
        self.image = self.compiled.image
        self.kernel_name = self.compiled.kernel_name
        self.typed_ir = self.compiled.typed_ir
        self.links = self.compiled.links
        self.constants = self.compiled.constants
        self.exceptions = self.compiled.exceptions
        #: whether all its blocks are resident at once, to meet at grid barriers
        self.cooperative = self.compiled.cooperative
        code = py_func.__code__
        self.packer = Packer(argument_types, code.co_varnames[: code.co_argcount], converts)
        self._parameter_bytes = next(
            kernel["parameter_bytes"] for kernel in self.image.kernels if kernel["name"] == self.kernel_name
        )
        self._loaded: dict[Any, Any] = {}  # (device, libdevice) → the image that runs there, loaded
        self._block_sizes: dict[Any, Any] = {}  # (device, dynamic shared bytes) → threads per block
        self._lock = threading.Lock()
        for listener in tuple(compiled_listeners):
            listener(self)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _compiled_again, (
            state_of(self.py_func),
            self.argument_types,
            self.target_options,
            self.converts,
        )

    def _loaded_image(self, device):
        """The image as it runs on the device with the options in force, and the same loaded."""
        library = libdevice.of_simulation()
        key = device, library
        with self._lock:
            if key not in self._loaded:
                image = libdevice.linked(self.image, library, device.compute_capability)
                is_first = all(known is not device for known, _ in self._loaded)
                self._loaded[key] = image, device.native.load(image)
                if is_first:
                    module_with_callbacks(self, device)
            return self._loaded[key]

    def entry(self, device: Any, grid: Any, block: Any, shared_bytes: Any) -> LaunchEntry:
        """A LaunchEntry for a device, a configuration and the options in force."""
        self.check_configuration(grid, block)
        plan = self._plan(device, grid, block, min(shared_bytes, (1 << 63) - 1))
        return LaunchEntry(self, device, plan, self._parameter_bytes)

    def _plan(self, device, grid, block, shared_bytes):
        image, loaded = self._loaded_image(device)
        return make_plan(
            loaded,
            image,
            self.kernel_name,
            self.name,
            grid,
            block,
            shared_bytes,
            self.target_options,
            list(zip(self.py_func.__code__.co_varnames, map(types.name_of, self.argument_types))),
        )

    @property
    def shared_mem_per_block(self) -> int:
        """Bytes of static shared memory."""
        return self._plan(current_device(), (1, 1, 1), (1, 1, 1), 0).compile()

    def best_block_size(self, dynamic_shared_bytes: Any) -> Any:
        """Threads per block with which most threads are resident on the current device."""
        key = current_device(), dynamic_shared_bytes
        if key not in self._block_sizes:
            shared = self.shared_mem_per_block + dynamic_shared_bytes
            self._block_sizes[key] = key[0].native.best_block_size(
                self.max_threads_per_block, lambda threads: shared
            )
        return self._block_sizes[key]


def _compiled_again(state, *arguments):
    return CompiledKernel(function_from(state), *arguments)
