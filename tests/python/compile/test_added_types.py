"""Types that programs add with Numba's extension API, in compiled kernels: values as locals, in tuples, in shared and local arrays;
constructors, attributes, methods, operators."""

import pytest

PRELUDE = """
import operator
import numpy as np
from llvmlite import ir
from numba import cuda, types
from numba.core import cgutils
from numba.cuda.cudadecl import registry as declarations
from numba.cuda.cudaimpl import lower, lower_attr
from numba.cuda.extending import lower_builtin, make_attribute_wrapper, overload, overload_method, type_callable
from numba.cuda.models import models, register_model
from numba.cuda.typing.templates import AbstractTemplate, AttributeTemplate, ConcreteTemplate, signature

class Span:
    def __init__(self, begin, end):
        self.begin, self.end = begin, end

class SpanType(types.Type):
    def __init__(self):
        super().__init__(name="Span")

span = SpanType()

@register_model(SpanType)
class SpanModel(models.StructModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, [("begin", types.float64), ("open", types.boolean), ("end", types.float64)])

make_attribute_wrapper(SpanType, "begin", "begin")
make_attribute_wrapper(SpanType, "open", "open")

@type_callable(Span)
def type_span(context):
    def typer(begin, end):
        return span if isinstance(begin, types.Number) and isinstance(end, types.Number) else None
    return typer
"""
CONSTRUCTOR = """
@lower_builtin(Span, types.Number, types.Number)
def make_span(context, builder, sig, args):
    made = cgutils.create_struct_proxy(sig.return_type)(context, builder)
    made.begin, made.end = (context.cast(builder, value, kind, types.float64) for value, kind in zip(args, sig.args))
    made.open = context.get_constant(types.boolean, True)
    return made._getvalue()
"""
LENGTH = """
@declarations.register_attr
class Attributes(AttributeTemplate):
    key = SpanType

    def resolve_length(self, kind):
        return types.float64

@lower_attr(SpanType, "length")
def length_of(context, builder, kind, value):
    parts = cgutils.create_struct_proxy(kind)(context, builder, value=value)
    return builder.fsub(parts.end, parts.begin)
"""


def run(run_with_numba, *parts, **variables):
    path = run_with_numba.write("")
    path.write_text("\n".join(parts))
    given = {"ENABLE_CUDASIM": "1", "CUDASIM_MODE": "native", **variables}
    return run_with_numba("-W", "ignore", path, **given)


def test_values_as_locals_in_tuples_and_in_arrays(run_with_numba):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, LENGTH, """
@overload_method(SpanType, "holds")
def holds(self, x):
    return lambda self, x: self.begin <= x and x <= self.begin + self.length

@declarations.register_global(operator.add)
class Added(ConcreteTemplate):
    cases = [signature(span, span, span)]

@lower(operator.add, span, span)
def add(context, builder, sig, args):
    a, b = (cgutils.create_struct_proxy(span)(context, builder, value=value) for value in args)
    a.begin, a.end = builder.fadd(a.begin, b.begin), builder.fadd(a.end, b.end)
    return a._getvalue()

@overload(operator.mul)
def times(a, b):
    if isinstance(a, SpanType):
        return lambda a, b: Span(a.begin * b, (a.begin + a.length) * b)

@cuda.jit(device=True)
def both(a, b):
    return a + b

@cuda.jit
def kernel(out):
    i = cuda.grid(1)
    made = both(Span(i, 2.5 * i), Span(1, end=2.0))
    in_tuple = (made, i)
    shared = cuda.shared.array(4, span)
    local = cuda.local.array((2, 2), span)
    shared[i] = in_tuple[0]
    cuda.syncthreads()
    local[1, 0] = shared[(i + 1) % 4]
    chosen = local[1, 0] if i < 3 else made * 2
    out[i, 0], out[i, 1], out[i, 2] = chosen.begin, chosen.length, chosen.open
    out[i, 3] = made.holds(3.0)

out = np.zeros((4, 4))
kernel[1, 4](out)
print(out.tolist())
""")  # fmt: skip
    assert done.stdout == (
        "[[2.0, 2.5, 1.0, 0.0], [3.0, 4.0, 1.0, 1.0], [4.0, 5.5, 1.0, 1.0], [8.0, 11.0, 1.0, 0.0]]\n"
    ), done.stderr


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return context.get_constant(types.int64, 1)", "generator gives a value of LLVM's type i64; Span is {double, i1, double}"),
        ("raise ValueError('no such luck')", "cannot be generated: ValueError: no such luck"),
        ("return None", "generator gives None, not a value of Span"),
    ],
)  # fmt: skip
def test_wrong_code_is_refused_by_name(run_with_numba, body, said):
    done = run(run_with_numba, PRELUDE, f"""
@lower_builtin(Span, types.Number, types.Number)
def make_span(context, builder, sig, args):
    {body}

@cuda.jit
def kernel(out):
    out[0] = Span(1, 2).begin

kernel[1, 1](np.zeros(1))
""")  # fmt: skip
    error = done.stderr[done.stderr.rindex("LoweringError: ") :]
    assert f"Span(int64, int64) -> Span: its code {said}" in error, done.stderr
    assert "in kernel\n    out[0] = Span(1, 2).begin\n             ^^^^^^^^^^\n" in error, done.stderr
    assert ("in make_span" in done.stderr) == body.startswith("raise"), done.stderr


