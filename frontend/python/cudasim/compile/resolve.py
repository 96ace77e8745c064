"""What the names of a kernel mean that are not its own variables, as plain data for the compiler.

Names are resolved by identity in the function's closure, globals and builtins, attributes of modules included
("cuda.shared.array", "math.pi"): `describe()` says what each stands for as a tuple (kind, fields...), the kinds
being those of frontend/pykernel/syntax/global_value.h.
"""

from __future__ import annotations

import ast
import builtins
import collections
import enum
import types as python_types
from typing import TYPE_CHECKING

import numpy as np

from cudasim.compile import overloads
from cudasim.compile.real_names import counterpart
from cudasim.kernel_library import function_for
from cudasim.memory.array_functions import as_cuda_array
from cudasim.type_system import added_types
from cudasim.type_system.plain_types import boolean
from cudasim.type_system.registered_types import registered_type
from cudasim.type_system.typeof import typeof
from cudasim.type_system.value_types import unicode_type
from cudasim.types import Type, member_type, name_of, note_class

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


# NumPy's names that kernels may call and that are not ufuncs.
_NUMPY_FUNCTIONS = {
    getattr(np, name): "numpy." + kernel_name
    for name, kernel_name in (
        *(
            (name, name)
            for name in (
                "ndindex",
                "ndenumerate",
                "shape",
                "size",
                "asarray",
                "sum",
                "prod",
                "mean",
                "var",
                "std",
                "all",
                "any",
                "argmin",
                "argmax",
                "nansum",
                "nanprod",
                "nanmean",
                "nanvar",
                "nanstd",
                "count_nonzero",
                "min",
                "max",
                "round",
                "dtype",
                "finfo",
                "iinfo",
                "isscalar",
                "iscomplexobj",
                "isrealobj",
            )
        ),
        ("amin", "min"),
        ("amax", "max"),
        ("around", "round"),
    )
}
#: Where math's functions say that they are from; those of integers from CPython 3.15 on (PEP 791).
_MATH = ("math", "math.integer")
#: What Numba's CUDA target compiles (numba-cuda 0.30).
_NUMPY_NOT_YET = ("nditer",)
_NUMPY_ALLOCATES = (
    "array",
    "arange",
    "empty",
    "empty_like",
    "full",
    "full_like",
    "linspace",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
)
_UNDEFINED = object()
#: The most bytes of a text's type, as in TypeTable::characters() of the compiler.
_LARGEST_CHARACTERS = 1024
#: The most attributes of a dotted name, as in frontend/pykernel/graph/flow_graph_expressions.cpp.
_MOST_ATTRIBUTES = 99
_INT64_MIN, _INT64_END, _UINT64_END = -(1 << 63), 1 << 63, 1 << 64
_BUILTINS = {
    value: name
    for name, value in vars(builtins).items()
    if callable(value) and not (isinstance(value, type) and issubclass(value, BaseException))
}


def globals_of(
    function: Callable[..., Any], node: Any, register_function: Callable[..., Any]
) -> dict[Any, Any]:
    """Dotted name → description, for every outer name that the syntax tree uses.

    :param register_function: called with a dispatcher (of @cuda.jit) that kernels call; returns its number
    """
    code = function.__code__
    own = {*code.co_varnames, *code.co_cellvars}
    outer = _outer_names(function)
    found = {}
    for child in _without_annotations(node):
        if isinstance(child, ast.Name):
            parts = [child.id]
        elif isinstance(child, ast.Attribute):
            parts = _dotted(child)
        else:
            continue
        if not parts or parts[0] in own:
            continue
        name = ".".join(parts)
        if name not in found:
            value = _look_up(outer, parts)
            if value is not _STOPPED:
                found[name] = describe(value, name, register_function)
    return found


def _without_annotations(node):
    """The node and all that is below it, in the order of ast.walk(), but for annotations: kernels do not evaluate them."""
    todo = collections.deque([node])
    while todo:
        node = todo.popleft()
        yield node
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns"):
                continue
            todo += [
                child
                for child in (value if isinstance(value, list) else [value])
                if isinstance(child, ast.AST)
            ]


