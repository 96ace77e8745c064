"""cuda.fp16 and cuda.bf16: every function against exact arithmetic (half_reference.py), in both modes; their types are
numba-cuda's. Numbers go in and come out as their bits."""

import itertools
import re

import half_reference as reference
import numpy as np
import pytest
from cudasim import _native, cuda, errors
from cudasim.cuda import bf16, fp16
from half_reference import BRAIN, HALF
from kernel_checks import kernel_of_source, refusal, types_of

NAMES = _native.half_functions()  # "fp16.hadd"
FORMS = {"fp16": HALF, "bf16": BRAIN}
INTEGERS = {"char": np.int8, "short": np.int16, "int": np.int32, "ll": np.int64, "uchar": np.uint8,
            "ushort": np.uint16, "uint": np.uint32, "ull": np.uint64}  # fmt: skip
INTEGERS |= {f"{u}int{bits}": np.dtype(f"{u}int{bits}").type for u in ("", "u") for bits in (8, 16, 32, 64)}
REALS = {"float": np.float32, "double": np.float64, "float32": np.float32, "float64": np.float64}
TO_BITS = {"fp16": "fp16.__half_as_ushort", "bf16": "bf16.bfloat16_as_ushort"}
FROM_BITS = {"fp16": "fp16.__ushort_as_half", "bf16": "bf16.ushort_as_bfloat16"}


def apply(name, result, *columns, are_bits=True):
    """The function of each row: an array of a dtype, or of bits where `result` is "half"; of bits too, if not said otherwise."""
    module = name[:4]
    parameters = [f"a{i}" for i in range(len(columns))]
    given = [f"{FROM_BITS[module]}({p}[i])" if are_bits else f"{p}[i]" for p in parameters]
    value = f"{name}({', '.join(given)})"
    if result == "half":
        value, result = f"{TO_BITS[module]}({value})", np.uint16
    body = f"i = cuda.grid(1)\n    if i < out.size:\n        out[i] = {value}"
    kernel = kernel_of_source(body, ", ".join(["out", *parameters]), cuda=cuda, fp16=fp16, bf16=bf16)
    out = np.zeros(len(columns[0]), result)
    cuda.jit(kernel)[(out.size + 127) // 128, 128](out, *columns)
    return out


def forms_of(stems):
    """The functions among them, with their stem: fp16 has `hadd` as `__hadd` too."""
    return [(f"{module}.{prefix}{stem}", stem) for module in FORMS for stem in stems for prefix in ("", "__")
            if f"{module}.{prefix}{stem}" in NAMES]  # fmt: skip


def form_of(name):
    return FORMS[name[:4]]


def rows(form, arity):
    """Bits: each value with each; three at a time: some, and sums whose smallest part decides a tie."""
    values = reference.interesting(form)
    if arity == 1:
        return [values]
    if arity == 2:
        return [np.array(column) for column in zip(*itertools.product(values, values))]
    rng = np.random.default_rng(5)
    step = 2.0 ** (1 - form.precision)
    close = [
        (1 + step, 1 + step * m, s * 2.0**e)
        for m in (0.5, 1, 1.5, 2)
        for e in (form.lowest, -20, -12, -9)
        for s in (1, -1)
    ]
    close += [(1 + step, 2.0**-form.precision, s * 2.0**form.lowest) for s in (1, -1)]
    close += [(1.5 * 2.0 ** (1 - form.precision), 1, s * 2.0**form.lowest) for s in (1, -1)]
    close += [(2.0 ** (form.precision) + 1, 1.5, s * 2.0**form.lowest) for s in (1, -1)]
    columns = [rng.choice(values, 3000) for _ in range(3)]
    return [np.concatenate([column, reference.bits_of(form, reference.round_to(form, [c[i] for c in close]))])
            for i, column in enumerate(columns)]  # fmt: skip


def check(form, got, expected):
    """Bits against rounded values; NaN with any bits."""
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(reference.values_of(form, got)), ~numbers)
    np.testing.assert_array_equal(got[numbers], reference.bits_of(form, expected)[numbers])


