"""What programs say of functions, operators and attributes with Numba's extension API (type_callable and templates, lower_builtin and
its kind, make_attribute_wrapper): which types a call takes and gives, and the LLVM code for it."""

from __future__ import annotations

import builtins
import inspect
import math
import operator
from typing import TYPE_CHECKING

import numpy as np
from llvmlite import ir
from numba.core import errors as numba_errors
from numba.core import types as numba_types
from numba.core.typing import templates

from cudasim import errors, types
from cudasim.compile import numba_target, overloads, printing
from cudasim.compile.llvmlite_code import IntrinsicCode, Values, linked, name_with_text, returned_type

if TYPE_CHECKING:
    from typing import Any


#: Packages whose functions Numba itself has templates for.
_OTHERS = ("numba", "cudasim", "builtins", "abc", "_operator", "operator", "math", "cmath", "numpy")


def _is_programs(template):
    """Whether a program has written the template: Numba's own, and those made of overloads, are not asked. Numba derives classes from
    those that it is given, and makes one around type_callable()'s function."""
    if hasattr(template, "_overload_func"):
        return False
    typing = (
        inspect.getclosurevars(generic).nonlocals
        if inspect.isfunction(generic := vars(template).get("generic"))
        else {}
    )
    written = [*template.__mro__, getattr(template, "key", None), *typing.values()]
    return any(
        (getattr(each, "__module__", None) or "numba").partition(".")[0] not in _OTHERS for each in written
    )


class AddedFunction:
    """A function or an operator that takes values of types of a program's own.

    function: what the kernel names. signatures: Numba's type of it, whose templates say which types it takes."""

    #: Its arguments are bound by its templates.
    parameters_of = None

    def __init__(self, function: Any, signatures: Any) -> None:
        self.function, self._signatures = function, signatures

    def code(self, arguments: list[Any], keywords: dict[str, Any]) -> IntrinsicCode | None:
        """What a call means for arguments of these types (numba's), or None: nothing.

        :raises errors.TypingError: with what the templates have to say
        :raises errors.LoweringError: when its code cannot be generated
        """
        typing, target = numba_target.contexts()
        signature = _typed(self._signatures, typing, tuple(arguments), keywords)
        given = [*arguments, *keywords.values()]
        what = f"{_shown(self.function)}{signature}"
        order = _order(what, signature, arguments, keywords)
        implementation = _implementation(what, target, self._signatures, signature)
        return linked(
            what, target, given, signature.return_type,
            lambda builder, values: implementation(
                builder, _cast(target, builder, [(values[i], given[i]) for i in order], signature.args)
            ),
        )  # fmt: skip


class AddedMethod:
    """A method of values of a type, whose first argument is the value."""

    parameters_of = None
    is_method = True

    def __init__(self, kind: Any, name: str) -> None:
        self.function, self.name = (kind, name), name

    def code(self, arguments: list[Any], keywords: dict[str, Any]) -> IntrinsicCode | None:
        """As AddedFunction.code()."""
        kind, name = self.function
        typing, target = numba_target.contexts()
        method = typing.resolve_getattr(kind, name)
        signature = _typed(method, typing, tuple(arguments[1:]), keywords)
        given = [*arguments, *keywords.values()]
        what = f"{kind}.{name}{signature}"
        order = [0] + [1 + i for i in _order(what, signature, arguments[1:], keywords)]
        implementation = _implementation(what, target, method, signature)
        wanted = (signature.recvr or kind, *signature.args)
        return linked(
            what, target, given, signature.return_type,
            lambda builder, values: implementation(
                builder, _cast(target, builder, [(values[i], given[i]) for i in order], wanted)
            ),
        )  # fmt: skip