_STOPPED = object()


class _FromBuffer:
    """The method of cffi's FFI objects by which kernels get a pointer to an array."""

    __cudasim_intrinsic__ = "cffi.from_buffer"


_FROM_BUFFER = _FromBuffer()


def _outer_names(function):
    """A function name → value, or _UNDEFINED."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))

    def look_up(name):
        if name in cells:
            try:
                return cells[name].cell_contents
            except ValueError:  # not assigned yet
                return _UNDEFINED
        if name in function.__globals__:
            return function.__globals__[name]
        return getattr(builtins, name, _UNDEFINED)

    return look_up


def look_up(function: Callable[..., Any], name: str) -> Any:
    """What a dotted name stands for in a function now; an object of its own when nothing."""
    return _look_up(_outer_names(function), name.split("."))


def pointer_function(value: Any) -> Any:
    """The name of Numba's functions that make arrays of pointers, "carray" or "farray"; None for anything else."""
    known = isinstance(value, python_types.FunctionType) and value.__name__ in ("carray", "farray")
    return value.__name__ if known and value.__module__.endswith(".numpy_support") else None


def dotted_name(node: Any) -> Any:
    """The text of a name, or of attributes of a name; None for another expression."""
    parts = _dotted(node)
    return parts and ".".join(parts)


def _dotted(node):
    parts: list[Any] = []
    while isinstance(node, ast.Attribute):
        if len(parts) == _MOST_ATTRIBUTES:
            return None
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    return parts[::-1]


def _look_up(outer, parts):
    """The object; _STOPPED when an attribute belongs to a value that the kernel itself must ask."""
    value = counterpart(outer(parts[0]))
    for attribute in parts[1:]:
        if isinstance(value, python_types.ModuleType):
            value = counterpart(getattr(value, attribute, _UNDEFINED))
            if value is _UNDEFINED:
                return _UNDEFINED
        elif hasattr(value, "__cudasim_intrinsic__") and attribute in vars(value):
            value = vars(value)[attribute]
        elif type(value).__module__ == "cffi.api" and attribute == "from_buffer":
            value = _FROM_BUFFER
        elif isinstance(value, enum.EnumMeta) and attribute in value.__members__:
            value = value.__members__[attribute]
        elif isinstance(value, enum.Enum) and attribute == "value":
            value = value.value
        elif isinstance(value, tuple) and attribute in getattr(value, "_fields", ()):
            value = getattr(value, attribute)
        else:
            return _STOPPED
    return value


def describe(value: Any, name: str, register_function: Callable[..., Any]) -> tuple[Any, ...]:
    """The description of a Python object under the name it is used by."""
    if value is _UNDEFINED:
        return ("undefined",)
    if value is None:
        return ("none",)
    if isinstance(value, enum.Enum) and not isinstance(value, int):
        return _member(value, name, register_function)
    if isinstance(value, (bool, np.bool_)):
        return ("boolean", bool(value))
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return ("date", int(value.view(np.int64)), name_of(value.dtype))
    if isinstance(value, (int, np.integer)):
        return _integer(value)
    if isinstance(value, (float, np.floating)):
        return _real(value)
    if isinstance(value, (complex, np.complexfloating)):
        return _complex(value)
    if isinstance(value, str):
        return ("text", str(value))
    if isinstance(value, bytes):
        return ("bytes", bytes(value))
    if isinstance(value, tuple):
        return _tuple(value, name, register_function)
    if isinstance(value, np.ndarray):
        return _array(value, name)
    if isinstance(value, np.void) and value.dtype.names is not None:
        return _record(value, name)
    foreign = getattr(value, "__cudasim_foreign__", None)
    if foreign is not None:
        register_function(value)
        symbol, arguments, result, c_convention = foreign
        return ("foreign", symbol, tuple(map(name_of, arguments)), name_of(result), c_convention)
    if describes_device_array(value):
        return _device_array(value, name)
    intrinsic = getattr(value, "__cudasim_intrinsic__", None)
    if isinstance(intrinsic, str):
        return ("intrinsic", intrinsic)
    if isinstance(value, python_types.ModuleType):
        return ("module", value.__name__)
    return _callable_or_type(value, name, register_function)


