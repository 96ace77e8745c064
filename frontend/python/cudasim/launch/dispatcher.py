"""What `@cuda.jit` makes of a function: a dispatcher, which compiles for the types it is called with.

kernel[grid, block](x, y)
  Dispatcher.__getitem__        → ConfiguredKernel, cached
  ConfiguredKernel.__call__     → (C, leaves no frame) → _run: types of the arguments → LaunchEntry, cached
  LaunchEntry.run               → packs, calls the engine, delivers its report (kernel.py)
"""

from __future__ import annotations

import collections
import contextlib
import operator
import sys
import threading
import weakref
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cudasim import _native, options, types
from cudasim.compile.debugger_calls import breakpoints_are_compiled
from cudasim.device.current import current_device
from cudasim.launch import current_launch, python_mode
from cudasim.launch.arguments import convertible
from cudasim.launch.device_function import DeviceFunction
from cudasim.launch.function_state import function_from, state_of
from cudasim.launch.inspection import InspectedFunction
from cudasim.launch.kernel import CompiledKernel, make_kernel
from cudasim.launch.launch_configuration import (
    check_stream_device,
    checked_count,
    fits,
    not_configured,
    parse_brackets,
)
from cudasim.launch.performance_warnings import warn_of_small_grid
from cudasim.launch.tracing import lines_are_watched
from cudasim.memory.device_array import DeviceNDArray
from cudasim.streams import early_access, stream_work
from cudasim.streams.stream import key_of
from cudasim.type_system.plain_types import float64, int64
from cudasim.type_system.typeof import typeof

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from cudasim.launch.kernel import Launchable

_INT64_MIN, _INT64_END = -(1 << 63), 1 << 63
#: Configurations and array types that one dispatcher remembers; a launch in a loop over sizes must not grow.
_CACHED_CONFIGURATIONS = 256


class CompileStatistics(NamedTuple):
    """The statistics of a dispatcher's cache: its folder (None without cache=True), and how often each
    signature was found there or not."""

    cache_path: str | None
    cache_hits: collections.Counter
    cache_misses: collections.Counter


