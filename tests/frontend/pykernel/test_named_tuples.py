"""Named tuples, tuples of several types, literal_unroll. What is refused: numba-cuda 0.30.4. Values: Python's."""

import collections
import typing

import numpy as np
import pytest
from cudasim import cuda, errors, types
from cudasim.compile import compiler
from cudasim.type_system.typeof import typeof
from kernel_checks import evaluate, refusal, types_of

Point = collections.namedtuple("Point", "x y")
Line = collections.namedtuple("Line", ("start", "end", "weight"))


class Typed(typing.NamedTuple):
    values: object
    scale: float


ORIGIN = Point(1, 2.5)


@cuda.jit(device=True)
def swapped(point):
    return Point(point.y, point.x)


@cuda.jit(device=True)
def scale(pair):
    array, factor = pair
    for i in range(array.size):
        array[i] *= factor


def test_fields_of_arguments():
    def kernel(out, p, line):
        out[0], out[1] = p.x + p.y, p[0] + p[-1]
        out[2], out[3] = line.start.y, line.end[0] * line.weight
        x, y = p
        out[4], out[5] = x - y, len(line)

    line = Line(Point(1, 2), Point(3.5, 4), np.float32(2))
    assert list(evaluate(kernel, Point(1, 2.5), line, size=6)) == [3.5, 3.5, 2, 7, -1.5, 3]


def test_arrays_in_named_tuples_are_written_back():
    @cuda.jit
    def kernel(p, nested):
        i = cuda.grid(1)
        p.values[i] += p.scale
        nested[0].values[i] = nested[1][0]

    first, second, device = np.arange(3.0), np.zeros(3), cuda.to_device(np.zeros(3))
    kernel[1, 3](Typed(first, 0.5), (Typed(second, 1.0), (7, "x" == "y")))
    assert first.tolist() == [0.5, 1.5, 2.5]
    assert second.tolist() == [7, 7, 7]
    kernel[1, 3](Typed(device, 0.5), (Typed(second, 1.0), (8, True)))
    assert device.copy_to_host().tolist() == [0.5, 0.5, 0.5]


def test_named_tuples_are_made_in_kernels():
    def kernel(out, i):
        a = Point(i, 2.0)
        b = Point(y=i, x=a)
        out[0], out[1], out[2] = a.x, b.y, b.x.y
        c = swapped(Point(*(1, i)))
        out[3], out[4] = c.x, c.y
        d = a if i > 1 else Point(7, 8.0)
        out[5] = d.x
        out[6], out[7] = a == (i, 2.0), a < Point(i, 3.0)
        out[8] = Typed(a, 3.0).scale

    assert list(evaluate(kernel, 3, size=9)) == [3, 3, 2, 3, 1, 3, 1, 1, 3]


def test_named_tuples_from_outside():
    def kernel(out):
        p = ORIGIN
        out[0], out[1], out[2] = ORIGIN.x, p.y, p[0]

    assert list(evaluate(kernel, size=3)) == [1, 2.5, 1]


def test_indexing_with_a_number_known_at_run_time_needs_one_type():
    def kernel(out, p, i):
        out[0] = p[i]

    assert evaluate(kernel, Point(5, 6), 1) == 6
    assert "several types" in refusal(
        errors.TypingError, kernel, "array(float64, 1d, C)", typeof(Point(5, 6.5)), "int64"
    )


def test_type_names():
    assert types.name_of(typeof(Point(1, 2))) == "namedtuple(Point; x=int64, y=int64)"
    assert types.name_of(typeof(Line(Point(1, 2.0), (1, 2), np.zeros(2)))) == (
        "namedtuple(Line; start=namedtuple(Point; x=int64, y=float64), end=UniTuple(int64 x 2), weight=array(float64, 1d, C))"
    )
    name = types.name_of(typeof(Line(Point(1, 2.0), (1, 2), np.zeros(2))))
    parsed = types.parse_type(name)
    assert (parsed.compiler_name, parsed.fields) == (name, ("start", "end", "weight"))
    assert parsed.name == "Line(Point(int64, float64), UniTuple(int64 x 2), array(float64, 1d, C))"

    def kernel(p, q):
        a = p
        b = Point(q, q)

    found = types_of(kernel, typeof(Point(1, 2.5)), "int64")
    assert (found["a"], found["b"]) == ("Point(int64, float64)", "Point(int64 x 2)")