def _integer(value):
    if isinstance(value, np.integer):
        return ("integer", int(value), value.dtype.name)
    if _INT64_MIN <= value < _INT64_END:
        return ("integer", int(value), "int64")
    if 0 <= value < _UINT64_END:
        return ("integer", int(value), "uint64")
    return ("unsupported", "the integer does not fit into 64 bits")


def _real(value):
    if isinstance(value, np.floating):
        if value.dtype.itemsize in (2, 4, 8):
            return ("real", float(value), value.dtype.name)
        return ("unsupported", f"{value.dtype.name} is not supported in kernels")
    return ("real", float(value), "float64")


def _complex(value):
    if isinstance(value, np.complexfloating) and value.dtype.itemsize not in (8, 16):
        return ("unsupported", f"{value.dtype.name} is not supported in kernels")
    return (
        "complex",
        complex(value),
        value.dtype.name if isinstance(value, np.complexfloating) else "complex128",
    )


def _tuple(value, name, register_function):
    elements = [describe(element, name, register_function) for element in value]
    for element in elements:
        if element[0] in ("unsupported", "not_yet", "undefined"):
            return element
    fields = getattr(value, "_fields", None)
    if fields is not None:
        note_class(type(value))
    return ("tuple", elements) if fields is None else ("tuple", elements, type(value).__name__, list(fields))


_MEMBER_TYPES = {"boolean": boolean, "text": unicode_type}


def _member(value, name, register_function):
    """Describes a member of an enumeration whose members are not integers."""
    kinds: list[Type] = []
    for member in type(value):
        known = describe(member.value, name, register_function)
        if known[0] in ("integer", "real"):
            kinds.append(typeof(member.value))
        elif known[0] in _MEMBER_TYPES:
            kinds.append(_MEMBER_TYPES[known[0]])
        else:
            return ("unsupported", f"Cannot determine Numba type of {type(value)}")
    try:
        kind = member_type(type(value), kinds)
    except ValueError as error:
        return ("unsupported", str(error))
    return ("member", name_of(kind), describe(value.value, name, register_function))


def _enumeration(value, name, register_function):
    members = {key: describe(member, name, register_function) for key, member in value.__members__.items()}
    refused = [known for known in members.values() if known[0] == "unsupported"]
    return refused[0] if refused else ("enumeration", value.__name__, members)


def _array(value, name):
    if value.dtype.names is not None:
        return _record_array(value, name)
    largest = 16 if value.dtype.kind == "c" else 8
    if value.dtype.kind in "SU":
        largest = _LARGEST_CHARACTERS
    if (
        value.dtype.kind not in "biufcmMSU"
        and not _is_bfloat16(value.dtype)
        or value.dtype.itemsize > largest
    ):
        kind = "unsupported" if value.dtype.kind == "O" or value.dtype.itemsize > largest else "not_yet"
        return (kind, f"an array of {value.dtype} is not supported in kernels")
    native = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("="))
    return ("array", name, name_of(native.dtype), list(value.shape), native.tobytes())


def _is_bfloat16(dtype):
    return dtype.kind == "V" and dtype.name == "bfloat16"


def describes_device_array(value: Any) -> bool:
    """Whether it is an array in device memory, of whatever library; classes of such arrays and objects that answer to
    any attribute are none."""
    return isinstance(getattr(value, "__cuda_array_interface__", None), dict)


def _device_array(value, name):
    """An array in device memory: the kernel keeps its address, as with Numba."""
    array = as_cuda_array(value)
    try:
        kind = typeof(array)
    except (ValueError, NotImplementedError) as error:
        return ("unsupported", str(error))
    return ("device_array", name, name_of(kind), array.parameters[0], list(array.shape), list(array.strides))


def _record(value, name):
    array = np.zeros((), value.dtype)
    array[()] = value
    kind, *fields = _record_array(array, name)
    return (kind, *fields) if kind != "array" else ("record", name, fields[1], fields[3])


