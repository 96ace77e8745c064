"""datetime64 and timedelta64 in kernels: arithmetic, comparisons and NaT as NumPy's reference has them ("Datetimes and
Timedeltas"), units as Numba converts them. Types are in test_type_facts.py."""

import numpy as np
import pytest
from cudasim import cuda, errors
from kernel_checks import evaluate, refusal

UNITS = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns"]
DAY, HOURS = np.datetime64("2020-02-29"), np.timedelta64(36, "h")
HOLIDAYS = np.array(["2021-01-01", "NaT", "1969-12-31"], "M8[D]")


def moments(unit):
    texts = [
        "1970-01-01",
        "2000-03-01",
        "2020-02-29",
        "1969-12-31",
        "1900-03-01",
        "2021-12-31",
        "1803-01-01",
        "NaT",
    ]
    return np.array(texts, f"M8[{unit}]")


def durations(unit):
    return np.array([0, 1, -1, 7, -40, 365, "NaT"], f"m8[{unit}]")


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("other", ["Y", "M", "W", "D", "s"])
def test_differences_and_comparisons_of_dates(unit, other):
    def kernel(out, flags, a, b):
        for i in range(a.size):
            for j in range(b.size):
                out[i, j] = a[i] - b[j]
                flags[i, j] = (
                    (a[i] < b[j])
                    + 2 * (a[i] <= b[j])
                    + 4 * (a[i] == b[j])
                    + 8 * (a[i] != b[j])
                    + 16 * (a[i] > b[j])
                )

    a, b = moments(unit), moments(other)
    x, y = a[:, None], b[None]
    expected = x - y
    out, flags = np.zeros(expected.shape, expected.dtype), np.zeros(expected.shape, np.int32)
    cuda.jit(kernel)[1, 1](out, flags, a, b)
    np.testing.assert_array_equal(out, expected)
    wanted = (x < y) + 2 * (x <= y) + 4 * (x == y) + 8 * (x != y) + 16 * (x > y)
    np.testing.assert_array_equal(flags, wanted)


@pytest.mark.parametrize(("unit", "other"), [("D", "D"), ("D", "h"), ("h", "D"), ("s", "W"), ("M", "D"), ("Y", "h"), ("M", "Y"),
                                             ("ns", "us")])  # fmt: skip
def test_dates_and_durations(unit, other):
    def kernel(plus, minus, a, b):
        for i in range(a.size):
            for j in range(b.size):
                plus[i, j] = b[j] + a[i]
                minus[i, j] = a[i] - b[j]

    a, b = moments(unit), durations(other)
    expected = a[:, None] + b[None]
    plus, minus = np.zeros_like(expected), np.zeros_like(expected)
    cuda.jit(kernel)[1, 1](plus, minus, a, b)
    np.testing.assert_array_equal(plus, expected)
    np.testing.assert_array_equal(minus, a[:, None] - b[None])


def test_arithmetic_of_durations():
    def kernel(out, ratio, a, b):
        for i in range(a.size):
            for j in range(b.size):
                out[0, i, j] = a[i] + b[j]
                out[1, i, j] = a[i] - b[j]
                out[2, i, j] = abs(-b[j])
                ratio[i, j] = a[i] / b[j]

    a, b = durations("D"), durations("h")[1:]
    x, y = a[:, None], b[None]
    out, ratio = np.zeros((3, a.size, b.size), "m8[h]"), np.zeros((a.size, b.size))
    cuda.jit(kernel)[1, 1](out, ratio, a, b)
    np.testing.assert_array_equal(
        out, [x + y, x - y, np.abs(-y) + 0 * np.ones(x.shape, int) * np.timedelta64(1, "h")]
    )
    np.testing.assert_array_equal(ratio, x / y)


def test_durations_times_and_by_numbers():
    def kernel(out, a, n, x):
        for i in range(a.size):
            out[0, i] = a[i] * n
            out[1, i] = n * a[i]
            out[2, i] = a[i] * x
            out[3, i] = a[i] / n
            out[4, i] = a[i] // n
            out[5, i] = a[i] / x
            out[6, i] = a[i] / (n - n)
            out[7, i] = a[i] / (x - x)

    a, n, x = durations("s"), -3, 2.5
    out = np.zeros((8, a.size), a.dtype)
    cuda.jit(kernel)[1, 1](out, a, n, x)
    towards_zero = np.where(np.isnat(a), a, (np.trunc(a.view(np.int64) / n)).astype("i8").view(a.dtype))
    expected = [a * n, a * n, a * x, towards_zero, towards_zero, a / x]
    np.testing.assert_array_equal(out[:6], expected)
    assert np.isnat(out[6:]).all()


