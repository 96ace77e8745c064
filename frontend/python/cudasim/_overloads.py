"""numba.cuda.extending.overload: Python functions for what kernels call, chosen by the types of the arguments.

An implementer is called with the argument types and gives the function that implements the call for them, or None. Those of
numba.cuda.extending are kept here; those that programs registered with the real numba (numba.extending.overload,
register_jitable) are found there.
"""

import sys

#: What is implemented → its implementers.
_table = {}
#: What cudasim implements itself, or numba's CPU compiler alone.
_NOT_ASKED = ("numpy", "builtins", "math", "cmath", "_operator", "operator", "numba", "cudasim")


class Overloaded:
    """Something that kernels call and that implementers implement."""

    def __init__(self, function, implementers):
        self.function, self.implementers = function, implementers

    def implementation(self, argument_types):
        """The function for arguments of these types (type objects), or None."""
        for implementer in self.implementers:
            found = implementer(*argument_types)
            if found is not None:
                return getattr(found, "py_func", found)
        return None


def add(function, implementer):
    """Registers an implementer."""
    _table.setdefault(function, []).append(implementer)


def of(value):
    """The Overloaded of a value that a kernel names, or None."""
    if not callable(value):
        return None
    try:
        own = list(_table.get(value, ()))
    except TypeError:  # not hashable
        return None
    if (getattr(value, "__module__", None) or "").partition(".")[0] not in _NOT_ASKED:
        own += _registered_with_numba(value)
    return Overloaded(value, own) if own else None


def _registered_with_numba(value):
    templates = sys.modules.get("numba.core.typing.templates")
    if templates is None:
        return []
    found = []
    for known, kind in templates.builtin_registry.globals:
        if known is not value:
            continue
        for template in getattr(kind, "templates", ()):
            target = (getattr(template, "metadata", None) or {}).get("target", "generic")
            if hasattr(template, "_overload_func") and target in ("generic", "cuda"):
                found.append(template._overload_func)
    return found
