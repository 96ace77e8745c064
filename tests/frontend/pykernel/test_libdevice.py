"""cuda.libdevice: every function against mpmath or exact arithmetic (libdevice_reference.py), in both modes."""

import math
import struct

import numpy as np
import pytest

pytest.importorskip("mpmath")
import libdevice_reference as reference
from cudasim import _native, cuda, errors
from cudasim.cuda import libdevice
from kernel_checks import kernel_of_source, refusal, types_of

FUNCTIONS = {name: (parameters, results) for name, parameters, results in _native.libdevice_functions()}
DIRECTED = {name: value for name, value in reference.directed().items() if name in FUNCTIONS}
COUNT = 120


def computed(name, *columns):
    """The function of each row: a list of tuples of its results."""
    parameters, results = FUNCTIONS[name]
    names = [f"a{i}" for i in range(len(columns))] + [f"out{i}" for i in range(len(results))]
    arguments = ", ".join(f"a{i}[i]" for i in range(len(columns)))
    kept = ["out0[i] = r"] if len(results) == 1 else [f"out{k}[i] = r[{k}]" for k in range(len(results))]
    body = "\n    ".join(["i = cuda.grid(1)", f"r = libdevice.{name}({arguments})", *kept])
    kernel = kernel_of_source(body, ", ".join(names), cuda=cuda, libdevice=libdevice)
    columns = [np.ascontiguousarray(column, parameter) for column, parameter in zip(columns, parameters)]
    outputs = [np.zeros(len(columns[0]), result) for result in results]
    cuda.jit(kernel)[1, len(columns[0])](*columns, *outputs)
    return list(zip(*outputs)), columns


def kind_of(name):
    parameters, results = FUNCTIONS[name]
    return np.float32 if "float32" in (*parameters, *results) and "float64" not in parameters else np.float64


def forms(stem):
    """The double and the float form: names and number kinds."""
    return [(stem, np.float64), (stem + "f", np.float32)]


def column(domain, kind):
    if domain == "exponents":
        return np.random.default_rng(3).integers(-12, 12, COUNT)
    return reference.sample(domain, kind, COUNT)


def check_ulps(name, kind, value_of, bound, columns):
    rows, columns = computed(name, *columns)
    wrong = []
    for i, results in enumerate(rows):
        arguments = [c[i].item() for c in columns]
        exact = value_of(*(reference.mpmath.mpf(a) if isinstance(a, float) else a for a in arguments))
        for result, wanted in zip(results, exact if isinstance(exact, tuple) else (exact,)):
            error = reference.ulps(result.item(), wanted, kind)
            if not error <= bound:
                wrong.append(
                    f"{name}{tuple(arguments)} = {result!r}, off by {error:.3g} ulp (allowed: {bound})"
                )
    assert not wrong, "\n".join(wrong[:5])


@pytest.mark.parametrize("stem", sorted(reference.APPROXIMATE))
def test_elementary_and_special_functions_within_cuda_s_bounds(stem):
    value_of, bound, float_bound, domains = reference.APPROXIMATE[stem]
    for (name, kind), allowed in zip(forms(stem), (bound, float_bound)):
        columns = [column(domain, kind)[:: 1 if i == 0 else -1] for i, domain in enumerate(domains)]
        check_ulps(name, kind, value_of, allowed, columns)


@pytest.mark.parametrize("name", reference.FAST)
def test_fast_functions_are_as_good_as_the_others(name):
    value_of, _, bound, domains = reference.APPROXIMATE[name[:-1]]
    columns = [column(domain, np.float32)[:: 1 if i == 0 else -1] for i, domain in enumerate(domains)]
    check_ulps("fast_" + name, np.float32, value_of, bound, columns)


@pytest.mark.parametrize("stem", sorted(reference.BESSEL_OF_ORDER))
def test_bessel_functions_of_any_order(stem):
    for name, kind in forms(stem):
        orders, x = np.arange(COUNT) % 9, reference.sample((0.5, 40.0), kind, COUNT)
        rows, columns = computed(name, orders, x)
        for (result,), n, at in zip(rows, *columns):
            exact = float(reference.BESSEL_OF_ORDER[stem](int(n), float(at)))
            assert abs(result - exact) <= reference.BESSEL_ERROR[kind] * max(1, abs(exact)), (name, n, at)
        rows, _ = computed(name, [-1, -2], [1.0, 2.0])
        assert all(math.isnan(result) for (result,) in rows)  # CUDA: NaN for n < 0


def same(result, wanted):
    """Equal bits, one NaN like another."""
    result = result.item()
    if isinstance(result, float):
        return (math.isnan(result) and math.isnan(wanted)) or struct.pack("d", result) == struct.pack(
            "d", wanted
        )
    return result == int(wanted)


