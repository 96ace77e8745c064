"""Functions whose LLVM code programs write themselves, with llvmlite's IRBuilder: numba.extending.intrinsic, and what is registered
with Numba's extension API (cudasim.compile.added_code).

Typing functions get Numba's real types; code generators a context of Numba's (numba_target.py), whose values look like those of
kernels' compilers: numbers, pairs, tuples, array structures, structures of a program's own. Around what they write goes a function
with the simulator's convention, which takes and gives the parts of values (frontend/pykernel/emit/emission.h); the text of the module
is then read as linked code is.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from llvmlite import ir
from numba.core import errors as numba_errors
from numba.core import types as numba_types
from numba.np import arrayobj

from cudasim import _native, errors, types
from cudasim._cuda_errors import LinkerError
from cudasim.compile import numba_target
from cudasim.type_system.added_types import escaped
from cudasim.types import AddedType

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_TRIPLE = "nvptx64-nvidia-cuda"
_FUNCTION = "cudasim_intrinsic"


class IntrinsicCode:
    """What a call of such a function is for arguments of some types.

    symbol, images: the function, and the code with it. parameters, result: names of types, "none" for what has no value. frame_bytes:
    memory of the caller that its first parameter points to, if not 0.
    """

    def __init__(self, symbol: Any, images: Any, parameters: Any, result: Any, frame_bytes: int = 0) -> None:
        self.symbol, self.images, self.parameters, self.result = symbol, images, parameters, result
        self.frame_bytes = frame_bytes


def code_for(intrinsic: Any, arguments: Any) -> IntrinsicCode | None:
    """The IntrinsicCode for arguments of these types (numba's), or None when the intrinsic does not take them.

    :raises errors.LoweringError: when its code cannot be generated, or not be used here
    """
    typing, target = numba_target.contexts()
    typed = intrinsic._defn(typing, *arguments)
    if typed is None:
        return None
    signature, generate = typed
    return linked(
        f"intrinsic {intrinsic._name}{signature}",
        target,
        signature.args,
        signature.return_type,
        lambda builder, values: generate(target, builder, signature, values),
    )


def linked(
    what: str,
    context: Any,
    parameters: Any,
    result: Any,
    generate: Callable[..., Any],
    in_callers_frame: bool = False,
) -> IntrinsicCode:
    """The code that a function of the program's generates.

    :param what: what it is, for messages
    :param context: a numba_target.TargetContext
    :param parameters: types of what it takes (numba's). result: of what it gives
    :param generate: (builder, values) → value
    :param in_callers_frame: whether what it allocates on the stack is to live as long as the caller
    :raises errors.LoweringError: when it raises, or what it gives has another type
    :raises LinkerError: when what it has written is not valid
    """
    try:
        with context.gathering_images() as images:
            symbol, text, frame = _module_text(what, context, parameters, result, generate, in_callers_frame)
    except Exception as error:  # whatever the user's code raises, llvmlite or numba's context
        if isinstance(error, errors.NumbaError) and not isinstance(
            error, numba_errors.NumbaNotImplementedError
        ):
            raise
        raise numba_target.refusal(what, error) from error
    try:
        read = _native.read_llvm(text, what)
    except (ValueError, RuntimeError) as error:
        raise LinkerError(f"{what}: {error.args[0]}") from error
    return IntrinsicCode(
        symbol,
        [*read, *(each for one in images for each in one)],
        list(map(_name_of, parameters)),
        _name_of(result),
        frame,
    )


def _name_of(kind):
    kind = numba_types.unliteral(kind)
    added = types.as_type(kind)
    is_value = isinstance(added, AddedType) or isinstance(kind, numba_types.CPointer)
    if isinstance(kind, (numba_types.Dummy, numba_types.UnicodeType)) and not is_value:
        return "none"
    return added.compiler_name


def name_with_text(text: str, kinds: list[Any]) -> str:
    """The compiler's name of a tuple of a text that is known and values of these types (numba's)."""
    return f"Tuple({', '.join([f'Text({escaped(text)})', *map(_name_of, kinds)])})"


def returned_type(parts: list[Any]) -> Any:
    """llvmlite's type of what a function gives whose result has these parts."""
    return ir.VoidType() if not parts else parts[0] if len(parts) == 1 else ir.LiteralStructType(parts)


def _module_text(what, context, parameters, result, generate, in_callers_frame):
    """(Symbol, text) of the module with the function, and the bytes of its frame."""
    values = Values(context)
    frame_types = [ir.IntType(8).as_pointer()] if in_callers_frame else []
    taken = frame_types + [part for kind in parameters for part in values.part_types(kind)]
    results = values.part_types(result)
    returned = returned_type(results)
    module = ir.Module("cudasim")
    module.triple, module.data_layout = _TRIPLE, numba_target.DATA_LAYOUT
    function = ir.Function(module, ir.FunctionType(returned, taken), _FUNCTION)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    parts = iter(function.args[len(frame_types) :])
    value = generate(builder, [values.assembled(builder, kind, parts) for kind in parameters])
    if not builder.block.is_terminated:
        _check_result(what, context, result, results, value)
        given = values.taken_apart(builder, result, value) if results else []
        if not given:
            builder.ret_void()
        elif len(given) == 1:
            builder.ret(given[0])
        else:
            builder.ret(_struct_of(builder, returned, given))
    frame = _moved_to_callers_frame(context, function) if in_callers_frame else 0
    # Equal code has equal names; several functions may be called the same.
    text = str(module)
    symbol = f"{_FUNCTION}_{hashlib.sha256(text.encode()).hexdigest()[:24]}"
    return symbol, text.replace(f'@"{_FUNCTION}"', f'@"{symbol}"'), frame


def _moved_to_callers_frame(context, function):
    """Puts what the function allocates on its stack behind its first parameter; gives how many bytes that is."""
    size = 0
    for block in function.blocks:
        for instruction in list(block.instructions):
            if not isinstance(instruction, ir.instructions.AllocaInstr):
                continue
            kind = instruction.type.pointee
            builder = ir.IRBuilder(block)
            builder.position_before(instruction)
            place = builder.gep(function.args[0], [ir.Constant(ir.IntType(64), size)])
            moved = builder.bitcast(place, instruction.type)
            block.instructions.remove(instruction)
            moved._name = instruction.name  # by which the others name it
            size += (context.get_abi_sizeof(kind) + 15) // 16 * 16
    return max(size, 16)


def _check_result(what, context, result, parts, value):
    """Refuses a value of another type than the signature promises, which LLVM may only find far from here."""
    if not parts:
        return
    wanted = context.get_value_type(numba_types.unliteral(result))
    given = getattr(value, "type", None)
    if given is None:
        raise errors.LoweringError(f"{what}: its code generator gives {value!r}, not a value of {result}")
    if str(given) != str(wanted):
        raise errors.LoweringError(
            f"{what}: its code generator gives a value of LLVM's type {given}; {result} is {wanted}"
        )


def _struct_of(builder, kind, values):
    struct = ir.Constant(kind, ir.Undefined)
    for index, value in enumerate(values):
        struct = builder.insert_value(struct, value, index)
    return struct


_PART_TYPES = {
    "bool": ir.IntType(1), "int8": ir.IntType(8), "int16": ir.IntType(16), "int32": ir.IntType(32), "int64": ir.IntType(64),
    "uint64": ir.IntType(64), "float16": ir.HalfType(), "float32": ir.FloatType(), "float64": ir.DoubleType(),
}  # fmt: skip


def _aggregate(builder, kind, parts):
    """A value of one of llvmlite's types, of numbers that come one after the other."""
    if hasattr(kind, "elements"):
        made = ir.Constant(kind, ir.Undefined)
        for index, element in enumerate(kind.elements):
            made = builder.insert_value(made, _aggregate(builder, element, parts), index)
        return made
    part = next(parts)
    return builder.inttoptr(part, kind) if isinstance(kind, ir.PointerType) else part


def _numbers_in(builder, value):
    """The inverse."""
    if hasattr(value.type, "elements"):
        for index in range(len(value.type.elements)):
            yield from _numbers_in(builder, builder.extract_value(value, index))
    elif isinstance(value.type, ir.PointerType):
        yield builder.ptrtoint(value, ir.IntType(64))
    else:
        yield value


class Values:
    """Values of Numba's types as their parts, and back."""

    def __init__(self, context: Any) -> None:
        self._context = context

    def part_types(self, kind: Any) -> list[Any]:
        """llvmlite's types of the parts."""
        if isinstance(added := types.as_type(kind), AddedType):
            return [_PART_TYPES[name] for _, name, _ in added.parts]
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
        if isinstance(kind, numba_types.SliceType):
            return [ir.IntType(64)] * 3
        if isinstance(kind, numba_types.BooleanLiteral):
            return [ir.IntType(1)]
        scalars = (
            numba_types.Number,
            numba_types.Boolean,
            numba_types.NPDatetime,
            numba_types.NPTimedelta,
            numba_types.CPointer,
            numba_types.RawPointer,
        )
        if isinstance(kind, scalars):
            return [self._context.get_value_type(numba_types.unliteral(kind))]
        if isinstance(kind, (numba_types.Dummy, numba_types.UnicodeType)):
            return []
        raise errors.LoweringError(
            f"intrinsics take and give numbers, tuples, arrays and pointers here, not {kind}"
        )

    def assembled(self, builder: Any, kind: Any, parts: Any) -> Any:
        """The value whose parts come next, as Numba's context has it."""
        context = self._context
        if isinstance(types.as_type(kind), AddedType):
            return _aggregate(builder, context.get_value_type(kind), parts)
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
        if isinstance(kind, numba_types.SliceType):
            return self._slice(builder, kind, parts)
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

    def _slice(self, builder, kind, parts):
        made = self._context.make_helper(builder, kind)
        made.start, made.stop, made.step = next(parts), next(parts), next(parts)
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

    def taken_apart(self, builder: Any, kind: Any, value: Any) -> list[Any]:
        """The parts of a value."""
        if isinstance(kind, numba_types.Array):
            made = arrayobj.make_array(kind)(self._context, builder, value=value)
            bounds = [
                builder.extract_value(each, axis)
                for each in (made.shape, made.strides)
                for axis in range(kind.ndim)
            ]
            return [builder.bitcast(made.data, ir.IntType(8).as_pointer()), *bounds]
        if isinstance(types.as_type(kind), AddedType):
            return list(_numbers_in(builder, value))
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
        if isinstance(kind, numba_types.SliceType):
            made = self._context.make_helper(builder, kind, value=value)
            return [made.start, made.stop, made.step]
        return [value]
