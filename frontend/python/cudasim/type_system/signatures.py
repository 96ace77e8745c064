"""Signatures in every form that decorators take: strings, tuples of types, calls of types, Numba's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim.type_system.numba_types import public_types, real_numba_types
from cudasim.type_system.scalar_types import Type, as_type, register_factories
from cudasim.type_system.type_names import evaluate

if TYPE_CHECKING:
    from typing import Any


class Signature:
    """Return type (None: not said) and types of the arguments.

    :ivar types: the type objects of the arguments, ours
    """

    def __init__(self, return_type: Any, args: Any) -> None:
        """Types in any form that as_type() takes."""
        self.return_type = return_type
        self.types: tuple[Type, ...] = tuple(map(as_type, args))

    pysig = recvr = None

    @property
    def args(self) -> tuple[Any, ...]:
        """The types of the arguments, as users see them."""
        return public_types(self.types)

    def is_precise(self) -> bool:
        """Whether no type of it is left open."""
        return True

    def replace(self, return_type: Any = None, args: Any = None) -> Signature:
        """The signature with another return type, or other arguments."""
        return Signature(return_type or self.return_type, self.types if args is None else args)

    def __repr__(self) -> str:
        return f"{self.args!r} -> {self.return_type}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Signature) and (self.types, self.return_type) == (
            other.types,
            other.return_type,
        )

    def __hash__(self) -> int:
        return hash(self.types)


def signature(return_type: Type, *args: Any) -> Signature:
    """The signature of a function: Numba's own where numba has been imported."""
    numba_types = real_numba_types()
    if numba_types is not None:
        from numba.core.typing import signature as numba_signature  # numba may be absent

        return numba_signature(return_type, *args)
    return Signature(return_type, args)


def is_signature(value: Any) -> bool:
    """Whether a decorator's argument is a signature (or a list of them) and not a function."""
    if isinstance(value, (str, tuple, Signature, list)):
        return True
    return _is_numba_signature(value)


def _is_numba_signature(value):
    return type(value).__name__ == "Signature" and hasattr(value, "return_type") and hasattr(value, "args")


def parse_signature(value: Any) -> tuple[tuple[Type, ...], Type | None]:
    """The types of the arguments and the return type (None: not said) of a signature in any form.

    :raises TypeError: for what is no signature
    """
    if isinstance(value, str):
        value = evaluate(value)
    if isinstance(value, Signature) or _is_numba_signature(value):
        given = value.types if isinstance(value, Signature) else value.args
        return tuple(map(as_type, given)), None if value.return_type is None else as_type(value.return_type)
    if isinstance(value, tuple):
        return tuple(map(as_type, value)), None
    if isinstance(value, Type):
        return (value,), None
    raise TypeError(
        f"invalid signature: {value!r} (type: {type(value).__name__!r}) evaluates to {type(value).__name__!r} instead of "
        'tuple or Signature; write "void(float32[:], int32)" or (float32[:], int32)'
    )


register_factories(signature=Signature)
