"""Signatures in every form that decorators take: strings, tuples of types, calls of types, Numba's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim import types

if TYPE_CHECKING:
    from typing import Any

    from cudasim.type_system.scalar_types import Type


class Signature:
    """Return type (None: not said) and argument type names."""

    def __init__(self, return_type: Any, args: Any) -> None:
        self.return_type = return_type
        self._given = tuple(args)
        self.names = tuple(types.name_of(argument) for argument in self._given)

    pysig = recvr = None

    @property
    def args(self) -> tuple[Any, ...]:
        """The types of the arguments."""
        if all(isinstance(given, types.Type) for given in self._given) and types.real_numba_types() is None:
            return self._given
        return types.public_types(self.names)

    def is_precise(self) -> bool:
        """Whether no type of it is left open."""
        return True

    def replace(self, return_type: Any = None, args: Any = None) -> Signature:
        """The signature with another return type, or other arguments."""
        return Signature(return_type or self.return_type, self._given if args is None else args)

    def __repr__(self) -> str:
        return f"{self.args!r} -> {self.return_type}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Signature) and (self.names, self.return_type) == (
            other.names,
            other.return_type,
        )

    def __hash__(self) -> int:
        return hash(self.names)


def signature(return_type: Type, *args: Any) -> Signature:
    """The signature of a function: Numba's own where numba has been imported."""
    numba_types = types.real_numba_types()
    if numba_types is not None:
        from numba.core.typing import signature as numba_signature

        return numba_signature(return_type, *args)
    return Signature(return_type, args)


def is_signature(value: Any) -> bool:
    """Whether a decorator's argument is a signature (or a list of them) and not a function."""
    if isinstance(value, (str, tuple, Signature, list)):
        return True
    return _is_numba_signature(value)


def _is_numba_signature(value):
    return type(value).__name__ == "Signature" and hasattr(value, "return_type") and hasattr(value, "args")


def parse_signature(value: Any) -> tuple[Any, ...]:
    """The argument type names and the return type name (or None) of a signature in any form."""
    if isinstance(value, str):
        value = types.evaluate(value)
    if isinstance(value, Signature):
        return value.names, None if value.return_type is None else types.name_of(value.return_type)
    if _is_numba_signature(value):
        returns = value.return_type
        return tuple(map(types.name_of, value.args)), None if returns is None else types.name_of(returns)
    if isinstance(value, tuple):
        return tuple(map(types.name_of, value)), None
    if isinstance(value, types.Type):
        return (types.name_of(value),), None
    raise TypeError(
        f"invalid signature: {value!r} (type: {type(value).__name__!r}) evaluates to {type(value).__name__!r} instead of "
        'tuple or Signature; write "void(float32[:], int32)" or (float32[:], int32)'
    )
