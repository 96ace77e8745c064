"""What types of a program's own get in kernels beside their own code: loop variables, getattr(), operator.truth(), in-place operators,
errors of the program's functions; and, in Python mode, members that only overload() and its kind give."""

import sys

import pytest
from test_added_types import CONSTRUCTOR, CONVERSION, LENGTH, PRELUDE, TO_FLOAT, run

BOTH_MODES = pytest.mark.parametrize("mode", ["native", "python"])

TYPEOF = """
from numba.cuda.extending import typeof_impl

@typeof_impl.register(Span)
def typeof_span(value, context):
    return span

make_attribute_wrapper(SpanType, "end", "end")
"""

ADDITION = """
Span.__add__ = lambda a, b: Span(a.begin + b.begin, a.end + b.end)
Span.__radd__ = lambda a, b: Span(a.begin + b, a.end + b)

@declarations.register_global(operator.add)
class Added(ConcreteTemplate):
    cases = [signature(span, span, span)]

@lower(operator.add, span, span)
def add(context, builder, sig, args):
    a, b = (cgutils.create_struct_proxy(span)(context, builder, value=value) for value in args)
    a.begin, a.end = builder.fadd(a.begin, b.begin), builder.fadd(a.end, b.end)
    return a._getvalue()
"""


@BOTH_MODES
def test_a_loop_variable_that_begins_as_a_number(run_with_numba, mode):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, CONVERSION, ADDITION, """
@cuda.jit
def kernel(out):
    total = 0
    for i in range(4):
        total = total + Span(i, 2 * i)
    out[0] = total.begin
    other = 1
    while True:
        other += Span(1, 1)
        if other.begin > 3:
            break
    out[1] = other.begin

out = np.zeros(2)
kernel[1, 1](out)
print(out.tolist())
""", CUDASIM_MODE=mode)  # fmt: skip
    assert done.stdout == "[6.0, 4.0]\n", done.stderr


def test_a_loop_variable_that_nothing_converts(run_with_numba):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, """
@cuda.jit
def kernel(out):
    total = 0
    for i in range(4):
        total = Span(i, i)
    out[0] = total.begin

kernel[1, 1](np.zeros(1))
""")  # fmt: skip
    assert "TypingError: Cannot unify int64 and Span for variable 'total'" in done.stderr, done.stderr


def test_errors_in_loops_name_the_first_of_them(run_with_numba):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, """
@cuda.jit
def kernel(out):
    for i in range(4):
        out[0] = Span(i, i).colour
        out[0] = Span(i, i).shape

kernel[1, 1](np.zeros(1))
""")  # fmt: skip
    assert "TypingError: Unknown attribute 'colour' of type Span" in done.stderr, done.stderr


@BOTH_MODES
def test_attributes_by_name(run_with_numba, mode):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, TYPEOF, """
NAME = "end"

@overload_method(SpanType, "times")
def times(self, by):
    return lambda self, by: self.begin * by

@cuda.jit
def kernel(out):
    made = Span(1, 2)
    out[0] = getattr(made, "begin")
    out[1] = getattr(out, "size")
    out[2] = getattr(made, "colour", 7)
    out[3] = getattr(made, "begin", 7)
    out[4] = getattr(made, "times")(5)
    out[5] = 1 if hasattr(made, "colour") else 2

out = np.zeros(6)
kernel[1, 1](out)
print(out.tolist())
""", CUDASIM_MODE=mode)  # fmt: skip
    assert done.stdout == "[1.0, 6.0, 7.0, 1.0, 5.0, 2.0]\n", done.stderr


def test_a_name_that_is_no_constant(run_with_numba):
    done = run(run_with_numba, PRELUDE, """
@cuda.jit
def kernel(out):
    out[0] = getattr(out, 3)

kernel[1, 1](np.zeros(1))
""")  # fmt: skip
    assert "TypingError: getattr(): RequireLiteralValue: the name must be a literal string" in done.stderr


