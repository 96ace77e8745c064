"""A condition that means nothing where its breakpoint lies is refused when it is set, where the kernel is known."""

import pytest
from debug_session import debugging

PROGRAM = """
    import numpy as np
    from numba import cuda

    LIMIT = 3

    @cuda.jit
    def first(x):
        i = cuda.grid(1)
        only = i * 2
        x[i] = only  # first

    @cuda.jit
    def second(x):
        j = cuda.grid(1)
        part = x[j]
        x[j] = part + LIMIT  # second

    x = np.zeros(4)
    first[1, 4](x)
    second[1, 4](x)
    print(*x)
"""
OUTPUT = "3.0 5.0 7.0 9.0"


@pytest.fixture
def stopped(tmp_path):
    """In `second`, thread 0; `first` has run."""
    with debugging(tmp_path, PROGRAM) as client:
        client.break_at("first", "second", cudasim={"threads": "0"})
        client.run()
        client.wait("first")
        client.go(mark="second")
        yield client


def refusal(client, mark, condition):
    (answer,) = client.break_at(mark, condition=condition)
    assert (
        answer["verified"] is False and f"the condition '{condition}' cannot be used: " in answer["message"]
    )
    return answer["message"]


def test_an_unknown_name_is_refused_at_once(stopped):
    message = refusal(stopped, "second", "j > nosuch")
    assert "there is no variable 'nosuch' here, in second (script.py:" in message and "info locals" in message
    assert stopped.go_to_end().strip() == OUTPUT


def test_a_name_of_another_function_is_unknown(stopped):
    assert "'only'" in refusal(stopped, "second", "only > 2")
    assert "'part'" in refusal(stopped, "first", "part > 2")  # which is not where it stands
    (answer,) = stopped.break_at("first", condition="only > LIMIT")
    assert answer["verified"] is True


@pytest.mark.parametrize("condition", ["j >", "j = 3", "j > (2"])
def test_what_is_no_expression_is_refused_at_once(stopped, condition):
    assert "SyntaxError" in refusal(stopped, "second", condition)


@pytest.mark.parametrize(
    ("condition", "word"),
    [("j.nosuch > 2", "nosuch"), ("x > 2", "array"), ("part[0] == 1", "float64")],
)
def test_what_does_not_compile_and_python_refuses_is_refused_at_once(stopped, condition, word):
    assert word in refusal(stopped, "second", condition)


@pytest.mark.parametrize(
    "condition", ["j == LIMIT", "str(j) == '3'", "x[1:3].sum() > 2 and j == 3", "part > 5.5"]
)
def test_what_means_something_is_taken(stopped, condition):
    (answer,) = stopped.break_at("second", condition=condition)
    assert answer["verified"] is True and not answer.get("message")
    assert stopped.go(mark="second")["cudasim"]["thread"] == [3, 0, 0]
    assert stopped.go_to_end().strip() == OUTPUT


def test_conditions_at_functions_are_refused(stopped):
    (answer,) = stopped.ask(
        "setFunctionBreakpoints", breakpoints=[{"name": "second", "condition": "nosuch"}]
    )["breakpoints"]
    assert answer["verified"] is False and "'nosuch'" in answer["message"]


def test_conditions_of_watches_are_refused(stopped):
    data_id = stopped.ask("dataBreakpointInfo", name="x[2]", frameId=stopped.frames()[0]["id"])["dataId"]

    def watched(condition):
        one = {"dataId": data_id, "condition": condition}
        return stopped.ask("setDataBreakpoints", breakpoints=[one])["breakpoints"][0]

    answer = watched("nosuch > 2")
    assert answer["verified"] is False and "there is no variable 'nosuch' here" in answer["message"]
    assert watched("j == LIMIT - 1")["verified"] is True
    stopped.break_at()
    stop = stopped.go(reason="data breakpoint")
    assert stop["cudasim"]["thread"] == [2, 0, 0]
    assert stopped.go_to_end().strip() == OUTPUT


def test_a_refused_condition_can_be_set_again(stopped):
    refusal(stopped, "second", "j > nosuch")
    (answer,) = stopped.break_at("second", condition="j > 2")
    assert answer["verified"] is True
    assert stopped.go(mark="second")["cudasim"]["thread"] == [3, 0, 0]
