"""numba.cuda.extending: overload() for kernels; where numba is installed, the rest of Numba's own too.

Functions that overload(), or numba's overload() and register_jitable(), implement can be called in kernels (cudasim._overloads).
What generates LLVM code with llvmlite (intrinsic, lower_builtin, models) extends Numba's compiler, not cudasim's.
"""

import importlib

from cudasim import _overloads

_NAMES = """
    as_numba_type box infer infer_getattr intrinsic is_jitted lower_builtin lower_cast lower_getattr
    lower_getattr_generic lower_setattr lower_setattr_generic make_attribute_wrapper models overload_attribute
    overload_classmethod overload_method reflect register_jitable register_model type_callable typeof_impl unbox
""".split()


def overload(
    func, jit_options=None, strict=True, inline="never", prefer_literal=False, target="cuda", **kwargs
):
    """Makes the decorated function an implementer of `func` in kernels: called with the types of the arguments, it gives a
    function that does for them what func does, or None.
    """
    del jit_options, strict, inline, prefer_literal, target, kwargs  # about Numba's compiler

    def decorate(implementer):
        _overloads.add(func, implementer)
        return implementer

    return decorate


#: Where Numba has what numba.extending does not export.
_ELSEWHERE = {
    "infer": "numba.core.typing.templates",
    "infer_getattr": "numba.core.typing.templates",
    "lower_getattr": "numba.core.imputils",
    "lower_getattr_generic": "numba.core.imputils",
    "lower_setattr": "numba.core.imputils",
    "lower_setattr_generic": "numba.core.imputils",
    "reflect": "numba.core.pythonapi",
}


def __getattr__(name):
    if name not in _NAMES:
        raise AttributeError(f"module 'numba.cuda.extending' has no attribute {name!r}")
    from cudasim.types import real_numba_types

    if real_numba_types() is None:
        raise AttributeError(
            f"numba.cuda.extending.{name} extends Numba's compiler, and numba is not installed (or has not been imported "
            "yet): install numba, and import it before"
        )
    return getattr(importlib.import_module(_ELSEWHERE.get(name, "numba.extending")), name)


def __dir__():
    return sorted([*_NAMES, "overload"])
