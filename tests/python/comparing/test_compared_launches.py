"""_native.compare_launch on NumPy's arrays, beside what NumPy says of them."""

import json
import threading

import gpu_reports
import numpy as np
import pytest
from cudasim import _native

DTYPES = ["bool", "int8", "int64", "uint16", "float16", "float32", "float64", "complex64", "complex128", "datetime64[us]",
          "timedelta64[s]", "S5", "U3"]  # fmt: skip


def compared(simulated, gpu, before=None, **tolerance):
    made = gpu_reports.launch(gpu_reports.array("x", simulated, gpu, before, **tolerance))
    gpu_reports.report(made)
    (array,) = made["arrays"]
    return array


def random_array(random, dtype, shape):
    values = random.integers(0, 100, shape)
    return values.astype(dtype) if dtype[0] not in "SU" else values.astype(str).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_mismatched_elements_are_those_that_numpy_finds(dtype):
    random = np.random.default_rng(5)
    simulated = random_array(random, dtype, (13, 50))
    gpu = np.where(random.random((13, 50)) < 0.1, random_array(random, dtype, (13, 50)), simulated)
    array = compared(simulated, gpu)
    assert array["mismatched"] == np.count_nonzero(simulated != gpu) > 0
    assert [tuple(one["index"]) for one in array["elements"]] == list(
        map(tuple, np.argwhere(simulated != gpu))
    )[:16]
    assert sum(map(sum, array["map"]["counts"])) == array["mismatched"]
    first = array["elements"][0]
    assert first["address"] == 0x1000 + np.ravel_multi_index(first["index"], (13, 50)) * simulated.itemsize


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tolerances_are_those_of_isclose(dtype):
    random = np.random.default_rng(6)
    gpu = random.normal(size=5000).astype(dtype)
    simulated = gpu * (1 + random.normal(size=5000).astype(dtype) * dtype_tolerance(dtype)).astype(dtype)
    rtol, atol = {"float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7)}[dtype]
    array = compared(simulated, gpu)
    expected = np.count_nonzero(~np.isclose(simulated, gpu, rtol, atol))
    assert array["mismatched"] == expected
    assert 0 < expected < 5000
    difference = np.abs(simulated.astype("f8") - gpu)
    assert array["greatest"]["absolute"]["absolute"] == pytest.approx(difference.max(), rel=1e-6)
    assert array["greatest"]["relative"]["relative"] == pytest.approx(
        (difference / np.abs(gpu)).max(), rel=1e-6
    )
    assert compared(simulated, gpu, rtol=0.5)["verdict"] == "close"
    assert compared(simulated, gpu, exact=True)["mismatched"] == np.count_nonzero(simulated != gpu)


def dtype_tolerance(dtype):
    return {"float32": 1e-5, "float64": 1e-7}[dtype]


def test_bfloat16_arrays_are_compared():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    values = np.array([1, 2, 3], ml_dtypes.bfloat16)
    array = compared(values, np.array([1, 2.02, 4], ml_dtypes.bfloat16))
    assert array["dtype"] == "bfloat16"
    assert (array["mismatched"], array["close"]) == (1, 1)


@pytest.mark.parametrize("align", [False, True])
def test_records_are_compared_field_by_field(align):
    dtype = np.dtype([("a", "i1"), ("b", [("x", "f8"), ("t", "M8[s]")], (2,)), ("s", "S3")], align=align)
    simulated = np.zeros(5, dtype)
    gpu = simulated.copy()
    gpu["b"]["x"][3, 1] = 4
    gpu["s"][4] = b"no"
    array = compared(simulated, gpu)
    assert [(one["index"], one["field"]) for one in array["elements"]] == [([3], "b[1].x"), ([4], "s")]
    assert compared(simulated.view(np.recarray), gpu)["mismatched"] == 2


def test_strided_views_are_compared_in_their_memory():
    simulated, gpu = np.zeros((6, 8), np.int32), np.zeros((6, 8), np.int32)
    gpu[2, 5] = 1  # in the view: [1, 1]
    gpu[0, 0] = 9  # not in it
    view = simulated[4:0:-2, 1::4]
    made = {
        **gpu_reports.array("x", simulated, gpu),
        "shape": view.shape,
        "strides": view.strides,
        "offset": 4 * 32 + 4,
        "address": 0x1000 + 4 * 32 + 4,
    }
    memory = {
        "label": "array 'x'",
        "address": 0x1000,
        "simulated": simulated,
        "gpu": gpu,
        "arrays": [0],
    }
    found = gpu_reports.launch(made, memory=[memory])
    (element,) = found["arrays"][0]["elements"]
    assert element["index"] == [1, 1]
    assert element["address"] == 0x1000 + 2 * 32 + 20
    assert [(run["address"], run["gpu"]) for run in found["outside"]] == [(0x1000, "09")]


@pytest.mark.alone
def test_other_threads_run_while_contents_are_compared():
    zeros = np.zeros(1 << 27, np.uint8)
    array = {
        "name": "x",
        "dtype": "uint8",
        "shape": zeros.shape,
        "simulated": zeros,
        "gpu": np.zeros_like(zeros),
    }
    counted, done = [], threading.Event()

    def count():
        while not done.is_set():
            counted.append(1)
            done.wait(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    json.loads(_native.compare_launch([array]))
    done.set()
    thread.join()
    assert len(counted) > 2  # two at most where the interpreter stands still


def test_wrong_arrays_are_refused_by_name():
    values = np.zeros(3, np.float32)
    with pytest.raises(
        ValueError,
        match="array 'x' cannot be compared: its memory has 12 bytes on the simulator, 8 on the GPU",
    ):
        _native.compare_launch([gpu_reports.array("x", values, values[:2])])
    with pytest.raises(ValueError, match="'object' is not an element type"):
        _native.compare_launch([{**gpu_reports.array("x", values, values), "dtype": "object"}])
    with pytest.raises(ValueError, match="the tolerance rtol is -1"):
        _native.compare_launch([gpu_reports.array("x", values, values, rtol=-1)])
    with pytest.raises(KeyError, match="name"):
        _native.compare_launch([{}])
    with pytest.raises(IndexError, match="names array 4 of 0"):
        _native.compare_launch(
            [], [{"label": "m", "address": 0, "simulated": b"", "gpu": b"", "arrays": [4]}]
        )
