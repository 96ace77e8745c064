"""A quaternion as a type of its own: operators, subscripts, len(), abs(), conditions, conversion from numbers that hold one, assignment
to attributes through a pointer, a token without data, loops over a value."""

import operator

import numpy as np
from llvmlite import ir
from numba import cuda, types
from numba.core import cgutils
from numba.core.imputils import RefType, iternext_impl
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, ConcreteTemplate, signature
from numba.cuda import models
from numba.cuda.cudadecl import register_attr, register_global
from numba.cuda.cudaimpl import lower, lower_attr, lower_cast, lower_setattr
from numba.cuda.extending import (
    make_attribute_wrapper,
    overload,
    overload_attribute,
    overload_method,
    type_callable,
)


class Quaternion:
    def __init__(self, w, x, y, z):
        self.w, self.x, self.y, self.z = w, x, y, z

    def __add__(self, other):
        return Quaternion(*(a + b for a, b in zip(self, other)))

    def __mul__(self, other):
        return Quaternion(
            self.w * other.w - self.x * other.x - self.y * other.y - self.z * other.z,
            self.w * other.x + self.x * other.w + self.y * other.z - self.z * other.y,
            self.w * other.y - self.x * other.z + self.y * other.w + self.z * other.x,
            self.w * other.z + self.x * other.y - self.y * other.x + self.z * other.w,
        )

    def __neg__(self):
        return Quaternion(-self.w, -self.x, -self.y, -self.z)

    def __eq__(self, other):
        return tuple(self) == tuple(other)

    def __bool__(self):
        return any(self)

    def __abs__(self):
        return (self.w**2 + self.x**2 + self.y**2 + self.z**2) ** 0.5

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return (self.w, self.x, self.y, self.z)[index]

    def __contains__(self, part):
        return part in tuple(self)

    def conjugate(self):
        return Quaternion(self.w, -self.x, -self.y, -self.z)

    @property
    def real(self):
        return self.w


class QuaternionType(types.IterableType):
    def __init__(self):
        super().__init__(name="Quaternion")

    @property
    def iterator_type(self):
        return parts


class PartsType(types.SimpleIteratorType):
    """An iterator over the parts of a quaternion."""

    def __init__(self):
        super().__init__("Parts", types.float64)


class Real(Quaternion):
    """A number that becomes a quaternion."""

    def __init__(self, w):
        self.w, self.x, self.y, self.z = w, 0.0, 0.0, 0.0


class RealType(types.Type):
    def __init__(self):
        super().__init__(name="Real")

    def can_convert_to(self, context, other):
        return Conversion.safe if other == quaternion else None


class Cell:
    """A number in an array's first element."""

    def __init__(self, array):
        self.array = array

    @property
    def value(self):
        return self.array[0]

    @value.setter
    def value(self, value):
        self.array[0] = value


class CellType(types.Type):
    def __init__(self):
        super().__init__(name="Cell")


class Token:
    def __len__(self):
        return 42


class TokenType(types.Opaque):
    def __init__(self):
        super().__init__(name="Token")


quaternion, parts, real, cell, token = QuaternionType(), PartsType(), RealType(), CellType(), TokenType()


@models.register_model(QuaternionType)
class QuaternionModel(models.StructModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, [(name, types.float64) for name in "wxyz"])


@models.register_model(PartsType)
class PartsModel(models.StructModel):
    def __init__(self, manager, kind):
        members = [("value", quaternion), ("index", types.EphemeralPointer(types.intp))]
        super().__init__(manager, kind, members)


@models.register_model(RealType)
class RealModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, ir.DoubleType())


@models.register_model(CellType)
class CellModel(models.StructModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, [("array", types.float64[::1])])


models.register_model(TokenType)(models.OpaqueModel)
for name in "wxyz":
    make_attribute_wrapper(QuaternionType, name, name)
make_attribute_wrapper(CellType, "array", "array")


@type_callable(Quaternion)
def type_quaternion(context):
    return lambda w, x, y, z: quaternion


@lower(Quaternion, types.Number, types.Number, types.Number, types.Number)
def make_quaternion(context, builder, sig, arguments):
    made = cgutils.create_struct_proxy(quaternion)(context, builder)
    for name, value, kind in zip("wxyz", arguments, sig.args):
        setattr(made, name, context.cast(builder, value, kind, types.float64))
    return made._getvalue()


@lower("getiter", QuaternionType)
def begin_parts(context, builder, sig, arguments):
    made = cgutils.create_struct_proxy(parts)(context, builder)
    made.value = arguments[0]
    made.index = cgutils.alloca_once_value(builder, context.get_constant(types.intp, 0))
    return made._getvalue()


@lower("iternext", PartsType)
@iternext_impl(RefType.UNTRACKED)
def next_part(context, builder, sig, arguments, result):
    iterator = cgutils.create_struct_proxy(parts)(context, builder, value=arguments[0])
    index = builder.load(iterator.index)
    builder.store(cgutils.increment_index(builder, index), iterator.index)
    result.set_valid(builder.icmp_signed("<", index, context.get_constant(types.intp, 4)))
    part = builder.extract_value(iterator.value, 3)
    for place in (2, 1, 0):
        here = builder.icmp_signed("==", index, context.get_constant(types.intp, place))
        part = builder.select(here, builder.extract_value(iterator.value, place), part)
    result.yield_(part)


@type_callable(Real)
def type_real(context):
    return lambda w: real


@lower(Real, types.Number)
def make_real(context, builder, sig, arguments):
    return context.cast(builder, arguments[0], sig.args[0], types.float64)