def test_a_call_that_no_template_takes(run_with_numba):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, """
@cuda.jit
def kernel(out):
    out[0] = Span(1, "text").begin

kernel[1, 1](np.zeros(1))
""")  # fmt: skip
    assert "TypingError: No implementation of function" in done.stderr
    assert 'out[0] = Span(1, "text").begin' in done.stderr


ARGUMENT = """
from numba.cuda.extending import typeof_impl

@typeof_impl.register(Span)
def typeof_span(value, context):
    return span

class Numbers:
    def __init__(self, *given):
        self.given = given

    def prepare_args(self, kind, value, stream, retr):
        return (kind, self.given) if isinstance(value, Span) else (kind, value)
"""


@pytest.mark.parametrize(
    ("given", "printed"),
    [
        ("1.5, True, 4", "[1.5, 1.0]"),
        ("(1.5, (False,)), 4", "[1.5, 0.0]"),
        ("1.5, 4", "TypeError an argument of type Span is 3 numbers (begin: float64, open: bool, end: float64); prepare_args() of the "
                   "kernel's extensions has given 2"),
    ],
)  # fmt: skip
def test_an_argument_is_the_numbers_that_an_extension_gives(run_with_numba, given, printed):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, ARGUMENT, f"""
@cuda.jit(extensions=[Numbers({given})])
def kernel(out, given):
    out[0], out[1] = given.begin, given.open

out = np.zeros(2)
try:
    kernel[1, 1](out, Span(1, 2))
    print(out.tolist())
except TypeError as error:
    print("TypeError", error)
""")  # fmt: skip
    assert done.stdout == printed + "\n", done.stderr


def test_an_argument_of_which_no_extension_knows(run_with_numba):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, ARGUMENT, """
@cuda.jit
def kernel(out, given):
    out[0] = given.begin

kernel[1, 1](np.zeros(1), Span(1, 2))
""")  # fmt: skip
    assert (
        "NotImplementedError: Span, Span: no object in extensions=[...] of @cuda.jit has a prepare_args()"
        in done.stderr
    )


def test_kernels_with_such_arguments_are_not_cached(run_with_numba, tmp_path):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, ARGUMENT, """
@cuda.jit(extensions=[Numbers(1, False, 2)], cache=True)
def kernel(out, given):
    out[0] += given.begin

@cuda.jit(cache=True)
def within(out):
    out[0] += Span(2, 3).begin

out = np.zeros(1)
kernel[1, 1](out, Span(1, 2))
within[1, 1](out)
print(out.tolist())
""", NUMBA_CACHE_DIR="cache")  # fmt: skip
    assert done.stdout == "[3.0]\n", done.stderr
    assert [path.name.partition("-")[0] for path in (tmp_path / "cache").rglob("*.nbc")] == ["script.within"]


CONSTANT = """
OUTSIDE = Span(1, 2)

@cuda.jit
def kernel(out):
    out[0] = OUTSIDE.begin

out = np.zeros(1)
kernel[1, 1](out)
print(out[0])
"""


def test_a_constant_needs_lower_constant(run_with_numba):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, ARGUMENT, CONSTANT)
    assert (
        "LoweringError: a value of type Span cannot come from outside of the kernel: no lower_constant() is registered"
        in done.stderr
    )
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, ARGUMENT, """
from numba.cuda.cudaimpl import lower_constant

@lower_constant(SpanType)
def constant_span(context, builder, kind, value):
    made = cgutils.create_struct_proxy(kind)(context, builder)
    made.begin = context.get_constant(types.float64, value.begin)
    return made._getvalue()
""", CONSTANT)  # fmt: skip
    assert done.stdout == "1.0\n", done.stderr


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("if made: out[0] = 1", "function bool>)"),
        ("out[0] = made[1]", "function getitem>)"),
        ("for each in made: out[0] = 1", "function getiter>)"),
        ("out[0] = (made + made).begin", "function add>)"),
        ("out[0] = made.colour", "Unknown attribute 'colour' of type Span"),
    ],
)  # fmt: skip
def test_what_the_program_says_nothing_of(run_with_numba, statement, said):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, f"""
@cuda.jit
def kernel(out):
    made = Span(1, 2)
    {statement}

kernel[1, 1](np.zeros(1))
""")  # fmt: skip
    assert "TypingError" in done.stderr and said in done.stderr, done.stderr
    assert f"    {statement}\n" in done.stderr


