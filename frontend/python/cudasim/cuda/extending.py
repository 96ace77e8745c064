"""numba.cuda.extending's names; those that extend Numba's compiler are Numba's, where numba is installed."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from cudasim.launch.extending import (  # noqa: F401
    intrinsic,
    is_jitted,
    overload,
    overload_attribute,
    overload_method,
    register_jitable,
)
from cudasim.type_system import registered_types
from cudasim.types import real_numba_types

if TYPE_CHECKING:
    from typing import Any

#: Names that come from numba itself, where it is installed.
_NUMBAS = """
    as_numba_type box core_models infer infer_getattr lower_builtin lower_cast lower_getattr lower_getattr_generic
    lower_setattr lower_setattr_generic make_attribute_wrapper models overload_classmethod reflect register_model
    type_callable unbox
""".split()

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


def __getattr__(name: str) -> Any:
    if name == "__all__":  # what `import *` gives
        return sorted({*__dir__()} - ({*_NUMBAS} if real_numba_types() is None else set()))
    if name == "typeof_impl":
        if real_numba_types() is None:
            return registered_types.typeof_impl
        return importlib.import_module("numba.extending").typeof_impl
    if name not in _NUMBAS:
        raise AttributeError(f"module 'numba.cuda.extending' has no attribute {name!r}")
    try:
        if name == "core_models":
            name = "models"
        return getattr(importlib.import_module(_ELSEWHERE.get(name, "numba.extending")), name)
    except ImportError:
        raise AttributeError(
            f"numba.cuda.extending.{name} extends Numba's compiler, and numba is not installed: install numba"
        ) from None


def __dir__() -> list[str]:
    return sorted(
        [
            *_NUMBAS,
            "intrinsic",
            "is_jitted",
            "overload",
            "overload_attribute",
            "overload_method",
            "register_jitable",
            "typeof_impl",
        ]
    )
