"""numba.extending.intrinsic: functions whose LLVM code programs write themselves, with llvmlite's IRBuilder.

The typing function gets Numba's real types; the code generator Numba's context for the CPU, whose values look like those of
kernels' compilers: numbers, pairs, tuples, array structures. Around what it writes goes a function with the simulator's
convention, which takes and gives the parts of values (frontend/pykernel/emit/emission.h); the text of the module is then read as
linked code is.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from llvmlite import ir
from numba.core import types as numba_types
from numba.core.registry import cpu_target
from numba.np import arrayobj

from cudasim import _native, errors, types
from cudasim._cuda_errors import LinkerError

if TYPE_CHECKING:
    from typing import Any

_DATA_LAYOUT = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
_TRIPLE = "nvptx64-nvidia-cuda"


class IntrinsicCode:
    """What one intrinsic is for arguments of some types.

    symbol, images: the function, and the code with it. parameters, result: names of types, "none" for what has no value.
    """

    def __init__(self, symbol: Any, images: Any, parameters: Any, result: Any) -> None:
        self.symbol, self.images, self.parameters, self.result = symbol, images, parameters, result


def code_for(intrinsic: Any, arguments: Any) -> IntrinsicCode | None:
    """The IntrinsicCode for arguments of these types (numba's), or None when the intrinsic does not take them.

    :raises errors.LoweringError: when its code cannot be generated, or not be used here
    """
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()
    typed = intrinsic._defn(cpu_target.typing_context, *arguments)
    if typed is None:
        return None
    signature, generate = typed
    name = intrinsic._name
    try:
        symbol, text = _module_text(name, cpu_target.target_context, signature, generate)
    except errors.NumbaError:
        raise
    except Exception as error:  # whatever the user's code raises, llvmlite or numba's context
        refusal = errors.LoweringError(
            f"intrinsic {name}{signature}: its code cannot be generated: {type(error).__name__}: {error}"
        )
        raise refusal from error
    try:
        images = _native.read_llvm(text, f"intrinsic {name}")
    except (ValueError, RuntimeError) as error:
        raise LinkerError(f"intrinsic {name}{signature}: {error.args[0]}") from error
    return IntrinsicCode(
        symbol, images, [_name_of(kind) for kind in signature.args], _name_of(signature.return_type)
    )


def _name_of(kind):
    kind = numba_types.unliteral(kind)
    if isinstance(kind, (numba_types.Dummy, numba_types.UnicodeType)) and not isinstance(
        kind, numba_types.CPointer
    ):
        return "none"
    return str(types.name_of(kind))


def _module_text(name, context, signature, generate):
    """(Symbol, text) of the module with the function."""
    values = _Values(context)
    parameters = [part for kind in signature.args for part in values.part_types(kind)]
    results = values.part_types(signature.return_type)
    returned = (
        ir.VoidType() if not results else results[0] if len(results) == 1 else ir.LiteralStructType(results)
    )
    module = ir.Module(name)
    module.triple, module.data_layout = _TRIPLE, _DATA_LAYOUT
    function = ir.Function(module, ir.FunctionType(returned, parameters), "cudasim_intrinsic")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    parts = iter(function.args)
    arguments = [values.assembled(builder, kind, parts) for kind in signature.args]
    value = generate(context, builder, signature, arguments)
    if not builder.block.is_terminated:
        given = values.taken_apart(builder, signature.return_type, value) if results else []
        if not given:
            builder.ret_void()
        elif len(given) == 1:
            builder.ret(given[0])
        else:
            builder.ret(_struct_of(builder, returned, given))
    # Equal code has equal names; several intrinsics may be called the same.
    text = str(module)
    symbol = f"cudasim_intrinsic_{hashlib.sha256(text.encode()).hexdigest()[:24]}"
    return symbol, text.replace('@"cudasim_intrinsic"', f'@"{symbol}"')


def _struct_of(builder, kind, values):
    struct = ir.Constant(kind, ir.Undefined)
    for index, value in enumerate(values):
        struct = builder.insert_value(struct, value, index)
    return struct


class _Values:
    """Values of Numba's types as their parts, and back."""

    def __init__(self, context):
        self._context = context

    def part_types(self, kind):
        """llvmlite's types of the parts."""
        if isinstance(kind, numba_types.Array):
            return [ir.IntType(8).as_pointer(), *[ir.IntType(64)] * (2 * kind.ndim)]
        if isinstance(kind, numba_types.BaseTuple):
            return [part for element in kind.types for part in self.part_types(element)]
        if isinstance(kind, numba_types.Complex):
            return self.part_types(kind.underlying_float) * 2
        if isinstance(kind, numba_types.Optional):
            return [ir.IntType(1), *self.part_types(kind.type)]
        if isinstance(kind, numba_types.EnumMember):
            return self.part_types(kind.dtype)
        if isinstance(kind, numba_types.BooleanLiteral):
            return [ir.IntType(1)]
        scalars = (
            numba_types.Number,
            numba_types.Boolean,
            numba_types.NPDatetime,
            numba_types.NPTimedelta,
            numba_types.CPointer,
        )
        if isinstance(kind, scalars):
            return [self._context.get_value_type(numba_types.unliteral(kind))]
        if isinstance(kind, (numba_types.Dummy, numba_types.UnicodeType)):
            return []
        raise errors.LoweringError(
            f"intrinsics take and give numbers, tuples, arrays and pointers here, not {kind}"
        )

    def assembled(self, builder, kind, parts):
        """The value whose parts come next, as Numba's context has it."""
        context = self._context
        if isinstance(kind, numba_types.Array):
            return self._array(builder, kind, parts)
        if isinstance(kind, numba_types.BaseTuple):
            return context.make_tuple(
                builder, kind, [self.assembled(builder, element, parts) for element in kind.types]
            )
        if isinstance(kind, numba_types.Complex):
            return self._complex(builder, kind, next(parts), next(parts))
        if isinstance(kind, numba_types.Optional):
            return self._optional(builder, kind, parts)
        if not self.part_types(kind):
            return context.get_dummy_value()
        return next(parts)

    def _complex(self, builder, kind, real, imaginary):
        made = self._context.make_complex(builder, kind)
        made.real, made.imag = real, imaginary
        return made._getvalue()

    def _optional(self, builder, kind, parts):
        made = self._context.make_helper(builder, kind)
        made.valid = next(parts)
        made.data = self.assembled(builder, kind.type, parts)
        return made._getvalue()

    def _array(self, builder, kind, parts):
        context = self._context
        data = next(parts)
        extents = [next(parts) for _ in range(2 * kind.ndim)]
        made = arrayobj.make_array(kind)(context, builder)
        element = context.get_data_type(kind.dtype)
        itemsize = ir.Constant(ir.IntType(64), context.get_abi_sizeof(element))
        arrayobj.populate_array(made, builder.bitcast(data, element.as_pointer()), extents[: kind.ndim], extents[kind.ndim :],
                                itemsize, meminfo=None)  # fmt: skip
        return made._getvalue()

    def taken_apart(self, builder, kind, value):
        """The parts of a value."""
        if isinstance(kind, numba_types.Array):
            raise errors.LoweringError("intrinsics cannot give arrays")
        if isinstance(kind, numba_types.BaseTuple):
            elements = [builder.extract_value(value, index) for index in range(len(kind.types))]
            return [
                part
                for element, one in zip(kind.types, elements)
                for part in self.taken_apart(builder, element, one)
            ]
        if isinstance(kind, numba_types.Complex):
            made = self._context.make_complex(builder, kind, value)
            return [made.real, made.imag]
        if isinstance(kind, numba_types.Optional):
            made = self._context.make_helper(builder, kind, value=value)
            return [made.valid, *self.taken_apart(builder, kind.type, made.data)]
        return [value]
