"""Numba's typing and code generation for what programs add with Numba's extension API, as a target of its own: Numba's built-in rules
and implementations, those that programs register (numba.extending, numba.cuda.cudadecl, numba.cuda.cudaimpl), device functions where
the CPU would call libm, and cudasim's compiler for Python functions that such code calls."""

from __future__ import annotations

import contextlib
import importlib
import math
from typing import TYPE_CHECKING

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import types as numba_types
from numba.core import typing as numba_typing
from numba.core.base import BaseContext
from numba.core.callconv import MinimalCallConv
from numba.core.imputils import Registry
from numba.core.typing import templates

from cudasim import errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

DATA_LAYOUT = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"

#: Numba's modules with the code for its built-in types.
_IMPLEMENTATIONS = """
    core.optional cpython.builtins cpython.charseq cpython.enumimpl cpython.iterators cpython.numbers cpython.rangeobj
    cpython.slicing cpython.tupleobj np.arrayobj np.npdatetime
""".split()

#: What numba.cuda.cudadecl and numba.cuda.cudaimpl give programs to register with.
declarations = templates.Registry()
implementations = Registry("cudasim")
_device_functions = Registry("cudasim's device functions")


class TypingContext(numba_typing.Context):
    """Numba's rules, and those that programs have added for CUDA."""

    def load_additional_registries(self) -> None:
        """What Numba calls when it looks for rules that are new."""
        super().load_additional_registries()
        self.install_registry(declarations)


class _Raising(MinimalCallConv):
    """Code for LLVM that raises an exception, in a function that has no way to say so."""

    def return_user_exc(self, builder, exc, exc_args=None, loc=None, func_name=None):  # noqa: ANN001, ANN202
        """Ends the thread."""
        trap = builder.module.globals.get("llvm.trap") or ir.Function(
            builder.module, ir.FunctionType(ir.VoidType(), ()), "llvm.trap"
        )
        builder.call(trap, ())
        builder.unreachable()


class TargetContext(BaseContext):
    """Numba's code generation. What Python functions it calls, cudasim compiles: `compiles` is called with the function, the types of
    its arguments and the result's, and gives (its symbol, whether each parameter and what it returns)."""

    strict_alignment = True

    def __init__(self, typing_context: TypingContext) -> None:
        self._layout = llvm.create_target_data(DATA_LAYOUT)
        self._compiled: list[Any] = []
        super().__init__(typing_context, "cuda")

    @property
    def target_data(self) -> Any:
        """How values lie in memory."""
        return self._layout

    @property
    def call_conv(self) -> Any:
        """How functions are called; only what code that raises does is known of it."""
        return _Raising(self)

    def load_additional_registries(self) -> None:
        """What Numba calls when it looks for implementations that are new."""
        for module in _IMPLEMENTATIONS:  # they register what they implement when they are imported
            importlib.import_module(f"numba.{module}")
        cmathimpl = importlib.import_module("numba.cpython.cmathimpl")
        self.install_registry(cmathimpl.registry)
        self.install_registry(_device_functions)
        self.install_registry(implementations)

    def get_function(self, fn: Any, sig: Any, _firstcall: bool = True) -> Any:
        """The code of a function, (builder, values) → value: a device function's is what cudasim compiles."""
        if not isinstance(fn, numba_types.Dispatcher):
            return super().get_function(fn, sig, _firstcall)
        return lambda builder, args, loc=None: self.compile_internal(builder, fn.dispatcher, sig, args)

    def compile_internal(self, builder: Any, impl: Any, sig: Any, args: Any, locals: Any = None) -> Any:
        """The value that a Python function gives: cudasim compiles it for these types."""
        symbol, images, function_type, flattened, made = self.compiler(self, builder, impl, sig, args)
        self._compiled.append(images)
        known = builder.module.globals.get(symbol)
        return made(builder.call(known or ir.Function(builder.module, function_type, symbol), flattened))

    compiler: Any = None

    def compile_subroutine(self, *_: Any, **__: Any) -> Any:
        """Refuses."""
        raise NotImplementedError(
            "compile_subroutine() is not supported here: call context.compile_internal()"
        )

    def add_linking_libs(self, libs: Any) -> None:
        """Refuses what Numba has compiled for the CPU."""
        if libs:
            raise NotImplementedError("it calls a function that Numba has compiled for the CPU")

    @contextlib.contextmanager
    def gathering_images(self) -> Iterator[list[Any]]:
        """What code generated inside calls: a list that gets the images of compiled functions."""
        outer, self._compiled = self._compiled, []
        try:
            yield self._compiled
        finally:
            self._compiled = outer