class ConfiguredKernel(_native.FramelessCall):
    """A kernel with its launch configuration; calling it launches."""

    def __init__(self, dispatcher: Any, griddim: Any, blockdim: Any, stream: Any, sharedmem: Any) -> None:
        super().__init__(self._run_prepared if dispatcher.extensions else self._run)
        self.dispatcher = dispatcher
        self.griddim, self.blockdim, self.stream, self.sharedmem = griddim, blockdim, stream, sharedmem
        #: called with (kernel, this object) before each launch
        self.pre_launch_callbacks: list[Any] = []
        #: the arguments of a launch, while its kernel is compiled and its callbacks run
        self.args = None
        self._entries: dict[Any, Any] = {}

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        if self.pre_launch_callbacks:
            raise TypeError(
                "a launch configuration with pre_launch_callbacks cannot be pickled: functions of this process"
            )
        return operator.getitem, (
            self.dispatcher,
            (self.griddim, self.blockdim, self.stream, self.sharedmem),
        )

    def __repr__(self) -> str:
        return f"<{self.dispatcher!r}[{self.griddim}, {self.blockdim}, {self.stream}, {self.sharedmem}]>"

    def _run(self, *args, **keywords):
        if keywords:
            raise _by_name(self.dispatcher, keywords)
        # The hot path: device arrays, floats and ints are typed and flattened in one go.
        device = current_device()
        kinds, values, plain = [], [], True
        for value in args:
            kind = type(value)
            if kind is DeviceNDArray and value.device is device and value.kernel_type is not None:
                kinds.append(value.kernel_type)
                values += value.parameters
            elif kind is float:
                kinds.append(float64)
                values.append(value)
            elif kind is int and _INT64_MIN <= value < _INT64_END:
                kinds.append(int64)
                values.append(value)
            else:
                kinds.append(typeof(value))
                plain = False
        key = tuple(kinds)
        entry = self._entries.get((device.id, key))
        if entry is None or entry.generation != options.generation:
            given = len(args)
            args, key = self.dispatcher._with_defaults(args, key)
            plain = plain and len(args) == given
            check_stream_device(self.stream or None, device)
            entry = self._entries[device.id, key] = self._entry_for(args, key, device)
        if lines_are_watched():
            entry = self._traced_entry(entry, device, key)
        if self.pre_launch_callbacks:
            self._call_back(entry.kernel, args)
        if stream_work.busy() or entry.deferred:
            self._enqueue(entry, device, args, values if plain and entry.takes_values else None)
        elif plain and entry.takes_values:
            report = entry.launch(entry.pack(*values))
            if report is not None:
                entry.deliver(report, args)
        else:
            entry.run(args)

    @contextlib.contextmanager
    def _with_args(self, args):
        before, self.args = self.args, args
        try:
            yield
        finally:
            self.args = before

    def _entry_for(self, args, key, device):
        # The entry, too: what is imported for it is incomplete for a signal
        # handler that interrupts the import.
        with self._with_args(args), current_launch.compiling_for(self):
            kernel = self.dispatcher._kernel_for(key)
            return kernel.entry(device, self.griddim, self.blockdim, self.sharedmem)

    def _call_back(self, kernel, args):
        with self._with_args(args):
            for callback in self.pre_launch_callbacks:
                callback(kernel, self)

    def _enqueue(self, entry, device, args, values):
        """The launch waits for its turn in the stream; so does the program if results go to pageable memory."""
        if values is not None:
            work, waits = entry.prepared_values(args, values), False
        else:
            work, copies = entry.prepared(args)
            waits = copies.waits(self.stream)
        waits = waits or not fits(device, self.griddim, self.blockdim, self.sharedmem)
        stream_work.submit(
            key_of(self.stream or None, device),
            work,
            waits,
            lambda place: early_access.watches_of_launch(args, self.dispatcher.__name__, place),
        )

    def _run_prepared(self, *args, **keywords):
        """As numba.cuda documents argument extensions: each may change an argument, and asks for work afterwards."""
        from cudasim.launch.argument_extensions import prepared  # most kernels have no extensions

        changed, afterwards = prepared(self.dispatcher.extensions, args, self.stream)
        self._run(*changed, **keywords)
        for work in afterwards:
            work()

    def _traced_entry(self, entry, device, key):
        """Debuggers and coverage see Python code only: the kernel in Python mode, where they want to see it."""
        kernel = python_mode.module().kernel_for_tracer(self.dispatcher, entry.kernel, key)
        if kernel is entry.kernel:
            return entry
        return kernel.entry(device, self.griddim, self.blockdim, self.sharedmem)


def _by_name(dispatcher, keywords):
    return TypeError(
        f"a kernel takes positional arguments only; {dispatcher.__name__}() got {', '.join(keywords)} by name"
    )


class ForAll(_native.FramelessCall):
    """`kernel.forall(n)`: a one-dimensional launch of at least n threads."""

    def __init__(
        self, dispatcher: CUDADispatcher, ntasks: int, tpb: int, stream: Any, sharedmem: int
    ) -> None:
        super().__init__(self._run)
        checked_count(ntasks, "ntasks", "threads that forall() is to start")
        checked_count(tpb, "tpb", "threads per block")
        if ntasks < 0:
            raise ValueError(f"Can't create ForAll with negative task count: {ntasks}")
        self.dispatcher, self.ntasks, self.stream, self.sharedmem = dispatcher, ntasks, stream, sharedmem
        self.thread_per_block = tpb

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return ForAll, (self.dispatcher, self.ntasks, self.thread_per_block, self.stream, self.sharedmem)

    def _run(self, *args, **keywords):
        if keywords:
            raise _by_name(self.dispatcher, keywords)
        if self.ntasks == 0:
            return
        threads = self.thread_per_block
        if threads == 0:
            # Chooses the block with which most threads are resident, as for a GPU.
            _, types_of_arguments = self.dispatcher._with_defaults(args, tuple(map(typeof, args)))
            threads = self.dispatcher._kernel_for(types_of_arguments).best_block_size(self.sharedmem)
        blocks = (self.ntasks + threads - 1) // threads
        self.dispatcher[blocks, threads, self.stream, self.sharedmem](*args)