def test_there_are_numba_cudas_names():
    public = {name for name in NAMES if name.startswith("fp16.h")}
    assert len(public) == 32 and {f"fp16.{name}" for name in fp16.__all__} == {
        n for n in NAMES if n.startswith("fp16")
    }
    assert {f"bf16.{name}" for name in bf16.__all__} == {n for n in NAMES if n.startswith("bf16")} | {
        "bf16.bfloat16"
    }
    assert len(bf16.__all__) == len(set(bf16.__all__)) == 173


@pytest.mark.parametrize(("name", "stem"), forms_of(reference.exact_functions(HALF)))
def test_arithmetic(name, stem):
    form = form_of(name)
    arity, function = reference.exact_functions(form)[stem]
    columns = rows(form, arity)
    with np.errstate(all="ignore"):
        expected = reference.round_to(form, function(*(reference.values_of(form, c) for c in columns)))
    check(form, apply(name, "half", *columns), expected)


@pytest.mark.parametrize(("name", "stem"), forms_of(reference.close_functions()))
def test_functions_are_within_one_place(name, stem):
    form = form_of(name)
    bits = reference.interesting(form)
    with np.errstate(all="ignore"):
        expected = reference.round_to(
            form, reference.close_functions()[stem](reference.values_of(form, bits))
        )
    got = apply(name, "half", bits)
    values = reference.values_of(form, got)
    places = np.abs(got.view(np.int16).astype(int) - reference.bits_of(form, expected).view(np.int16))
    same = (values == expected) | (np.isnan(values) & np.isnan(expected))
    assert (same | (places <= 1)).all(), [
        row for row in zip(reference.values_of(form, bits), values, expected) if row[1] != row[2]
    ]
    assert same.mean() > 0.95


@pytest.mark.parametrize(("name", "stem"), forms_of(reference.tests()))
def test_comparisons(name, stem):
    columns = rows(form_of(name), 2)
    values = [reference.values_of(form_of(name), column) for column in columns]
    assert apply(name, np.bool_, *columns).tolist() == reference.tests()[stem](*values).tolist()


@pytest.mark.parametrize(("name", "stem"), forms_of(["hisnan", "hisinf"]))
def test_nan_and_infinity_are_told_apart(name, stem):
    bits = reference.interesting(form_of(name))
    values = reference.values_of(form_of(name), bits)
    wanted = np.isnan(values) if stem == "hisnan" else np.where(np.isinf(values), np.copysign(1, values), 0)
    assert apply(name, np.bool_ if stem == "hisnan" else np.int32, bits).tolist() == wanted.tolist()


def conversions():
    types = "half|bfloat16|" + "|".join([*INTEGERS, *REALS])
    for name in NAMES:
        found = re.fullmatch(rf"\w+\.(?:__)?({types})(?:2|_to_)({types})(?:_(r.))?", name)
        if found:
            yield name, found[1], found[2], found[3] or "rn"