def _define(function, name, count):
    real = _device_function(f"__nv_{name}", 64)
    _device_functions.lower(function, *[numba_types.float64] * count)(real)
    _device_functions.lower(function, *[numba_types.float32] * count)(_device_function(f"__nv_{name}f", 32))
    for kind in (numba_types.Integer, numba_types.Boolean):
        _device_functions.lower(function, *[kind] * count)(_of_integer(real))


def _device_function(symbol, bits):
    kind = ir.DoubleType() if bits == 64 else ir.FloatType()

    def generate(context, builder, signature, arguments):
        function = builder.module.globals.get(symbol) or ir.Function(
            builder.module, ir.FunctionType(kind, [kind] * len(arguments)), symbol
        )
        result = builder.call(function, arguments)
        return context.cast(
            builder, result, numba_types.float64 if bits == 64 else numba_types.float32, signature.return_type
        )

    return generate


def _of_integer(of_float):
    def generate(context, builder, signature, arguments):
        given = [
            context.cast(builder, value, kind, numba_types.float64)
            for value, kind in zip(arguments, signature.args)
        ]
        return of_float(context, builder, signature, given)

    return generate


for _name in (
    "sqrt", "exp", "expm1", "log", "log10", "log1p", "log2", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
    "asinh", "acosh", "atanh", "erf", "erfc", "floor", "ceil", "fabs",
):  # fmt: skip
    _define(getattr(math, _name), _name, 1)
for _name in ("atan2", "copysign", "fmod", "hypot", "pow"):
    _define(getattr(math, _name), _name, 2)


def unary_function(fn: Callable[..., Any], ty: Any) -> Callable[..., Any]:
    """The code of a function of the math module for a number of a type (Numba's): (context, builder, signature, values) → value."""
    return _function_of_numbers(fn, ty, 1)


def binary_function(fn: Callable[..., Any], ty: Any) -> Callable[..., Any]:
    """The same of two numbers."""
    return _function_of_numbers(fn, ty, 2)


def _function_of_numbers(function, kind, count):
    result = kind if isinstance(kind, numba_types.Float) else numba_types.float64
    signature = templates.signature(result, *[kind] * count)
    return lambda context, builder, _, values: context.get_function(function, signature)(builder, values)


_typing = TypingContext()
_target = TargetContext(_typing)


def contexts() -> tuple[TypingContext, TargetContext]:
    """Both, with all that programs have registered so far."""
    _target.refresh()
    _typing.refresh()
    return _typing, _target


def set_compiler(compiler: Callable[..., Any]) -> None:
    """
    :param compiler: what compile_internal() calls: (context, builder, Python function, signature, values) → (symbol, images, its type,
        what it is called with, call → value)
    """
    TargetContext.compiler = staticmethod(compiler)


def refusal(what: str, error: Exception) -> errors.LoweringError:
    """What is said where a program's code generator raises.

    :param what: what it generates code for
    """
    return errors.LoweringError(f"{what}: its code cannot be generated: {type(error).__name__}: {error}")


class CUDATarget:
    """What numba.cuda.descriptor gives programs: typing_context, target_context."""

    typing_context, target_context = _typing, _target


cuda_target = CUDATarget()