def test_invalid_code_is_refused_by_name(run_with_numba):
    done = run(run_with_numba, PRELUDE, """
@lower_builtin(Span, types.Number, types.Number)
def make_span(context, builder, sig, args):
    made = cgutils.create_struct_proxy(sig.return_type)(context, builder)
    builder.ret_void()
    return made._getvalue()

@cuda.jit
def kernel(out):
    out[0] = Span(1, 2).begin

kernel[1, 1](np.zeros(1))
""")  # fmt: skip
    assert "LinkerError: Span(int64, int64) -> Span: " in done.stderr, done.stderr


def test_shared_objects_that_nothing_was_written_to(run_with_numba):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, """
@cuda.jit
def kernel(out):
    shared = cuda.shared.array(2, span)
    shared[0] = Span(1, 2)
    out[0] = shared[0].begin
    out[1] = shared[1].begin

kernel[1, 1](np.zeros(2))
""", CUDASIM_MODE="python")  # fmt: skip
    assert "an element of type Span is read that nothing has been written to" in done.stderr, done.stderr
    assert "out[1] = shared[1].begin" in done.stderr, done.stderr


def test_attributes_that_cannot_be_set(run_with_numba):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, """
@cuda.jit
def kernel(out):
    made = Span(1, 2)
    made.begin = 1

kernel[1, 1](np.zeros(1))
""")  # fmt: skip
    assert (
        "LoweringError: assignment to attribute 'begin' of Span: No definition for lowering Span.begin"
        in done.stderr
    )
    assert "in kernel\n    made.begin = 1\n" in done.stderr, done.stderr


CONVERSION = """
from numba.core.typeconv import Conversion
from numba.cuda.cudaimpl import lower_cast

SpanType.can_convert_from = lambda self, context, other: Conversion.safe if isinstance(other, types.Number) else None

@lower_cast(types.Number, SpanType)
def cast(context, builder, given, wanted, value):
    return make_span(context, builder, signature(wanted, given, given), [value, value])
"""
TO_FLOAT = """
from numba.core.typeconv import Conversion
from numba.cuda.cudaimpl import lower_cast

SpanType.can_convert_to = lambda self, context, other: Conversion.safe if isinstance(other, types.Float) else None

@lower_cast(SpanType, types.Float)
def span_to_float(context, builder, kind, wanted, value):
    begin = cgutils.create_struct_proxy(kind)(context, builder, value=value).begin
    return context.cast(builder, begin, types.float64, wanted)
"""


def test_conversions_of_what_other_paths_give(run_with_numba):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, CONVERSION, """
@cuda.jit
def kernel(out):
    i = cuda.grid(1)
    while True:
        if i == 2:
            made = Span(3, 4)
            break
        if i == 1:
            made = 2.5
            break
        made = 1
        break
    out[i] = made.begin

@cuda.jit(device=True)
def given(i):
    if i == 0:
        return 1
    if i == 1:
        return 2.5
    return Span(3, 4)

@cuda.jit
def returned(out):
    out[cuda.grid(1)] += given(cuda.grid(1)).begin

out = np.zeros(3)
kernel[1, 3](out)
returned[1, 3](out)
print(out.tolist())
""")  # fmt: skip
    assert done.stdout == "[2.0, 5.0, 6.0]\n", done.stderr


@pytest.mark.parametrize("constant", ["7", "7.5"])
def test_a_constant_and_what_converts_to_any_number(run_with_numba, constant):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, TO_FLOAT.replace("types.Float)", "types.Number)"), f"""
@cuda.jit
def kernel(out):
    i = cuda.grid(1)
    if i == 0:
        number = Span(3, 4)
    else:
        number = {constant}
    out[i] = number

out = np.zeros(2)
kernel[1, 2](out)
print(out.tolist() == [3, {constant}])
""")  # fmt: skip
    assert done.stdout == "True\n", done.stderr


def test_conversions_whose_code_cannot_be_generated(run_with_numba):
    failing = CONVERSION.partition("    return")[0] + "    raise ValueError('no such luck')"
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, failing, """
@cuda.jit
def kernel(out):
    made = Span(1, 2)
    if out[0] == 0:
        made = out[0]
    out[0] = made.begin

kernel[1, 1](np.zeros(1))
""")  # fmt: skip
    error = done.stderr[done.stderr.rindex("LoweringError: ") :]
    assert "conversion of float64 to Span: its code cannot be generated: ValueError: no such luck" in error
    assert "in kernel\n    out[0] = made.begin\n             ^^^^\n" in error, done.stderr


