"""The base of cudasim's type objects (cudasim.types), and those of numbers and dates."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from cudasim.type_system.interning import InterningMeta, restored

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cudasim.type_system.signatures import Signature

#: Names → types; plain_types.py fills it.
ALIASES: dict[str, Any] = {}
#: What the modules above this one make, by what it is called here: "array", "signature", "type".
_factories: dict[str, Callable[..., Any]] = {}


def register_factories(**factories: Callable[..., Any]) -> None:
    """For modules that import this one, whose classes it needs when a type is used.

    array: (dtype, ndim, layout) → array type. signature: (return type, argument types) → signature. type: what as_type() takes,
    but for type objects → type.
    """
    _factories.update(factories)


def as_type(value: Any) -> Type:
    """The type object for a type in any form: a type object, ours or Numba's, a NumPy dtype or scalar class, Python's int, float, bool,
    complex and None, or a name.

    :raises TypeError: for what is not a type
    """
    return value if isinstance(value, Type) else _factories["type"](value)


class Type(metaclass=InterningMeta):
    """A type with Numba's name. Types of one class with equal keys are the same object (interning.py), so types are compared and
    hashed by identity, which is fast: launches look kernels up by types."""

    mutable = reflected = False

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name

    def __copy__(self) -> Type:
        return self

    def __deepcopy__(self, memo: Any) -> Type:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, (type(self), self.__dict__)

    @property
    def is_internal(self) -> bool:
        """Whether Numba, or cudasim in its place, defines the type's class."""
        return type(self).__module__.partition(".")[0] == "cudasim"

    @property
    def compiler_name(self) -> str:
        """What the kernel compiler calls the type: its name, unless a class says otherwise."""
        return self.name

    @property
    def key(self) -> Any:
        """What tells the type from others of its class."""
        return self.name

    @property
    def mangling_args(self) -> tuple[Any, ...]:
        """Its name and parameters, for names of symbols."""
        return self.name, ()

    def is_precise(self) -> bool:
        """Whether nothing of it is left open: always."""
        return True

    def __call__(self, *args: Any) -> Signature:
        """A signature with this return type: `int32(int64, float32[:])`."""
        return _factories["signature"](self, args)

    def __getitem__(self, dimensions: Any) -> Any:
        """An array type: `float32[:]`, `float32[:, ::1]` (C order), `float32[::1, :]` (Fortran order)."""
        slices = dimensions if isinstance(dimensions, tuple) else (dimensions,)
        if not all(
            isinstance(s, slice) and s.start is None and s.stop is None and s.step in (None, 1)
            for s in slices
        ):
            raise TypeError(f"an array type is written {self}[:], {self}[:, ::1] or {self}[::1, :]")
        layout = "A"
        if slices[0].step == 1 and len(slices) > 1:
            layout = "F"
        elif slices[-1].step == 1:
            layout = "C"
        return _factories["array"](self, len(slices), layout)


class Hashable(Type):
    """Types of values that can be keys of dictionaries."""


class Scalar(Type):
    """A scalar that NumPy knows; calling it with a value converts the value."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.dtype = np.dtype("bool" if name == "bool" else name)

    @property
    def bitwidth(self) -> int:
        return self.dtype.itemsize * 8

    def __call__(self, *args: Any) -> Any:
        if len(args) == 1 and not is_type_like(args[0]):
            return self.cast_python_value(args[0])
        return super().__call__(*args)

    def cast_python_value(self, value: Any) -> Any:
        """The NumPy scalar that a value becomes."""
        return self.dtype.type(value)


class Boolean(Hashable, Scalar):
    """bool."""

    def cast_python_value(self, value: Any) -> bool:
        """The bool that a value becomes."""
        return bool(value)


@functools.total_ordering
class Number(Hashable, Scalar):
    """Integers, real and complex numbers. Those of one kind are ordered by their width."""

    def __lt__(self, other: Any) -> bool:
        if not isinstance(other, Number) or self.dtype.kind != other.dtype.kind:
            return NotImplemented
        return self.bitwidth < other.bitwidth


class Integer(Number):
    """An integer of some width, signed or not."""

    @property
    def signed(self) -> bool:
        return self.dtype.kind == "i"

    @property
    def minval(self) -> int:
        return int(np.iinfo(self.dtype).min)

    @property
    def maxval(self) -> int:
        return int(np.iinfo(self.dtype).max)

    @classmethod
    def from_bitwidth(cls, bitwidth: Any, signed: bool = True) -> Any:
        """int32 of 32."""
        return cls(f"{'' if signed else 'u'}int{bitwidth}")


class Float(Number):
    """A real number of 16, 32 or 64 bits."""


class Complex(Number):
    """A complex number of 64 or 128 bits."""

    def __init__(self, name: str, underlying_float: Any = None) -> None:
        """
        :param underlying_float: follows from the name
        """
        super().__init__(name)

    @property
    def underlying_float(self) -> Float:
        return Float("float32" if self.bitwidth == 64 else "float64")


class Bfloat16(Type):
    """bfloat16, the upper half of a float32. NumPy has it where ml_dtypes is installed."""

    bitwidth = 16

    def __init__(self) -> None:
        super().__init__("__nv_bfloat16")

    @property
    def dtype(self) -> Any:
        """
        :raises TypeError: without ml_dtypes
        """
        try:
            import ml_dtypes  # ml_dtypes may be absent
        except ImportError:
            raise TypeError(
                "NumPy has no bfloat16 without the package ml_dtypes; pass bits, as int16"
            ) from None
        return np.dtype(ml_dtypes.bfloat16)


class _Date(Scalar):
    """datetime64 and timedelta64."""

    _prefix: str  # of the name: datetime64 or timedelta64
    _units = {"Y": 0, "M": 1, "W": 2, "D": 4, "h": 5, "m": 6, "s": 7, "ms": 8, "us": 9, "ns": 10, "ps": 11, "fs": 12,
              "as": 13, "": 14}  # fmt: skip

    def __init__(self, unit: Any) -> None:
        self.unit = unit
        Type.__init__(self, f"{self._prefix}[{unit}]")
        self.dtype = np.dtype(self.name if unit else self._prefix)

    @property
    def unit_code(self) -> int:
        """NumPy's number of the unit.

        :raises KeyError: for several units, as 25s
        """
        return self._units[self.unit]


class NPDatetime(_Date):
    """datetime64 of a unit."""

    _prefix = "datetime64"


class NPTimedelta(_Date):
    """timedelta64 of a unit."""

    _prefix = "timedelta64"


def is_numba_type(value: Any) -> bool:
    """Whether it is a type object of Numba's, or of a class that a program has derived from Numba's."""
    return hasattr(value, "name") and any(
        base.__module__.partition(".")[0] in ("numba", "numba_cuda") for base in type(value).__mro__
    )


def is_type_like(value: Any) -> bool:
    """Whether it stands for a type: a type object, NumPy's or Python's, or a name."""
    return (
        isinstance(value, (Type, np.dtype, type))
        or is_numba_type(value)
        or (isinstance(value, str) and value in ALIASES)
    )
