"""Uninitialised values in Python kernels: used ones are found at their lines, and nothing else."""

import inspect
import warnings

import cudasim
import init_kernels
import numpy as np
import pytest
from cudasim import cuda, errors, options

MARK = "# uninitialised"


def arguments_of(arguments):
    made = []
    for each in arguments:
        if isinstance(each, int):
            made.append(each)
        else:
            shape, dtype, written = each
            array = cuda.device_array(shape, dtype)
            if written:
                array.copy_to_device(np.zeros(shape, dtype))
            made.append(array)
    return made


def expected_of(function):
    lines, start = inspect.getsourcelines(function)
    return {number for number, line in enumerate(lines, start) if MARK in line}


def found_in(name):
    kernel, grid, block, arguments = init_kernels.CASES[name]
    dynamic = 64 if name == "dynamic_shared_memory" else 0
    with cudasim.check("init") as found:
        kernel[grid, block, 0, dynamic](*arguments_of(arguments))
    assert {finding.kind for finding in found} <= {"uninitialised-value"}, "\n".join(map(str, found))
    return {finding.place.line for finding in found}


@pytest.mark.parametrize(
    "chosen", [{}, {"carrier": "fiber"}, {"policy": "reverse"}, {"policy": "random", "seed": 3}], ids=str
)
@pytest.mark.parametrize("name", init_kernels.CASES)
def test_uses_are_found_at_their_lines(name, chosen):
    with options.override(**chosen):
        assert found_in(name) == expected_of(init_kernels.CASES[name][0].py_func)


def test_the_report_names_thread_and_element():
    kernel, grid, block, arguments = init_kernels.CASES["a_tile_with_a_hole"]
    with options.override(check="init"), pytest.raises(errors.KernelError) as raised:
        kernel[grid, block](*arguments_of(arguments))
    assert "tid=[0, 0, 0] ctaid=[0, 0, 0]: uninitialised value: tile[17] in shared memory" in str(
        raised.value
    )
    (finding,) = raised.value.findings
    assert finding.count == 1
    assert (finding.object.element, finding.object.space) == ("tile[17]", "shared")


def test_the_lowest_thread_is_named_and_all_are_counted():
    kernel, grid, block, arguments = init_kernels.CASES["an_operand"]
    for workers in (1, 2):
        with options.override(workers=workers), cudasim.check("init") as found:
            kernel[grid, block](*arguments_of(arguments))
        assert [(each.tid, each.ctaid, each.count) for each in found] == [((0, 0, 0), (0, 0, 0), 64)]


def test_the_host_writes_and_copies():
    kernel, grid, block, _ = init_kernels.CASES["an_operand"]
    out = cuda.device_array(64, np.int32)
    a = cuda.device_array(64, np.int32)
    with cudasim.check("init") as found:
        kernel[grid, block](a, out)
        assert len(found) == 1
        b = cuda.device_array(64, np.int32)
        b.copy_to_device(a)
        kernel[grid, block](b, out)
        assert len(found) == 2
        a[:32].copy_to_device(np.zeros(32, np.int32))
        kernel[1, 32](a, out)
        assert len(found) == 2
        b.copy_to_device(a)
        kernel[1, 32](b, out)
        assert len(found) == 2
        kernel[2, 32](b, out)
        assert (len(found), found[-1].count, found[-1].object.element) == (3, 32, "a[32]")


@pytest.mark.parametrize("make", [cuda.mapped_array, cuda.managed_array, cuda.pinned_array])
def test_memory_that_the_host_may_write_counts_as_written(make):
    kernel, grid, block, _ = init_kernels.CASES["an_operand"]
    with cudasim.check("init") as found:
        kernel[grid, block](make(64, np.int32), np.zeros(64, np.int32))
    assert found == []


def test_freed_memory_is_forgotten():
    kernel, grid, block, _ = init_kernels.CASES["an_operand"]
    out = cuda.device_array(64, np.int32)
    with cudasim.check("init") as found:
        for size in (64, 1 << 20):
            for _ in range(3):
                a = cuda.to_device(np.zeros(size, np.int32))
                kernel[grid, block](a, out)
                assert found == []
                del a
                b = cuda.device_array(size, np.int32)
                kernel[grid, block](b, out)
                assert len(found) == 1
                found.clear()
                del b


def test_launches_without_the_check_may_write():
    """What they were given, and everything else that was there."""
    kernel, grid, block, _ = init_kernels.CASES["an_operand"]
    fill = init_kernels.CASES["a_copy"][0]
    a, out = cuda.device_array(64, np.int32), cuda.device_array(64, np.int32)
    zeros = cuda.to_device(np.zeros(64, np.int32))
    for _ in range(2):
        fill[2, 32](zeros, a)
        with cudasim.check("init") as found:
            kernel[grid, block](a, out)
        assert found == []
    fresh = cuda.device_array(64, np.int32)
    with cudasim.check("init") as found:
        kernel[grid, block](fresh, out)
    assert len(found) == 1


def test_copies_of_what_launches_without_the_check_wrote():
    kernel, grid, block, _ = init_kernels.CASES["an_operand"]
    fill = init_kernels.CASES["a_copy"][0]
    zeros, out = cuda.to_device(np.zeros(64, np.int32)), cuda.device_array(64, np.int32)
    with cudasim.check("init") as found:
        a = cuda.device_array(64, np.int32)
        kernel[grid, block](zeros, out)
    fill[2, 32](zeros, a)
    b = cuda.device_array(64, np.int32)
    b.copy_to_device(a)
    with cudasim.check("init") as found:
        kernel[grid, block](b, out)
    assert found == []