def check_exactly(name, value_of, columns):
    rows, columns = computed(name, *columns)
    wrong = []
    for i, results in enumerate(rows):
        arguments = [c[i].item() for c in columns]
        wanted = value_of(*arguments)
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        if not all(map(same, results, wanted)):
            wrong.append(f"{name}{tuple(arguments)} = {results}, not {wanted}")
    assert not wrong, "\n".join(wrong[:5])


def integers(bits, seed):
    rng = np.random.default_rng(seed)
    ends = np.iinfo(f"int{bits}")
    values = rng.integers(ends.min, ends.max, COUNT, endpoint=True)
    values[:6] = [0, 1, -1, ends.min, ends.max, 0x7532]
    values[6:60] >>= rng.integers(0, bits - 1, 54)
    return values


def arguments_of(name, domain="all"):
    columns = []
    for position, parameter in enumerate(FUNCTIONS[name][0]):
        if parameter.startswith("int"):
            columns.append(np.roll(integers(int(parameter[3:]), position), position))
        else:
            columns.append(
                np.roll(reference.sample(domain, np.dtype(parameter).type, COUNT, 5 + position), position)
            )
    return columns


@pytest.mark.parametrize("name", sorted(reference.EXACT))
def test_integers_and_bits(name):
    columns = arguments_of(name)
    if name == "saturatef":
        columns = [np.concatenate([columns[0], np.linspace(-0.5, 1.5, 40)])]
    if name == "float2half_rn":
        halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float64)
        columns = [
            np.concatenate(
                [columns[0], ((halves[:-1] + halves[1:]) / 2)[::97], halves[::197], [65519.0, 65520.0]]
            )
        ]
    if name == "half2float":
        columns = [np.arange(-(2**15), 2**15, 67, dtype=np.int16)]
    if name == "int_as_float":
        columns = [np.array([0, 1, 0x3F800000, -(2**31), 0x7F800000])]
    check_exactly(name, reference.EXACT[name], [c[:900] for c in columns])


@pytest.mark.parametrize("stem", sorted(reference.EXACT_REALS))
def test_functions_with_one_right_answer(stem):
    for name, kind in forms(stem):
        columns = arguments_of(name)
        if stem in ("ldexp", "scalbn"):
            columns[1] = np.random.default_rng(1).integers(-180, 180, COUNT)
        whole = stem in ("ceil", "floor", "trunc", "rint", "nearbyint", "round", "llrint", "llround", "fmod",
                         "remainder", "remquo", "fdim", "modf")  # fmt: skip
        if whole:
            columns = [np.concatenate([c, reference.sample((-40, 40), kind, 60, i).round(1 + i) + i / 4])
                       for i, c in enumerate(columns)]  # fmt: skip
            columns[0][-20:] = np.arange(-10, 10) + 0.5
        check_exactly(name, lambda *values: reference.EXACT_REALS[stem](*values, kind), columns)  # noqa: B023


