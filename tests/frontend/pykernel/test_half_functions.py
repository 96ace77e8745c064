"""cuda.fp16: every function against exact arithmetic (half_reference.py), in both modes; their types are numba-cuda's."""

import itertools
import re

import half_reference as reference
import numpy as np
import pytest
from cudasim import _native, cuda, errors
from cudasim.cuda import fp16
from half_reference import HALF
from kernel_checks import kernel_of_source, refusal, types_of

NAMES = _native.half_functions()
INTEGERS = {"char": np.int8, "short": np.int16, "int": np.int32, "ll": np.int64, "uchar": np.uint8,
            "ushort": np.uint16, "uint": np.uint32, "ull": np.uint64}  # fmt: skip
VALUES = reference.interesting(HALF).view(np.float16)


def apply(name, result, *columns):
    """The function of each row: an array of a dtype."""
    parameters = [f"a{i}" for i in range(len(columns))]
    body = f"i = cuda.grid(1)\n    if i < out.size:\n        out[i] = fp16.{name}({', '.join(f'{p}[i]' for p in parameters)})"
    kernel = kernel_of_source(body, ", ".join(["out", *parameters]), cuda=cuda, fp16=fp16)
    out = np.zeros(len(columns[0]), result)
    cuda.jit(kernel)[(out.size + 127) // 128, 128](out, *columns)
    return out


def forms_of(stems):
    """The functions among them: `hadd` is `__hadd` too."""
    return [(name, stem) for stem in stems for name in (stem, f"__{stem}") if name in NAMES]


def rows(arity):
    """Each value with each; three at a time: some."""
    if arity == 1:
        return [VALUES]
    if arity == 2:
        return [np.array(column) for column in zip(*itertools.product(VALUES, VALUES))]
    rng = np.random.default_rng(5)
    return [rng.choice(VALUES, 3000) for _ in range(3)]


def check(got, expected):
    """Bit for bit, NaN with any bits."""
    expected = expected.astype(np.float16)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
    numbers = ~np.isnan(got)
    np.testing.assert_array_equal(got[numbers].view(np.uint16), expected[numbers].view(np.uint16))


def test_there_are_numba_cudas_names():
    public = {name for name in NAMES if not name.startswith("_")}
    assert len(public) == 32 and set(fp16.__all__) == set(NAMES)
    assert {"hadd", "hfma", "htanh_approx", "hrcp"} < public


@pytest.mark.parametrize(("name", "stem"), forms_of(reference.exact_functions(HALF)))
def test_arithmetic(name, stem):
    arity, function = reference.exact_functions(HALF)[stem]
    columns = rows(arity)
    with np.errstate(all="ignore"):
        expected = reference.round_to(HALF, function(*(c.astype(float) for c in columns)))
    check(apply(name, np.float16, *columns), expected)


@pytest.mark.parametrize("name", reference.close_functions())
def test_functions_are_within_one_place(name):
    with np.errstate(all="ignore"):
        expected = reference.round_to(HALF, reference.close_functions()[name](VALUES.astype(float)))
    got = apply(name, np.float16, VALUES)
    places = np.abs(got.view(np.int16).astype(int) - expected.astype(np.float16).view(np.int16).astype(int))
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    assert (same | (places <= 1)).all(), [(v, g, e) for v, g, e, s in zip(VALUES, got, expected, same) if not s]
    assert same.mean() > 0.95


@pytest.mark.parametrize(("name", "stem"), forms_of(reference.tests()))
def test_comparisons(name, stem):
    columns = rows(2)
    assert apply(name, np.bool_, *columns).tolist() == reference.tests()[stem](*columns).tolist()


def test_nan_and_infinity_are_told_apart():
    assert apply("__hisnan", np.bool_, VALUES).tolist() == np.isnan(VALUES).tolist()
    wanted = np.where(np.isinf(VALUES), np.copysign(1, VALUES.astype(float)), 0).astype(int)
    assert apply("__hisinf", np.int32, VALUES).tolist() == wanted.tolist()


CONVERSIONS = [re.fullmatch(r"__(half|u?(?:char|short|int|ll)|float|double)2(half|u?(?:char|short|int|ll)|float)(?:_(r.))?", n)
               for n in NAMES]  # fmt: skip
CONVERSIONS = [match.group(0, 1, 2, 3) for match in CONVERSIONS if match]


@pytest.mark.parametrize(("name", "source", "target", "how"), CONVERSIONS)
def test_conversions(name, source, target, how):
    how = how or "rn"
    if source == "half" and target == "float":
        np.testing.assert_array_equal(apply(name, np.float32, VALUES), VALUES.astype(np.float32))
    elif source == "half":
        got = apply(name, INTEGERS[target], VALUES)
        assert got.tolist() == reference.to_integer(VALUES.astype(float), how, INTEGERS[target]).tolist()
    elif source in INTEGERS:
        limits = np.iinfo(INTEGERS[source])
        every = [*range(-3, 4), 2049, 2051, 4098, 4099, 65504, 65519, 65520, 65535, 10**6, limits.min, limits.max]
        values = np.array([v for s in (1, -1) for v in every if limits.min <= v * s <= limits.max for v in [v * s]], limits.dtype)
        check(apply(name, np.float16, values), reference.from_integers(HALF, values, how))
    else:
        halves = VALUES[np.isfinite(VALUES)].astype(float)
        values = np.concatenate([halves, halves * (1 + 2**-11), halves * 1.3, [65519.9, 65520, 1e30, -1e30, 1e-30, np.nan, np.inf]])
        values = values.astype(np.float32 if source == "float" else float)
        with np.errstate(over="ignore"):
            check(apply(name, np.float16, values), reference.round_to(HALF, values, how))


@pytest.mark.parametrize(("name", "source", "target"), [
    ("__half_as_short", np.float16, np.int16), ("__half_as_ushort", np.float16, np.uint16),
    ("__short_as_half", np.int16, np.float16), ("__ushort_as_half", np.uint16, np.float16)])  # fmt: skip
def test_bits_stay(name, source, target):
    got = apply(name, target, VALUES.view(source))
    numbers = ~np.isnan(VALUES)
    assert got.view(np.uint16)[numbers].tolist() == VALUES.view(np.uint16)[numbers].tolist()


def test_every_function_is_tested_above():
    tested = {name for name, _ in forms_of({**reference.exact_functions(HALF), **reference.tests()})}
    tested |= {*reference.close_functions(), "__hisnan", "__hisinf", *(row[0] for row in CONVERSIONS), "__half"}
    tested |= {"__half_as_short", "__half_as_ushort", "__short_as_half", "__ushort_as_half"}
    assert set(NAMES) - tested == set()


def test_arguments_of_any_number_type_become_float16_and_results_have_numbas_types():
    lines = ["r = fp16.hadd(a, 1)", "s = fp16.hfma(a, b, c)", "t = fp16.hlt(a, 2.5)", "u = fp16.__half2int_rn(b)", "v = fp16.hsin(True)"]
    found = types_of(kernel_of_source("\n    ".join(lines), "a, b, c", fp16=fp16), "int64", "float32", "float16")
    assert [found[name] for name in "rstuv"] == ["float16", "float16", "bool", "int32", "float16"]


@pytest.mark.parametrize("arguments", ["a", "a, a, a", "a, z", ""])
def test_what_does_not_fit_is_refused(arguments):
    kernel = kernel_of_source(f"r = fp16.hadd({arguments})", "a, z", fp16=fp16)
    assert "hadd" in refusal(errors.TypingError, kernel, "float16", "complex64")


def test_on_the_host_they_say_where_they_work():
    with pytest.raises(NotImplementedError, match=r"fp16.hadd\(\) works in a kernel only"):
        fp16.hadd(1, 2)