@BOTH_MODES
def test_truth_and_operators_in_place(run_with_numba, mode):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, TYPEOF, """
@overload(bool)
def truth(value):
    return (lambda value: value.begin > 2) if isinstance(value, SpanType) else None

@overload(operator.iadd)
def plus(a, b):
    return (lambda a, b: Span(a.begin + 10 * b, 0)) if isinstance(a, SpanType) else None

@overload(operator.mul)
def times(a, b):
    if isinstance(b, SpanType):
        return lambda a, b: Span(a * b.begin, 0)
    return (lambda a, b: Span(a.begin * b, 0)) if isinstance(a, SpanType) else None

@cuda.jit
def kernel(out):
    made = Span(1, 2)
    out[0] = operator.truth(made)
    made += 1
    out[1] = operator.truth(made)
    out[2] = made.begin
    made *= 2
    out[3] = (2.0 * made).begin
    out[4] = operator.truth(out.shape)
    out[5] = 1 if made else 2

out = np.zeros(6)
kernel[1, 1](out)
print(out.tolist())
""", CUDASIM_MODE=mode)  # fmt: skip
    assert done.stdout == "[0.0, 1.0, 11.0, 44.0, 1.0, 1.0]\n", done.stderr


MEMBERS = """
from numba.cuda.extending import overload_attribute, overload_classmethod

@overload_method(SpanType, "scaled")
def scaled(self, by, offset=0.5):
    return lambda self, by, offset=0.5: Span(self.begin * by + offset, self.end * by + offset)

@overload_attribute(SpanType, "middle")
def middle(self):
    return lambda self: (self.begin + self.scaled(1, offset=2).begin) / 2

@overload_classmethod(SpanType, "upto")
def upto(cls, end=1):
    return lambda cls, end=1: Span(3, end)

@overload(len)
def length(of):
    return (lambda of: 2) if isinstance(of, SpanType) else None

@overload(min)
def least(of):
    return (lambda of: of.begin) if isinstance(of, SpanType) else None

@overload(operator.getitem)
def part(of, i):
    return (lambda of, i: of.begin + i) if isinstance(of, SpanType) else None

@overload(operator.contains)
def holds(of, x):
    return (lambda of, x: of.begin <= x) if isinstance(of, SpanType) else None
"""


@BOTH_MODES
def test_members_that_only_overloads_give(run_with_numba, mode):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, TYPEOF, MEMBERS, """
@cuda.jit
def kernel(out):
    made = Span(1, 2)
    out[0] = made.scaled(2).begin
    out[1] = made.middle
    out[2] = SpanType.upto().begin + len(span.upto(4))
    out[3] = min(made) + len(out)
    out[4] = made[3]
    out[5] = 0 in made
    out[6] = min(5, 4)

out = np.zeros(7)
kernel[1, 1](out)
print(out.tolist())
print([hasattr(Span(1, 2), name) for name in ("scaled", "middle", "__getitem__")], hasattr(SpanType, "upto"))
""", CUDASIM_MODE=mode)  # fmt: skip
    assert done.stdout == ("[2.5, 2.0, 5.0, 8.0, 4.0, 0.0, 4.0]\n[False, False, False] False\n"), done.stderr


def test_what_a_class_has_itself_comes_first(run_with_numba):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, TYPEOF, MEMBERS, """
Span.scaled = lambda self, by: Span(10, 20)

@cuda.jit
def kernel(out):
    made = Span(1, 2)
    out[0] = made.scaled(2).begin

out = np.zeros(1)
kernel[1, 1](out)
print(out.tolist())
""", CUDASIM_MODE="python")  # fmt: skip
    assert done.stdout == "[10.0]\n", done.stderr


@BOTH_MODES
def test_no_such_member(run_with_numba, mode):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, TYPEOF, MEMBERS, """
@cuda.jit
def kernel(out):
    out[0] = Span(1, 2).colour

kernel[1, 1](np.zeros(1))
""", CUDASIM_MODE=mode)  # fmt: skip
    assert "TypingError: Unknown attribute 'colour' of type Span" in done.stderr, done.stderr


