"""What runs on the simulator gives the same bits as its PTX: launches of tests and examples are given to the stand-in for
NVIDIA's driver, which reads the PTX back and runs it. compare_launches.py does this for every launch; this is a sample of it.
"""

import pathlib
import sys

import pytest
from cudasim import _native

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import compare_launches
from known_differences import EXCEPTIONS

#: Files with many different kernels; all examples.
TESTS = [
    *(f"tests/frontend/pykernel/test_{name}.py" for name in (
        "array_memory", "atomics", "complex", "constants", "control_flow", "float16", "functions", "iteration",
        "numpy_calls", "records", "tuples", "value_rules",
    )),
    "tests/examples",
]  # fmt: skip
#: Greater than that of all launches (compare_launches.MOST_EXCEPTIONS), because two kernels of a test
#: are taken here, be there one that differs or hundreds that are equal.
MOST_EXCEPTIONS = 0.06
LEAST_LAUNCHES = 100  #: so that a run in which nothing is collected does not pass


@pytest.fixture(scope="module")
def judgements(tmp_path_factory):
    if not compare_launches.STAND_IN.exists():
        pytest.skip(f"the stand-in driver is not built: {compare_launches.STAND_IN}")
    if _native.find_libdevice() is None:
        pytest.skip('no libdevice.10.bc on this machine: pip install "cudasim[gpu]" brings one')
    folder = tmp_path_factory.mktemp("launches")
    found = compare_launches.compared(folder, ["-k", "not random_programs", *TESTS], most_of_a_test=2)
    return {fma: compare_launches.judge(rows, fma) for fma, rows in found.items()}


@pytest.mark.parametrize("fma", [True, False], ids=["fma", "no fma"])
def test_launches_leave_the_same_bits_on_both_sides(judgements, fma):
    judgement = judgements[fma]
    assert not judgement.unexpected, str(judgement)
    assert judgement.equal > LEAST_LAUNCHES, str(judgement)
    assert judgement.rate < MOST_EXCEPTIONS, str(judgement)


def row(test, outcome, reason):
    return {"test": test, "kernel": "k", "outcome": outcome, "reason": reason}


def test_what_is_not_listed_is_unexpected():
    judgement = compare_launches.judge([row("test_x.py::test_y", "different", "1 elements of x")] * 3, True)
    assert len(judgement.unexpected) == 3 and judgement.rate == 1
    assert "test_y, kernel k: different: 1 elements of x" in str(judgement)


def test_what_is_listed_and_equal_is_unexpected():
    (listed,) = [each for each in EXCEPTIONS if "fresh_memory" in each.test]
    test = "tests/frontend/pykernel/test_array_memory.py::test_fresh_memory_is_poisoned"
    assert compare_launches.judge([row(test, "different", "4 elements of out")], True).by_cause == {
        listed.cause: 1
    }
    assert "has to go" in str(compare_launches.judge([row(test, "equal", "")], True))
    assert compare_launches.judge([row(test, "refused", "no libdevice")], True).unexpected


def test_a_difference_is_noticed(tmp_path, monkeypatch):
    """The whole path, with a bit that the stand-in inverts."""
    if not compare_launches.STAND_IN.exists():
        pytest.skip(f"the stand-in driver is not built: {compare_launches.STAND_IN}")
    monkeypatch.setenv("LAUNCH_COMPARISON_PLANTED", ";flip=m1")
    test = "tests/frontend/pykernel/test_array_memory.py::test_an_array_without_axes"
    (found,) = compare_launches.compared(tmp_path, [test], (True,))[True]
    assert found["outcome"] == "different"
    assert len(list((tmp_path / "fma-on" / "records").iterdir())) == 1