class AddedAttribute:
    """An attribute of values of a type, as a function of the value."""

    parameters_of = None

    def __init__(self, kind: Any, name: str) -> None:
        self.function, self.name = (kind, name), name

    def code(self, arguments: list[Any], keywords: dict[str, Any]) -> IntrinsicCode | None:
        """As AddedFunction.code()."""
        kind, name = self.function
        typing, target = numba_target.contexts()
        result = typing.resolve_getattr(kind, name)
        what = f"attribute {name!r} of {kind}"
        try:
            get = target.get_getattr(kind, name)
        except NotImplementedError as error:
            raise errors.LoweringError(f"{what}: {error}") from None
        return linked(
            what, target, [kind], result, lambda builder, values: get(target, builder, kind, values[0], name)
        )


class AddedSetter:
    """The assignment to an attribute of values of a type, as a function of the value and what is assigned."""

    parameters_of = None

    def __init__(self, name: str) -> None:
        self.function, self.name = ("setattr", name), "setattr"

    def code(self, arguments: list[Any], keywords: dict[str, Any]) -> IntrinsicCode | None:
        """As AddedFunction.code()."""
        del keywords
        kind, given = arguments
        _, name = self.function
        typing, target = numba_target.contexts()
        what = f"assignment to attribute {name!r} of {kind}"
        signature = typing.resolve_setattr(kind, name, given)
        if signature is None:
            raise errors.TypingError(f"{kind} has no attribute {name!r} that takes {given}")
        try:
            assign = target.get_setattr(name, signature)
        except NotImplementedError as error:
            raise errors.LoweringError(f"{what}: {error}") from None
        return linked(
            what, target, arguments, numba_types.void,
            lambda builder, values: assign(builder, _cast(target, builder, list(zip(values, arguments)), signature.args)),
        )  # fmt: skip


class AddedIterator:
    """What begins a loop over values of a type ("getiter"), and what gives the next of an iterator's values ("iternext"), with whether
    there is one, as functions of the value."""

    parameters_of = None

    def __init__(self, name: str) -> None:
        self.function, self.name = ("iteration", name), name

    def code(self, arguments: list[Any], keywords: dict[str, Any]) -> IntrinsicCode | None:
        """As AddedFunction.code(); the iterator's state lies in the frame of the function with the loop."""
        del keywords
        (kind,) = arguments
        typing, target = numba_target.contexts()
        if self.function[1] == "iternext":
            return self._next(target, kind)
        signature = typing.resolve_function_type("getiter", (kind,), {})
        if signature is None:
            return None
        begin = target.get_function("getiter", signature)
        return linked(
            f"loop over {kind}",
            target,
            [kind],
            signature.return_type,
            lambda builder, values: begin(builder, values),
            True,
        )

    @staticmethod
    def _next(target, kind):
        element = getattr(kind, "yield_type", None)
        if element is None:  # it is no iterator
            return None
        pair = numba_types.Pair(element, numba_types.boolean)
        following = target.get_function("iternext", templates.signature(pair, kind))
        result = numba_types.Tuple((numba_types.boolean, element))

        def generate(builder, values):
            made = target.make_helper(builder, pair, value=following(builder, values))
            return target.make_tuple(builder, result, (made.second, made.first))

        return linked(f"next value of {kind}", target, [kind], result, generate)


class AddedPrinting:
    """What print() does with a value of a type, as a function of the value: a tuple of the format, as a literal, and its arguments."""

    parameters_of = None
    function = name = "print_item"

    def code(self, arguments: list[Any], keywords: dict[str, Any]) -> IntrinsicCode | None:
        """As AddedFunction.code(); None where the program has registered nothing (numba.cuda.printimpl)."""
        del keywords
        (kind,) = arguments
        if not printing.is_registered(kind):
            return None
        _, target = numba_target.contexts()
        # What it prints is known when its code has been generated.
        with target.gathering_images():
            text, found = printing.tried(target, kind)
        result = numba_types.Tuple(found)
        code = linked(
            f"print_item of {kind}", target, [kind], result,
            lambda builder, values: target.make_tuple(
                builder, result, printing.generated(target, builder, kind, values[0])[1]),
        )  # fmt: skip
        code.result = name_with_text(text, found)
        return code