@BOTH_MODES
def test_implementers_with_any_number_of_arguments(run_with_numba, mode):
    done = run(run_with_numba, PRELUDE, """
def total(*values):
    pass

@overload(total)
def total_of(*values):
    count = len(values)
    return lambda *values: count + values[0]

@cuda.jit
def kernel(out):
    out[0] = total(5, 2.5)
    out[1] = total(5, 2.5, out)

out = np.zeros(2)
kernel[1, 1](out)
print(out.tolist())
""", CUDASIM_MODE=mode)  # fmt: skip
    assert done.stdout == "[7.0, 8.0]\n", done.stderr


FAILING = """
from numba.cuda.extending import intrinsic

@intrinsic
def untyped(context, x):
    raise RuntimeError("no such luck")

@overload_method(SpanType, "method")
def method(self):
    raise RuntimeError("no such luck")

@declarations.register_attr
class Attributes(AttributeTemplate):
    key = SpanType

    def resolve_colour(self, kind):
        raise RuntimeError("no such luck")

def function(x):
    pass

@declarations.register_global(function)
class Function(AbstractTemplate):
    def generic(self, args, kws):
        raise RuntimeError("no such luck")
"""


@pytest.mark.parametrize("call", ["untyped(1)", "Span(1, 2).method()", "Span(1, 2).colour", "function(1)"])
def test_exceptions_of_rules_for_types_tell_the_kernels_line(run_with_numba, call):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, FAILING, f"""
@cuda.jit
def kernel(out):
    out[0] = {call}

kernel[1, 1](np.zeros(1))
""")  # fmt: skip
    assert "RuntimeError: no such luck\n" in done.stderr, done.stderr
    if sys.version_info >= (3, 11):
        assert f"in kernel\n    out[0] = {call}\n" in done.stderr, done.stderr


def test_invalid_code_tells_the_kernels_line(run_with_numba):
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
    error = done.stderr[done.stderr.rindex("LinkerError: ") :]
    assert error.startswith("LinkerError: Span(int64, int64) -> Span: "), done.stderr
    assert "in kernel\n    out[0] = Span(1, 2).begin\n             ^^^^^^^^^^\n" in error, done.stderr


@BOTH_MODES
def test_functions_of_libraries(run_with_numba, mode):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, TYPEOF, """
import math
from math import exp as exponential

root = np.sqrt

@overload(np.sqrt)
def root_of_span(x):
    return (lambda x: Span(math.sqrt(x.begin), math.sqrt(x.end))) if isinstance(x, SpanType) else None

@overload(math.exp)
def exponential_of_span(x):
    return (lambda x: math.exp(x.begin)) if isinstance(x, SpanType) else None

@overload(np.add)
def sum_with_span(a, b):
    return (lambda a, b: a.begin + b) if isinstance(a, SpanType) else None

@overload(np.sum)
def sum_of_span(a):
    return (lambda a: a.begin + a.end) if isinstance(a, SpanType) else None

@cuda.jit(device=True)
def called(of):
    return np.sqrt(of).begin

@cuda.jit
def kernel(out):
    made = Span(0, 9)
    out[0] = np.sqrt(made).end + called(made) + root(made).end
    out[1] = math.exp(made) + exponential(made) + math.exp(0.0)
    out[2] = np.add(made, 2.0)
    out[3] = np.sum(made) + np.sum(out[4:])

out = np.array([0.0, 0.0, 0.0, 0.0, 5.0, 6.0])
kernel[1, 1](out)
print(out.tolist())
""", CUDASIM_MODE=mode)  # fmt: skip
    assert done.stdout == "[6.0, 3.0, 2.0, 20.0, 5.0, 6.0]\n", done.stderr


