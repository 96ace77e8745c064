"""The types of numbers, of None and of pointers to nothing known, by all names that Numba has for them."""

from __future__ import annotations

from cudasim.type_system.container_types import NoneType, RawPointer
from cudasim.type_system.scalar_types import ALIASES, Bfloat16, Boolean, Complex, Float, Integer, Type

boolean = bool_ = b1 = Boolean("bool")
int8, int16, int32, int64 = (Integer(f"int{bits}") for bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (Integer(f"uint{bits}") for bits in (8, 16, 32, 64))
float16, float32, float64 = (Float(f"float{bits}") for bits in (16, 32, 64))
bfloat16 = Bfloat16()
complex64, complex128 = Complex("complex64"), Complex("complex128")
void = none = NoneType("none")

# Numba's other names for them, on 64-bit Linux.
i1, i2, i4, i8 = char, short, intc, longlong = int8, int16, int32, int64
u1, u2, u4, u8 = uchar, ushort, uintc, ulonglong = uint8, uint16, uint32, uint64
f2, f4, f8 = float16, float32, float64
c8, c16 = complex64, complex128
byte, int_, uint, long_, ulong, double, float_ = uint8, int64, uint64, int64, uint64, float64, float32
intp = ssize_t = int64
uintp = size_t = uint64

ALIASES.update({name: value for name, value in globals().items() if isinstance(value, Type)})
ALIASES["bool"] = boolean
ALIASES[bfloat16.name] = bfloat16
voidptr = RawPointer("void*")
