"""numba.cuda.typing: signatures."""

from cudasim import types as _types


def signature(return_type, *args):
    """The signature of a function: Numba's own where numba has been imported."""
    numba_types = _types.real_numba_types()
    if numba_types is not None:
        from numba.core.typing import signature as numba_signature

        return numba_signature(return_type, *args)
    return _types.Signature(return_type, args)


def __getattr__(name):
    if name == "Signature":
        return type(signature(_types.public("none")))
    raise AttributeError(f"module 'numba.cuda.typing' has no attribute {name!r}")
