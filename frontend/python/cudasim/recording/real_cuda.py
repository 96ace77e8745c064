"""What a recorder needs of the real numba.cuda, which runs the program's kernels on a GPU: the only module that knows numba-cuda's names.

Every name that is used here exists in numba-cuda 0.4 to 0.30, and in the numba.cuda of Numba 0.59 to 0.61.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from cudasim.launch.arguments import In, InOut, Intent, Out
from cudasim.recording.real_launch import RealLaunch

_INTENTS: dict[str, type[Intent]] = {"In": In, "Out": Out, "InOut": InOut}
#: Of the options of the real @cuda.jit those that change what a kernel computes, or how it may be launched.
_OPTIONS = ("debug", "opt", "fastmath", "launch_bounds", "max_registers")


class RealCudaError(Exception):
    """The real numba.cuda cannot be used; one sentence says what to do."""


class NumbaCuda:
    """The real numba.cuda of this process, and its GPU.

    :raises RealCudaError: where there is none
    """

    def __init__(self) -> None:
        if os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0"):
            raise RealCudaError("NUMBA_ENABLE_CUDASIM is set, so kernels would not run on a GPU; unset it")
        try:
            # Not installed with cudasim; where it is, importing it initialises no GPU.
            from numba import cuda
            from numba.cuda import args, dispatcher
        except ImportError as error:
            raise RealCudaError(
                f"there is no numba.cuda whose launches could be recorded ({error}); install it: pip install numba-cuda"
            ) from None
        self._cuda = cuda
        self._hint = args.ArgHint
        self._configuration: Any = dispatcher._LaunchConfiguration
        self._description: Any = None

    @property
    def description(self) -> tuple[str, tuple[int, int], tuple[int, int]]:
        """See real_launch.RealGpu."""
        if self._description is None:
            device = self._cuda.get_current_device()
            name = device.name.decode() if isinstance(device.name, bytes) else str(device.name)
            major, minor = device.compute_capability
            version = tuple(map(int, self._cuda.driver.driver.get_version()[:2]))
            self._description = name, (int(major), int(minor)), version
        return self._description

    def synchronize(self) -> None:
        """See real_launch.RealGpu."""
        self._cuda.synchronize()

    def read(self, address: int, count: int) -> bytes:
        """See real_launch.RealGpu."""
        array = self._cuda.from_cuda_array_interface(
            {"shape": (count,), "strides": None, "typestr": "|u1", "data": (address, False), "version": 2}
        )
        return np.asarray(array.copy_to_host()).tobytes()

    @contextlib.contextmanager
    def launches_go_to(self, take: Callable[[RealLaunch], Any]) -> Iterator[None]:
        """Inside, every launch of a kernel is handed to take(), which has to call its run()."""
        original = self._configuration.__call__

        def launch(configuration, *arguments):
            return take(
                self._described(configuration, arguments, lambda: original(configuration, *arguments))
            )

        self._configuration.__call__ = launch
        try:
            yield
        finally:
            self._configuration.__call__ = original

    def _described(self, configuration, arguments, run):
        dispatcher = configuration.dispatcher
        given = dispatcher.targetoptions
        refusal = ""
        if given.get("extensions"):
            refusal = "its arguments are changed by extensions of the kernel"
        elif given.get("link"):
            refusal = "it is linked with code that is not Python"
        declared = [] if dispatcher._can_compile else list(dispatcher.overloads)
        return RealLaunch(
            function=dispatcher.py_func,
            options={name: given[name] for name in _OPTIONS if given.get(name)}
            | {"opt": bool(given.get("opt", True)), "debug": bool(given.get("debug"))},
            signatures=[tuple(kinds) for kinds in declared],
            grid=tuple(map(int, configuration.griddim)),
            block=tuple(map(int, configuration.blockdim)),
            dynamic_shared_bytes=int(configuration.sharedmem),
            arguments=tuple(map(self._own_intent, arguments)),
            run=run,
            gpu=self,
            refusal=refusal,
        )

    def _own_intent(self, argument):
        if not isinstance(argument, self._hint):
            return argument
        own = next(
            (_INTENTS[base.__name__] for base in type(argument).__mro__ if base.__name__ in _INTENTS), InOut
        )
        return own(argument.value)