@lower_cast(RealType, QuaternionType)
def quaternion_of_real(context, builder, given, wanted, value):
    made = cgutils.create_struct_proxy(wanted)(context, builder)
    made.w = value
    made.x = made.y = made.z = context.get_constant(types.float64, 0.0)
    return made._getvalue()


@type_callable(Cell)
def type_cell(context):
    return lambda array: cell


@lower(Cell, types.Array)
def make_cell(context, builder, sig, arguments):
    made = cgutils.create_struct_proxy(cell)(context, builder)
    made.array = arguments[0]
    return made._getvalue()


@register_attr
class CellAttributes(AttributeTemplate):
    key = CellType

    def resolve_value(self, kind):
        return types.float64


@lower_attr(CellType, "value")
def value_of_cell(context, builder, kind, value):
    return context.compile_internal(builder, lambda c: c.array[0], signature(types.float64, kind), (value,))


@lower_setattr(CellType, "value")
def assign_to_cell(context, builder, sig, arguments):
    def store(c, value):
        c.array[0] = value

    context.compile_internal(builder, store, sig, arguments)


@type_callable(Token)
def type_token(context):
    return lambda: token


@lower(Token)
def make_token(context, builder, sig, arguments):
    return context.get_dummy_value()


@register_global(operator.add)
class Sum(ConcreteTemplate):
    cases = [signature(quaternion, quaternion, quaternion)]


@lower(operator.add, quaternion, quaternion)
def add(context, builder, sig, arguments):
    a, b = (cgutils.create_struct_proxy(quaternion)(context, builder, value=value) for value in arguments)
    for name in "wxyz":
        setattr(a, name, builder.fadd(getattr(a, name), getattr(b, name)))
    return a._getvalue()


@register_global(operator.neg)
class Negative(AbstractTemplate):
    def generic(self, arguments, keywords):
        return signature(quaternion, quaternion) if arguments == (quaternion,) else None


@lower(operator.neg, quaternion)
def negate(context, builder, sig, arguments):
    a = cgutils.create_struct_proxy(quaternion)(context, builder, value=arguments[0])
    for name in "wxyz":
        setattr(a, name, builder.fneg(getattr(a, name)))
    return a._getvalue()


def only_quaternions(implementation):
    """What overload() calls; for quaternions alone."""
    import inspect

    if len(inspect.signature(implementation).parameters) == 1:
        return lambda a: implementation if isinstance(a, QuaternionType) else None
    return lambda a, b: implementation if isinstance(a, QuaternionType) else None


def product(a, b):
    return Quaternion(
        a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
        a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
        a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
        a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w,
    )


overload(operator.mul)(only_quaternions(product))
overload(operator.eq)(only_quaternions(lambda a, b: a.w == b.w and a.x == b.x and a.y == b.y and a.z == b.z))
overload(operator.contains)(only_quaternions(lambda a, b: b == a.w or b == a.x or b == a.y or b == a.z))
overload(operator.getitem)(only_quaternions(lambda a, b: (a.w, a.x, a.y, a.z)[b]))
overload(bool)(only_quaternions(lambda a: a.w != 0 or a.x != 0 or a.y != 0 or a.z != 0))
overload(abs)(only_quaternions(lambda a: (a.w**2 + a.x**2 + a.y**2 + a.z**2) ** 0.5))
overload(len)(only_quaternions(lambda a: 4))


@overload(len)
def length_of_token(a):
    return (lambda a: 42) if isinstance(a, TokenType) else None


@overload_method(QuaternionType, "conjugate")
def conjugate(self):
    return lambda self: Quaternion(self.w, -self.x, -self.y, -self.z)


@overload_attribute(QuaternionType, "real")
def real_part(self):
    return lambda self: self.w


@cuda.jit(quaternion(quaternion, quaternion), device=True)
def rotated(by, what):
    return by * what * by.conjugate()


@cuda.jit
def operators(out):
    q = Quaternion(1, 2, 3, 4)
    p = q + Quaternion(1, 0, 0, 0)
    p += p
    for i in range(len(p)):
        out[i] = p[i]
    product = q * p
    out[4], out[5], out[6], out[7] = product.w, product.x, product.y, product.z
    out[8], out[9] = (-q).z, abs(q)
    out[10], out[11] = q == p, (q, 1) == (Quaternion(1, 2, 3, 4), 1)
    out[12], out[13] = 3.0 in q, 7.0 not in q
    out[14] = q in (p, q)
    out[15] = q.conjugate().x + q.real
    if q:
        out[16] = 1
    if not Quaternion(0, 0, 0, 0):
        out[17] = 1
    out[18] = operator.mul(q, q).w
    out[19] = q is None
    out[20] = hasattr(q, "real") + hasattr(q, "imaginary")
    for part in q:
        for other in p:
            if other == 8:
                break
            out[21] += part * other


@cuda.jit
def conversions(out):
    out[0] = rotated(Real(2), Quaternion(0, 1, 0, 0)).x
    chosen = Real(5) if out[1] == 0 else Quaternion(1, 1, 1, 1)
    out[1] = chosen.w + chosen.x
    one = Cell(out)
    one.value = out[0] + 1
    out[2] = one.array[0] * one.value
    out[3] = len((Token(), 1)[0])


numbers = np.zeros(22)
operators[1, 1](numbers)
print(numbers.tolist())
numbers = np.zeros(4)
conversions[1, 1](numbers)
print(numbers.tolist())
