"""Kernels and device functions as simulated threads call them: the same code, with other globals.

A kernel's names mean what the compiler takes them for: `cuda.grid` is the simulated thread's, `math.sqrt(-1.0)` is
nan, a device function is the function and not its dispatcher, a global array is constant memory. The function that
runs is therefore a copy with the same code object (debuggers, coverage and tracebacks see no difference) whose
globals are a copy of the module's, with these replaced. They are copied once, when the kernel is first wanted for
its types, as the compiler freezes them (design.md, section 6).
"""

from __future__ import annotations

import builtins
import cmath
import dis
import functools
import math
import sys
import time
import types as python_types
from typing import TYPE_CHECKING

import numpy as np

from cudasim import _native, _pyfiber, types
from cudasim.compile import overloads
from cudasim.compile.intrinsics import ALL, VECTOR_ALIASES, Intrinsic
from cudasim.compile.resolve import describes_device_array, pointer_function
from cudasim.compile.source_lines import codes_in
from cudasim.kernel_library import CMATH_NAMES, NUMPY_NAMES, LibraryFunction, function_for, named
from cudasim.launch.cuda_module import cuda_module
from cudasim.launch.dispatcher import CUDADispatcher
from cudasim.launch.foreign_function import ForeignFunction
from cudasim.memory.array_interface import as_cuda_array
from cudasim.python_mode.library_calls import array_ufunc, complex_divide, typed_call
from cudasim.python_mode.overloaded_calls import add_attributes, builtin_of, call_of, refusal_of
from cudasim.python_mode.reach import names_in
from cudasim.python_mode.values import constant, kernel_types, scalar
from cudasim.python_mode.vectors import constructors
from cudasim.reports.tracebacks import is_package_code, name_in_debug_info

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_pyfiber.intrinsics.update(constructors)
#: Modules of numba.cuda that hold functions of kernels.
_MODULES = ("bf16", "fp16", "libdevice")
_GLOBAL_WRITES = {"STORE_GLOBAL", "DELETE_GLOBAL"}


#: numpy's ufuncs that the compiler computes as a function of the math module
#: (frontend/pykernel/calls/ufunc_calls.cpp)
_MATH_NAMES = {
    name: name
    for name in ("cos", "cosh", "degrees", "hypot", "log", "log10", "log2", "radians", "sin", "sinh", "tan", "tanh")
} | {"arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2",
     "arctanh": "atanh", "deg2rad": "radians", "rad2deg": "degrees"}  # fmt: skip

_TYPE_NAMES = ("int", "float", "bool", "complex")
_BUILTINS = {**vars(builtins), **_pyfiber.builtins}
#: The built-in names for kernels that match classes (`case int():`), which have to be classes.
_BUILTINS_WITH_TYPES = {**_BUILTINS, **{name: getattr(builtins, name) for name in _TYPE_NAMES}}


class _CudaWithLane(python_types.ModuleType):
    """cuda for kernels that name `cuda.laneid`: CPython looks up attributes of plain modules faster."""

    laneid = property(_pyfiber.intrinsics["cuda.laneid"], doc="The thread's lane in its warp.")


class _GlobalsWithLane(dict):
    """Globals of a function that has `laneid` under a name of its own: looking that up asks the simulated thread. CPython
    uses __getitem__ of globals that are not a plain dict."""

    def __init__(self, known, names):
        super().__init__(known)
        self._lane_names = names

    def __getitem__(self, name):
        return (
            _pyfiber.intrinsics["cuda.laneid"](None)
            if name in self._lane_names
            else super().__getitem__(name)
        )


def _module(source, replaced, kind=python_types.ModuleType):
    """A module as kernels see it: some names replaced."""
    made = kind(source.__name__, source.__doc__)
    vars(made).update(vars(source))
    vars(made).update(replaced)
    if source.__name__.partition(".")[0] in ("cudasim", "numpy"):
        vars(made).pop("__getattr__", None)  # CPython looks up attributes of modules without one faster
    return made


