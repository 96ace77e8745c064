"""StoppedLaunch.set_variable(): every later read of a variable sees the new value, compiled and in Python mode."""

import numpy as np
import pytest
from cudasim import cuda, options
from cudasim.launch import stops
from stop_client import RUNS, Client, line_of, place, stop_at


@pytest.fixture(params=RUNS.values(), ids=RUNS, autouse=True)
def run_as(request):
    with options.override(**request.param):
        yield request.param


def put(launch, name, value, frame=0):
    assert launch.set_variable(launch.stopped_thread, frame, name, np.asarray(value).tobytes())


def run(kernel, mark, at_stop, *arguments, function=None):
    """One thread, with a handler at the line. The number of stops."""
    client = Client(stop_at(function or kernel, mark), lambda launch: at_stop(launch, client.stops))
    with stops.attached(client):
        kernel[1, 1](*arguments)
    return client.stops


@cuda.jit
def copies(out, given):
    value = given
    out[0] = value  # here
    out[1] = given
    out[2] = value


NUMBERS = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)] + [
    f"float{bits}" for bits in (16, 32, 64)
]
SCALARS = [(name, 3, 41, 7) for name in NUMBERS] + [
    ("bool", False, True, True),
    ("complex64", 3 + 1j, 41 - 2j, 7 + 5j),
    ("complex128", 3 + 1j, 41 - 2j, 7 + 5j),
]


@pytest.mark.parametrize("dtype, before, value, given", SCALARS, ids=[scalar[0] for scalar in SCALARS])
def test_a_parameter_and_a_copy_of_it_are_set(dtype, before, value, given):
    def at_stop(launch, _):
        put(launch, "value", np.array(value, dtype))
        variables = stops.values(launch, launch.stopped_thread)[0]
        assert (variables["value"], variables["given"]) == (value, before)
        put(launch, "given", np.array(given, dtype))

    out = np.zeros(3, dtype)
    assert run(copies, "here", at_stop, out, np.dtype(dtype).type(before)) == 1
    assert list(out) == [value, given, value]


@cuda.jit
def in_loop(out, count):
    total = 0
    for i in range(count):
        step = i * 10
        total += step  # add
    out[0] = total
    out[1] = step


def test_variables_that_a_loop_assigns_hold_until_it_assigns_them_again():
    def at_stop(launch, stop):
        if stop == 2:
            put(launch, "step", np.int64(1))
        if stop == 3:
            put(launch, "total", np.int64(1000))
            put(launch, "i", np.int64(77))  # `step` is computed, and range() keeps its own count

    out = np.zeros(2, np.int64)
    assert run(in_loop, "add", at_stop, out, 4) == 4
    assert list(out) == [1000 + 20 + 30, 30]

    def at_each(launch, stop):
        assert stops.values(launch, launch.stopped_thread)[0]["total"] == (stop - 1) * 5
        put(launch, "step", np.int64(5))

    assert run(in_loop, "add", at_each, out, 4) == 4
    assert list(out) == [20, 5]


@cuda.jit
def in_branch(out, given):
    if given > 0:
        x = given * 2.0
        out[0] = x  # inside
    else:
        x = given * 3.0
    out[1] = x  # behind
    out[2] = x + given


@pytest.mark.parametrize(
    "mark, given, expected",
    [
        ("inside", 1.0, [0.5, 0.5, 1.5]),
        ("behind", 1.0, [2, 0.5, 1.5]),
        ("behind", -1.0, [0, 0.5, -0.5]),
    ],
)
def test_a_variable_that_one_branch_or_both_assign(mark, given, expected):
    out = np.zeros(3)
    assert run(in_branch, mark, lambda launch, _: put(launch, "x", np.float64(0.5)), out, given) == 1
    assert list(out) == expected


@cuda.jit
def in_conditions(out, given):
    limit = given + 1
    if limit > 10:  # if
        out[0] = 1
    rest = given + 2
    out[1] = -1 if rest > 10 else 1  # expression
    flag = rest > 100
    while rest > 0:  # while
        out[2] += 1
        rest -= 1
    if flag or rest > 100:  # flag
        out[3] = 1


@pytest.mark.parametrize(
    "mark, name, value, expected",
    [
        ("if", "limit", np.int64(11), [1, 1, 5, 0]),
        ("expression", "rest", np.int64(11), [0, -1, 11, 0]),
        ("while", "rest", np.int64(0), [0, 1, 0, 0]),
        ("flag", "flag", np.bool_(True), [0, 1, 5, 1]),
        ("flag", "rest", np.int64(101), [0, 1, 5, 1]),
    ],
)
def test_conditions_read_what_was_set(mark, name, value, expected):
    def at_stop(launch, stop):
        if stop == 1:
            put(launch, name, value)

    out = np.zeros(4, np.int64)
    run(in_conditions, mark, at_stop, out, 3)
    assert list(out) == expected


