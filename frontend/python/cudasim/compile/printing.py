"""What print() in kernels prints of values: a format of printf() and its arguments, by the type of the value. Programs register what that
is for types of their own (numba.cuda.printimpl.print_item)."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from llvmlite import ir
from numba.core import types as numba_types

from cudasim import errors

if TYPE_CHECKING:
    from typing import Any

_BITS_64 = ir.IntType(64)


@functools.singledispatch
def print_item(ty: Any, context: Any, builder: Any, val: Any) -> tuple[str, list[Any]]:
    """(The format, its arguments as values of LLVM's types) of a value of a type (Numba's).

    :raises NotImplementedError: for types that nothing is registered for
    """
    raise NotImplementedError(f"printing unimplemented for values of type {ty}")


@print_item.register(numba_types.Integer)
def _integer(ty, context, builder, val):
    wide = numba_types.int64 if ty.signed else numba_types.uint64
    return ("%lld" if ty.signed else "%llu"), [context.cast(builder, val, numba_types.unliteral(ty), wide)]


@print_item.register(numba_types.Float)
def _real(ty, context, builder, val):
    return "%f", [context.cast(builder, val, ty, numba_types.float64)]


@print_item.register(numba_types.Boolean)
def _truth(ty, context, builder, val):
    texts = [context.insert_const_string(builder.module, text) for text in ("True", "False")]
    return "%s", [builder.select(val, *texts)]


@print_item.register(numba_types.StringLiteral)
def _text(ty, context, builder, val):
    return "%s", [context.insert_const_string(builder.module, ty.literal_value)]


@print_item.register(numba_types.BaseTuple)
def _tuple(ty, context, builder, val):
    texts, arguments = [], []
    for index, kind in enumerate(ty.types):
        text, values = print_item(kind, context, builder, builder.extract_value(val, index))
        texts.append(text)
        arguments += values
    return "(" + ", ".join(texts) + (",)" if len(texts) == 1 else ")"), arguments


def is_registered(kind: Any) -> bool:
    """Whether values of a type have a print_item."""
    return print_item.dispatch(type(kind)) is not print_item.dispatch(object)


def generated(context: Any, builder: Any, kind: Any, value: Any) -> tuple[str, list[Any]]:
    """What print_item() gives; pointers to texts are numbers.

    :raises errors.LoweringError: where it is no text with values
    """
    given = print_item(kind, context, builder, value)
    if not (isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], str)):
        raise errors.LoweringError(
            f"print_item of {kind} gives {given!r}, not a format and a list of its arguments"
        )
    return given[0], [
        builder.ptrtoint(each, _BITS_64) if isinstance(each.type, ir.PointerType) else each
        for each in given[1]
    ]


def tried(context: Any, kind: Any) -> tuple[str, list[Any]]:
    """The same for a value that is not known, with the types of the arguments."""
    function = ir.Function(
        ir.Module(), ir.FunctionType(ir.VoidType(), [context.get_value_type(kind)]), "tried"
    )
    text, values = generated(context, ir.IRBuilder(function.append_basic_block()), kind, function.args[0])
    return text, [_number_of(kind, each.type) for each in values]


def _number_of(kind, llvm_type):
    names = {"half": "float16", "float": "float32", "double": "float64", "i1": "boolean"}
    names |= {f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)}
    if str(llvm_type) not in names:
        raise errors.LoweringError(
            f"print_item of {kind} gives an argument of LLVM's type {llvm_type}; printf() takes numbers and texts"
        )
    return getattr(numba_types, names[str(llvm_type)])