def test_memory_from_before_the_check_is_known():
    kernel, grid, block, _ = init_kernels.CASES["an_operand"]
    fresh, filled = cuda.device_array(64, np.int32), cuda.to_device(np.zeros(64, np.int32))
    with cudasim.check("init") as found:
        kernel[grid, block](filled, np.zeros(64, np.int32))
        assert found == []
        kernel[grid, block](fresh, np.zeros(64, np.int32))
    assert len(found) == 1


def test_copies_to_the_host_of_what_nobody_wrote():
    kernel = init_kernels.CASES["a_copy"][0]
    a = cuda.to_device(np.zeros(32, np.int32))
    with cudasim.check("init") as found:
        out = cuda.device_array(64, np.int32)
        kernel[1, 32](a, out)
        out[:32].copy_to_host()
        assert found == []
        line = inspect.currentframe().f_lineno + 1
        out.copy_to_host()
    (finding,) = found
    assert (finding.kind, finding.severity) == ("uninitialised-copy", "warning")
    assert (
        "32 elements of 64 are copied to the host that nobody wrote, the first has the index 32"
        in finding.message
    )
    assert finding.place.line == line
    with options.override(check="init"), pytest.warns(errors.UninitialisedCopyWarning, match="32 elements"):
        out.copy_to_host(np.zeros(64, np.int32))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out.copy_to_host()  # not without the check


@pytest.mark.parametrize(
    "read, written",
    [
        (lambda d, r: d[31], True),
        (lambda d, r: d[32], False),
        (lambda d, r: d[-1], False),
        (lambda d, r: d.getitem(32, stream=cuda.stream()), False),
        (lambda d, r: d.reshape(8, 8)[3, 7], True),
        (lambda d, r: d.reshape(8, 8)[4, 0], False),
        (lambda d, r: d[32:33].copy_to_host(), False),
        (lambda d, r: r[0]["a"], True),
        (lambda d, r: r[0]["b"], False),
        (lambda d, r: r[0].getitem("b"), False),
    ],
)
def test_elements_that_nobody_wrote_are_read_by_the_host(read, written):
    @cuda.jit
    def fill(values, records):
        values[cuda.threadIdx.x] = 1
        records[0]["a"] = 1

    record = np.dtype([("a", np.int32), ("b", np.int32)])
    with cudasim.check("init") as found:
        values, records = cuda.device_array(64, np.int32), cuda.device_array(1, record)
        fill[1, 32](values, records)
        read(values, records)
    assert [(each.kind, each.severity) for each in found] == [("uninitialised-copy", "warning")] * (
        not written
    )
    for each in found:
        assert each.message.startswith(
            "1 element of 1 is copied to the host that nobody wrote, the first has the index 0"
        )
        assert each.place.file == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(values, records)  # not without the check


def test_holes_of_records_may_be_copied():
    record = np.dtype([("a", np.int8), ("b", np.int32)], align=True)

    @cuda.jit
    def fill(records):
        records[cuda.threadIdx.x]["a"] = 1
        if cuda.threadIdx.x < 3:
            records[cuda.threadIdx.x]["b"] = 2

    with cudasim.check("init") as found:
        three, four = cuda.device_array(3, record), cuda.device_array(4, record)
        fill[1, 3](three)
        three.copy_to_host()
        assert found == []
        fill[1, 4](four)
        four.copy_to_host()
    assert ["1 element of 4 is copied" in each.message for each in found] == [True]


def test_printing_is_a_use(capfd):
    @cuda.jit
    def show(a):
        print(a[0])

    with cudasim.check("init") as found:
        show[1, 1](cuda.device_array(1, np.int64))
    assert [each.kind for each in found] == ["uninitialised-value"]


def test_faults_come_all_the_same():
    @cuda.jit
    def beyond(a, out):
        out[a[0] + 64] = a[1] // (a[2] - a[2])

    with options.override(check="all"), pytest.raises(ZeroDivisionError) as raised:
        beyond[1, 1](cuda.to_device(np.zeros(3, np.int64)), cuda.device_array(3, np.int64))
    assert "uninitialised" not in str(raised.value)


@cuda.jit
def fill_half(x):
    i = cuda.grid(1)
    if i < x.size // 2:
        x[i] = i


@cuda.jit
def fill_half_by_numpy(x):
    if cuda.grid(1) == 0:
        x[: x.size // 2][:] = 1


@cuda.jit
def count_half(x):
    i = cuda.grid(1)
    if i < x.size // 2:
        cuda.atomic.exch(x, i, i)


@cuda.jit
def add_one(x, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = x[i] + 1


@pytest.mark.parametrize("kernel", [fill_half, fill_half_by_numpy, count_half])
def test_what_python_mode_writes_is_written(kernel):
    x, y = cuda.device_array(64, np.int32), cuda.device_array(32, np.int32)
    z = cuda.device_array(64, np.int32)
    with cudasim.check("init") as found:
        with options.override(mode="python"):
            kernel[1, 64](x)
        add_one[1, 32](x[:32], y)
        assert found == []
        x.copy_to_host()
    (copied,) = found
    assert copied.kind == "uninitialised-copy" and "32 elements" in copied.message
    with cudasim.check("init") as found:
        with options.override(mode="python"):
            kernel[1, 64](x)
        add_one[1, 64](x, z)
    assert [each.kind for each in found] == ["uninitialised-value"]
