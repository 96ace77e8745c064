"""A small stand-in for numba, for machines that have none: found as `numba` while cudasim's switch is on.

It gives what numba.cuda scripts take from numba: the types, numba.config, numba.core.errors, set_num_threads,
and njit, jit, vectorize, prange, which run functions as plain Python and say so once.
"""

from __future__ import annotations

import functools as _functools
import os as _os
from typing import TYPE_CHECKING

import numpy as _np
from numba.core import config, errors, types

from cudasim import types as _types

if TYPE_CHECKING:
    from typing import Any

__cudasim_stand_in__ = True
# The numba release whose names are mirrored; scripts compare it.
__version__ = "0.61.2"
version_info = (0, 61, 2)

globals().update({_name: _value for _name, _value in _types.ALIASES.items() if _name != "bool"})
prange = range


@_functools.cache
def _say_once():
    from cudasim.reports.user_warnings import warn_at_users_line  # only for a message

    warn_at_users_line(
        "no-numba",
        "numba is not installed: functions decorated with @njit or @jit run as plain Python, slowly; "
        "kernels (@cuda.jit) are not affected",
    )


def _as_plain_python(function):
    _say_once()
    if not hasattr(function, "py_func"):
        try:
            function.py_func = function
        except AttributeError:
            pass
    return function


def jit(signature_or_function: Any = None, **options: Any) -> Any:
    """The function itself, with `.py_func`; options and signatures are accepted and not used."""
    if callable(signature_or_function) and not isinstance(signature_or_function, _types.Type):
        return _as_plain_python(signature_or_function)
    return _as_plain_python


njit = generated_jit = jit


def vectorize(signatures_or_function: Any = None, **options: Any) -> Any:
    """numpy.vectorize; with target="cuda" cuda.vectorize."""
    if options.get("target") == "cuda":
        # `import numba` alone loads no engine
        from cudasim.ufuncs.vectorizers import vectorize as cuda_vectorize

        return cuda_vectorize(
            *([] if signatures_or_function is None else [signatures_or_function]), **options
        )
    if callable(signatures_or_function):
        _say_once()
        return _np.vectorize(signatures_or_function)

    def decorate(function):
        _say_once()
        return _np.vectorize(function)

    return decorate


def guvectorize(*args: Any, **options: Any) -> Any:
    """cuda.guvectorize with target="cuda"."""
    if options.get("target") == "cuda":
        # `import numba` alone loads no engine
        from cudasim.ufuncs.vectorizers import guvectorize as cuda_guvectorize

        return cuda_guvectorize(*args, **options)
    raise NotImplementedError(
        "numba is not installed, and cudasim's stand-in for it has @guvectorize for target='cuda' only; install numba"
    )


def typeof(value: Any) -> Any:
    """The type of a value."""
    from cudasim.type_system.typeof import typeof as type_of  # `import numba` alone loads no engine

    return type_of(value)


from_dtype = _types.from_dtype


def literal_unroll(container: Any) -> Any:
    """Makes one copy of a loop's body for each element of a tuple, in a kernel's `for`. Elsewhere it gives
    the container itself."""
    return container


vars(literal_unroll)["__cudasim_intrinsic__"] = "cuda.literal_unroll"


def __getattr__(name: str) -> Any:
    if name in ("carray", "farray"):
        from cudasim.cuda.np import numpy_support  # `import numba` alone loads no engine

        return getattr(numpy_support, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_threads = [_os.cpu_count() or 1]


def set_num_threads(count: Any) -> None:
    """Remembered for get_num_threads; kernels run on as many workers as cudasim's option says."""
    if not 1 <= count <= max(config.NUMBA_NUM_THREADS, 1):
        raise ValueError(
            f"the number of threads must be between 1 and {config.NUMBA_NUM_THREADS}, got {count}"
        )
    _threads[0] = count


def get_num_threads() -> Any:
    return _threads[0]


def get_thread_id() -> int:
    return 0


def threading_layer() -> str:
    return "none"


__all__ = [
    "config",
    "errors",
    "types",
    "jit",
    "njit",
    "vectorize",
    "guvectorize",
    "prange",
    "typeof",
    "from_dtype",
    "literal_unroll",
    "carray",
    "farray",
    "set_num_threads",
    "get_num_threads",
    *(_name for _name in _types.ALIASES if _name != "bool"),
]
