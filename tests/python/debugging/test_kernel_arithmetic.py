"""Expressions that `evaluate` computes have the kernel's arithmetic and its checks, device functions among them."""

import pytest
from debug_session import debugging

PROGRAM = """
    from collections import namedtuple
    import numpy as np
    from numba import cuda

    inner = np.dtype([("b", np.int16)])
    record = np.dtype([("a", np.int32), ("v", np.float32, (2, 2)), ("inner", inner)], align=True)
    Point = namedtuple("Point", "x y")

    @cuda.jit(device=True)
    def wraps(value):
        return np.int32(value) * np.int32(value)

    @cuda.jit(device=True)
    def narrow(value):
        return np.int32(wraps(value))

    @cuda.jit(device=True)
    def single(value):
        return value * np.float32(0.1)

    @cuda.jit(device=True)
    def divide(a, b):
        return a // b

    @cuda.jit(device=True)
    def element(array, index):
        return array[index] + cuda.threadIdx.x

    @cuda.jit(device=True)
    def factorial(n):
        if n <= 1:
            return 1  # bottom
        rest = factorial(n - 1)
        return n * rest

    @cuda.jit
    def kernel(x, r, pt, out):
        i = cuda.grid(1)
        t = cuda.shared.array(4, np.float32)
        t[i] = x[i] + 0.5
        k = np.int32(100000)
        w = np.int64(1) << 62
        zero = i - i
        rec = r[i]
        v = x[i] * np.float32(0.3)
        total = factorial(i + 1)
        out[i] = v + t[i] + rec.a + pt.x + total + k * w * zero + narrow(k) * 0 + single(v) + divide(w, 3) + element(x, 0)  # here

    r = np.zeros(4, record)
    r["a"] = np.arange(4)
    r["v"] = np.arange(16).reshape(4, 2, 2) / 2
    r["inner"]["b"] = np.arange(4) + 40
    out = np.zeros(4)
    kernel[1, 4](np.arange(4, dtype=np.float32), r, Point(1, 5.5), out)
    print("done")
"""


@pytest.fixture
def client(tmp_path):
    with debugging(tmp_path, PROGRAM) as client:
        yield client


@pytest.fixture
def stopped(client):
    """In thread 3."""
    client.break_at("here", cudasim={"threads": "3"})
    client.run()
    client.wait("here")
    return client


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("k * k", "10000000000"),  # int32 times int32 is int64
        ("w * 4", "0"),  # which wraps, where Python's integers grow
        ("w + w", "-9223372036854775808"),
        ("wraps(k)", "10000000000"),
        ("narrow(k)", "1410065408"),
        ("x[i] * np.float32(0.1)", "0.3"),
        ("single(x[i]) == x[i] * np.float32(0.1)", "True"),
        ("single(x[i]) == 0.3", "False"),  # it is no float64
        ("x[i] / 3 == 1", "True"),
        ("-7 // k", "-1"),
        ("t[threadIdx.x] + 1", "4.5"),
        ("element(t, 2) + element(x, -1)", "11.5"),
        ("complex(i, 2) * 2", "(6+4j)"),
        ("1 if i > 2 else 0", "1"),
        ("not i", "False"),
        ("cuda.popc(i) + cuda.grid(1)", "5"),
        # members
        ("pt.x + 1", "2"),
        ("pt.y * 2 > 10 and pt.x == 1", "True"),
        ("r[i].a > 2", "True"),
        ("r[i].v[1, 0] + 1", "8.0"),
        ("rec.inner.b * 2", "86"),
        ("r[1].inner.b + rec.v[0, 1]", "47.5"),
        # what Python evaluates
        ("[pt][0]", "(x=1, y=5.5)"),
        ("[pt.x, pt.y, i]", "[1, 5.5, 3]"),
        ("sum([pt.x, rec.a])", "4"),
        ("x + 1", "[1., 2., 3., 4.]"),
        ("factorial(4)", "24"),
        ("str(i) + '!'", "'3!'"),
    ],
)
def test_values(stopped, expression, value):
    assert stopped.value(expression) == value


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("i // zero", "ZeroDivisionError: division by zero"),
        ("divide(k, 0)", "ZeroDivisionError"),
        ("x[i + 100] + 1", "IndexError: index 103 is out of bounds for axis 0 with size 4"),
        ("element(x, 4)", "IndexError: index 4 is out of bounds for axis 0 with size 4"),
        ("nothing + 1", "NameError: name 'nothing' is not defined"),
    ],
)
def test_what_the_kernel_would_raise_is_said_and_the_session_goes_on(stopped, expression, reason):
    frame = stopped.frames()[0]["id"]
    assert reason in stopped.refused("evaluate", expression=expression, frameId=frame)
    assert stopped.value("i + 1") == "4"
    assert stopped.go_to_end().strip().endswith("done")


def test_a_value_that_is_computed_can_be_assigned(stopped):
    frame = stopped.frames()[0]["id"]
    stopped.ask("setExpression", expression="k", value="narrow(k) // 2", frameId=frame)
    assert stopped.value("k") == "705032704"


def test_the_values_are_those_of_the_frame_and_the_thread(client):
    client.break_at("bottom", cudasim={"threads": "3"})
    client.run()
    client.wait("bottom")
    assert [client.value("n * 10", frame=frame) for frame in range(4)] == ["10", "20", "30", "40"]
    assert client.value("w + w + i", frame=4) == "-9223372036854775805"
    lanes = client.ask("cudasim/evaluateLanes", expression="threadIdx.x * 2 + 1", scope="block")["values"]
    assert {"threads": "3", "result": "7"} in lanes
