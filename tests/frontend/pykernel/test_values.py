"""What kernels compute: Python's and NumPy's meaning of operators, math, loops and variables (rules V1, V2)."""

import itertools
import math

import numpy as np
import pytest
from cudasim import cuda, errors
from cudasim.types import float32, int8, uint8, uint64
from kernel_checks import evaluate, kernel_of_source, types_of

INTEGERS = [-7, -3, -2, -1, 0, 1, 2, 3, 7, 100]
REALS = [-7.5, -2.0, -0.0, 0.0, 0.5, 2.0, 1e300, math.inf, -math.inf, math.nan]


def same(a, b):
    return np.array_equal(np.asarray(a), np.asarray(b), equal_nan=True) and np.all(
        np.signbit(a) == np.signbit(b)
    )


@pytest.mark.parametrize("a", INTEGERS)
@pytest.mark.parametrize("b", [value for value in INTEGERS if value])
def test_integer_division_rounds_down_as_python(a, b):
    def kernel(out, x, y):
        out[0] = x // y
        out[1] = x % y
        out[2], out[3] = divmod(x, y)

    assert list(evaluate(kernel, a, b, dtype=np.int64, size=4)) == [a // b, a % b, a // b, a % b]


@pytest.mark.parametrize("divisor", [1, 2, 7])
def test_integer_division_by_a_constant_rounds_down(divisor):
    def kernel(out, x):
        out[0], out[1] = x // 1, x % 1
        out[2], out[3] = x // 2, x % 2
        out[4], out[5] = x // 7, x % 7
        out[6], out[7] = x // -7, x % -7

    for a in INTEGERS:
        expected = [v for d in (1, 2, 7, -7) for v in divmod(a, d)]
        assert list(evaluate(kernel, a, dtype=np.int64, size=8)) == expected


@pytest.mark.parametrize("a", REALS)
@pytest.mark.parametrize("b", [value for value in REALS if value != 0])
def test_float_division_follows_python(a, b):
    def kernel(out, x, y):
        out[0] = x / y
        out[1] = x // y
        out[2] = x % y

    with np.errstate(all="ignore"):
        expected = [np.float64(a) / b, np.float64(a) // b, np.float64(a) % b]
    if math.isinf(a):  # Python and Numba: not a number; NumPy: infinity
        expected[1] = math.nan
    assert same(np.abs(evaluate(kernel, a, b, size=3)), np.abs(expected))


@pytest.mark.filterwarnings("ignore::cudasim.errors.CudasimWarning")
def test_float_division_by_zero_is_ieee():
    def kernel(out, x, y):
        # A line each: CPython 3.10 knows no columns, so that Python mode counts divisions of a line together.
        out[0] = x / y
        out[1] = x // y
        out[2] = x % y

    assert same(evaluate(kernel, 1.0, 0.0, size=3)[:2], [math.inf, math.inf])
    assert same(evaluate(kernel, -1.0, 0.0, size=3)[:2], [-math.inf, -math.inf])
    assert np.isnan(evaluate(kernel, 0.0, 0.0, size=3)).all()


def test_true_division_of_integers_is_a_float_division():
    def kernel(out, x, y):
        out[0] = x / y

    assert evaluate(kernel, 7, 2) == 3.5
    with pytest.warns(errors.CudasimWarning, match="float division by zero"):
        assert evaluate(kernel, 7, 0) == math.inf


@pytest.mark.parametrize("base", [-3, -1, 0, 1, 2, 3])
@pytest.mark.parametrize("exponent", [0, 1, 2, 5, 31])
def test_integer_power(base, exponent):
    def kernel(out, x, n):
        out[0] = x**n
        out[1] = pow(x, n)
        out[2] = x**3

    assert list(evaluate(kernel, base, exponent, dtype=np.int64, size=3)) == [
        base**exponent,
        base**exponent,
        base**3,
    ]


def test_integer_power_wraps_and_negative_exponents_truncate():
    def kernel(out, x, n):
        out[0] = x**n

    assert evaluate(kernel, 2, 64, dtype=np.int64) == 0
    assert [evaluate(kernel, base, -3, dtype=np.int64) for base in (1, -1, 2, -5)] == [1, -1, 0, 0]


def test_float_power_with_constant_and_variable_exponents():
    def kernel(out, x, n):
        out[0], out[1], out[2], out[3] = x**2, x**-2, x**0.5, x**n

    assert np.allclose(evaluate(kernel, 2.5, 3, size=4), [6.25, 0.16, 2.5**0.5, 2.5**3])


def test_bit_operations_and_shifts():
    def kernel(out, a, b):
        out[0], out[1], out[2], out[3] = a & b, a | b, a ^ b, ~a
        out[4], out[5] = a << 2, a >> 1

    for a, b in [(12, 10), (-5, 3), (0, -1)]:
        assert list(evaluate(kernel, a, b, dtype=np.int64, size=6)) == [
            a & b,
            a | b,
            a ^ b,
            ~a,
            a << 2,
            a >> 1,
        ]


def test_comparisons_of_mixed_signedness_and_chains():
    def kernel(out, a, b, c):
        out[0] = a < b
        out[1] = a < b < c
        out[2] = a < b > c
        out[3] = not a
        out[4] = uint8(200) > int8(-1)

    assert list(evaluate(kernel, -1, 2, 3, dtype=np.int64, size=5)) == [1, 1, 0, 0, 1]
    assert list(evaluate(kernel, 0, 4, 3, dtype=np.int64, size=5)) == [1, 0, 1, 1, 1]


def test_and_or_give_the_deciding_value():
    def kernel(out, a, b):
        out[0] = a and b
        out[1] = a or b
        out[2] = a and b or 5

    for a, b in [(0, 3), (2, 3), (2, 0), (0, 0)]:
        assert list(evaluate(kernel, a, b, dtype=np.int64, size=3)) == [a and b, a or b, a and b or 5]


def test_short_circuit_does_not_evaluate_the_other_side():
    def kernel(out, a):
        if len(a) > 5 and a[5] == 1:
            out[0] = 1
        out[1] = a[9] if len(a) > 9 else -1

    assert list(evaluate(kernel, np.zeros(3), dtype=np.int64, size=2)) == [0, -1]


def test_conversions_between_types():
    def kernel(out, x):
        out[0] = int(x)
        out[1] = float32(x)
        out[2] = np.int8(x)
        out[3] = bool(x)
        out[4] = np.uint8(300)
        out[5] = float(3)
        out[6] = uint64(-1) == 18446744073709551615

    expected = [-3, np.float32(-3.7), -3, 1, 44, 3, 1]
    assert list(evaluate(kernel, -3.7, size=7)) == expected


def test_round_is_half_to_even():
    def kernel(out, x):
        out[0] = round(x)
        out[1] = round(x, 1)
        out[2] = round(x, -1)

    for x in (0.5, 1.5, 2.5, -0.5, 1.25, 15.0, 1e300):
        expected = [float(round(x)) if x < 1e18 else float(2**63 - 1), round(x, 1), round(x, -1)]
        assert np.allclose(evaluate(kernel, x, size=3), expected)


def test_min_max_abs_of_several_types():
    def kernel(out, a, b):
        out[0], out[1] = min(a, b), max(a, b, 2)
        out[2], out[3] = abs(a), abs(b)

    assert list(evaluate(kernel, -3, 2.5, size=4)) == [-3, 2.5, 3, 2.5]


def test_min_max_drop_nan():
    def kernel(out, a, b):
        out[0], out[1] = min(a, b), max(a, b)

    assert list(evaluate(kernel, math.nan, 1.0, size=2)) == [1, 1]
    assert list(evaluate(kernel, 1.0, math.nan, size=2)) == [1, 1]


MATH = (
    "acos acosh asin asinh atan atanh ceil cos cosh degrees erf erfc exp expm1 fabs floor gamma lgamma log "
    "log10 log1p log2 radians sin sinh sqrt tan tanh trunc"
).split()


@pytest.mark.parametrize("name", MATH)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_math_function(name, dtype):
    function = getattr(math, name)

    def kernel(out, x):
        out[0] = function(x)

    for x in (0.3, 0.75, 1.5, 2.0):
        x = dtype(x)
        try:
            expected = function(float(x))
        except ValueError:
            continue
        assert evaluate(kernel, x) == pytest.approx(expected, rel=1e-5 if dtype is np.float32 else 1e-14)


def test_math_functions_of_two_arguments_and_tuples():
    def kernel(out, x, y):
        out[0], out[1], out[2] = math.atan2(x, y), math.pow(x, y), math.hypot(x, y)
        out[3], out[4] = math.fmod(x, y), math.copysign(x, -y)
        mantissa, exponent = math.frexp(x)
        fraction, whole = math.modf(x)
        out[5], out[6], out[7], out[8] = mantissa, exponent, fraction, whole
        out[9], out[10] = math.ldexp(x, 3), math.remainder(x, y)
        out[11], out[12], out[13] = math.isnan(x), math.isinf(x / 0.5), math.isfinite(y)
        out[14] = math.pi

    x, y = 7.25, 2.5
    expected = [
        math.atan2(x, y),
        x**y,
        math.hypot(x, y),
        math.fmod(x, y),
        -x,
        *math.frexp(x),
        *math.modf(x),
        x * 8,
        math.remainder(x, y),
        0,
        0,
        1,
        math.pi,
    ]
    assert np.allclose(evaluate(kernel, x, y, size=15), expected, rtol=1e-14)


def test_math_of_integers_computes_in_float64():
    def kernel(out, n):
        out[0] = math.sqrt(n)

    assert evaluate(kernel, 2) == math.sqrt(2)


@pytest.mark.parametrize(
    "bounds", [(5,), (0,), (-3,), (2, 9), (9, 2), (0, 10, 3), (10, 0, -3), (10, 0, -1), (0, 10, -1)]
)
def test_range(bounds):
    def one(out, stop):
        for i in range(stop):
            out[0] += 1
            out[1] = out[1] * 10 + i

    def two(out, start, stop):
        for i in range(start, stop):
            out[0] += 1
            out[1] = out[1] * 10 + i

    def three(out, start, stop, step):
        for i in range(start, stop, step):
            out[0] += 1
            out[1] = out[1] * 10 + i

    count, digits = 0, 0
    for i in range(*bounds):
        count, digits = count + 1, digits * 10 + i
    kernel = (one, two, three)[len(bounds) - 1]
    assert list(evaluate(kernel, *bounds, dtype=np.int64, size=2)) == [count, digits]


def test_range_with_constant_steps_and_at_the_end_of_its_type():
    def kernel(out):
        for i in range(10, 0, -4):
            out[0] = out[0] * 100 + i
        for i in range(np.int32(2147483640), np.int32(2147483647), np.int32(5)):
            out[1] += 1

    assert list(evaluate(kernel, dtype=np.int64, size=2)) == [100602, 2]


def test_range_with_step_zero_is_a_value_error():
    def kernel(out, step):
        for i in range(0, 5, step):
            out[0] = i

    with pytest.raises(ValueError, match="must not be zero"):
        evaluate(kernel, 0)


def test_while_break_continue_and_else():
    def kernel(out, n):
        i = 0
        while i < n:
            i += 1
            if i % 2:
                continue
            if i > 6:
                break
            out[0] += i
        else:
            out[1] = 1
        for j in range(n):
            if j == 3:
                break
        else:
            out[2] = 1
        out[3] = j

    assert list(evaluate(kernel, 3, dtype=np.int64, size=4)) == [2, 1, 1, 2]
    assert list(evaluate(kernel, 20, dtype=np.int64, size=4)) == [12, 0, 0, 3]


def test_a_variable_changes_its_type_along_the_way():
    def kernel(out, n):
        x = 1
        if n > 2:
            x = 2.5
        out[0] = x
        x = x > 2
        out[1] = x
        total = 0
        for i in range(n):
            total = total + 0.5
        out[2] = total

    assert list(evaluate(kernel, 1, size=3)) == [1, 0, 0.5]
    assert list(evaluate(kernel, 5, size=3)) == [2.5, 1, 2.5]


def test_tuples_with_constant_and_running_index():
    def kernel(out, i):
        t = (10, 20, 30)
        u = (1, 2.5)
        a, (b, c) = 1, (2, 3)
        out[0], out[1], out[2] = t[i], t[-1], u[1]
        out[3] = len(t) + a + b + c
        for v in t:
            out[4] += v
        out[5] = (t + u)[4]
        out[6] = t == (10, 20, 30)

    assert list(evaluate(kernel, 1, size=7)) == [20, 30, 2.5, 9, 60, 2.5, 1]
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        evaluate(kernel, 3, size=7)


SCALE, SHIFTS, FLAG, TABLE = 3, (1, 2.5), False, np.arange(6.0).reshape(2, 3)


def test_global_and_closure_constants():
    offset = np.float32(0.5)

    def kernel(out):
        out[0] = SCALE + offset
        out[1] = SHIFTS[0] + SHIFTS[1]
        out[2] = TABLE[1, 2] + TABLE[0][1]
        if FLAG:
            out[3] = not_there  # noqa: F821  (pruned: never typed)

    assert list(evaluate(kernel, size=4)) == [3.5, 3.5, 6, 0]


@pytest.mark.parametrize(
    "text",
    ["(-2.5) ** 0.5", "(-1.0 ** 2) ** 0.5", "-2.5j", "3 - 1j", "(1 + 2j) * (3 - 4j)", "(1 + 2j) / (3 - 4j)",
     "(1 + 2j) / (3 - 0.5j)", "2 / 4j", "True + 1j", "-(1 - 0j)", "1e300j * 1e300"],
)  # fmt: skip
def test_complex_literals_are_folded_as_cpython_folds_them(text):
    kernel = kernel_of_source(f"out[0] = {text}", "out")
    expected = np.array([eval(text)])
    assert evaluate(kernel, dtype=np.complex128, size=1).tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("condition", "taken"),
    [("1j", True), ("0j", False), ("-2.5j == 1j", False), ("3 - 1j != 3 - 1j", False), ("2 == 2 + 0j", True),
     ("TURN == 2 - 1j", True), ("TURN == 2", False), ("2 * 1j == 2j", True), ("not 1j + 1", False)],
)  # fmt: skip
def test_conditions_that_constants_decide_are_pruned(condition, taken):
    branches = ("out[0] = 1", "out[0] = not_there") if taken else ("out[0] = not_there", "out[0] = 1")
    body = f"if {condition}:\n        {branches[0]}\n    else:\n        {branches[1]}"
    assert evaluate(kernel_of_source(body, "out", TURN=2 - 1j)) == 1


@pytest.mark.parametrize(
    "condition",
    ["(True and True) & (True and False)", "MASK & 1", "MASK - 6", "HALF - 0.5", "YES & False", "MASK * 0",
     "(1 and 0) | 0", "(MASK and ZERO) | ZERO", "(MASK and ZERO) == 1", "(True and 5) & 1 and ZERO",
     "(MASK if YES else 0) - 6", "0 if YES else MASK"],
)  # fmt: skip
def test_operations_of_constants_decide_conditions(condition):
    outside = {"MASK": 6, "HALF": 0.5, "YES": True, "ZERO": 0}
    body = "if {}:\n        out[0] = {}\n    else:\n        out[0] = {}"
    for text, taken, left in ((condition, "not_there", "1"), (f"not ({condition})", "1", "not_there")):
        assert evaluate(kernel_of_source(body.format(text, taken, left), "out", **outside)) == 1


@pytest.mark.parametrize(
    "condition", ["MASK + 1 - 7", "(MASK & 1) == 1", "-ZERO", "MASK ** 0 - 1", "MASK // ZERO"]
)
def test_operations_of_results_are_left_to_the_run_time_as_numba_leaves_them(condition):
    for text in (condition, f"not ({condition})"):
        kernel = kernel_of_source(f"if {text}:\n        out[0] = not_there", "out", MASK=6, ZERO=0)
        with pytest.raises(errors.TypingError, match="not_there"):
            evaluate(kernel)


def test_arguments_of_all_scalar_types_arrive():
    def kernel(out, a, b, c, d, e):
        out[0], out[1], out[2], out[3], out[4] = a, b, c, d, e

    values = (True, np.int8(-5), np.uint16(65535), np.float32(0.5), 7)
    assert list(evaluate(kernel, *values, size=5)) == [1, -5, 65535, 0.5, 7]


@pytest.mark.parametrize(
    "condition",
    ["out.size != 0.5 > 1", "out.size > 0 and (0.5 > 1 != out.size)", "0 < 1 < out.size != 2 < 2"],
)
def test_a_comparison_of_constants_decides_its_chain(condition):
    kernel = kernel_of_source(
        f"value = 1\n    if {condition}:\n        value = 2.5\n    out[0] = value", "out"
    )
    assert types_of(kernel, "array(float64, 1d, C)")["value"] == "Literal[int](1)"
    assert evaluate(kernel) == 1


@pytest.mark.parametrize(
    "text", ["a < b < c", "1 < a < 2 < c", "0.5 > 1 < a", "a != b > 1 > 2", "1 < 2 < a", "c > b == b"]
)
def test_chains_of_comparisons_are_pythons_in_conditions_and_as_values(text):
    kernel = kernel_of_source(f"out[0] = {text}\n    out[1] = 1 if {text} else 0", "out, a, b, c")
    for a, b, c in itertools.product((0, 1, 2, 3), repeat=3):
        expected = eval(text, {"a": a, "b": b, "c": c})
        assert list(evaluate(kernel, a, b, c, size=2)) == [expected, expected]


def test_overflow_wraps_in_64_bits():
    def kernel(out, a):
        out[0] = a + 1
        out[1] = -a

    assert list(evaluate(kernel, np.int64(2**63 - 1), dtype=np.int64, size=2)) == [-(2**63), -(2**63) + 1]


def test_lambda_and_nested_definitions_compile_from_their_own_source():
    double, triple = cuda.jit(device=True)(lambda v: v * 2), cuda.jit(device=True)(lambda v: v * 3)

    def kernel(out, x):
        out[0], out[1] = double(x), triple(x)

    assert list(evaluate(kernel, 2.0, size=2)) == [4, 6]


def test_negation_and_inversion_keep_the_width_of_their_operand():
    def kernel(out, a, b):
        out[0], out[1], out[2], out[3], out[4] = -a, ~a, -b, -True, ~True

    assert list(evaluate(kernel, np.uint8(3), np.int8(-128), dtype=np.int64, size=5)) == [
        253,
        252,
        -128,
        -1,
        -2,
    ]  # CPython folds ~True


def test_literals_fold_as_in_cpython_into_int64_or_uint64():
    def kernel(out):
        out[0], out[1], out[2] = 2**64 - 1, 1 << 63, (2**64 - 1) // 3
        out[3], out[4] = 0xFFFFFFFF << 32, 2**63

    expected = [2**64 - 1, 1 << 63, (2**64 - 1) // 3, 0xFFFFFFFF << 32, 2**63]
    assert list(evaluate(kernel, dtype=np.uint64, size=5)) == expected

    def negative(out):
        out[0], out[1], out[2] = -(2**63), -7 // 2, -7 % 3

    assert list(evaluate(negative, dtype=np.int64, size=3)) == [-(2**63), -4, 2]

    def real(out):
        out[0], out[1], out[2], out[3] = 7.5 // -2.0, 7.5 % -2.0, 1e-7 // -3.25, -0.0 % 3.0

    assert list(evaluate(real, size=4)) == [7.5 // -2.0, 7.5 % -2.0, 1e-7 // -3.25, 0.0]


def test_constants_in_and_and_or_are_decided_while_compiling():
    def kernel(c, out):
        r = 0 or c
        s = 1 and c
        t = 2.5 or c
        u = c or 1
        v = 0 and c
        out[0], out[1], out[2], out[3], out[4] = r, s, t, u, v

    found = types_of(kernel, "int32", "array(float64, 1d, C)")
    assert (found["r"], found["s"], found["t"], found["u"]) == ("int32", "int32", "float64", "int64")
    out = np.zeros(5)
    cuda.jit(kernel)[1, 1](np.int32(7), out)
    assert list(out) == [7, 7, 2.5, 7, 0]