def test_tuples_of_several_types_are_passed_on():
    def kernel(out, t):
        scale(t[1])
        out[0], out[1], out[2] = t[0], t[1][0][1], t[-1]

    array = np.arange(3.0)
    assert list(evaluate(kernel, (1, (array, 2), 2.5), size=3)) == [1, 2, 2.5]
    assert array.tolist() == [0, 2, 4]


def test_literal_unroll_gives_each_element_its_type():
    def kernel(out, t):
        total = 0.0
        for value in cuda.literal_unroll(t):
            total += value * value
        out[0] = total
        count = 0
        for array in cuda.literal_unroll((out, t)):
            count += len(array)
        out[1] = count
        for factor in cuda.literal_unroll((2, 0.5, np.int8(3))):
            out[2] += factor

    assert list(evaluate(kernel, (2, 1.5, True), size=3)) == [7.25, 6, 5.5]


def test_literal_unroll_with_break_continue_and_else():
    def kernel(out, t, limit):
        for value in cuda.literal_unroll(t):
            if value < 2:
                continue
            if value > limit:
                break
            out[0] += value
        else:
            out[1] = 1
        for a in cuda.literal_unroll((1, 2.5)):
            for b in cuda.literal_unroll((3, 4.5, 5)):
                out[2] += a * b
        for k in range(3):
            for b in cuda.literal_unroll((k, 0.5)):
                out[3] += b

    assert list(evaluate(kernel, (1, 2.5, 3), 10, size=4)) == [5.5, 1, 43.75, 4.5]
    assert list(evaluate(kernel, (1, 2.5, 30), 10, size=4)) == [2.5, 0, 43.75, 4.5]


def test_literal_unroll_over_names_of_fields():
    def kernel(out, r):
        for name in cuda.literal_unroll(("x", "n")):
            out[0] += r[0][name]
            r[0][name] = 5

    records = np.array([(1.5, 2)], [("x", "f8"), ("n", "i4")])
    assert evaluate(kernel, records) == 3.5
    assert records.tolist() == [(5.0, 5)]


def test_literal_unroll_in_a_device_function_of_two_lengths():
    def kernel(out, a, b):
        out[0], out[1] = summed(a), summed(b)

    assert list(evaluate(kernel, (1, 2.5), (1, 2, 3.5, 4), size=2)) == [3.5, 10.5]


@cuda.jit(device=True)
def summed(values):
    total = 0.0
    for value in cuda.literal_unroll(values):
        total += value
    return total


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("a[0] = p.z", "Unknown attribute 'z' of type Point(int64, float64)"),
        ("p.x = 1", "attribute 'x' cannot be set"),
        ("t = Point(1)", "missing a required argument: 'y'"),
        ("t = Point(1, 2, 3)", "too many positional arguments"),
        ("t = Point(1, z=2)", "unexpected keyword argument 'z'"),
        ("t = Point(1, x=2)", "multiple values for argument 'x'"),
        ("t = p + (1,)", "the operator +"),
        ("t = p if a[0] else Point(1.0, 2.0)\n    a[0] = t.x", "Cannot unify Point("),
        ("t = p if a[0] else (1, 2.0)\n    a[0] = t[0]", "Cannot unify"),
        ("for v in p: a[0] += v", "a loop cannot run over"),
        ("for v in cuda.literal_unroll(a): a[0] += v", "Invalid use of literal_unroll"),
        ("t = cuda.literal_unroll(p)", "Untyped global name 'cuda.literal_unroll'"),
    ],
)
def test_refusals(body, message):
    import linecache

    source = f"def kernel(a, p):\n    {body}\n"
    namespace = {"cuda": cuda, "Point": Point}
    exec(compile(source, "<refused tuple>", "exec"), namespace)
    linecache.cache["<refused tuple>"] = (len(source), None, source.splitlines(True), "<refused tuple>")
    shown = refusal(errors.TypingError, namespace["kernel"], "array(float64, 1d, C)", typeof(Point(1, 2.5)))
    assert message in shown


def test_ptx_of_named_tuples():
    def kernel(out, p):
        out[0] = p.x * p.y

    compiled = compiler.compile_kernel(kernel, ("array(float64, 1d, C)", typeof(Point(1, 2.5))))
    assert "Point" in compiled.kernel_name