def test_constants_arguments_local_variables_and_tuples():
    def kernel(dates, flags, when, step):
        latest = when
        for i in range(3):
            if HOLIDAYS[i] > latest:
                latest = HOLIDAYS[i]
        pair = (latest, step)
        dates[0] = pair[0] + pair[1]
        dates[1] = DAY + HOURS
        dates[2] = max(when, DAY)
        dates[3] = min(HOLIDAYS[1], DAY)
        flags[0] = np.isnat(HOLIDAYS[1]) + 2 * np.isnat(when)
        flags[1] = int(step)
        flags[2] = np.int64(when)
        flags[3] = when in (DAY, HOLIDAYS[0])
        flags[4] = HOLIDAYS[1] == HOLIDAYS[1]

    dates, flags = np.zeros(4, "M8[h]"), np.zeros(5, np.int64)
    with pytest.raises(errors.TypingError):
        cuda.jit(kernel)[1, 1](dates, flags, DAY, HOURS)  # max() of days does not go into hours
    days = np.zeros(4, "M8[D]")

    def in_days(dates, flags, when, step):
        latest = when
        for i in range(3):
            if HOLIDAYS[i] > latest:
                latest = HOLIDAYS[i]
        pair = (latest, step)
        dates[0] = pair[0] + pair[1]
        dates[2] = max(when, DAY)
        dates[3] = min(HOLIDAYS[1], DAY)
        flags[0] = np.isnat(HOLIDAYS[1]) + 2 * np.isnat(when)
        flags[1] = int(step)
        flags[2] = np.int64(when)
        flags[3] = when in (DAY, HOLIDAYS[0])
        flags[4] = HOLIDAYS[1] == HOLIDAYS[1]

    cuda.jit(in_days)[1, 1](days, flags, DAY, np.timedelta64(5, "D"))
    assert days.astype(str).tolist() == ["2021-01-06", "1970-01-01", "2020-02-29", "NaT"]
    assert flags.tolist() == [1, 5, DAY.view(np.int64), 1, 0]


def test_views_and_device_arrays():
    def kernel(a, out):
        out[0] = a.view(np.int64)[1]
        a[2:] = a[0]

    a, out = cuda.to_device(durations("D")), np.zeros(1, np.int64)
    cuda.jit(kernel)[1, 1](a, out)
    assert out[0] == 1 and not a.copy_to_host()[2:].view(np.int64).any()


def test_sums_and_means_of_durations():
    def kernel(out, a):
        out[0] = a.sum()
        out[1] = a.mean()
        out[2] = min(a)

    a = np.array([3, 5, -2, 7], "m8[m]")
    assert evaluate(kernel, a, dtype="m8[m]", size=3).view(np.int64).tolist() == [13, 3, -2]


@pytest.mark.parametrize(("unit", "other"), [("D", "s"), ("s", "D"), ("Y", "D")])
def test_an_element_takes_its_own_unit_only(unit, other):
    def kernel(out, a):
        out[0] = a[0]

    assert "timedelta64" in refusal(errors.TypingError, kernel, f"array(timedelta64[{unit}], 1d, C)",
                                    f"array(timedelta64[{other}], 1d, C)")  # fmt: skip


def test_what_has_no_meaning_is_refused():
    def adds(out, a):
        a[0] + a[1]

    def prints(out, a):
        print(a[0])

    def counts_months(out, a):
        out[0] < a[0]  # noqa: B015

    dates = "array(datetime64[D], 1d, C)"
    assert "datetime64[D]" in refusal(errors.TypingError, adds, dates, dates)
    assert "printing" in refusal(NotImplementedError, prints, dates, dates)
    days, months = "array(timedelta64[D], 1d, C)", "array(timedelta64[M], 1d, C)"
    assert "timedelta64[M]" in refusal(errors.TypingError, counts_months, days, months)
