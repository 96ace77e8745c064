"""What expressions of the debugger know besides the variables of the stopped thread: the names that its function sees around it.

    TILE                module-level constants, modules, and variables of enclosing functions
    distance(x, y)      device functions: Python runs their source, with NumPy's arithmetic
    cuda.grid(1)        what a thread knows of itself

Where a kernel is not that of a `@cuda.jit` function of this process, a core file's say, there are none.
"""

from __future__ import annotations

import contextlib
import inspect
import math
import os
import sys
import types
from typing import TYPE_CHECKING

import numpy as np

from cudasim.launch.dispatcher import ConfiguredKernel, CUDADispatcher, dispatchers

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from cudasim.findings import SourceLocation


class Registers(types.SimpleNamespace):
    """`cuda` in expressions: the special registers of a thread, and what follows from them."""

    def grid(self, ndim: int) -> int | tuple[int, ...]:
        """The thread's position in the grid, as in kernels."""
        return _of_axes(ndim, lambda axis: self.blockIdx[axis] * self.blockDim[axis] + self.threadIdx[axis])

    def gridsize(self, ndim: int) -> int | tuple[int, ...]:
        """The grid's size in threads, as in kernels."""
        return _of_axes(ndim, lambda axis: self.gridDim[axis] * self.blockDim[axis])

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"cuda.{name} is for kernels: expressions of the debugger do not have it")


def _of_axes(ndim, position):
    if ndim not in (1, 2, 3):
        raise ValueError(f"the number of dimensions is 1, 2 or 3, not {ndim!r}")
    return position(0) if ndim == 1 else tuple(position(axis) for axis in range(ndim))


def names_around(place: SourceLocation, wanted: Iterable[str], cuda: Registers) -> dict[str, Any]:
    """Those of the names that the function at `place` sees around it.

    :param cuda: what the names of numba.cuda mean in device functions
    """
    return {name: _usable(value, cuda) for name, value in values_around(place, wanted).items()}


def values_around(place: SourceLocation, wanted: Iterable[str]) -> dict[str, Any]:
    """The same, as the program has them: for what is compiled."""
    function = _function_at(place)
    if function is None:
        return {}
    closure = _closure(function)
    known = function.__globals__
    return {
        name: (closure if name in closure else known)[name]
        for name in wanted
        if name in closure or name in known
    }


def kinds_around(place: SourceLocation) -> list[tuple[str, str]]:
    """The names that the function at `place` may use, and what each is: "function" (of the device), "module" or "value"."""
    function = _function_at(place)
    if function is None:
        return []
    kinds = []
    for name, value in {**function.__globals__, **_closure(function)}.items():
        if isinstance(value, CUDADispatcher) and value.device:
            kinds.append((name, "function"))
        elif inspect.ismodule(value):
            kinds.append((name, "module"))
        elif not name.startswith("_") and isinstance(
            value, (bool, int, float, complex, tuple, np.generic, np.ndarray)
        ):
            kinds.append((name, "value"))
    return kinds


def _function_at(place):
    """The Python function of a kernel or device function, by its file, name and line; None where there is none.

    Of several closures of one function that of the kernel that is being launched.
    """
    found: list[Any] = []
    for dispatcher in dispatchers():
        function = dispatcher.py_func
        code = getattr(function, "__code__", None)
        if code is None or code.co_name != place.function.rpartition(".")[2]:
            continue
        if (
            os.path.realpath(code.co_filename) != os.path.realpath(place.file)
            or code.co_firstlineno > place.line
        ):
            continue
        if found and code.co_firstlineno > found[0].__code__.co_firstlineno:
            found = []
        if not found or code.co_firstlineno == found[0].__code__.co_firstlineno:
            found.append(function)
    if len(found) > 1:
        launched = _launched_functions()
        found.sort(key=lambda function: function not in launched)
    return found[0] if found else None


def _launched_functions():
    """The function of the kernel that this thread launches, and those of the device functions that it names, and these again."""
    frame: types.FrameType | None = sys._getframe()
    while frame is not None and frame.f_code is not ConfiguredKernel._run.__code__:
        frame = frame.f_back
    if frame is None:  # a stream has put the launch off
        return []
    found: list[Any] = [frame.f_locals["self"].dispatcher.py_func]
    for function in found:  # which grows
        named = {name: function.__globals__.get(name) for name in function.__code__.co_names}
        for value in {**named, **_closure(function)}.values():
            if isinstance(value, CUDADispatcher) and value.py_func not in found:
                found.append(value.py_func)
    return found


def _closure(function):
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        with contextlib.suppress(ValueError):  # the enclosing function has not assigned it yet
            found[name] = cell.cell_contents
    return found


def _usable(value, cuda):
    if isinstance(value, CUDADispatcher) and value.device:
        return _DeviceFunction(value, cuda)
    if inspect.ismodule(value):
        if value.__name__ in ("numba.cuda", "cudasim.cuda"):
            return cuda
        return value if value in (math, np) else _Module(value, cuda)
    if isinstance(value, np.ndarray):  # a constant for the kernel
        value = value.view()
        value.flags.writeable = False
    return value


class _Module:
    """A module: what is in it is as usable as what is beside the kernel."""

    def __init__(self, module: types.ModuleType, cuda: Registers) -> None:
        self._module, self._cuda = module, cuda

    def __repr__(self) -> str:
        return repr(self._module)

    def __getattr__(self, name: str) -> Any:
        return _usable(getattr(self._module, name), self._cuda)


class _DeviceFunction:
    """A device function that Python calls."""

    def __init__(self, dispatcher: CUDADispatcher, cuda: Registers) -> None:
        self._dispatcher, self._cuda = dispatcher, cuda

    def __repr__(self) -> str:
        return f"<device function {self._dispatcher.__name__}>"

    def __call__(self, *arguments: Any) -> Any:
        function = self._dispatcher.py_func
        around = {name: _usable(value, self._cuda) for name, value in function.__globals__.items()}
        cells = tuple(
            types.CellType(_usable(cell.cell_contents, self._cuda)) for cell in function.__closure__ or ()
        )
        made = types.FunctionType(function.__code__, around, function.__name__, function.__defaults__, cells)
        return made(*arguments)