@pytest.mark.parametrize(("name", "source", "target", "how"), list(conversions()))
def test_conversions(name, source, target, how):
    form = form_of(name)
    bits = reference.interesting(form)
    values = reference.values_of(form, bits)
    if source == form.name and target in REALS:
        np.testing.assert_array_equal(apply(name, np.float32, bits), values.astype(np.float32))
    elif source == form.name:
        got = apply(name, INTEGERS[target], bits)
        assert got.tolist() == reference.to_integer(values, how, INTEGERS[target]).tolist()
    elif source in INTEGERS:
        limits = np.iinfo(INTEGERS[source])
        ties = [(1 << form.precision) * k + (1 << k.bit_length() >> 2) for k in (1, 2, 3, 4, 5, 8, 9)]
        every = [*range(4), 255, 257, 258, 2049, 2051, 4098, 4099, 65504, 65519, 65520, 65535, 10**6, *ties,
                 (257 << 54) - (1 << 40), (257 << 53) + 1, (257 << 53) - 1, (259 << 53), (259 << 53) + 1, limits.max]  # fmt: skip
        inside = [
            v for s in (1, -1) for v in [*(s * e for e in every), limits.min] if limits.min <= v <= limits.max
        ]
        integers = np.array(inside, limits.dtype)
        check(
            form, apply(name, "half", integers, are_bits=False), reference.from_integers(form, integers, how)
        )
    else:
        finite = values[np.isfinite(values)]
        step = 2.0 ** (1 - form.precision)
        reals = np.concatenate([finite, finite * (1 + step / 2), finite * (1 + step / 2) * (1 + 2.0**-45), finite * 1.3,
                                [65519.9, 65520, 1e30, -1e30, 3.4e38, 3.39e38, 1e-30, 1e-42, -1e-41, np.nan, np.inf]])  # fmt: skip
        with np.errstate(over="ignore"):
            reals = reals.astype(REALS[source])
        check(form, apply(name, "half", reals, are_bits=False), reference.round_to(form, reals, how))


@pytest.mark.parametrize("name", [name for name in NAMES if "_as_" in name])
def test_bits_stay(name):
    source, target = name[5:].strip("_").split("_as_")
    bits = reference.interesting(form_of(name))
    numbers = ~np.isnan(reference.values_of(form_of(name), bits))
    if target == form_of(name).name:
        got = apply(name, "half", bits.view(INTEGERS[source]), are_bits=False)
    else:
        got = apply(name, INTEGERS[target], bits)
    assert got.view(np.uint16)[numbers].tolist() == bits[numbers].tolist()


def test_every_function_is_tested_above():
    tested = {
        name
        for name, _ in forms_of(
            {**reference.exact_functions(HALF), **reference.tests(), **reference.close_functions()}
        )
    }
    tested |= {name for name, _ in forms_of(["hisnan", "hisinf"])} | {row[0] for row in conversions()}
    tested |= {name for name in NAMES if "_as_" in name} | {"fp16.__half"}
    assert set(NAMES) - tested == set()


def test_arguments_of_any_number_type_convert_and_results_have_numbas_types():
    lines = ["r = fp16.hadd(a, 1)", "s = fp16.hfma(a, b, c)", "t = fp16.hlt(a, 2.5)", "u = fp16.__half2int_rn(b)",
             "v = fp16.hsin(True)", "w = bf16.hadd(a, b)", "x = bf16.hsin(c)", "y = bf16.hisinf(2)",
             "z = bf16.short_as_bfloat16(True)"]  # fmt: skip
    kernel = kernel_of_source("\n    ".join(lines), "a, b, c", fp16=fp16, bf16=bf16)
    found = types_of(kernel, "int64", "float32", "float16")
    brain = "__nv_bfloat16"
    assert [found[name] for name in "rstuvwxyz"] == [
        "float16",
        "float16",
        "bool",
        "int32",
        "float16",
        brain,
        brain,
        "int32",
        brain,
    ]


@pytest.mark.parametrize("call", ["fp16.hadd(a)", "fp16.hadd(a, a, a)", "fp16.hadd(a, z)", "fp16.hadd()", "bf16.hadd(a, True)",
                                  "fp16.hadd(bf16.bfloat16(a), a)"])  # fmt: skip
def test_what_does_not_fit_is_refused(call):
    kernel = kernel_of_source(f"r = {call}", "a, z", fp16=fp16, bf16=bf16)
    assert "hadd" in refusal(errors.TypingError, kernel, "float16", "complex64")


def test_on_the_host_they_say_where_they_work():
    with pytest.raises(NotImplementedError, match=r"fp16.hadd\(\) works in a kernel only"):
        fp16.hadd(1, 2)