def test_members_that_are_code_for_compiled_kernels(run_with_numba):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, TYPEOF, LENGTH, """
@cuda.jit
def kernel(out):
    out[0] = Span(1, 2).length

out = np.zeros(1)
kernel[1, 1](out)
""", CUDASIM_MODE="python")  # fmt: skip
    assert "'length' of Span is code for LLVM: only compiled kernels have it" in done.stderr


def test_python_mode_beside_extensions_of_other_packages(run_with_numba):
    """Their members have names that types have."""
    done = run_with_numba(run_with_numba.write("""
import numpy as np
from numba import cuda, float32, int32, types
from numba.extending import overload_method

class TheirsType(types.Type):
    pass

for name in ("count", "dtype", "layout", "types"):
    overload_method(TheirsType, name)(lambda self: lambda self: 1)
outer = np.arange(4)

@cuda.jit
def kernel(out):
    shared = cuda.shared.array(4, float32)
    local = cuda.local.array(2, dtype=int32)
    i = cuda.grid(1)
    shared[i], local[0] = outer[i], i
    cuda.syncthreads()
    out[i] = shared[3 - i] * 10 + local[0]

out = np.zeros(4)
kernel[1, 4](out)
print(out.tolist())
"""), ENABLE_CUDASIM="1", CUDASIM_MODE="python")  # fmt: skip
    assert done.stdout == "[30.0, 21.0, 12.0, 3.0]\n", done.stderr


@BOTH_MODES
def test_implementers_without_a_module(run_with_numba, mode):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, TYPEOF, """
import numba.extending

made = {"__name__": None, "SpanType": SpanType}
exec("def implement(a, b):\\n    return (lambda a, b: a.begin - b) if isinstance(a, SpanType) else None\\n", made)
numba.extending.overload(operator.sub)(made["implement"])
assert made["implement"].__module__ is None

@cuda.jit
def kernel(out):
    out[0] = Span(4, 5) - 1

out = np.zeros(1)
kernel[1, 1](out)
print(out[0])
""", CUDASIM_MODE=mode)  # fmt: skip
    assert done.stdout == "3.0\n", done.stderr


def test_functions_of_numbers_take_what_converts_to_them(run_with_numba):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, TO_FLOAT, """
import math

@cuda.jit
def kernel(out, counts):
    made = Span(4, 2)
    out[0], out[1], out[2] = math.sqrt(made), math.atan2(made, 4.0) * 4 / math.pi, math.pow(made, Span(2, 1))
    out[3], out[4], out[5], out[6] = made**2, 2.0**made, made**made, pow(made, 0.5)
    out[7], out[8], out[9] = operator.pow(made, 2), round(made), cuda.libdevice.sqrt(made)
    out[10], out[11], out[12] = made + made, -made, abs(made)
    out[13], out[14], out[15] = made < Span(5, 1), math.isnan(made), bool(made)
    out[16], out[17] = not made, 3 if made else 2
    cuda.atomic.add(out, 18, made)
    cuda.atomic.max(out, 18, Span(7, 1))
    cuda.atomic.add(counts, 0, made)

out, counts = np.zeros(19), np.array([1], np.float32)
kernel[1, 1](out, counts)
print(out.tolist(), counts)
""")  # fmt: skip
    assert done.stdout == (
        "[2.0, 1.0, 16.0, 16.0, 16.0, 256.0, 2.0, 16.0, 4.0, 2.0, 8.0, -4.0, 4.0, 1.0, 0.0, 1.0, 0.0, 3.0, 7.0] [5.]\n"
    ), done.stderr


