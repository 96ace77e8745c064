"""A kernel in Python mode for one tuple of argument types: what CompiledKernel is for native mode."""

from __future__ import annotations

import linecache
import math
import sys
from typing import TYPE_CHECKING

from cudasim import _native, _pyfiber, errors, options
from cudasim.compile.frozen_constants import warn_of_changes
from cudasim.device.current import current_device
from cudasim.launch import recording
from cudasim.launch.arguments import HostCopies
from cudasim.launch.kernel import Launchable, launch_progress
from cudasim.python_mode import added_members, debuggers, slowness, tracers
from cudasim.python_mode.choice import warn_of_not_gpu_code
from cudasim.python_mode.kernel_globals import KernelFunctions, attribute_function
from cudasim.python_mode.reach import names_in, reachable_functions
from cudasim.python_mode.values import ArgumentBuilder
from cudasim.reports import check_session, reporting

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from cudasim.python_mode.choice import Reason
    from cudasim.types import Type


class PythonKernel(Launchable):
    """A kernel whose threads CPython runs."""

    mode = "python"

    def __init__(
        self,
        py_func: Callable[..., Any],
        argument_types: tuple[Type, ...],
        target_options: dict[str, Any],
        converts: bool = False,
        reason: Reason | None = None,
        refusal: Any = None,
    ) -> None:
        """
        :param converts: whether arguments of other, convertible types may be passed (explicit signatures)
        :param reason: why it does not run natively (choice.Reason), or None when that was asked for
        :param refusal: the compiler's, when no GPU would run the kernel either
        """
        self.py_func, self.argument_types = py_func, argument_types
        self.target_options, self.converts = target_options, converts
        self.reason, self.refusal = reason, refusal
        self.function = KernelFunctions().of(py_func)
        self.builder = ArgumentBuilder(
            argument_types, _parameter_names(py_func, len(argument_types)), converts
        )
        #: what a compiled kernel would have frozen
        #: (cudasim.compile.frozen_constants), where it could be compiled
        self.constants = ()
        #: as far as its names tell; the engine sees grid barriers when threads come to them
        codes = [known.__code__ for known in reachable_functions(py_func) if hasattr(known, "__code__")]
        self.cooperative = any("this_grid" in names_in(code) for code in codes)
        #: the files that its functions lie in
        self.files = frozenset(code.co_filename for code in codes)
        self.warned_of_slowness = self.warned_of_refusal = False
        self._sources: Any = None

    @property
    def sources(self) -> Any:
        """(file, text) of every file that its functions lie in, as far as the text is known."""
        if self._sources is None:
            texts = [(file, "".join(linecache.getlines(file))) for file in sorted(self.files)]
            self._sources = [(file, text) for file, text in texts if text]
        return self._sources

    def entry(self, device: Any, grid: Any, block: Any, shared_bytes: Any) -> PythonEntry:
        """A PythonEntry for a device, a configuration and the options in force."""
        self.check_configuration(grid, block)
        return PythonEntry(self, device, grid, block, min(shared_bytes, (1 << 63) - 1))

    @property
    def shared_mem_per_block(self) -> int:
        """Unknown before the kernel runs."""
        return 0

    def best_block_size(self, dynamic_shared_bytes: Any) -> Any:
        """Threads per block with which most threads are resident on the current device."""
        return current_device().native.best_block_size(
            self.max_threads_per_block, lambda threads: dynamic_shared_bytes
        )

    def max_cooperative_grid_blocks(self, blockdim: Any, dynsmemsize: int = 0) -> int:
        """The limit of compiled kernels, or fewer: as many threads as Python mode can hold at once."""
        blocks = super().max_cooperative_grid_blocks(blockdim, dynsmemsize)
        threads = math.prod(blockdim) if isinstance(blockdim, tuple) else blockdim
        return min(blocks, _pyfiber.most_threads // threads) if blocks else 0

    def _not_compiled(self):
        why = f": {self.reason}" if self.reason else ""
        return errors.UnsupportedError(f"{self.name}() runs in Python mode, so there is no code to show{why}")

    def inspect_llvm(self, *_: Any) -> NoReturn:
        """Refuses: nothing was compiled."""
        raise self._not_compiled()

    inspect_asm = inspect_lto_ptx = inspect_sass = inspect_sass_cfg = inspect_types = inspect_llvm

    @property
    def regs_per_thread(self) -> NoReturn:
        """Refuses: nothing was compiled."""
        raise self._not_compiled()

    const_mem_size = local_mem_per_thread = regs_per_thread


def _parameter_names(py_func, count):
    code = getattr(py_func, "__code__", None)
    names = list(code.co_varnames[: code.co_argcount]) if code is not None else []
    return names + [f"argument {index}" for index in range(len(names), count)]


class PythonEntry:
    """A kernel in Python mode, a device, a configuration and options, ready to launch."""

    takes_values = False

    def __init__(self, kernel: Any, device: Any, grid: Any, block: Any, shared_bytes: Any) -> None:
        self.kernel, self.device, self.generation = kernel, device, options.generation
        self.deferred = options.get("deferred")
        self.plan = _native.HostPlan(
            device.native,
            _native.LaunchConfiguration(grid, block, shared_bytes),
            _native.LaunchOptions(cooperative=kernel.cooperative, **kernel.launch_options()),
            kernel.sources,
            launch_progress(kernel.name, kernel.mode),
        )
        profile = device.profile
        static = profile["shared_per_block"]
        self._limits = (static, max(static, profile["shared_per_block_optin"]), shared_bytes)
        self._time_limit = options.get("time_limit")
        self._names_arrays = any(check in options.get("check") for check in ("races", "init"))
        self._blocks = grid[0] * grid[1] * grid[2], block[0] * block[1] * block[2]

    def run(self, args: Any) -> None:
        """One launch. Results go back to host arrays unless it raised."""
        self.prepared(args)[0]()

    def prepared(self, args: Any) -> tuple[Any, ...]:
        """What launches the kernel, for now or later, and the copies of host arrays that it uses."""
        copies = HostCopies(self.device)
        try:
            numbers = self.kernel.builder.numbers(args, copies)
        except errors.KernelMemoryError as error:
            check_session.refuse(self.kernel.name, error)
            raise
        values = self.kernel.builder.values(numbers, args, copies)
        return lambda: self._recorded_launch(values, copies, numbers), copies

    def _recorded_launch(self, values, copies, numbers):
        if self._names_arrays:
            self.plan.name_arrays(self.kernel.builder.arrays(numbers))
        recording.apply_gpu_option(options.get("gpu"))
        if recording.recorder is None:
            self.launch(values, copies)
            return
        with recording.recorder.host_launch(self.kernel, self.plan, numbers):
            self.launch(values, copies)

    def launch(self, values: Any, copies: Any) -> None:
        """One launch with these values. Results go back to host arrays unless it raised."""
        kernel = self.kernel
        if kernel.constants:
            warn_of_changes(kernel.constants)
        copies.copy_in()
        estimate = slowness.Estimate.of(kernel, self._blocks)
        with debuggers.attached() as (thread_tracer, each_thread):
            function = tracers.below_a_threads_frame(kernel.function) if each_thread else kernel.function

            def launch():
                with added_members.given(attribute_function):
                    return _pyfiber.launch(
                        self.plan, function, values, ends_launch, thread_tracer, each_thread, estimate, kernel.files,
                        kernel.name, *self._limits, self._time_limit,
                    )  # fmt: skip

            checks = check_session.session
            if checks is None:
                report, outcome = launch()
            else:
                checks.add_files(kernel.files)
                report, outcome = checks.run(self.plan, kernel.name, launch)
        raised, ends = [reporting.FromThread(*known) for known in outcome]
        if kernel.refusal is not None:
            self._report_refusal(raised.exception)
        if report is None and ends.exception is None:
            copies.write_back()
            return
        names = getattr(kernel.py_func, "__globals__", {})
        reporting.deliver(report, names, copies.write_back, raised=raised, ends_launch=ends)

    def _report_refusal(self, exception):
        """Reports the refusal of a kernel that no GPU runs: by one warning, or by raising it where CPython
        cannot run the kernel either.

        :param exception: what its lowest thread raised, or None
        """
        kernel = self.kernel
        if isinstance(exception, (AttributeError, NameError, TypeError)):
            # Python has no types to give it, so the compiler's reason is the better one.
            raise kernel.refusal.with_traceback(None) from None
        if not kernel.warned_of_refusal:
            kernel.warned_of_refusal = True
            warn_of_not_gpu_code(kernel.name, kernel.py_func, kernel.refusal)


@_native.FramelessMethod
def ends_launch(exception: Any) -> Any:
    """Whether what a thread raised ends the whole launch: Ctrl-C, sys.exit(), the quitting of a debugger."""
    if not isinstance(exception, Exception):
        return True
    bdb, outcomes = sys.modules.get("bdb"), sys.modules.get("_pytest.outcomes")
    if bdb is not None and isinstance(exception, bdb.BdbQuit):
        return True
    return outcomes is not None and isinstance(exception, outcomes.Exit)
