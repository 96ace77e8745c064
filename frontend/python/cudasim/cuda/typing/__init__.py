"""numba.cuda.typing: signatures."""

from cudasim import types as _types
from cudasim.type_system.signatures import signature


def __getattr__(name):
    if name == "Signature":
        return type(signature(_types.public("none")))
    raise AttributeError(f"module 'numba.cuda.typing' has no attribute {name!r}")