def test_modules_as_values(run_with_numba):
    done = run(run_with_numba, PRELUDE, """
import math

@cuda.jit(device=True)
def length(library, x, y):
    return library.hypot(x, y) + library.pi

@cuda.jit
def kernel(out):
    library = np
    out[0], out[1], out[2] = length(np, 3.0, 4.0), length(math, 6.0, 8.0), library.cos(0.0)

out = np.zeros(3)
kernel[1, 1](out)
print((out - [np.pi, np.pi, 0]).tolist())
""")  # fmt: skip
    assert done.stdout == "[5.0, 10.0, 1.0]\n", done.stderr


def test_class_methods_of_a_type(run_with_numba):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, """
from numba.cuda.extending import overload_classmethod

@overload_classmethod(SpanType, "upto")
def upto(cls, end):
    return lambda cls, end: Span(1, end)

@overload(len)
def length(of):
    return (lambda of: 2) if isinstance(of, SpanType) else None

@cuda.jit
def kernel(out):
    out[0], out[1] = SpanType.upto(3).begin, len(span.upto(3))

out = np.zeros(2)
kernel[1, 1](out)
print(out.tolist())
""")  # fmt: skip
    assert done.stdout == "[1.0, 2.0]\n", done.stderr


def test_iterators_whose_beginning_is_too_long_to_be_inlined(run_with_numba):
    """The state of each lies in the frame of the function with the loop, not where getiter's own frame was."""
    done = run(run_with_numba, PRELUDE.replace(
        "(types.Type):", "(types.IterableType):\n    iterator_type = property(lambda self: steps)\n"
    ), CONSTRUCTOR, """
from numba.core.imputils import RefType, iternext_impl

class StepsType(types.SimpleIteratorType):
    def __init__(self):
        super().__init__("Steps", types.float64)

steps = StepsType()

@register_model(StepsType)
class StepsModel(models.StructModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, [("end", types.float64), ("place", types.CPointer(types.float64))])

@lower("getiter", SpanType)
def begin(context, builder, sig, args):
    given = cgutils.create_struct_proxy(span)(context, builder, value=args[0])
    made = cgutils.create_struct_proxy(steps)(context, builder)
    made.end, made.place = given.end, cgutils.alloca_once_value(builder, given.begin)
    for _ in range(1100):  # adds nothing
        builder.store(builder.fadd(builder.load(made.place), builder.fsub(given.end, given.end)), made.place)
    return made._getvalue()

@lower("iternext", StepsType)
@iternext_impl(RefType.UNTRACKED)
def following(context, builder, sig, args, result):
    iterator = cgutils.create_struct_proxy(steps)(context, builder, value=args[0])
    here = builder.load(iterator.place)
    builder.store(builder.fadd(here, ir.Constant(here.type, 1)), iterator.place)
    result.set_valid(builder.fcmp_ordered("<", here, iterator.end))
    result.yield_(here)

@cuda.jit
def kernel(out):
    for outer in Span(1, 4):
        for inner in Span(10, 12):
            out[0] += outer * inner
            out[1] += 1

out = np.zeros(2)
kernel[1, 1](out)
print(out.tolist())
""")  # fmt: skip
    assert done.stdout == "[126.0, 6.0]\n", done.stderr


def test_elements_and_operators_take_what_converts_to_them(run_with_numba):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, CONVERSION, TO_FLOAT, """
@cuda.jit
def kernel(out, records):
    spans = cuda.local.array(2, span)
    spans[1] = 4
    out[0] = Span(1.5, 2)
    out[1] = spans[1]
    records[0].x = Span(2.5, 3)
    made = Span(3, 4)
    out[2], out[3], out[4], out[5] = made + 1.0, 2 * made, 7 - made, made // 2
    out[6], out[7] = made < 5, made == 3.0
    out[8] = made / records[1].x
    out[8] += made

out, records = np.zeros(9), np.array([(0,), (4,)], [("x", np.float32)])
kernel[1, 1](out, records)
print(out.tolist(), records.tolist())
""")  # fmt: skip
    assert done.stdout == "[1.5, 4.0, 4.0, 6.0, 4.0, 1.0, 1.0, 1.0, 3.75] [(2.5,), (4.0,)]\n", done.stderr


def test_operators_refuse_what_does_not_convert(run_with_numba):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, """
@cuda.jit
def kernel(out):
    out[0] = 1.5 - Span(3, 4)

kernel[1, 1](np.zeros(1))
""")  # fmt: skip
    assert ">>> sub(float64, Span)" in done.stderr
    assert "out[0] = 1.5 - Span(3, 4)" in done.stderr