def _replaced_intrinsics():
    members: dict[str, Any] = {}
    for name, intrinsic in ALL.items():
        top, _, member = name.partition(".")[2].partition(".")
        if member or name == "cuda.laneid":
            continue
        if name in _pyfiber.intrinsics:
            members[top] = _pyfiber.intrinsics[name]
        elif any(known.startswith(name + ".") for known in _pyfiber.intrinsics):
            members[top] = _group(name, intrinsic)
    members["warpsize"] = 32
    members |= {alias: members[name] for alias, name in VECTOR_ALIASES.items()}
    return members


def _group(name, intrinsic):
    known_members = vars(intrinsic) if intrinsic is not None else {}
    group = python_types.SimpleNamespace(**{key: value for key, value in known_members.items()
                                            if isinstance(value, Intrinsic)})  # fmt: skip
    for known, function in _pyfiber.intrinsics.items():
        if known.startswith(name + "."):
            setattr(group, known[len(name) + 1 :], function)
    return group


_library_calls: dict[Any, Any] = {}


def _library_call(function):
    """A function of the library as simulated threads call it. Its own globals are replaced when it is first called, for
    they may name functions of the library that are being replaced."""
    if function not in _library_calls:
        _library_calls[function] = typed_call(function, lambda: function_of(function))
    return _library_calls[function]


def _ufunc(ufunc):
    math_name = _MATH_NAMES.get(ufunc.__name__, "")
    for_complex = (
        named("cmath.log2") if math_name == "log2" else function_for(getattr(cmath, math_name, None))
    )
    complex_function = None if for_complex is None else _library_call(for_complex)
    if ufunc is np.divide:
        complex_function = complex_divide
    return _pyfiber.ufunc(ufunc, _pyfiber.math.get(math_name), complex_function, array_ufunc)


