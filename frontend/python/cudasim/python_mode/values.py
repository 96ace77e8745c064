"""Arguments and memory of kernels in Python mode, and the functions that cudasim._pyfiber calls for them."""

from __future__ import annotations

import ctypes
import dis
import functools
from typing import TYPE_CHECKING

import numpy as np

from cudasim import _native, _pyfiber, errors, types
from cudasim.launch.added_arguments import AddedArgument, AddedArray
from cudasim.launch.arguments import Flattener, Intent
from cudasim.memory.array_interface import as_cuda_array
from cudasim.python_mode import object_arrays
from cudasim.python_mode.boxed_elements import boxed
from cudasim.type_system import typeof as types_of
from cudasim.type_system.array_layout import extent_in_bytes, lowest_offset
from cudasim.type_system.record_names import NUMBERS

if TYPE_CHECKING:
    from types import CodeType
    from typing import Any


class ArgumentBuilder:
    """Makes the values that a kernel gets of a launch's arguments."""

    def __init__(self, kinds: tuple[types.Type, ...], parameter_names: list[str], converts: bool) -> None:
        """
        :param kinds: the types of the arguments
        """
        self._flattener = Flattener(kinds, parameter_names, converts)
        self.types, self._names = kinds, parameter_names

    def numbers(self, args: Any, copies: Any) -> Any:
        """The arguments as compiled kernels get them; host arrays are copied to the device on the way."""
        return self._flattener.flatten(map(_without_added, args), copies)

    def arrays(self, numbers: Any) -> list[tuple[str, str, int, tuple[int, ...], tuple[int, ...]]]:
        """(name, type of the elements, address, extents, strides) of each argument that is an array, for reports. Those in tuples
        have no names.

        :param numbers: of numbers()
        """
        found, rest = [], list(numbers)
        for kind, name in zip(self.types, self._names):
            given, rest = rest[: _number_count(kind)], rest[_number_count(kind) :]
            if isinstance(kind, types.Array):
                extents, strides = given[1 : 1 + kind.ndim], given[1 + kind.ndim :]
                found.append((name, str(kind.dtype), given[0], tuple(extents), tuple(strides)))
        return found

    def values(self, numbers: Any, args: Any, owner: Any) -> Any:
        """A tuple of values.

        :param numbers: of numbers()
        :param owner: what keeps their memory
        """
        numbers = iter(numbers)
        return tuple([_value(kind, numbers, owner, value.value if isinstance(value, Intent) else value)
                      for kind, value in zip(self.types, args)])  # fmt: skip


#: numpy.dtype → the type that a kernel's values of it have
kernel_types = {dtype: getattr(_pyfiber, name) for name, dtype in NUMBERS.items() if name != "bool"}
_dtypes = {kind: dtype for dtype, kind in kernel_types.items()}


def _without_added(value):
    """The argument without what Python mode takes as it is: objects of types that a program has added."""
    if isinstance(value, tuple) and value:
        return tuple(map(_without_added, value))
    return () if isinstance(types_of.typeof(value), types.AddedType) else value


def _number_count(kind):
    """How many numbers an argument of a type is."""
    if isinstance(kind, types.AddedType):
        return 0
    if isinstance(kind, types.Array):
        return 1 + 2 * kind.ndim
    if isinstance(kind, types.BaseTuple):
        return sum(map(_number_count, kind.types))
    is_complex = isinstance(kind, types.Scalar) and kind.dtype.kind == "c"
    return 2 if is_complex else 1


def _value(kind, numbers, owner, given):
    """What the kernel gets for an argument of a type."""
    if isinstance(kind, types.AddedType):
        return given.value if isinstance(given, AddedArgument) else given
    if isinstance(kind, types.Array):
        address, rest = next(numbers), [next(numbers) for _ in range(2 * kind.ndim)]
        shape, strides = tuple(rest[: kind.ndim]), tuple(rest[kind.ndim :])
        dtype = _given_dtype(given) if types.is_added(kind) else dtype_of(kind.dtype)
        made = _pyfiber.array(address, shape, strides, dtype, True, owner)
        return boxed(made, kind.dtype) if isinstance(kind.dtype, types.AddedType) else made
    if isinstance(kind, types.Record):
        return _pyfiber.array(next(numbers), (), (), kind.dtype, True, owner)[()]
    if isinstance(kind, types.BaseTuple):
        elements = [_value(element, numbers, owner, part)
                    for element, part in zip(kind.types, given)]  # fmt: skip
        return type(given)._make(elements) if isinstance(kind, types.BaseNamedTuple) else tuple(elements)
    if isinstance(kind, types.EnumMember):
        next(numbers)
        return given
    if kind.dtype.kind in "Mm":
        return np.int64(next(numbers)).view(kind.dtype)
    if kind.dtype.kind == "c":
        return scalar(kind.dtype, complex(next(numbers), next(numbers)))
    return scalar(kind.dtype, next(numbers))


