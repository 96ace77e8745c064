"""Iterables of a program's own: `for`, iter(), next(), enumerate() and zip() over what its getiter and iternext give."""

import pytest
from test_added_operations import BOTH_MODES
from test_added_types import run

COUNT = """
import numpy as np
from numba import cuda, types
from numba.core import cgutils
from numba.core.imputils import RefType, iternext_impl
from numba.cuda.cudaimpl import lower
from numba.cuda.extending import lower_builtin, type_callable, typeof_impl
from numba.cuda.models import models, register_model

class Count:
    def __init__(self, end):
        self.end = end

    def __iter__(self):
        return iter(range(self.end))

class StepsType(types.SimpleIteratorType):
    def __init__(self):
        super().__init__("Steps", types.int64)

class CountType(types.IterableType):
    iterator_type = StepsType()

    def __init__(self):
        super().__init__("Count")

@register_model(CountType)
class CountModel(models.StructModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, [("end", types.int64)])

@register_model(StepsType)
class StepsModel(models.StructModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, [("here", types.CPointer(types.int64)), ("end", types.int64)])

@typeof_impl.register(Count)
def typeof_count(value, context):
    return CountType()

@type_callable(Count)
def type_count(context):
    return lambda end: CountType() if isinstance(end, types.Integer) else None

@lower_builtin(Count, types.Integer)
def make_count(context, builder, sig, args):
    made = cgutils.create_struct_proxy(sig.return_type)(context, builder)
    made.end = context.cast(builder, args[0], sig.args[0], types.int64)
    return made._getvalue()

@lower("getiter", CountType)
def begin(context, builder, sig, args):
    given = cgutils.create_struct_proxy(sig.args[0])(context, builder, value=args[0])
    made = cgutils.create_struct_proxy(sig.return_type)(context, builder)
    made.end, made.here = given.end, cgutils.alloca_once_value(builder, context.get_constant(types.int64, 0))
    return made._getvalue()

@lower("iternext", StepsType)
@iternext_impl(RefType.UNTRACKED)
def following(context, builder, sig, args, result):
    iterator = cgutils.create_struct_proxy(sig.args[0])(context, builder, value=args[0])
    here = builder.load(iterator.here)
    valid = builder.icmp_signed("<", here, iterator.end)
    result.set_valid(valid)
    with builder.if_then(valid):
        result.yield_(here)
        builder.store(builder.add(here, context.get_constant(types.int64, 1)), iterator.here)
"""


@BOTH_MODES
def test_enumerate_and_zip(run_with_numba, mode):
    done = run(run_with_numba, COUNT, """
@cuda.jit
def kernel(out, given):
    for outer in Count(3):
        for i, value in enumerate(Count(outer), 10):
            out[0] += 100 * i + value
    for a, b in zip(Count(4), Count(3)):
        out[1] += 10 * a + b + 1
    for a, b in zip(given, Count(100)):
        out[2] += a * b
    for i, (a, b, c) in enumerate(zip(Count(5), given, (7, 8))):
        out[3] += 1000 * i + 100 * a + 10 * b + c
    for a, b in enumerate(enumerate(Count(3))):
        if b[1] == 2:
            break
        out[4] += 1 + a + b[0]
    else:
        out[4] = -1

out = np.zeros(5, np.int64)
kernel[1, 1](out, np.array([2, 3, 4]))
print(out.tolist())
""", CUDASIM_MODE=mode)  # fmt: skip
    assert done.stdout == "[3101, 36, 11, 1165, 4]\n", done.stderr


@BOTH_MODES
def test_an_iterator_that_several_loops_take_from(run_with_numba, mode):
    done = run(run_with_numba, COUNT, """
@cuda.jit
def kernel(out):
    one = iter(Count(20))
    out[0] = next(one)
    for a, b in zip(one, range(2)):
        out[1] += 10 * a + b
    out[2] = next(one)  # zip has taken one more
    for a, b in zip(one, one):
        out[3] = 100 * a + b
        if b > 6:
            break
    for i, a in enumerate(one):
        out[4] += a
        if i == 1:
            break
    out[5] = next(one)

@cuda.jit
def exhausts(out):
    short = iter(Count(1))
    out[0] = next(short)
    out[0] = next(short)

out = np.zeros(6, np.int64)
kernel[1, 1](out)
print(out.tolist())
exhausts[1, 1](out)
""", CUDASIM_MODE=mode)  # fmt: skip
    assert done.stdout == "[0, 31, 4, 708, 19, 11]\n", done.stderr
    assert "StopIteration" in done.stderr


def test_what_no_loop_can_run_over(run_with_numba):
    done = run(run_with_numba, COUNT.replace('@lower("getiter", CountType)', ""), """
@cuda.jit
def kernel(out):
    for i, a in enumerate(Count(3)):
        out[0] += a

kernel[1, 1](np.zeros(1))
""")  # fmt: skip
    assert "Error: " in done.stderr
    assert "for i, a in enumerate(Count(3)):" in done.stderr


@BOTH_MODES
def test_iterators_as_values(run_with_numba, mode):
    done = run(run_with_numba, COUNT, """
@cuda.jit(device=True)
def taken(iterator):
    return next(iterator) + 100

@cuda.jit(device=True)
def same(iterator):
    return iterator

@cuda.jit
def kernel(out):
    several = (iter(Count(3)), iter(Count(5)))
    out[0], out[1] = taken(several[0]), next(several[1])
    for x in several[0]:
        out[2] += x
    if out[2] == 3:
        one = several[1]
    else:
        one = iter(Count(4))
    out[3] = next(same(one))
    out[4] = next(iter(one)) + next(one)

out = np.zeros(5, np.int64)
kernel[1, 1](out)
print(out.tolist())
""", CUDASIM_MODE=mode)  # fmt: skip
    assert done.stdout == "[100, 0, 3, 1, 5]\n", done.stderr


@pytest.mark.parametrize(
    ("iterator", "name"),
    [("iter(Count(n))", "Steps"), ("(n, iter(Count(n)))", "Steps"), ("enumerate(Count(n))", "enumerate(")],
)
def test_iterators_end_with_the_function_that_makes_them(run_with_numba, iterator, name):
    done = run(run_with_numba, COUNT, f"""
@cuda.jit(device=True)
def made(n):
    return {iterator}

@cuda.jit
def kernel(out):
    made(3)

kernel[1, 1](np.zeros(1))
""")  # fmt: skip
    assert f"UnsupportedError: returning an iterator ({name}" in done.stderr, done.stderr
    assert f"    return {iterator}\n" in done.stderr, done.stderr


def test_next_of_what_is_no_iterator(run_with_numba):
    done = run(run_with_numba, COUNT, """
@cuda.jit
def kernel(out):
    out[0] = next(Count(3))

kernel[1, 1](np.zeros(1))
""")  # fmt: skip
    assert "TypingError: No implementation of function Function(<built-in function next>)" in done.stderr
