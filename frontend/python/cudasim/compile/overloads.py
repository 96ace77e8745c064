"""numba.cuda.extending.overload and its kind: Python functions for what kernels call, chosen by the types of the arguments.

An implementer is called with the argument types and gives the function that implements the call for them, or None. Those of
numba.cuda.extending are kept here; those that programs registered with the real numba (numba.extending.overload,
overload_method, overload_attribute, register_jitable, intrinsic) are found there.
"""

from __future__ import annotations

import inspect
import operator
import os
import sys
from typing import TYPE_CHECKING

from cudasim import errors, types
from cudasim.type_system import value_types

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cudasim.type_system.scalar_types import Type

#: Function → its implementers.
_functions: dict[Any, Any] = {}
#: (type class or type, name) → implementers; and whether they are methods.
_attributes: dict[Any, Any] = {}
#: compiler.compile_device_function(), which code for LLVM calls (added_code.py).
device_function_compiler: Any = None
#: What cudasim implements itself, or numba's CPU compiler alone.
_NOT_ASKED = ("numpy", "builtins", "math", "cmath", "_operator", "operator", "numba", "cudasim")
#: Numba's names of targets that kernels belong to, the most special last.
_TARGETS = ("generic", "gpu", "cuda")


class Implementer:
    """One decorated function: what it is for, and how strictly it is read."""

    def __init__(
        self,
        function: Callable[..., Any],
        target: str = "generic",
        prefer_literal: bool = False,
        strict: bool = True,
    ) -> None:
        self.function, self.prefer_literal, self.strict = function, prefer_literal, strict
        self.rank = _TARGETS.index(target) if target in _TARGETS else -1

    def __call__(
        self, arguments: list[Any], keywords: dict[Any, Any]
    ) -> tuple[Callable[..., Any] | None, bool]:
        """(The function for arguments of these types or None, whether it is for the literal types themselves)."""
        plain = [*map(_unliteral, arguments)], {name: _unliteral(kind) for name, kind in keywords.items()}
        tries = [(plain, False), ((arguments, keywords), True)]
        refused = None
        for (positional, named), literal in reversed(tries) if self.prefer_literal else tries:
            if literal and (positional, named) == plain:
                continue
            try:
                found = self.function(*positional, **named)
            except errors.TypingError as error:  # numba's way to say no, with a reason
                refused = error
                continue
            if found is not None:
                found = getattr(found, "py_func", found)
                if self.strict:
                    _check_parameters(self.function, found)
                return found, literal
        if refused is not None:
            raise refused
        return None, False


def _unliteral(kind):
    if isinstance(kind, types.Type):
        return value_types.unliteral(kind)
    literal_type = getattr(kind, "literal_type", None)
    return kind if literal_type is None else literal_type


def _check_parameters(typing, implementation):
    """Both have to take the same arguments, as in Numba, where calls are bound to the typing function's."""
    if not inspect.isfunction(implementation):
        raise errors.TypingError(
            f"{typing.__name__}() of overload() has to give a function, not {implementation!r}"
        )
    wanted, given = (inspect.signature(function).parameters for function in (typing, implementation))
    if any(one.kind is one.VAR_POSITIONAL for one in wanted.values()):
        return
    if list(wanted) != list(given):
        raise errors.TypingError(
            f"Typing and implementation arguments differ in argument names: {typing.__name__}({', '.join(wanted)}) of overload() "
            f"gives a function with the parameters ({', '.join(given)})"
        )
    for name in wanted:
        if (wanted[name].default is wanted[name].empty) != (given[name].default is given[name].empty):
            raise errors.TypingError(
                f"Typing and implementation arguments differ in keyword argument default values: {name!r} of "
                f"{typing.__name__}() of overload()"
            )


class Overloaded:
    """Something that kernels call and that implementers implement."""

    def __init__(self, function: Any, implementers: list[Implementer]) -> None:
        self.function = function
        # The order in which Numba asks: of one target as they were registered.
        self.implementers = sorted(implementers, key=lambda one: -one.rank)

    @property
    def name(self) -> str:
        """What the kernel calls it, for messages."""
        if isinstance(self.function, tuple):
            return self.function[1]
        return getattr(self.function, "__name__", str(self.function))

    @property
    def parameters_of(self) -> Callable[..., Any]:
        """The Python function whose parameters calls are bound to. numba.extending.register_jitable registers `*args`
        for a Python function, which then says itself what it takes."""
        typing = self.implementers[0].function
        takes_any = bool(typing.__code__.co_flags & inspect.CO_VARARGS)
        return self.function if takes_any and inspect.isfunction(self.function) else typing

    def implementation(
        self, arguments: list[Any], keywords: dict[Any, Any] | None = None
    ) -> tuple[Callable[..., Any] | None, bool]:
        """(The function for arguments of these types (type objects) or None, whether it is for literal types).

        :raises errors.TypingError: when no implementer takes them and one says why
        """
        refused = None
        for implementer in self.implementers:
            try:
                found = implementer(arguments, keywords or {})
            except errors.TypingError as error:
                refused = refused or error
                continue
            if found[0] is not None:
                return found
        if refused is not None:
            raise refused
        return None, False


