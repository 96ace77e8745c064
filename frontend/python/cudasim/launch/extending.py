"""overload() and its kind for kernels, intrinsic() where numba is installed: numba.cuda.extending.

What programs add here, or by numba.extending, can be used in kernels (cudasim.compile.overloads). What generates LLVM code for
types of its own (lower_builtin, models) extends Numba's compiler, not cudasim's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim.compile import overloads
from cudasim.launch.dispatcher import CUDADispatcher

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def overload(
    func: Callable[..., Any],
    jit_options: dict[str, bool] | None = None,
    strict: bool = True,
    inline: str = "never",
    prefer_literal: bool = False,
    target: str = "cuda",
    **kwargs: Any,
) -> Callable[..., Any]:
    """Makes the decorated function an implementer of `func` in kernels: called with the types of the arguments, it gives a
    function that does for them what func does, or None.

    :param strict: whether both functions have to have the same parameters
    :param prefer_literal: ask for literal types first
    :param target: "cuda", "gpu" or "generic": the most special one is asked first; others are not for kernels
    """
    del jit_options, inline, kwargs  # about Numba's compiler
    return _registering(lambda one: overloads.add(func, one), target, prefer_literal, strict)


def overload_method(typ: type, attr: str, target: str = "cuda", **kwargs: Any) -> Callable[..., Any]:
    """Does what overload() does for the method `attr` of values of a type (an object of types) or of a class
    of types. The first argument is the value.
    """
    return _attribute(typ, attr, True, target, **kwargs)


def overload_attribute(typ: Any, attr: str, target: str = "cuda", **kwargs: Any) -> Callable[..., Any]:
    """Does what overload_method() does for an attribute. The only argument is the value."""
    return _attribute(typ, attr, False, target, **kwargs)


def _attribute(kind, name, is_method, target, prefer_literal=False, strict=True, **kwargs):
    del kwargs
    return _registering(
        lambda one: overloads.add_attribute(kind, name, one, is_method), target, prefer_literal, strict
    )


def _registering(add, target, prefer_literal, strict):
    def decorate(implementer):
        add(overloads.Implementer(implementer, target, prefer_literal, strict))
        return implementer

    return decorate


def register_jitable(*args: Any, **kwargs: Any) -> Callable[..., Any]:
    """Lets kernels call a Python function, which stays one: `@register_jitable` or `@register_jitable(inline="always")`."""
    del kwargs  # about Numba's compiler

    def register(function):
        overloads.add(function, overloads.Implementer(lambda *_, **__: function, strict=False))
        return function

    return register(args[0]) if args else register


def intrinsic(*args: Any, **kwargs: Any) -> Any:
    """Makes a typing function, `(typing context, types…) → (signature, code generator)`, a function for kernels to call:
    numba's own, whose code generators write LLVM code with llvmlite.

    :raises ImportError: where numba is not installed
    """
    try:
        from numba.extending import intrinsic as numbas  # numba may be absent
    except ImportError as error:
        raise ImportError(
            "intrinsic() needs numba, with whose types and context its code is generated: install numba"
        ) from error
    return numbas(*args, **kwargs)


def is_jitted(function: Any) -> bool:
    """Whether @cuda.jit, or numba's @jit, has made it."""
    return isinstance(function, CUDADispatcher) or (
        type(function).__module__.partition(".")[0] == "numba" and hasattr(function, "py_func")
    )
