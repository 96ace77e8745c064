"""The time limit in Python mode: what stops, and what the report says of where the thread was."""

import time

import numpy as np
import pytest
from cudasim import cuda, options
from cudasim.errors import KernelTimeoutError
from python_mode_required import skip_module_without_python_mode

skip_module_without_python_mode()


def line_of(text):
    with open(__file__) as source:
        return next(number for number, line in enumerate(source, 1) if text in line)


def stopped(kernel, seconds=0.3, threads=8):
    with options.override(time_limit=seconds, mode="python"), pytest.raises(KernelTimeoutError) as caught:
        kernel[1, threads](np.zeros(threads))
    return caught


@cuda.jit
def endless(x):
    if cuda.grid(1) == 3:
        while True:  # the endless loop
            pass


def test_a_loop_that_calls_nothing_is_stopped_and_its_thread_and_line_are_named():
    error = str(stopped(endless).value)
    assert error.startswith(
        "tid=[3, 0, 0] ctaid=[0, 0, 0]: the launch ran longer than the time limit of 0.3 seconds"
    )
    finding = stopped(endless).value.findings[0]
    assert finding.kind == "time-limit" and finding.location[0].function == "endless"
    loop = line_of("# the endless " + "loop")
    assert finding.location[0].line in (loop, loop + 1)
    assert "thread 3 running at test_time_limit.py:" in error


@cuda.jit
def sleeps(x):
    if cuda.grid(1) == 5:
        time.sleep(60)  # longer than any limit


@pytest.mark.filterwarnings("ignore::cudasim.errors.CudasimWarning")
def test_sleep_ends_at_the_limit():
    begin = time.monotonic()
    error = stopped(sleeps).value
    assert time.monotonic() - begin < 20
    assert "tid=[5, 0, 0]" in str(error)
    assert error.findings[0].location[0].line == line_of("# longer than any " + "limit")


@pytest.mark.filterwarnings("ignore::cudasim.errors.CudasimWarning")
def test_the_threads_of_a_block_sleep_side_by_side():
    @cuda.jit
    def nap(x):
        time.sleep(0.2)
        x[cuda.grid(1)] = 1

    x = np.zeros(64)
    begin = time.monotonic()
    with options.override(mode="python"):
        nap[1, 64](x)
    assert x.all() and time.monotonic() - begin < 64 * 0.2 / 2


@pytest.mark.filterwarnings("ignore::cudasim.errors.CudasimWarning")
@pytest.mark.parametrize("length", [-1.0, float("nan")])
def test_a_sleep_of_no_length_is_refused_as_by_python(length):
    @cuda.jit
    def wrong(x):
        time.sleep(length)

    with (
        options.override(mode="python"),
        pytest.raises(ValueError, match="sleep length must be non-negative|non-negative"),
    ):
        wrong[1, 1](np.zeros(1))