class Intrinsic:
    """Something that kernels call and whose LLVM code a program writes itself (numba.extending.intrinsic)."""

    def __init__(self, function: Any) -> None:
        self.function = function
        #: Its first parameter is the typing context.
        self.parameters_of = function._defn

    def code(self, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """A cudasim.compile.llvmlite_code.IntrinsicCode for arguments of these types, or None. Keywords are bound already."""
        del keywords
        from cudasim.compile.llvmlite_code import code_for  # it needs numba and llvmlite

        plain = list(map(_unliteral, arguments))
        tries = [arguments, plain] if getattr(self.function, "_prefer_literal", False) else [plain, arguments]
        return next((code for given in tries if (code := code_for(self.function, given)) is not None), None)


class Both:
    """Something of which programs say both: Python functions that implement it, which are asked first, and Numba's templates.

    parameters_of: None: its arguments are bound by the latter."""

    parameters_of = None

    def __init__(self, overloaded: Overloaded, added: Any) -> None:
        self.function, self.name = overloaded.function, overloaded.name
        self.overloaded, self.added = overloaded, added

    def implementation(
        self, arguments: list[Any], keywords: dict[str, Any]
    ) -> tuple[Callable[..., Any] | None, bool]:
        """As Overloaded.implementation(); (None, False) where a template may take the arguments."""
        try:
            return (None, False) if keywords else self.overloaded.implementation(arguments)
        except errors.TypingError:
            return None, False

    def code(self, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """As AddedFunction.code()."""
        return self.added.code(arguments, keywords)


def is_intrinsic(value: Any) -> bool:
    """Whether numba's @intrinsic has made it."""
    return type(value).__name__ == "_Intrinsic" and type(value).__module__ == "numba.core.extending"


def add(function: Callable[..., Any], implementer: Implementer) -> None:
    """Registers an Implementer of a function."""
    _functions.setdefault(function, []).append(implementer)


def add_attribute(kind: Any, name: str, implementer: Implementer, is_method: bool) -> None:
    """Registers an Implementer of an attribute or method of values of a type, or of all types of a class."""
    _attributes.setdefault(name, []).append((kind, implementer, is_method))


def of(value: Any) -> Any:
    """The Overloaded, the Intrinsic, the AddedFunction or Both of a value that a kernel names, or None."""
    if not callable(value):
        return None
    if is_intrinsic(value):
        return Intrinsic(value)
    try:
        own = list(_functions.get(value, ()))
    except TypeError:  # not hashable
        return None
    if (getattr(value, "__module__", None) or "").partition(".")[0] not in _NOT_ASKED:
        own += _registered_with_numba(value)
    return _of(value, own)


def of_operation(name: str, read_type: Any = None) -> Any:
    """What of() gives, of an operator or a function that the compiler calls so ("operator.add", "len"), for values of types of a
    program's own; None where the program says nothing of it.

    :param read_type: the compiler's name of a type → the type; what conversions need
    """
    if _registry() is None:
        return None
    from cudasim.compile import added_code  # it needs numba and llvmlite

    if name.startswith("setattr "):
        return added_code.AddedSetter(name.removeprefix("setattr "))
    if name.startswith("cast to "):
        return added_code.AddedCast(types.public(read_type(name.removeprefix("cast to "))))
    if name in ("getiter", "iternext"):
        return added_code.AddedIterator(name)
    if name == "print_item":
        return added_code.AddedPrinting()
    if name.startswith("constant "):
        return added_code.AddedConstant(*_constants[int(name.removeprefix("constant "))])
    function = added_code.operation(name)
    if function is None:
        return None
    # Either of these means the other.
    same = {"bool": operator.truth, "operator.truth": bool}.get(name)
    implementers = []
    for each in [function] if same is None else [function, same]:
        implementers += _functions.get(each, ())
        implementers += [one for one in _registered_with_numba(each) if not _is_numbas(one.function)]
    return _of(function, implementers)


#: Values from outside of kernels that have types of a program's own, and these.
_constants: list[Any] = []


def constant_number(value: Any, kind: Any) -> int:
    """The number by which of_operation() finds a value from outside of a kernel whose type (an AddedType) a program has added."""
    for number, (known, _) in enumerate(_constants):
        if known is value:
            return number
    _constants.append((value, kind))
    return len(_constants) - 1


def _of(value, implementers):
    own = [one for one in implementers if one.rank >= 0]
    overloaded = Overloaded(value, own) if own else None
    added = None
    if _registry() is not None:
        from cudasim.compile import added_code  # it needs numba and llvmlite

        added = added_code.of_value(value)
    return Both(overloaded, added) if overloaded and added else overloaded or added


def added_attribute(kind: Any, name: str) -> Any:
    """The AddedAttribute or AddedMethod of values of a type (numba's), or None."""
    if _registry() is None or isinstance(kind, types.Type):
        return None
    from cudasim.compile import added_code  # it needs numba and llvmlite

    return added_code.of_attribute(kind, name)


def type_of_device_function(dispatcher: Any) -> Any:
    """What implementers and code generators get as the type of a device function that a call passes; None without Numba."""
    if _registry() is None:
        return None
    from cudasim.compile import added_code  # it needs numba and llvmlite

    return added_code.DeviceFunction(dispatcher)


def of_attribute(kind: Type, name: str) -> tuple[Overloaded, bool] | None:
    """(The Overloaded of an attribute of values of a type, whether it is a method), or None."""
    found = [
        (implementer, is_method)
        for owner, implementer, is_method in _attributes.get(name, ())
        if _owns(owner, kind)
    ]
    found += _attributes_registered_with_numba(kind, name)
    found = [each for each in found if each[0].rank >= 0]
    if not found:
        return None
    is_method = found[0][1]
    implementers = [implementer for implementer, other in found if other == is_method]
    return Overloaded((implementers[0].function, name), implementers), is_method


def attribute_names() -> set[Any]:
    """Names of the attributes and methods that overload_attribute() and overload_method() have added."""
    return {*_attributes, *(template._attr for template in _attribute_templates())}


def anything_is_overloaded() -> bool:
    """Whether programs have implemented any function, operator, attribute or method."""
    registry = _registry()
    numbas = () if registry is None else [kind for _, kind in registry.globals]
    return bool(_functions or attribute_names()) or any(
        hasattr(template, "_overload_func") and not _is_numbas(template._overload_func)
        for kind in numbas
        for template in getattr(kind, "templates", ())
    )


def _owns(owner, kind):
    kind = _unliteral(kind)
    if hasattr(owner, "instance_type"):  # overload_classmethod
        return isinstance(getattr(kind, "instance_type", None), owner.instance_type)
    if isinstance(owner, type):
        return isinstance(kind, owner)
    return types.name_of(owner) == types.name_of(kind)


def _registry():
    templates = sys.modules.get("numba.core.typing.templates")
    return None if templates is None else templates.builtin_registry


def _is_numbas(function):
    """Whether it is a function of Numba's own; some of those that exec() makes have no module."""
    module = function.__module__
    if module is None:
        return os.path.dirname(str(sys.modules["numba"].__file__)) + os.sep in function.__code__.co_filename
    return module.partition(".")[0] == "numba"


def _implementer_of(template):
    target = (getattr(template, "metadata", None) or {}).get("target", "generic")
    strict = getattr(template, "_strict", True)
    return Implementer(
        template._overload_func, target, bool(getattr(template, "prefer_literal", False)), strict
    )


def _registered_with_numba(value):
    registry = _registry()
    found = []
    for known, kind in registry.globals if registry is not None else ():
        if known is value:
            found += [_implementer_of(template) for template in getattr(kind, "templates", ())
                      if hasattr(template, "_overload_func")]  # fmt: skip
    return found


def _attribute_templates():
    """Those that programs have registered, not numba itself."""
    registry = _registry()
    return [template for template in (registry.attributes if registry is not None else ())
            if hasattr(template, "_overload_func") and hasattr(template, "_attr")
            and not _is_numbas(template._overload_func)]  # fmt: skip


def _attributes_registered_with_numba(kind, name):
    return [(_implementer_of(template), "Method" in template.__mro__[1].__name__) for template in _attribute_templates()
            if template._attr == name and _owns(template.key, kind)]  # fmt: skip
