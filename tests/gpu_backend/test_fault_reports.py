"""Kernels in Python whose faults come back from a GPU: the same exception as the simulator's, of the same thread, at the same
lines. The PTX is read back and simulated."""

import subprocess
import traceback

import numpy as np
import pytest
from cudasim import _native, cuda, options
from cudasim.launch.arguments import HostCopies
from cudasim.launch.kernel import make_plan
from cudasim.reports import reporting
from test_every_image import ptxas

POLICIES = ("forward", "reverse", "random")


@pytest.fixture(autouse=True)
def native_mode():
    with options.override(mode="native"):
        yield


class ByPtx:
    """A compiled kernel by way of PTX that reports faults."""

    def __init__(self, kernel, **options_of_ptx):
        self.kernel = kernel
        self.ptx = _native.reporting_ptx(kernel.image, kernel.kernel_name, "sm_75", **options_of_ptx)
        self.module = cuda.current_context().create_module_ptx(self.ptx.text)

    def run(self, grid, block, args):
        """Raises what a launch on a GPU would. Arrays of the host get their results where nothing is raised."""
        copies = HostCopies(cuda.current_context().device)
        self.launch(grid, block, self.kernel.packer.pack(*self.kernel.packer.flatten(args, copies)), copies)
        report = self.ptx.report(self.slots(), self.kernel.name, grid, block)
        self.module.unload()  # while they are loaded, modules of one text share their variables
        if report is None:
            return copies.write_back()
        function = self.kernel.py_func
        given = dict(zip(function.__code__.co_varnames, args))
        reporting.deliver(report, function.__globals__, copies.write_back, self.kernel.exceptions, arguments=given)  # fmt: skip

    def launch(self, grid, block, buffer, copies):
        image = self.module.image
        (entry,) = (kernel["name"] for kernel in image.kernels)
        plan = make_plan(self.module.loaded, image, entry, entry, grid, block, 0, {})
        copies.copy_in()
        report = plan.launch(buffer)
        assert report is None or not [f for f in report.findings if f["severity"] == "error"], report.text()

    def slots(self):
        if self.ptx.slot_bytes == 0:
            return b""
        memory, size = self.module.get_global_symbol(self.ptx.variable)
        assert size == self.ptx.slot_bytes
        back = np.zeros(size, np.uint8)
        cuda.cudadrv.driver.device_to_host(back, memory, size)
        return back.tobytes()


def raised_by(action):
    try:
        action()
    except Exception as error:
        return error
    return None


def without_variables(error):
    return [finding._replace(variables=()) for finding in error.findings if finding.severity == "error"]


def lines_of(error):
    frames = traceback.extract_tb(error.__traceback__)
    return [(frame.filename, frame.lineno, frame.name) for frame in frames if frame.filename == __file__ and "raised_by" not in frame.name and "lambda" not in frame.name]  # fmt: skip


def expect_the_same(dispatcher, grid, block, *args, **options_of_ptx):
    """:return: the exception"""
    copies = [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]
    expected = raised_by(lambda: dispatcher[grid, block](*copies))
    assert expected is not None
    (kernel,) = dispatcher.overloads.values()
    extents = tuple(tuple((*np.atleast_1d(extent), 1, 1)[:3]) for extent in (grid, block))
    extents = tuple(tuple(map(int, extent)) for extent in extents)
    for policy in POLICIES:
        with options.override(policy=policy):
            found = raised_by(lambda: ByPtx(kernel, **options_of_ptx).run(*extents, args))
        assert type(found) is type(expected), found
        assert (str(found), found.args) == (str(expected), expected.args)
        assert without_variables(found) == without_variables(expected)
        assert [line for line in lines_of(found) if line[2] != "run"] == lines_of(expected)
        assert getattr(found, "__notes__", []) != [] or getattr(expected, "__notes__", []) == []
    return found


class Refused(Exception):
    """A user's exception with several arguments."""


@cuda.jit(device=True)
def element_of(x, i):
    return x[i]


@cuda.jit(device=True)
def checked(x, i, limit):
    value = element_of(x, i)
    assert value < limit, "too large"
    if value == 13:
        raise Refused("unlucky", 13, "number")
    return value


@cuda.jit
def indexes(x, out):
    i = cuda.grid(1)
    out[i] = element_of(x, i + 2)


@cuda.jit
def indexes_in_two_dimensions(out, offset):
    x, y = cuda.grid(2)
    out[x, y + offset] = x


@cuda.jit
def asserts(x, out, limit):
    i = cuda.grid(1)
    out[i] = checked(x, i, limit)


@cuda.jit
def divides(x, out):
    i = cuda.grid(1)
    out[i] = 100 // x[i] + 100 % x[i]


@cuda.jit(debug=True, opt=False)
def divides_floats(x, out):
    i = cuda.grid(1)
    out[i] = 1.0 / x[i]


@cuda.jit
def leaves_unassigned(x, out):
    i = cuda.grid(1)
    if x[i] > 3:
        value = x[i]
    out[i] = value