def _record_array(value, name):
    native = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("="))
    try:
        return ("array", name, name_of(native.dtype), list(value.shape), native.tobytes())
    except TypeError:
        return ("unsupported", f"an array of {value.dtype} is not supported in kernels")


def _callable_or_type(value, name, register_function):
    if isinstance(value, type):
        if issubclass(value, Exception):
            register_function(value)
            return ("exception", value.__name__)
        if issubclass(value, np.generic):
            return ("data_type", name_of(value) if np.dtype(value).kind in "Mm" else np.dtype(value).name)
        if issubclass(value, tuple) and hasattr(value, "_fields"):
            note_class(value)
            return ("tuple_class", value.__name__, list(value._fields))
        if isinstance(value, enum.EnumMeta):
            return _enumeration(value, name, register_function)
    if isinstance(value, np.dtype):
        return ("data_type", name_of(value) if value.names is not None else value.name)
    py_func = getattr(value, "py_func", None)
    if isinstance(py_func, python_types.FunctionType):
        return ("function", register_function(value), py_func.__name__)
    try:
        if value in _BUILTINS:
            return ("intrinsic", _BUILTINS[value])
    except TypeError:  # not hashable
        pass
    try:
        if value in _NUMPY_FUNCTIONS:
            return ("intrinsic", _NUMPY_FUNCTIONS[value])
    except TypeError:  # not hashable
        pass
    in_library = function_for(value)
    if in_library is not None:
        return ("function", register_function(in_library), in_library.name)
    if isinstance(value, python_types.BuiltinFunctionType) and value.__module__ == "cmath":
        return (
            "unsupported",
            f"cmath.{value.__name__}() is not supported in kernels, nor by Numba's CUDA target",
        )
    if isinstance(value, python_types.BuiltinFunctionType) and value.__module__ in _MATH:
        return ("intrinsic", "math." + value.__name__)
    if isinstance(value, python_types.BuiltinFunctionType) and value.__module__ == "_operator":
        return ("intrinsic", "operator." + value.__name__)
    if isinstance(value, python_types.FunctionType) and value.__name__ == "literal_unroll":
        if value.__module__ in ("numba.misc.special", "numba.cuda.misc.special"):
            return ("intrinsic", "cuda.literal_unroll")
    if pointer_function(value) is not None:
        return ("intrinsic", "numba." + value.__name__)
    if isinstance(value, np.ufunc):
        return ("intrinsic", "numpy." + value.__name__)
    type_name = _numba_type_name(value)
    if type_name is None and (added := added_types.type_of_class(value)) is not None:
        return ("data_type", added.compiler_name)
    if type_name is not None:
        added = added_types.of_numba_type(value)
        return ("data_type", type_name if added is None else added.compiler_name)
    overloaded = overloads.of(value)
    if overloaded is not None:
        return ("function", register_function(overloaded), getattr(value, "__name__", name))
    added = added_types.of_numba_type(registered_type(value))
    if added is not None:
        return ("record", name, added.compiler_name, str(overloads.constant_number(value, added)).encode())
    reason = f"Cannot determine Numba type of {type(value)}"
    if (getattr(value, "__module__", None) or "").split(".")[0] == "numpy" and callable(value):
        reason = f"NumPy's {getattr(value, '__name__', name)}() is not supported in kernels"
        if getattr(value, "__name__", "") in _NUMPY_NOT_YET:
            return ("not_yet", reason + " yet")
        if getattr(value, "__name__", "") in _NUMPY_ALLOCATES:
            reason += ", which cannot allocate memory; use cuda.local.array() or cuda.shared.array()"
    elif isinstance(value, python_types.FunctionType):
        reason += "; a function that kernels call is decorated with @cuda.jit(device=True)"
    return ("unsupported", reason)


def _numba_type_name(value):
    """Numba's name of a type object, its own or cudasim's; None for anything else."""
    if isinstance(value, Type) or any(
        base.__module__ == "numba.core.types.abstract" and base.__name__ == "Type"
        for base in type(value).__mro__
    ):
        return str(value)
    return None