@cuda.jit(device=True)
def scaled(v):
    w = v + 1
    return w * v  # inner


@cuda.jit
def with_device_function(out, given):
    kept = given + 100
    result = scaled(given)
    out[0] = result
    out[1] = kept
    out[2] = given


def test_variables_of_a_device_function_and_of_the_kernel_that_called_it():
    def at_stop(launch, _):
        assert place(launch, launch.stopped_thread).function == "scaled"
        put(launch, "w", np.int64(10))
        put(launch, "v", np.int64(7))
        put(launch, "kept", np.int64(9), frame=1)
        put(launch, "given", np.int64(8), frame=1)

    out = np.zeros(3, np.int64)
    assert run(with_device_function, "inner", at_stop, out, 2, function=scaled) == 1
    assert list(out) == [70, 9, 8]


@cuda.jit
def with_inner_function(out, given):
    def doubled(v):
        w = v + v
        return w + 1  # inside

    out[0] = doubled(given)


def test_variables_of_a_function_inside_the_kernel():
    out = np.zeros(1, np.int64)
    assert run(with_inner_function, "inside", lambda launch, _: put(launch, "w", np.int64(50)), out, 2) == 1
    assert out[0] == 51


@cuda.jit
def across_barriers(out, given):
    i = cuda.threadIdx.x
    mine = given + i
    cuda.syncthreads()  # wait
    out[i] = mine
    cuda.syncwarp()
    out[i] += mine


def test_variables_that_live_across_waits_are_set_for_one_thread():
    def at_stop(launch):
        if launch.stopped_thread[1] == 2:
            put(launch, "mine", np.int64(1000))

    out = np.zeros(4, np.int64)
    client = Client(stop_at(across_barriers, "wait"), at_stop)
    with stops.attached(client):
        across_barriers[1, 4](out, 5)
    assert client.stops == 4
    assert list(out) == [10, 12, 2000, 16]


@cuda.jit
def assigned_twice(out, given):
    x = given + 1  # first
    y = x  # second
    x = given + 2
    x += y  # third
    out[0] = x
    out[1] = y


def test_a_value_that_is_set_ends_with_the_next_assignment():
    lines = {line_of(assigned_twice, mark): mark for mark in ("second", "third")}

    def at_stop(launch):
        if lines[place(launch, launch.stopped_thread).line] == "second":
            put(launch, "x", np.int64(100))
        else:
            put(launch, "y", np.int64(1000))

    out = np.zeros(2, np.int64)
    client = Client(stop_at(assigned_twice, "second", "third"), at_stop)
    with stops.attached(client):
        assigned_twice[1, 1](out, 5)
    assert list(out) == [7 + 1000, 1000]


@cuda.jit
def with_literals(out, a, given):
    n = 4
    x = 2.5
    on = True
    step = 2
    k = 3
    zero = 0
    out[0] = n  # here
    out[1] = n * 0.5
    out[2] = given // n
    out[3] = given % n
    for _ in range(n):
        out[4] += 1
    for _ in range(0, 12, step):
        out[5] += 1
    out[6] = x + given
    if on:
        out[7] = 1
    if not on:
        out[8] = 1
    out[9] = a[k]
    while zero:
        out[10] = 5
        zero = 0
    copy = n
    out[11] = copy
    out[12] = n == 4
    out[13] = given if on else 1
    out[14] = given / x
    out[15] = np.int8(n)
    out[16] = given < n
    other = on
    out[17] = other


def test_variables_that_hold_literals_are_set():
    values = {
        "n": np.int64(5),
        "x": np.float64(7),
        "on": np.bool_(False),
        "step": np.int64(3),
        "k": np.int64(6),
        "zero": np.int64(1),
    }

    def at_stop(launch, _):
        for name, value in values.items():
            put(launch, name, value)

    out = np.zeros(18)
    assert run(with_literals, "here", at_stop, out, np.arange(10.0), 13) == 1
    assert list(out) == [5, 2.5, 2, 3, 5, 4, 20, 0, 1, 6, 5, 5, 0, 1, 13 / 7, 5, 0, 0]


@cuda.jit
def with_fixed_choices(out, a):
    first = 3
    exponent = 2
    out[0] = a[first:][0]  # here
    out[1] = a[5] ** exponent


def test_code_chosen_for_a_literal_keeps_it_in_compiled_kernels(run_as):
    def at_stop(launch, _):
        put(launch, "first", np.int64(6))
        put(launch, "exponent", np.int64(3))

    out = np.zeros(2)
    assert run(with_fixed_choices, "here", at_stop, out, np.arange(10.0)) == 1
    assert list(out) == ([6, 125] if run_as["mode"] == "python" else [3, 25])