def _given_dtype(array):
    """Of an array whose elements have a type that a program has added: in Python mode they are records."""
    array = array.array if isinstance(array, AddedArray) else array
    return (array if hasattr(array, "dtype") else as_cuda_array(array)).dtype


def scalar(dtype: Any, value: Any) -> Any:
    """A number as a kernel sees it."""
    if dtype.kind == "b":
        return bool(value)
    own = kernel_types.get(dtype)
    return dtype.type(value) if own is None else own(value)


def dtype_of(kind: Any) -> Any:
    """The numpy.dtype that a kernel means by NumPy's, Numba's or cudasim's name of a type."""
    if isinstance(kind, np.dtype):
        return kind
    known = _dtypes.get(kind) if isinstance(kind, type) else None
    if known is not None:
        return known
    if kind is _pyfiber.bfloat16:
        return types.bfloat16.dtype
    if isinstance(added := types.as_type(kind) if types.is_numba_type(kind) else kind, types.AddedType):
        return object_arrays.dtype_of(added)
    kind = getattr(kind, "__wrapped__", kind)  # int, float and bool as kernels have them
    if isinstance(kind, types.Scalar):
        return kind.dtype
    if isinstance(kind, type) and issubclass(kind, np.generic):
        return np.dtype(kind)
    return types.dtype_of(kind)


def numpy_view(address: Any, shape: Any, strides: Any, dtype: Any, writable: Any, owner: Any) -> Any:
    """An ndarray over memory."""
    size = extent_in_bytes(shape, strides, dtype.itemsize)
    low = lowest_offset(shape, strides) if size else 0
    memory: Any = (ctypes.c_char * size).from_address(address + low)
    memory.owner = owner  # the view's base keeps it
    view = np.ndarray(shape, dtype, memory, -low, strides)
    view.flags.writeable = writable
    return view


def constant(array: Any) -> Any:
    """Constant memory: a copy of a host array."""
    copy = np.array(array, dtype=array.dtype.newbyteorder("="), order="C", copy=True)
    return _pyfiber.array(copy.ctypes.data, copy.shape, copy.strides, copy.dtype, False, copy)


def excess_of_shared_memory(static_bytes: Any, dynamic_bytes: Any) -> Any:
    """The error for a block that asks for more shared memory than the device has."""
    total = f"{static_bytes} bytes of static shared memory"
    if dynamic_bytes:
        total += f" and {dynamic_bytes} bytes of dynamic shared memory"
    return errors.driver_error(
        "cuLaunchKernel", "CUDA_ERROR_INVALID_VALUE", f"{total} per block are more than the device has"
    )


def excess_of_local_memory(kernel: Any, total: Any, most: Any, file: Any, function: Any, line: Any) -> Any:
    """The error for a thread whose local arrays take more memory than a GPU gives it, as compiled kernels raise it."""
    message = (
        f"Entry function '{kernel}' uses too much local data ({total:#x} bytes, {most:#x} max): a GPU gives each thread "
        f"{most >> 10} KiB of local memory"
    )
    return errors.from_native_cuda_error(
        *_native.driver_error("cuLaunchKernel", "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", message),
        [(file, function, line, 0)],
    )


@functools.lru_cache(maxsize=1024)
def names_of_shared_array(code: CodeType, instruction: int, dtype: np.dtype[Any]) -> tuple[str, str]:
    """What the source calls the array that a call of cuda.shared.array() makes, and the type of its elements; empty where there
    is no such name.

    :param instruction: the call's, as the offset of its bytes in the code
    """
    following = (each for each in dis.get_instructions(code) if each.offset > instruction)
    name = ""
    for each in following:
        if each.opname in ("CACHE", "EXTENDED_ARG"):
            continue
        if each.opname.startswith("STORE_"):  # from 3.13 on one instruction may store and load: (name, other)
            name = each.argval[0] if isinstance(each.argval, tuple) else str(each.argval)
        break
    return name, dtype.name if dtype.fields is None else ""


# Frameless: a debugger in a kernel does not step into them.
_helpers = (
    numpy_view,
    dtype_of,
    excess_of_shared_memory,
    excess_of_local_memory,
    constant,
    names_of_shared_array,
    object_arrays.as_given,
)
_pyfiber.set_helpers(*map(_native.FramelessMethod, _helpers))