class AddedConstant:
    """A value from outside of the kernel, as a function without arguments."""

    parameters_of = None

    def __init__(self, value: Any, kind: types.AddedType) -> None:
        self.function, self._value, self._kind = ("constant", id(value)), value, kind.numba_type

    def code(self, arguments: list[Any], keywords: dict[str, Any]) -> IntrinsicCode | None:
        """As AddedFunction.code()."""
        del arguments, keywords
        _, target = numba_target.contexts()
        return linked(
            f"constant of type {self._kind}", target, [], self._kind,
            lambda builder, values: self._generated(target, builder),
        )  # fmt: skip

    def _generated(self, target, builder):
        try:
            return target.get_constant_generic(builder, self._kind, self._value)
        except (NotImplementedError, numba_errors.NumbaNotImplementedError):
            raise errors.LoweringError(
                f"a value of type {self._kind} cannot come from outside of the kernel: no lower_constant() is registered for it"
            ) from None


class AddedCast:
    """The conversion to a type, as a function of a value."""

    parameters_of = None

    def __init__(self, target: Any) -> None:
        self.function = ("cast", target)

    def code(self, arguments: list[Any], keywords: dict[str, Any]) -> IntrinsicCode | None:
        """As AddedFunction.code(); None where Numba has no conversion."""
        del keywords
        _, wanted = self.function
        (given,) = arguments
        typing, target = numba_target.contexts()
        if typing.can_convert(given, wanted) is None:
            return None
        return linked(
            f"conversion of {given} to {wanted}", target, arguments, wanted,
            lambda builder, values: target.cast(builder, values[0], given, wanted),
        )  # fmt: skip


class DeviceFunction(numba_types.Dispatcher):
    """Numba's type of a device function: what a call of it takes and gives, which TargetContext.get_function() has code for."""

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        """The signature of a call with arguments of these types.

        :raises errors.TypingError: what the function cannot do with them
        """
        args, kws = (
            [*map(numba_types.unliteral, args)],
            {name: numba_types.unliteral(kws[name]) for name in kws},
        )
        given = inspect.signature(self.dispatcher.py_func).bind(*args, **kws).args
        declared = [
            templates.signature(types.public(result), *types.public_types(kinds))
            for kinds, result in self.dispatcher.device_signatures if result is not None
        ]  # fmt: skip
        if declared:
            return context.resolve_overload(self, declared, given, {})
        result = _device_function(self.dispatcher, given, None)[1].result_type
        return templates.signature(types.public(result), *given)

    def get_impl_key(self, sig: Any) -> Any:
        """What the code is found by."""
        return self


def _device_function(function, arguments, result):
    """(Symbol, CompiledPythonKernel) of a Python function, or a dispatcher of one, for types of arguments and a result of Numba's."""
    function = getattr(function, "py_func", function)
    kinds = [types.as_type(numba_types.unliteral(kind)) for kind in arguments]
    result = None if result is None else types.as_type(result)
    symbol = f"cudasim_called_{id(function):x}_{abs(hash((tuple(kinds), result))):x}"
    compiled = overloads.device_function_compiler(function, kinds, abi="c", name=symbol, result_type=result)
    return symbol, compiled


def of_value(value: Any) -> AddedFunction | None:
    """The AddedFunction of what a kernel names, if a program has said anything about it."""
    if not _anything_is_registered():
        return None
    typing, _ = numba_target.contexts()
    known = typing._lookup_global(value)
    found = [template for template in getattr(known, "templates", ()) if _is_programs(template)]
    return AddedFunction(value, numba_types.Function(found)) if found else None