_dispatchers: weakref.WeakSet[CUDADispatcher] = weakref.WeakSet()


def dispatchers() -> list[CUDADispatcher]:
    """All kernels and device functions of the process."""
    return list(_dispatchers)


class CUDADispatcher(InspectedFunction):
    """A kernel or device function. `dispatcher.py_func` is the Python function."""

    __name__: str
    __qualname__: str

    def __init__(
        self,
        py_func: Callable[..., Any],
        target_options: dict[str, Any],
        signatures: Any = (),
        device: bool = False,
    ) -> None:
        self.py_func = py_func
        self.targetoptions = dict(target_options)
        self.device = device
        #: What a device function declares: ((argument types, result type or None), ...).
        self.device_signatures = tuple(signatures) if device else ()
        self._overloads: dict[
            Any, Any
        ] = {}  # types of arguments → CompiledKernel or PythonKernel; DeviceFunction
        self.specialized = False
        self.specializations: dict[Any, Any] = {}
        self._resolved: dict[Any, Any] = {}  # types of arguments → CompiledKernel
        self._configured: dict[Any, Any] = {}
        self._traced: dict[Any, Any] = {}  # types of arguments → kernel in Python mode, for trace functions
        self._can_compile = True
        self._lock = threading.RLock()
        self._cache: Any = None
        self._cache_hits: collections.Counter[Any] = collections.Counter()
        self._cache_misses: collections.Counter[Any] = collections.Counter()
        if self.targetoptions.get("cache"):
            self.enable_caching()
        for attribute in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(self, attribute, getattr(py_func, attribute, None))
        self.__wrapped__ = py_func
        _dispatchers.add(self)
        if not device:
            for argument_types, _ in signatures:
                self._check_count(len(argument_types))
                self._compile(argument_types, converts=True)
            self._can_compile = not signatures
        else:
            for argument_types, result_type in signatures:
                self.note_overload(tuple(argument_types), result_type)

    @property
    def links(self) -> tuple[str, ...]:
        """What the kernel or function is linked with: paths and LinkableCode."""
        return self.targetoptions.get("link", ())

    def __repr__(self) -> str:
        return f"CUDADispatcher({self.py_func!r})"

    def __call__(self, *args: Any, **kwargs: Any) -> float | np.floating | np.integer:
        return self.host_call(*args, **kwargs)  # on a simulated thread cudasim.python_mode answers instead

    def host_call(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuses: a kernel needs a configuration, a device function a kernel."""
        if self.device:
            raise ValueError(
                f"{self.__name__}() is a device function: it is called from kernels; from the host, "
                f"call {self.__name__}.py_func"
            )
        raise not_configured(self.__name__)

    def __reduce__(self) -> Any:
        # Pickled by name where the module has it (the usual case), as functions are.
        module = sys.modules.get(self.__module__)
        if getattr(module, self.__qualname__, None) is self:
            return self.__qualname__
        signatures = () if self._can_compile else [(declared, None) for declared in self._overloads]
        return _unpickled, (
            state_of(self.py_func),
            self.specialized,
            self.targetoptions,
            signatures,
            self.device,
        )

    @property
    def __code__(self) -> Any:
        return self.py_func.__code__  # as Numba's: `b kernel` in pdb goes by it

    # -- configuring --------------------------------------------------------------------------------------

    @_native.FramelessMethod
    def __getitem__(self, brackets: Any) -> Any:
        if type(brackets) is tuple and len(brackets) == 2 and type(brackets[0]) is type(brackets[1]) is int:
            configured = self._configured.get(brackets)
            if configured is not None:
                return configured
        return self._configure(brackets)

    @_native.FramelessMethod
    def configure(self, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: int = 0) -> Any:
        """The kernel with a launch configuration: `kernel[griddim, blockdim, stream, sharedmem]`."""
        return self._configure((griddim, blockdim, stream, sharedmem))

    def _configure(self, brackets):
        if self.device:
            raise RuntimeError(
                f"Cannot compile a device function as a kernel: {self.__name__} is one; call it from a kernel"
            )
        grid, block, stream, shared_bytes = parse_brackets(brackets, self.__name__)
        key = (grid, block, shared_bytes)
        if stream in (0, None):
            configured = self._configured.get(key)
            if configured is None:
                warn_of_small_grid(grid)
                configured = ConfiguredKernel(self, grid, block, 0, shared_bytes)
                if len(self._configured) >= _CACHED_CONFIGURATIONS:
                    self._configured.clear()
                self._configured[key] = configured
            if len(brackets) == 2 and type(brackets[0]) is type(brackets[1]) is int:
                self._configured[brackets] = configured
            return configured
        warn_of_small_grid(grid)
        return ConfiguredKernel(self, grid, block, stream, shared_bytes)

    @_native.FramelessMethod
    def forall(self, ntasks: Any, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> ForAll:
        """A launch configuration for a given number of tasks in one dimension."""
        return ForAll(self, ntasks, tpb, stream, sharedmem)

    # -- compiling ----------------------------------------------------------------------------------------

    def _with_defaults(self, args, key):
        """Arguments and their types, completed by the function's defaults; TypeError when their number is wrong."""
        code, defaults = self.py_func.__code__, self.py_func.__defaults__ or ()
        missing = code.co_argcount - len(args)
        if 0 < missing <= len(defaults):
            added = defaults[len(defaults) - missing :]
            return (*args, *added), (*key, *map(typeof, added))
        self._check_count(len(args))
        return args, key

    def _check_count(self, given):
        """TypeError when the kernel takes another number of arguments; defaults do not count, as in Numba."""
        code = self.py_func.__code__
        if given != code.co_argcount and not code.co_flags & 0x04:  # 0x04: the function takes *args
            raise TypeError(
                f"Signature mismatch: {given} argument types given, but function takes {code.co_argcount} "
                f"arguments (kernel {self.__name__})"
            )

    def _kernel_for(self, argument_types):
        """The compiled kernel for arguments of these types."""
        with self._lock:
            mode = options.get("mode")
            kernel = self._resolved.get((mode, argument_types))
            if kernel is None:
                kernel = self._overloads.get(argument_types) or (
                    self._compile(argument_types)
                    if self._can_compile
                    else self._best_overload(argument_types)
                )
                kernel = self._resolved[mode, argument_types] = self._in_mode(kernel, mode)
            return kernel

    def _compile(self, argument_types, converts=False):
        current_launch.note_compilation(self)
        kernel = self._cached_kernel(argument_types, converts)
        if kernel is None:
            kernel = make_kernel(self, argument_types, converts)
            self._cache_misses[kernel.signature] += 1
            if self._cache is not None and isinstance(kernel, CompiledKernel):
                self._cache.save(argument_types, self._options_of_compiler, kernel.compiled)
        self._overloads[argument_types] = kernel
        return kernel

    @property
    def _options_of_compiler(self):
        return (bool(self.targetoptions.get("fastmath", False)), breakpoints_are_compiled())

    def _cached_kernel(self, argument_types, converts):
        if self._cache is None or options.get("mode") == "python":
            return None
        cached = self._cache.load(argument_types, self._options_of_compiler)
        if cached is None:
            return None
        kernel = CompiledKernel(self.py_func, argument_types, self.targetoptions, converts, cached=cached)
        self._cache_hits[kernel.signature] += 1
        return kernel

    def _in_mode(self, kernel, mode):
        """The kernel, or what stands for it in another mode than the one in which it was compiled."""
        if mode == "auto" or kernel.mode == mode:
            return kernel
        return make_kernel(self, kernel.argument_types, kernel.converts)

    def _best_overload(self, argument_types):
        candidates: dict[Any, Any] = {}
        for declared, kernel in self._overloads.items():
            if len(declared) != len(argument_types):
                continue
            costs = [convertible(given, wanted) for given, wanted in zip(argument_types, declared)]
            finite = [cost for cost in costs if cost is not None]
            if len(finite) == len(costs):
                candidates.setdefault(sum(finite), []).append(kernel)
        if not candidates:
            known = "; ".join(f"({', '.join(map(str, declared))})" for declared in self._overloads)
            raise TypeError(
                f"No matching definition for argument type(s) {', '.join(map(str, argument_types))}: {self.__name__}() is "
                f"declared for {known}"
            )
        best = candidates[min(candidates)]
        if len(best) > 1:
            given = ", ".join(map(repr, types.public_types(argument_types)))
            fitting = "\n".join(repr(kernel.signature) for kernel in best)
            raise TypeError(f"Ambiguous overloading for {self.py_func} ({given}):\n{fitting}")
        return best[0]

    def compile(self, sig: str) -> Launchable | DeviceFunction:
        """Compiles for a signature now and returns the compiled kernel."""
        argument_types, result_type = types.parse_signature(sig)
        if self.device:
            return self.compile_device(argument_types, result_type)
        if result_type not in (None, types.none):
            raise TypeError("CUDA kernel must have void return type.")
        self._check_count(len(argument_types))
        with self._lock:
            if argument_types not in self._overloads and not self._can_compile:
                raise RuntimeError("Compilation disabled")
            return self._overloads.get(argument_types) or self._compile(argument_types)

    def specialize(self, *args: Any) -> CUDADispatcher:
        """A dispatcher with one overload, for arguments of the types of these (values or types)."""
        if self.specialized:
            raise RuntimeError("Dispatcher already specialized")
        kinds = tuple(map(_type_or_type_of, args))
        key = current_device().compute_capability, kinds
        if key not in self.specializations:
            made = CUDADispatcher(self.py_func, self.targetoptions, [(kinds, None)], self.device)
            made.specialized = True
            self.specializations[key] = made
        return self.specializations[key]

    def disable_compile(self, val: bool = True) -> None:
        """Forbids to compile further overloads."""
        self._can_compile = not val

    def recompile(self) -> None:
        """Compiles every overload anew, with what the names around the function mean now."""
        with self._lock:
            known = [(kinds, getattr(kernel, "converts", False)) for kinds, kernel in self._overloads.items()]
            for kept in (self._overloads, self._resolved, self._traced, self._configured):
                kept.clear()
            if self._cache is not None:
                self._cache.flush()
            for kinds, converts in known:
                if not self.device:
                    self._compile(kinds, converts)

    def enable_caching(self) -> None:
        """Keeps what is compiled for the next process. :raises RuntimeError: for functions without a source file"""
        from cudasim.launch.function_cache import FunctionCache  # only for cache=True

        self._cache = None if self.device else FunctionCache(self.py_func)

    @property
    def stats(self) -> CompileStatistics:
        """Where compiled overloads are kept, and which ones came from there."""
        path = None if self._cache is None else self._cache.path
        return CompileStatistics(path, self._cache_hits, self._cache_misses)

    @property
    def extensions(self) -> list[Any]:
        """Objects whose prepare_args() changes arguments before they reach the kernel."""
        return self.targetoptions.get("extensions") or []

    # -- device functions ---------------------------------------------------------------------------------

    def compile_device(self, args: tuple[Any, ...], return_type: Any = None) -> DeviceFunction:
        """The device function for these argument types, with its `signature`; compiled when it is looked at."""
        kinds = tuple(map(types.as_type, args))
        known = self._overloads.get(kinds)
        if known is None:
            self._check_count(len(kinds))
            result = None if return_type is None else types.as_type(return_type)
            known = self._overloads[kinds] = DeviceFunction(self.py_func, kinds, self.targetoptions, result)
        return known

    def note_overload(self, argument_types: tuple[types.Type, ...], result_type: types.Type | None) -> None:
        """A kernel that calls this device function was compiled, for these types."""
        if self.device and argument_types not in self._overloads:
            self._overloads[argument_types] = DeviceFunction(
                self.py_func, argument_types, self.targetoptions, result_type
            )


def _unpickled(state, specialized, *arguments):
    dispatcher = CUDADispatcher(function_from(state), *arguments)
    dispatcher.specialized = specialized
    return dispatcher


def _type_or_type_of(value):
    if isinstance(value, (types.Type, np.dtype)) or (
        isinstance(value, type) and issubclass(value, np.generic)
    ):
        return types.as_type(value)
    try:
        return typeof(value)
    except (ValueError, NotImplementedError):
        return types.as_type(value)


Dispatcher = CUDADispatcher
