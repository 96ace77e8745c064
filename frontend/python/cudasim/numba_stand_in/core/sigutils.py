"""numba.core.sigutils: signatures in the forms that decorators take."""

from cudasim.types import is_signature, parse_signature, public_types  # noqa: F401


def normalize_signature(sig):
    """The types of the arguments and the return type, None where it is not said.

    :raises TypeError: for what is no signature
    """
    names, returns = parse_signature(sig)
    return public_types(names), None if returns is None else public_types([returns])[0]