@cuda.jit
def fails_in_several_ways(x, out):
    i = cuda.grid(1)
    if i % 7 == 6:
        out[i] = 5 // x[0]
    elif i % 7 == 3:
        raise ValueError("three of seven")
    elif i > 40:
        out[i + out.size] = 1
    else:
        out[i] = 1


@cuda.jit
def meets_at_barriers(x, out):
    tile = cuda.shared.array(64, np.int32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()
    if tile[63 - t] == 9:
        raise KeyError(9)
    cuda.syncthreads()
    out[cuda.grid(1)] = tile[63 - t]


def test_an_index_out_of_range_in_a_device_function():
    found = expect_the_same(indexes, 3, 32, np.arange(90), np.zeros(96, np.int64))
    assert isinstance(found, IndexError) and "tid=[24, 0, 0] ctaid=[2, 0, 0]" in str(found)
    assert "index 90 is out of bounds for axis 0 with size 90" in str(found)


def test_an_index_in_two_dimensions():
    found = expect_the_same(indexes_in_two_dimensions, (2, 3), (4, 4), np.zeros((8, 12)), 7)
    assert "index 12 is out of bounds for axis 1 with size 12" in str(found)


def test_assertions_and_exceptions_with_arguments():
    x = np.arange(64)
    found = expect_the_same(asserts, 2, 32, x, np.zeros_like(x), 100)
    assert type(found) is Refused and found.args[1:] == (13, "number")
    found = expect_the_same(asserts, 2, 32, x, np.zeros_like(x), 9)
    assert isinstance(found, AssertionError) and "too large" in str(found)


def test_divisions():
    x = np.arange(64) - 20
    found = expect_the_same(divides, 2, 32, x, np.zeros_like(x))
    assert isinstance(found, ZeroDivisionError) and "tid=[20, 0, 0] ctaid=[0, 0, 0]" in str(found)
    real = x.astype(np.float64)
    found = expect_the_same(divides_floats, 2, 32, real, np.zeros_like(real), raise_float_division=True)
    assert isinstance(found, ZeroDivisionError)


def test_a_variable_without_a_value():
    x = np.arange(10)[::-1].copy()
    assert isinstance(expect_the_same(leaves_unassigned, 1, 10, x, np.zeros_like(x)), UnboundLocalError)


def test_the_lowest_thread_s_comes_first_and_the_others_are_named():
    found = expect_the_same(fails_in_several_ways, 4, 16, np.zeros(8, np.int64), np.zeros(64, np.int64))
    assert isinstance(found, ValueError)
    assert "also: ZeroDivisionError" in str(found) and "also: IndexError" in str(found)


def test_barriers_do_not_wait_for_threads_that_failed():
    x = np.arange(64, dtype=np.int32)
    assert isinstance(expect_the_same(meets_at_barriers, 3, 64, x, np.zeros(192, np.int32)), KeyError)


def test_results_of_a_launch_without_faults_are_the_same():
    x, out = np.arange(1, 65), np.zeros(64, np.int64)
    divides[2, 32](x, out)
    (kernel,) = divides.overloads.values()
    again = np.zeros_like(out)
    ByPtx(kernel).run((2, 1, 1), (32, 1, 1), (x, again))
    assert np.array_equal(out, again) and out.any()


def test_a_negative_index_where_the_option_refuses_it():
    @cuda.jit
    def backwards(out):
        i = cuda.grid(1)
        out[2 - i] = out[-1] + 1

    with options.override(wrap="error"):
        found = expect_the_same(backwards, 1, 8, np.zeros(8), raise_negative_index=True)
    assert "tid=[3, 0, 0]" in str(found) and "wraps around" in str(found)


def test_memory_that_was_written_over_is_refused():
    divides[1, 1](np.ones(1, np.int64), np.zeros(1, np.int64))
    kernel = next(iter(divides.overloads.values()))
    ptx = _native.reporting_ptx(kernel.image, kernel.kernel_name)
    with pytest.raises(ValueError, match="__cudasim_faults"):
        ptx.report(b"\xff" * ptx.slot_bytes, "k", (1, 1, 1), (1, 1, 1))
    with pytest.raises(ValueError, match="7 bytes"):
        ptx.report(b"\xff" * 7, "k", (1, 1, 1), (1, 1, 1))


def test_ptxas_accepts_it(tmp_path):
    if ptxas() is None:
        pytest.skip("ptxas not found: CUDA toolkit not installed")
    divides[1, 1](np.ones(1, np.int64), np.zeros(1, np.int64))
    kernel = next(iter(divides.overloads.values()))
    for architecture in ("sm_75", "sm_90"):
        path = tmp_path / "k.ptx"
        path.write_text(_native.reporting_ptx(kernel.image, kernel.kernel_name, architecture).text)
        subprocess.run([ptxas(), f"-arch={architecture}", "-o", "/dev/null", str(path)], check=True)