class _Replacements:
    """What stands for an object in kernels; made when the first kernel runs in Python mode."""

    def __init__(self):
        cuda = cuda_module()
        self._members = _replaced_intrinsics()
        self._members["bfloat16"] = _pyfiber.bfloat16
        for name in _MODULES:
            self._members[name] = _module(getattr(cuda, name), _group(f"cuda.{name}", None).__dict__)
        self._members["bf16"].bfloat16 = _pyfiber.bfloat16
        own_types = {name: kernel_types[kind.dtype] for name, kind in types.ALIASES.items()
                     if isinstance(kind, types.Scalar) and kind.dtype in kernel_types}  # fmt: skip
        own_types["bfloat16"] = _pyfiber.bfloat16
        self._members["types"] = _module(cuda.types, own_types)
        vars(self._members["types"])["__getattr__"] = cuda.types.__getattr__
        self._cuda, self._cuda_with_lane = cuda, _module(cuda, self._members, _CudaWithLane)
        vars(self._cuda_with_lane).pop("laneid", None)
        by_identity = {id(dtype.type): kind for dtype, kind in kernel_types.items()}
        by_identity[id(np.bool_)] = _pyfiber.builtins["bool"]
        by_identity[id(time.sleep)] = sleep = _pyfiber.builtins["time.sleep"]
        by_identity[id(np.round)] = by_identity[id(np.around)] = _pyfiber.builtins["numpy.round"]
        for value in vars(np).values():
            if isinstance(value, np.ufunc) and id(value) not in by_identity:
                by_identity[id(value)] = _ufunc(value)
        for name in NUMPY_NAMES:
            by_identity[id(getattr(np, name))] = _library_call(named("numpy." + name))
        cmath_members = {name: _library_call(named("cmath." + name)) for name in CMATH_NAMES}
        by_identity |= {id(getattr(cmath, name)): function for name, function in cmath_members.items()}
        numpy_members = {
            name: by_identity[id(value)] for name, value in vars(np).items() if id(value) in by_identity
        }
        for dtype, kind in kernel_types.items():
            by_identity[id(getattr(types, dtype.name))] = kind
        self._by_identity = {
            **by_identity,
            id(types.bfloat16): _pyfiber.bfloat16,
            id(cuda.bfloat16): _pyfiber.bfloat16,
            id(cuda.types): self._members["types"],
            id(cuda): _module(cuda, self._members),
            id(math): _module(math, _pyfiber.math),
            id(time): _module(time, {"sleep": sleep}),
            id(cmath): _module(cmath, cmath_members),
            id(np): _module(np, numpy_members),
            **{id(getattr(cuda, name)): self._members[name] for name in _MODULES},
        }
        for name, function in _pyfiber.math.items():
            self._by_identity[id(getattr(math, name, None))] = function
        self._by_identity.pop(id(None), None)
        self._numba = {}

    def of(self, value, clone, names):
        """The replacement, or the value itself.

        :param clone: called with a dispatcher; the function that runs
        :param names: all that the function names
        """
        if value is self._cuda and "laneid" in names:
            return self._cuda_with_lane
        known = self._by_identity.get(id(value))
        if known is not None:
            return known
        if (
            isinstance(value, type) and issubclass(value, np.generic) and value.__name__ == "bfloat16"
        ):  # ml_dtypes
            return _pyfiber.bfloat16
        if isinstance(value, Intrinsic):
            name = value.__cudasim_intrinsic__
            return _pyfiber.intrinsics.get(name) or self._members.get(name.partition(".")[2], value)
        if isinstance(value, np.ndarray) and value.dtype.kind in "biufcMmSUV":
            return constant(value)
        if isinstance(value, LibraryFunction):
            return _library_call(value)
        pointed = pointer_function(value)
        if pointed is not None:
            return refusal_of(pointed, "makes an array of a C pointer")
        if type(value).__module__ == "cffi.api" and "from_buffer" in names:
            return python_types.SimpleNamespace(from_buffer=refusal_of("from_buffer", "makes a C pointer"))
        if describes_device_array(value):
            array = as_cuda_array(value)
            return _pyfiber.array(array.parameters[0], array.shape, array.strides, array.dtype, True, array)
        if isinstance(value, np.void) and value.dtype.names is not None:
            return constant(np.asarray(value))[()]
        if isinstance(value, np.generic) or type(value) in (float, complex):
            return scalar(np.asarray(value).dtype, value)
        if isinstance(value, tuple) and type(value) is tuple:
            return tuple([self.of(element, clone, names) for element in value])
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            made: Any = type(value)
            return made._make([self.of(element, clone, names) for element in value])
        if isinstance(value, python_types.ModuleType):
            return (
                self._numba_module(value)
                if value is sys.modules.get("numba")
                else self._frozen(value, clone, names)
            )
        return clone(value)

    def _frozen(self, module, clone, names):
        """A module whose constants have their values of now, as compiled kernels take them (`settings.SCALE`)."""
        members = vars(module)
        known = [
            name
            for name in names
            if name in members and not isinstance(members[name], python_types.ModuleType)
        ]
        replaced = {name: self.of(members[name], clone, names) for name in known}
        if type(module) is not python_types.ModuleType:
            return module
        if any(replaced[name] is not members[name] or isinstance(replaced[name], int) for name in known):
            return _module(module, replaced)
        return module

    def _numba_module(self, numba):
        if id(numba) not in self._numba:
            self._numba[id(numba)] = _module(numba, {"cuda": self._cuda_with_lane})
        return self._numba[id(numba)]


def _with_kernel_floats(code):
    """The code with float constants as kernels have them: 1.0 / x is IEEE's division. Lines and names stay."""

    def typed(value):
        if type(value) is float:
            return _pyfiber.float64(value)
        if type(value) is complex:
            return _pyfiber.complex128(value)
        if type(value) is tuple:
            return tuple(map(typed, value))
        return made.get(id(value), value)  # annotations of CPython 3.14 stay as they are

    made = {}  # by the id of the code that it is made of; what is inside comes first, without recursion
    for each in reversed(list(codes_in(code))):
        constants = tuple(map(typed, each.co_consts))
        changed = any(new is not old for new, old in zip(constants, each.co_consts))
        made[id(each)] = each.replace(co_consts=constants) if changed else each
    return made[id(code)]


def _copy(function, code, own_globals, closure):
    copy = python_types.FunctionType(code, own_globals, function.__name__, function.__defaults__, closure)
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
    return copy


@functools.cache
def _replacements():
    return _Replacements()