@pytest.mark.parametrize("name", sorted(DIRECTED))
def test_rounding_in_a_direction(name):
    columns = []
    for position, parameter in enumerate(FUNCTIONS[name][0]):
        if parameter.startswith("int"):
            columns.append(integers(int(parameter[3:]), position))
            columns[-1][columns[-1] == 0] = 3
        else:
            kind = np.dtype(parameter).type
            close = reference.sample((-9, 9), kind, COUNT // 2, position)
            wide = reference.sample("all", kind, COUNT, position)
            values = np.concatenate([close, wide[np.isfinite(wide) & (wide != 0)]])
            columns.append(np.roll(values, position)[:COUNT])
    if "sqrt" in name:
        columns = [np.abs(c) for c in columns]
    if "2int" in name or "2uint" in name or "2ll" in name or "2ull" in name:
        columns = [
            np.concatenate(
                [columns[0], [np.nan, np.inf, -np.inf, 0.5, 1.5, 2.5, -0.5, -1.5, 2.0**31, 2.0**63]]
            )
        ]
    check_exactly(name, DIRECTED[name], columns)


def test_overflow_in_a_direction():
    top = np.finfo(np.float32).max
    for way, up in (("rd", False), ("ru", True), ("rn", True), ("rz", False)):
        rows, _ = computed(f"fadd_{way}", [top, -top], [top, -top])
        assert [float(r) for (r,) in rows] == [
            np.inf if up else top,
            -np.inf if way in ("rd", "rn") else -top,
        ]
    rows, _ = computed("ddiv_ru", [1.0, -1.0], [0.0, 0.0])
    assert [r for (r,) in rows] == [np.inf, -np.inf]


def test_every_function_is_tested():
    approximate = {name for stem in (*reference.APPROXIMATE, *reference.BESSEL_OF_ORDER, *reference.EXACT_REALS)
                   for name in (stem, stem + "f")}  # fmt: skip
    tested = approximate | {"fast_" + name for name in reference.FAST} | set(reference.EXACT) | set(DIRECTED)
    assert len(FUNCTIONS) == 317
    assert set(FUNCTIONS) - tested == set()


def test_poles_and_ends_of_special_functions():
    inf = math.inf
    expected = {
        "erfinv": {1.0: inf, -1.0: -inf, 0.0: 0.0, 1.5: math.nan},
        "erfcinv": {0.0: inf, 2.0: -inf, 1.0: 0.0, -1.0: math.nan},
        "normcdfinv": {0.0: -inf, 1.0: inf, 0.5: 0.0, 2.0: math.nan},
        "erfcx": {inf: 0.0, -inf: inf, 0.0: 1.0},
        "normcdf": {-inf: 0.0, inf: 1.0, 0.0: 0.5},
        "sinpi": {2.0: 0.0, 1.5: -1.0, inf: math.nan, -3.0: -0.0},
        "cospi": {0.5: 0.0, 1.0: -1.0, 2.5: 0.0},
        "rsqrt": {0.0: inf, inf: 0.0, -1.0: math.nan},
        "rcbrt": {0.0: inf, -8.0: -0.5},
        "y0": {0.0: -inf, -1.0: math.nan},
        "lgamma": {0.0: inf, -3.0: inf, 1.0: 0.0},
        "tgamma": {5.0: 24.0, -1.0: math.nan},
    }
    for stem, values in expected.items():
        for name, _ in forms(stem):
            rows, _ = computed(name, list(values))
            assert all(map(same, (row[0] for row in rows), values.values())), (name, rows)


def test_erfcinv_of_the_smallest_double():
    """Half of it, which the formula needs, is no double any more."""
    rows, _ = computed("erfcinv", [5e-324])
    ((value,),) = rows
    assert float(value) == pytest.approx(27.213293210812949, rel=1e-15)


def test_numbers_of_other_types_convert_to_the_parameters():
    def kernel(a, n):
        r = libdevice.sinf(a)
        s = libdevice.mulhi(n, True)
        t = libdevice.sincos(n)
        u = libdevice.frexpf(a)
        v = libdevice.half2float(n)
        w = libdevice.remquo(a, n)

    types = types_of(kernel, "float64", "uint64")
    assert (types["r"], types["s"], types["v"]) == ("float32", "int32", "float32")
    assert types["t"] == "UniTuple(float64 x 2)"
    assert (types["u"], types["w"]) == ("Tuple(float32, int32)", "Tuple(float64, int32)")


def test_wrong_calls_are_refused_as_numba_does():
    def two(a):
        libdevice.sinf(a, a)

    def keyword(a):
        libdevice.sinf(x=a)

    def array(a):
        libdevice.sinf(a)

    assert "sinf" in refusal(errors.TypingError, two, "float64")
    assert "keyword" in refusal(errors.TypingError, keyword, "float64")
    assert "array" in refusal(errors.TypingError, array, "array(float64, 1d, C)")


def test_by_way_of_cuda_and_of_a_name_of_its_own():
    sinf = cuda.libdevice.sinf

    @cuda.jit
    def kernel(out, x):
        out[0] = cuda.libdevice.sinf(x)
        out[1] = sinf(x)
        sine, cosine = cuda.libdevice.sincospi(x)
        out[2] = sine + cosine

    out = np.zeros(3)
    kernel[1, 1](out, 0.25)
    assert list(out) == [np.sin(np.float32(0.25)), np.sin(np.float32(0.25)), pytest.approx(math.sqrt(2))]


def test_on_the_host_they_say_that_they_are_for_kernels():
    with pytest.raises(NotImplementedError, match="kernel"):
        libdevice.sinf(1.0)
    assert len(libdevice.__all__) == 317 and libdevice.sinf.__name__ == "sinf"
    assert not hasattr(libdevice, "no_such_function")


def test_types_as_data():
    from cudasim import types
    from cudasim.cuda.libdevicefuncs import create_signature, functions

    assert len(functions) == 317
    result, arguments = functions["__nv_remquo"]
    assert result == types.float64 and [a.is_ptr for a in arguments] == [False, False, True]
    assert create_signature(*functions["__nv_sinf"]) == types.float32(types.float32)
    for name, kinds in (("sincos", ("float64", "float64")), ("frexpf", ("float32", "int32"))):
        signature = create_signature(*functions[f"__nv_{name}"])
        assert tuple(map(str, signature.return_type.types)) == kinds and len(signature.args) == 1
