"""numba.core.sigutils: signatures in the forms that decorators take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim.types import is_signature, parse_signature, public, public_types  # noqa: F401

if TYPE_CHECKING:
    from typing import Any


def normalize_signature(sig: Any) -> tuple[Any, ...]:
    """The types of the arguments and the return type, None where it is not said.

    :raises TypeError: for what is not a signature
    """
    arguments, returns = parse_signature(sig)
    return public_types(arguments), None if returns is None else public(returns)