class KernelFunctions:
    """The functions of one kernel, with their globals."""

    def __init__(self) -> None:
        self._replacements = _replacements()
        self._functions: dict[Any, Any] = {}

    def of(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function as simulated threads call it."""
        if not isinstance(function, python_types.FunctionType):
            return function
        known = self._functions.get(function)
        if known is not None:
            return known
        if any(step.opname in _GLOBAL_WRITES for step in dis.get_instructions(function.__code__)):
            # It means to change its module's names, so it has to have them: the objects themselves answer.
            self._functions[function] = function
            return function
        own_globals = dict(function.__globals__)
        matches_classes = any(
            step.opname == "MATCH_CLASS" for step in dis.get_instructions(function.__code__)
        )
        own_globals["__builtins__"] = _BUILTINS_WITH_TYPES if matches_classes else _BUILTINS
        code = _with_kernel_floats(function.__code__)
        if is_package_code(code):  # cuda.random, kernels around ufuncs: reports do not show them
            code = code.replace(co_filename=name_in_debug_info(code.co_filename))
        names = names_in(function.__code__)
        add_attributes(names, attribute_function)
        lane_names = {name for name in names if own_globals.get(name) is ALL["cuda.laneid"]}
        if lane_names:
            own_globals = _GlobalsWithLane(own_globals, lane_names)
        copy = self._functions[function] = _copy(function, code, own_globals, function.__closure__)
        for name in names:
            if name in own_globals and name not in lane_names:
                value = own_globals[name]
                own_globals[name] = self._overloaded(
                    value, self._replacements.of(value, self._clone, names), names
                )
            elif callable(_BUILTINS.get(name)) and overloads.anything_is_overloaded():
                overloaded = builtin_of(name, _BUILTINS[name], self.of)
                if overloaded is not None:
                    own_globals[name] = overloaded
        if function.__closure__:
            closure = tuple([self._cell(cell, names) for cell in function.__closure__])
            if any(new is not old for new, old in zip(closure, function.__closure__)):
                copy = self._functions[function] = _copy(function, code, own_globals, closure)
        return copy

    def _overloaded(self, value, found, names):
        if not overloads.anything_is_overloaded():
            return found
        if value is np or value is math:
            return self._with_overloads(found, value.__name__, names)
        module = "numpy" if isinstance(value, np.ufunc) else getattr(value, "__module__", None)
        if module in ("numpy", "math") and callable(value) and not isinstance(value, type):
            return builtin_of(f"{module}.{value.__name__}", found, self.of) or found
        return found

    def _with_overloads(self, module, name, names):
        """NumPy or math, with those of its functions that programs have implemented for types of their own."""
        known = {each: vars(module)[each] for each in names if callable(vars(module).get(each))}
        overloaded = {each: builtin_of(f"{name}.{each}", known[each], self.of) for each in known}
        replaced = {each: function for each, function in overloaded.items() if function is not None}
        return _module(module, replaced) if replaced else module

    def _clone(self, value):
        if isinstance(value, CUDADispatcher):
            return self.of(value.py_func)
        if isinstance(value, ForeignFunction):
            return refusal_of(value.name, "is compiled code that is linked to kernels")
        overloaded = overloads.of(value)
        if isinstance(overloaded, overloads.Intrinsic):
            return refusal_of(value._name)
        if overloaded is None or hasattr(overloaded, "code"):  # code for LLVM: here it is the Python object
            return value
        return call_of(overloaded, self.of)

    def _cell(self, cell, names):
        try:
            value = cell.cell_contents
        except ValueError:
            return cell
        replaced = self._overloaded(value, self._replacements.of(value, self._clone, names), names)
        return cell if replaced is value else python_types.CellType(replaced)


_loose_functions: dict[Any, Any] = {}


def function_of(dispatcher: Any) -> Any:
    """The function of a dispatcher that a simulated thread reached other than by a name of its kernel."""
    function = _loose_functions.get(dispatcher)
    if function is None:
        function = _loose_functions[dispatcher] = KernelFunctions().of(dispatcher.py_func)
    return function


def attribute_function(function: Callable[..., Any]) -> Any:
    """A Python function that is called as one of a value's attributes."""
    if function not in _loose_functions:
        _loose_functions[function] = KernelFunctions().of(function)
    return _loose_functions[function]


def _install():
    _pyfiber.set_function_of(_native.FramelessMethod(function_of))
    for owner, name, function in (
        (Intrinsic, "__call__", _pyfiber.intrinsic_call),
        (Intrinsic, "__getattr__", _pyfiber.intrinsic_attribute),
        (CUDADispatcher, "__call__", _pyfiber.dispatcher_call),
    ):
        setattr(owner, name, function)


_install()
