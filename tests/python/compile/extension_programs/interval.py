"""An interval as a type of its own, with what Numba's documentation tells of extending it: typed by typeof_impl and type_callable, a
structure, attributes, constructor, functions on it. As argument, result, in tuples and arrays."""

import numpy as np
from llvmlite import ir  # noqa: F401 - programs of this kind have it
from numba import cuda, types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.cuda import extending, models
from numba.cuda.cudadecl import registry as declarations
from numba.cuda.cudaimpl import lower, lower_attr, lower_constant


class Interval:
    def __init__(self, lo, hi):
        self.lo, self.hi = lo, hi

    @property
    def width(self):
        return self.hi - self.lo

    @property
    def middle(self):
        return (self.lo + self.hi) / 2

    def holds(self, x):
        return self.lo <= x <= self.hi


class IntervalType(types.Type):
    def __init__(self):
        super().__init__(name="Interval")


interval = IntervalType()


@extending.typeof_impl.register(Interval)
def typeof_interval(value, context):
    return interval


@extending.type_callable(Interval)
def type_interval(context):
    def typer(lo, hi):
        return interval if isinstance(lo, types.Number) and isinstance(hi, types.Number) else None

    return typer


@models.register_model(IntervalType)
class IntervalModel(models.StructModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, [("lo", types.float64), ("hi", types.float64)])


extending.make_attribute_wrapper(IntervalType, "lo", "lo")
extending.make_attribute_wrapper(IntervalType, "hi", "hi")


@lower(Interval, types.Number, types.Number)
def make_interval(context, builder, signature, arguments):
    made = cgutils.create_struct_proxy(signature.return_type)(context, builder)
    made.lo, made.hi = (
        context.cast(builder, value, kind, types.float64) for value, kind in zip(arguments, signature.args)
    )
    return made._getvalue()


@lower_constant(IntervalType)
def constant_interval(context, builder, kind, value):
    made = cgutils.create_struct_proxy(kind)(context, builder)
    made.lo, made.hi = (context.get_constant(types.float64, bound) for bound in (value.lo, value.hi))
    return made._getvalue()


@declarations.register_attr
class IntervalAttributes(AttributeTemplate):
    key = IntervalType

    def resolve_width(self, kind):
        return types.float64


@lower_attr(IntervalType, "width")
def width_of_interval(context, builder, kind, value):
    made = cgutils.create_struct_proxy(kind)(context, builder, value=value)
    return builder.fsub(made.hi, made.lo)


@extending.overload_attribute(IntervalType, "middle")
def middle_of_interval(self):
    return lambda self: (self.lo + self.hi) / 2


@extending.overload_method(IntervalType, "holds")
def interval_holds(self, x):
    return lambda self, x: self.lo <= x and x <= self.hi


class IntervalArguments:
    """Each launch gets the numbers of an Interval."""

    def prepare_args(self, kind, value, stream, retr):
        if isinstance(value, Interval):
            return types.UniTuple(types.float64, 2), (value.lo, value.hi)
        return kind, value


@cuda.jit(device=True)
def inside(one, x):
    return one.lo <= x < one.hi


@cuda.jit(device=True)
def width(one):
    return one.width


@cuda.jit(device=True)
def sum_of(one, other):
    return Interval(one.lo + other.lo, one.hi + other.hi)


@cuda.jit(interval(interval, types.float64), device=True)
def wider(one, by):
    return Interval(one.lo - by, one.hi + by)


UNIT = Interval(0, 1)


@cuda.jit(extensions=[IntervalArguments()])
def functions(out, given, pair):
    out[0], out[1], out[2] = given.lo, given.hi, given.width
    out[3], out[4] = given.middle, given.holds(3.5)
    out[5], out[6] = inside(given, 2.0), width(given)
    added = sum_of(given, pair[1])
    out[7], out[8] = added.lo, added.hi
    more = wider(added, 2)
    out[9], out[10] = more.lo, more.hi
    out[11] = pair[0] + (given, more)[1].width
    out[12] = UNIT.width


@cuda.jit(extensions=[IntervalArguments()])
def arrays(out, given):
    i = cuda.grid(1)
    shared = cuda.shared.array(4, interval)
    local = cuda.local.array((2, 2), interval)
    shared[i] = Interval(i, 2 * i + 1)
    cuda.syncthreads()
    local[:, 1] = sum_of(shared[(i + 1) % 4], given)
    chosen = local[1, 1] if i % 2 else shared[0]
    total = 0.0
    for each in shared:
        total += each.hi
    out[i, 0], out[i, 1], out[i, 2] = chosen.lo, chosen.hi, total


@cuda.jit((types.float64[::1], interval), extensions=[IntervalArguments()])
def declared(out, given):
    out[0] = given.width


numbers = np.zeros(13)
functions[1, 1](numbers, Interval(2.5, 4.0), (10, Interval(1, 2)))
print(numbers.tolist())
table = np.zeros((4, 3))
arrays[1, 4](table, Interval(10, 20))
print(table.tolist())
declared[1, 1](numbers, Interval(3, 10))
print(numbers[0])
