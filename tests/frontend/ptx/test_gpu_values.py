"""Values that an H200 gave (docs/gpu_results.md), of PTX that is read."""

import math

import numpy as np
import pytest
from cudasim import cuda
from cudasim.cuda.cudadrv import driver
from ptx_programs import HEAD, call, function


@pytest.mark.parametrize("to, expected", [("s8", 0), ("s16", 0), ("s32", 0), ("u32", 0), ("s64", -(1 << 63)), ("u64", 1 << 63)])  # fmt: skip
def test_a_float32_nan_becomes_0_or_the_highest_bit(to, expected):
    """As on an H200."""
    wide = {"s8": "s32", "s16": "s32"}.get(to, to)
    body = function(f"cvt.rzi.{to}.f32 {'%t0' if wide != to else '%r'}, %a;\n", wide, "f32")
    if wide != to:
        body = body.replace("st.param", f"cvt.s32.{to} %r, %t0;\nst.param", 1)
    found = call(body, wide, ("f32",), [[math.nan, -math.nan, 1.0]])
    assert [int(v) for v in found] == [expected, expected, 1]


@pytest.mark.parametrize("rounding, exact_or", [("rz", math.floor), ("rm", math.floor), ("rp", math.ceil), ("rn", round)])  # fmt: skip
@pytest.mark.parametrize("kind", ["u32", "u64", "s64"])
def test_integers_are_rounded_in_a_direction(kind, rounding, exact_or):
    value = (1 << 24) + 1
    found = call(function(f"cvt.{rounding}.f32.{kind} %r, %a;", "f32", kind), "f32", (kind,), [[value, 5]])
    assert list(found) == [2 * exact_or(value / 2), 5.0]


def test_a_float64_is_rounded_to_float32_in_a_direction():
    for rounding, expected in (("rz", 1.0), ("rm", 1.0), ("rp", float(np.float32(1 + 2**-23)))):
        found = call(
            function(f"cvt.{rounding}.f32.f64 %r, %a;", "f32", "f64"), "f32", ("f64",), [[1 + 2**-30]]
        )
        assert found[0] == expected


def test_approximate_sine_and_cosine_of_large_arguments_are_a_gpus():
    """What an H200 gave: beyond some turns not the sine."""
    values = [-26172600.0, 1002493.6875, 1278911.875, 1771101.375, 2437164.0]
    for name, expected in (("sin", [-1.0, -0.9238795042037964, 0.7071067094802856, 0.0, -0.8314695358276367]),
                           ("cos", [0.0, 0.3826834261417389, 0.7071067690849304, -1.0, -0.5555704])):  # fmt: skip
        found = call(function(f"{name}.approx.f32 %r, %a;", "f32", "f32"), "f32", ("f32",), [values])
        np.testing.assert_allclose(found, expected, rtol=0, atol=2**-21)


def test_approximate_division_by_large_numbers_is_0():
    """Of a divisor above 2^126, as on an H200."""
    a = np.array([1e38, -1e38, math.inf, 1e38, 6.0], np.float32)
    b = np.array([1.5e38, 1.5e38, 1.5e38, math.inf, 3.0], np.float32)
    found = call(function("div.approx.f32 %r, %a, %b;", "f32", "f32", "f32"), "f32", ("f32", "f32"), [a, b])
    assert np.array_equal(found, [0.0, -0.0, math.nan, 0.0, 2.0], equal_nan=True)
    assert list(np.signbit(found[:2])) == [False, True]


@pytest.mark.parametrize("name, function_of", [("rcp", lambda v: 1 / v), ("rsqrt", lambda v: 1 / np.sqrt(v))])
def test_approximations_of_float64_are_of_the_upper_half(name, function_of):
    values = np.array([3.0, 0.1, 1e300, 1 + 2**-40, 5e-324, 0.0, math.inf])
    found = call(function(f"{name}.approx.ftz.f64 %r, %a;", "f64", "f64"), "f64", ("f64",), [values])
    assert not np.any(found.view(np.uint64) & np.uint64(0xFFFFFFFF))
    np.testing.assert_allclose(found[:4], function_of(values[:4]), rtol=2**-19)
    assert list(found[3:]) == [1.0, math.inf, math.inf, 0.0]


@pytest.mark.parametrize("name, expected", [("max", [0.0, 0.0, 1.0, 2.0]), ("min", [-0.0, -0.0, 1.0, 2.0]),
                                            ("max.NaN", [0.0, 0.0, math.nan, 2.0]), ("min.NaN", [-0.0, -0.0, math.nan, 2.0])])  # fmt: skip
def test_extrema_of_halves_know_the_sign_of_zero(name, expected):
    body = (
        "{ .reg .f16 %h0, %h1;\ncvt.rn.f16.f32 %h0, %a;\ncvt.rn.f16.f32 %h1, %b;\n"
        f"{name}.f16 %h0, %h0, %h1;\ncvt.f32.f16 %r, %h0; }}"
    )
    columns = [[0.0, -0.0, 1.0, 2.0], [-0.0, 0.0, math.nan, 2.0]]
    found = call(function(body, "f32", "f32", "f32"), "f32", ("f32", "f32"), columns)
    assert np.array_equal(found, expected, equal_nan=True)
    assert list(np.signbit(found[:2])) == list(np.signbit(expected[:2]))


def test_a_thread_exits():
    source = f"""{HEAD}
.visible .entry k(.param .u64 out) {{ .reg .u64 %o; .reg .u32 %t, %n; .reg .pred %p;
ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; setp.gt.u32 %p, %t, 3; @%p exit;
mov.u32 %n, %dynamic_smem_size; atom.global.add.u32 %t, [%o], %n; exit; }}
"""
    out = cuda.to_device(np.zeros(1, np.uint32))
    kernel = cuda.current_context().create_module_ptx(source).get_function("k")
    driver.launch_kernel(kernel.handle, 1, 1, 1, 8, 1, 1, 48, 0, [out.device_ctypes_pointer])
    assert out.copy_to_host()[0] == 4 * 48