def of_attribute(kind: Any, name: str) -> AddedAttribute | AddedMethod | None:
    """The attribute or method of values of a type (numba's) that a program has added, or None."""
    typing, _ = numba_target.contexts()
    for template in typing._get_attribute_templates(kind):
        if not _is_attribute_of_program(template, kind):
            continue
        found = template.resolve(kind, name)
        if isinstance(found, numba_types.BoundFunction):
            return AddedMethod(kind, name)
        if found is not None:
            return AddedAttribute(kind, name)
    return None


def _is_attribute_of_program(template, kind):
    """make_attribute_wrapper()'s template is Numba's, for a type that is not."""
    if hasattr(template, "_overload_func"):
        return False
    return _is_programs(type(template)) or isinstance(types.as_type(kind), types.AddedType)


def operation(name: str) -> Any:
    """The function that the compiler calls so: "operator.add", "len", "math.sqrt"; None for what is no function of Python's."""
    module, _, attribute = name.rpartition(".")
    where = {"": builtins, "operator": operator, "math": math, "numpy": np}.get(module)
    return getattr(where, attribute, None)


def _anything_is_registered():
    registries = [templates.builtin_registry, numba_target.declarations]
    return any(_is_programs(template) for registry in registries for template in registry.functions) or any(
        _is_programs(template)
        for registry in registries
        for _, kind in registry.globals
        for template in getattr(kind, "templates", ())
    )


def _shown(function):
    return getattr(function, "__name__", str(function))


def _typed(signatures, typing, arguments, keywords):
    try:
        signature = signatures.get_call_type(typing, arguments, keywords)
    except numba_errors.TypingError as error:
        raise errors.TypingError(str(error)) from error
    if signature is None:
        raise errors.TypingError(f"no template of {signatures} takes ({', '.join(map(str, arguments))})")
    return signature


def _order(what, signature, arguments, keywords):
    """Which of the arguments, positional ones first, each parameter of the signature is."""
    count = len(arguments)
    if not keywords:
        return range(count)
    if signature.pysig is None:
        raise errors.TypingError(f"{what} takes no arguments by name")
    names = [*map(str, range(count)), *keywords]
    bound = inspect.Signature.bind(
        signature.pysig, *range(count), **{name: names.index(name, count) for name in keywords}
    )
    return list(bound.arguments.values())


def _implementation(what, target, signatures, signature):
    try:
        return target.get_function(signatures, signature)
    except NotImplementedError as error:
        raise errors.LoweringError(f"{what}: {error}") from None


def _cast(target, builder, given, wanted):
    return [
        value
        if isinstance(kind, numba_types.Literal)
        else target.cast(builder, value, numba_types.unliteral(has), kind)
        for (value, has), kind in zip(given, wanted)
    ]


def _compiled(context, builder, function, signature, values):
    """What TargetContext.compile_internal() asks for: cudasim's code for a Python function (numba_target.set_compiler)."""
    symbol, compiled = _device_function(function, signature.args, signature.return_type)
    converter = Values(context)
    flattened = []
    for number, (kind, value) in enumerate(zip(signature.args, values), 1):
        wanted = context.get_value_type(numba_types.unliteral(kind))
        if str(value.type) != str(wanted):
            raise TypeError(
                f"argument {number} of {_shown(function)}{signature} is {wanted}, not {value.type}"
            )
        parts = converter.taken_apart(builder, numba_types.unliteral(kind), value)
        for part in parts:
            is_bool = isinstance(part.type, ir.IntType) and part.type.width == 1
            flattened.append(builder.zext(part, ir.IntType(8)) if is_bool else part)
    results = converter.part_types(signature.return_type)
    function_type = ir.FunctionType(returned_type(results), [part.type for part in flattened])

    def made(call):
        if not results:
            return context.get_dummy_value()
        parts = [call] if len(results) == 1 else [builder.extract_value(call, i) for i in range(len(results))]
        return converter.assembled(builder, signature.return_type, iter(parts))

    return symbol, [compiled.image], function_type, flattened, made


numba_target.set_compiler(_compiled)
