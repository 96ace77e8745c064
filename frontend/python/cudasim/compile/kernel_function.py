"""What `@cuda.jit` may be given, and the plain Python function in it. What cannot be a kernel is refused at once."""

from __future__ import annotations

import functools
import inspect
import types
from typing import TYPE_CHECKING

from cudasim import _native
from cudasim.reports.user_warnings import warn_at_users_line

if TYPE_CHECKING:
    from typing import Any

_COROUTINE = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def function_of(given: Any, device: bool) -> tuple[Any, ...]:
    """(a plain Python function, name → array that a functools.partial binds to one of its parameters).

    :param device: whether it becomes a device function
    :raises TypeError: with what it is and what to write instead
    """
    if isinstance(given, BoundKernel):
        return given.py_func, given.bound_arrays
    # A dispatcher, or a function that numba.jit made, decorated again.
    given = getattr(given, "py_func", given)
    if isinstance(given, functools.partial):
        return _function_of_partial(given, device)
    if not isinstance(given, types.FunctionType):
        raise TypeError("@cuda.jit takes a plain Python function; " + _why_not(given))
    flags, name = given.__code__.co_flags, given.__name__
    if flags & _COROUTINE:
        raise TypeError(
            f"@cuda.jit takes a plain Python function; {name}() is a coroutine: write `def`, not `async def`"
        )
    if flags & inspect.CO_GENERATOR and not device:
        raise TypeError(
            f"@cuda.jit takes a plain Python function; {name}() is a generator: a kernel writes its results to arrays "
            "and yields nothing"
        )
    from cudasim.compile.source_lines import remember_lines  # start-up: the first kernel loads it

    remember_lines(given)
    return given, {}


def _why_not(given):
    name = getattr(given, "__qualname__", None) or getattr(given, "__name__", None) or type(given).__name__
    if isinstance(given, (staticmethod, classmethod)):
        return f"{given.__func__.__qualname__} is a {type(given).__name__} object: write @staticmethod above @cuda.jit"
    if isinstance(given, types.MethodType):
        return (
            f"{name} is a method bound to an object: make it a function (or a @staticmethod) and pass what it needs "
            "of the object as arguments"
        )
    if isinstance(given, type):
        return f"{name} is a class: decorate the function that is to run on the device"
    if isinstance(
        given, (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)
    ):
        return f"{name} is built in and has no Python code: call it from a function of your own"
    if not callable(given):
        return f"{given!r} is not a callable object"
    return f"this is a callable object of type {type(given).__name__}: decorate the function that it calls"


def _function_of_partial(partial, device):
    function, arrays = function_of(partial.func, device)
    assert not arrays  # a partial of a partial is one partial
    try:
        bound = inspect.signature(function).bind_partial(*partial.args, **partial.keywords)
    except TypeError as error:
        raise TypeError(
            f"functools.partial binds what {function.__name__}() does not take: {error}"
        ) from None
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    for name in bound.arguments:
        if name not in names:
            raise TypeError(
                f"functools.partial of {function.__name__}(): kernels have no such parameter as {name!r}"
            )
    arrays = {} if device else {name: value for name, value in bound.arguments.items() if _holds_array(value)}
    constants = {name: value for name, value in bound.arguments.items() if name not in arrays}
    warn_at_users_line(
        "not-gpu-code",
        f"functools.partial of {function.__name__}(): cudasim runs it as a kernel, numba.cuda refuses it; on a GPU pass "
        "all arguments at the launch",
    )
    if constants:
        from cudasim.compile.bound_function import bind  # only for functools.partial objects

        function = bind(function, constants)
    return function, arrays


def _holds_array(value):
    if isinstance(value, tuple):
        return any(map(_holds_array, value))
    return (
        hasattr(value, "__array_interface__")
        and bool(value.shape)
        or hasattr(value, "__cuda_array_interface__")
    )


class BoundKernel:
    """A kernel, and arrays that are its arguments at every launch, besides those that the launch gives."""

    def __init__(self, kernel: Any, arrays: dict[Any, Any]) -> None:
        self._kernel, self.bound_arrays = kernel, arrays

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._kernel, name)

    def __repr__(self) -> str:
        return f"BoundKernel({self._kernel!r}, {', '.join(self.bound_arrays)})"

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return BoundKernel, (self._kernel, self.bound_arrays)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self._kernel(*args, **keywords)

    def __getitem__(self, brackets: tuple[int, ...]) -> Any:
        return _BoundLaunch(self._kernel[brackets], self._completed)

    def configure(self, griddim: int, blockdim: int, stream: Any = 0, sharedmem: int = 0) -> _BoundLaunch:
        """The kernel with a launch configuration: `kernel[griddim, blockdim, stream, sharedmem]`."""
        return self[griddim, blockdim, stream, sharedmem]

    def forall(self, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> _BoundLaunch:
        """A launch configuration for a given number of tasks in one dimension."""
        return _BoundLaunch(self._kernel.forall(ntasks, tpb, stream, sharedmem), self._completed)

    def _completed(self, args):
        function = self._kernel.py_func
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        free = [name for name in names if name not in self.bound_arrays]
        optional = min(len(free), len(function.__defaults__ or ()))
        if not len(free) - optional <= len(args) <= len(free):
            raise TypeError(
                f"{function.__name__}() takes {', '.join(free) or 'no arguments'} besides what functools.partial binds "
                f"({', '.join(self.bound_arrays)}); got {len(args)}"
            )
        given = dict(zip(free, args))
        given.update(self.bound_arrays)
        defaults = dict(zip(names[::-1], (function.__defaults__ or ())[::-1]))
        return [given[name] if name in given else defaults[name] for name in names]


class _BoundLaunch(_native.FramelessCall):
    def __init__(self, configured, completed):
        super().__init__(self._run)
        self._configured, self._completed = configured, completed

    def __getattr__(self, name):
        return getattr(self._configured, name)

    def _run(self, *args, **keywords):
        self._configured(*self._completed(args), **keywords)
