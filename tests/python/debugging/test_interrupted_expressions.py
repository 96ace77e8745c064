"""Expressions that run for long are given up: `cancel` ends those of Python and those that are compiled, and the session goes on."""

import time

import pytest
from debug_session import debugging

PROGRAM = """
    import numpy as np
    from numba import cuda

    def never():
        while True:
            pass

    @cuda.jit(device=True)
    def forever(value):
        while value < 10:
            value = value * value % 3
        return value

    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        x[i] = i  # here
        if i < 0:
            x[i] = forever(i)

    x = np.zeros(4)
    kernel[1, 4](x)
    print(*x)
"""
OUTPUT = "0.0 1.0 2.0 3.0"


@pytest.fixture
def client(tmp_path):
    with debugging(tmp_path, PROGRAM) as client:
        yield client


@pytest.fixture
def stopped(client):
    client.break_at("here", cudasim={"threads": "1"})
    client.run()
    client.wait("here")
    return client


def answered(client, number):
    while number not in client._responses:
        client._receive()
    return client._responses.pop(number)


def works(client):
    assert client.value("i + 1") == "2"
    assert client.go_to_end().strip() == OUTPUT


@pytest.mark.parametrize(
    "expression",
    [
        "never()",
        "sum(1 for _ in iter(int, 1))",
        "forever(i)",
        "(lambda f: f(f))(lambda f: [0 for _ in iter(int, 1)])",
    ],
)
def test_cancel_ends_an_evaluation(stopped, expression):
    frame = stopped.frames()[0]["id"]
    number = stopped.send("evaluate", expression=expression, frameId=frame)
    time.sleep(0.3)
    cancel = stopped.send("cancel", requestId=number)
    given_up = answered(stopped, number)
    assert not given_up["success"] and given_up["message"] == "cancelled"
    assert answered(stopped, cancel)["success"]
    works(stopped)


def test_cancel_ends_an_evaluation_in_many_threads(stopped):
    number = stopped.send("cudasim/evaluateLanes", expression="never()", scope="block")
    time.sleep(0.3)
    stopped.ask("cancel", requestId=number)
    assert answered(stopped, number)["message"] == "cancelled"
    works(stopped)


def test_an_assignment_is_given_up_without_effect(stopped):
    number = stopped.send("setExpression", expression="x[1]", value="never()")
    time.sleep(0.3)
    stopped.ask("cancel", requestId=number)
    assert answered(stopped, number)["message"] == "cancelled"
    assert stopped.value("x[1]") == "0.0"
    works(stopped)


def test_what_cannot_be_interrupted_says_so(stopped):
    number = stopped.send("evaluate", expression="__import__('time').sleep(4)")
    time.sleep(0.3)
    assert "cannot be interrupted" in stopped.refused("cancel", requestId=number)
    assert answered(stopped, number)["message"] == "cancelled"  # when the call has returned
    works(stopped)


def test_a_cancel_that_comes_late_hurts_nobody(stopped):
    for _ in range(20):
        number = stopped.send("evaluate", expression="sum(range(20000))")
        cancel = stopped.send("cancel", requestId=number)
        answer = answered(stopped, number)
        assert (
            answer["body"]["result"] == "199990000" if answer["success"] else answer["message"] == "cancelled"
        )
        answered(stopped, cancel)
    works(stopped)


@pytest.mark.parametrize("condition", ["never() or i == 1", "forever(i) or i == 1"])
def test_a_pause_ends_a_condition_that_does_not_end(client, condition):
    client.break_at("here", condition=condition)
    client.run()
    time.sleep(1.5)
    client.ask("pause", threadId=1)
    stop = client.wait("here")
    assert any("cannot be evaluated: interrupted" in note for note in stop["cudasim"]["notes"])
    client.break_at()
    assert client.go_to_end().strip() == OUTPUT