@BOTH_MODES
def test_what_bool_says_negated(run_with_numba, mode):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, TYPEOF, """
@overload(bool)
def truth(value):
    return (lambda value: value.begin > 2) if isinstance(value, SpanType) else None

@cuda.jit
def kernel(out):
    out[0], out[1] = not Span(1, 2), not Span(3, 4)

out = np.zeros(2)
kernel[1, 1](out)
print(out.tolist())
""", CUDASIM_MODE=mode)  # fmt: skip
    assert done.stdout == "[1.0, 0.0]\n", done.stderr


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("math.sqrt(Span(3, 4))", "TypingError: No implementation of function Function(<built-in function sqrt>)"),
        ("cuda.atomic.add(out, 0, Span(3, 4))", "TypingError: "),
        ("pow(Span(3, 4), 2)", "TypingError: No implementation of function Function(<"),
    ],
)  # fmt: skip
def test_functions_of_numbers_refuse_what_does_not_convert(run_with_numba, call, said):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, f"""
import math

@cuda.jit
def kernel(out):
    {call}

kernel[1, 1](np.zeros(1))
""")  # fmt: skip
    assert said in done.stderr, done.stderr
    assert f"in kernel\n    {call}\n" in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("called(1)", "No implementation of function Function(<function called>) found for signature:\n >>> called(Literal[int](1))"),
        ("called()", "called() needs an argument for parameter 'x'"),
        ("Span(1, 2).method(1)", "No implementation of function Function(<function method>) found"),
        ("Span(1, 2).attribute", "No implementation of function Function(<function attribute>) found"),
    ],
)  # fmt: skip
def test_refusals_name_what_the_kernel_calls(run_with_numba, call, said):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, f"""
from numba.cuda.extending import overload_attribute

def called(x):
    pass

@overload(called)
def implement_called(x):
    pass

@overload_method(SpanType, "method")
def implement_method(self, x):
    pass

@overload_attribute(SpanType, "attribute")
def implement_attribute(self):
    pass

@cuda.jit
def kernel(out):
    out[0] = {call}

kernel[1, 1](np.zeros(1))
""")  # fmt: skip
    assert f"TypingError: {said}" in done.stderr, done.stderr


def test_types_of_compiled_functions(run_with_numba):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, """
@cuda.jit(device=True)
def made(begin, other):
    return Span(begin, begin), other

@cuda.jit
def kernel(out):
    out[0] = made(1.0, Span(1, 2))[1].begin

kernel[1, 1](np.zeros(1))
_, alone = cuda.compile(lambda x: Span(x, x), (types.float64,), device=True)
_, inside = cuda.compile(lambda x: (Span(x, x), 1), (types.float64,), device=True, abi="numba")
print(alone is span, inside == types.Tuple((span, types.int64)), [kinds[1] is span for kinds in made.overloads])
""")  # fmt: skip
    assert done.stdout == "True True [True]\n", done.stderr


@BOTH_MODES
def test_methods_with_any_number_of_arguments(run_with_numba, mode):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, TYPEOF, """
@overload_method(SpanType, "plus")
def plus(self, first, *rest):
    def method(self, first, *rest):
        total = self.begin + first
        for each in rest:
            total += each
        return total + 100 * len(rest)
    return method

@cuda.jit
def kernel(out):
    made, more = Span(1, 2), (3.0, 4.0)
    out[0], out[1], out[2] = made.plus(2, 1.0), made.plus(2, 3.0, 4.0, 5.0), made.plus(2, *more)

out = np.zeros(3)
kernel[1, 1](out)
print(out.tolist())
""", CUDASIM_MODE=mode)  # fmt: skip
    assert done.stdout == "[104.0, 315.0, 210.0]\n", done.stderr


def test_operands_that_neither_overloads_nor_templates_take(run_with_numba):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, TYPEOF, TO_FLOAT, """
@overload(operator.mul)
def times(a, b):
    return (lambda a, b: 1) if isinstance(b, types.Integer) and isinstance(a, SpanType) else None

@declarations.register_global(operator.mul)
class Times(ConcreteTemplate):
    cases = [signature(span, span, span)]

@cuda.jit
def kernel(out):
    out[0] = Span(1, 2) * 2.5

kernel[1, 1](np.zeros(1))
""", CUDASIM_MODE="python")  # fmt: skip
    assert "unsupported operand type(s) for *: 'Span' and " in done.stderr, done.stderr
