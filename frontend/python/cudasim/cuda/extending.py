"""numba.cuda.extending, where numba is installed: Numba's own functions. What they register is known to Numba's CPU compiler;
cudasim's compiler asks for the overloads of functions that it does not know itself.
"""

import importlib

_NAMES = """
    as_numba_type box infer infer_getattr intrinsic is_jitted lower_builtin lower_cast lower_getattr
    lower_getattr_generic lower_setattr lower_setattr_generic make_attribute_wrapper models overload overload_attribute
    overload_classmethod overload_method reflect register_jitable register_model type_callable typeof_impl unbox
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
    return _NAMES
