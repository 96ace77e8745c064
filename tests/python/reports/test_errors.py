"""What kernels do wrong, as a user sees it: exceptions, coordinates, tracebacks, warnings (design rules C2 to C4)."""

import json
import linecache
import re
import sys
import traceback
import warnings

import numpy as np
import pytest
from cudasim import cuda, options, types
from cudasim.errors import CudaAPIError, CudasimWarning, KernelError, KernelMemoryError

HAS_NOTES = sys.version_info >= (3, 11)


@cuda.jit
def invert(x):
    i = cuda.grid(1)
    if i > len(x):
        return
    x[i] = 1 / x[i]  # the line of the error


ERROR_LINE = invert.py_func.__code__.co_firstlineno + 5


@cuda.jit
def store(x, i, j, k):
    x[i, j, k] = 1


@cuda.jit(device=True)
def innermost(x, i):
    return x[i]  # innermost line


@cuda.jit(device=True)
def middle(x, i):
    return innermost(x, i) + 1  # middle line


@cuda.jit
def outermost(x):
    i = cuda.grid(1)
    x[i] = middle(x, i + 1)  # outermost line


class KernelsOwnError(Exception):
    pass


@cuda.jit
def raises(x):
    if cuda.threadIdx.x == 3:
        raise ValueError("three is refused")


@cuda.jit
def raises_own(x):
    if cuda.threadIdx.x == 2:
        raise KernelsOwnError("own")


@cuda.jit
def asserts(x):
    assert x[cuda.threadIdx.x] < 2, "too large"


@cuda.jit
def divides(x, a, b):
    x[0] = a // b


def raised(function, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CudasimWarning)
        with pytest.raises(Exception) as caught:  # noqa: B017, PT011 - the tests look at it closely
            function(*args)
    return caught.value


def frames(error):
    return [(frame.filename, frame.name, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]


# -- the example of the README and the issue --------------------------------------------------------------


def test_out_of_bounds_has_coordinates_and_numbas_words():
    error = raised(invert[1, 32], np.zeros(10))
    assert type(error) is IndexError
    assert str(error) == "tid=[10, 0, 0] ctaid=[0, 0, 0]: index 10 is out of bounds for axis 0 with size 10"


def test_float_division_by_zero_is_a_warning_that_counts():
    with pytest.warns(CudasimWarning) as caught, pytest.raises(IndexError):
        invert[1, 32](np.zeros(10))
    (warning,) = caught
    assert str(warning.message) == (
        "tid=[0, 0, 0] ctaid=[0, 0, 0]: float division by zero (10 times, by 10 threads)"
    )
    assert (warning.filename, warning.lineno) == (__file__, ERROR_LINE)


def test_under_debug_the_division_raises_and_the_index_is_named_beside_it():
    error = raised(cuda.jit(debug=True, opt=False)(invert.py_func)[1, 32], np.zeros(10))
    assert type(error) is ZeroDivisionError
    first, also = str(error).split("\n")
    assert first == "tid=[0, 0, 0] ctaid=[0, 0, 0]: float division by zero"
    assert also.startswith(
        "also: IndexError: tid=[10, 0, 0] ctaid=[0, 0, 0]: index 10 is out of bounds for axis 0"
    )
    assert f"test_errors.py:{ERROR_LINE}" in also


def test_division_by_zero_alone_gives_ieee_results():
    x = np.array([0.0, 1.0, -0.0, 2.0])
    with pytest.warns(CudasimWarning, match=r"2 times, by 2 threads"):
        invert[1, 4](x)
    assert x.tolist() == [np.inf, 1.0, -np.inf, 0.5]


def test_kernels_whose_globals_have_no_name_warn_too():
    names = {"cuda": cuda}
    source = "def divides(x):\n    x[0] = 1 / x[1]\n"
    linecache.cache["<nameless>"] = (len(source), None, source.splitlines(True), "<nameless>")
    exec(compile(source, "<nameless>", "exec"), names)
    assert "__name__" not in names
    with pytest.warns(CudasimWarning, match="float division by zero") as caught:
        cuda.jit(names["divides"])[1, 1](np.zeros(2))
    assert (caught[0].filename, caught[0].lineno) == ("<nameless>", 2)


def test_no_warning_without_a_cause():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        invert[1, 4](np.ones(4))


def test_a_warning_made_an_error_is_raised_after_write_back():
    x = np.zeros(4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(CudasimWarning):
            invert[1, 4](x)
    assert np.isinf(x).all()


def test_the_kernels_error_wins_over_a_warning_made_an_error():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(IndexError):
            invert[1, 32](np.zeros(10))


def test_warnings_are_shown_once_per_place_by_default():
    @cuda.jit
    def divide(x):
        x[0] = 1 / x[0]

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            divide[1, 1](np.zeros(1))
    assert len(caught) == 1


# -- coordinates ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis, size", [(0, 2), (1, 3), (2, 4)])
def test_the_axis_and_its_size_are_named(axis, size):
    index = [0, 0, 0]
    index[axis] = size + 5
    error = raised(store[1, 1], np.zeros((2, 3, 4)), *index)
    assert str(error) == (
        f"tid=[0, 0, 0] ctaid=[0, 0, 0]: index {size + 5} is out of bounds for axis {axis} with size {size}"
    )


def test_coordinates_are_x_y_z():
    @cuda.jit
    def one_thread_faults(x):
        if (
            cuda.threadIdx.x == 3
            and cuda.threadIdx.y == 2
            and cuda.threadIdx.z == 1
            and cuda.blockIdx.x == 4
            and cuda.blockIdx.y == 3
            and cuda.blockIdx.z == 2
        ):
            x[77] = 0

    error = raised(one_thread_faults[(5, 4, 3), (4, 3, 2)], np.zeros(1))
    assert str(error).startswith("tid=[3, 2, 1] ctaid=[4, 3, 2]: index 77 ")


def test_the_lowest_thread_is_raised_whatever_the_schedule():
    for policy in ("forward", "reverse"):
        for workers in (1, 2, 4):
            with options.override(policy=policy, workers=workers):
                error = raised(invert[8, 32], np.ones(10))
            assert str(error).startswith("tid=[10, 0, 0] ctaid=[0, 0, 0]: index 10 ")


@pytest.mark.parametrize("index", [-11, 10, 2**62, -(2**63)])
def test_indices_far_outside(index):
    @cuda.jit
    def at(x, i):
        x[i] = 1

    error = raised(at[1, 1], np.zeros(10), index)
    assert type(error) is IndexError and f"index {index} is out of bounds for axis 0 with size 10" in str(
        error
    )


def test_negative_indices_count_from_the_end():
    @cuda.jit
    def last(x):
        x[-1] = 5
        x[-len(x)] = 6

    x = np.zeros(3)
    last[1, 1](x)
    assert x.tolist() == [6, 0, 5]


# -- tracebacks -------------------------------------------------------------------------------------------


def test_the_traceback_ends_at_the_kernels_line_without_frames_between():
    error = raised(invert[1, 32], np.zeros(10))
    names = [name for _, name, _ in frames(error)]
    assert names == ["raised", "invert"]
    assert frames(error)[-1] == (__file__, "invert", ERROR_LINE)


def test_forall_leaves_no_frames_either():
    error = raised(invert.forall(32), np.zeros(10))
    assert [name for _, name, _ in frames(error)] == ["raised", "invert"]


def test_pytest_points_at_the_kernels_line(run):
    run.write(
        """
        import numpy as np
        from numba import cuda

        @cuda.jit
        def kernel(x):
            x[5] = 1  # here

        def test_it():
            kernel[1, 1](np.zeros(3))
        """,
        "test_user.py",
    )
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_user.py", ENABLE_CUDASIM="1")
    assert "\ntest_user.py:7: IndexError" in done.stdout
    assert "x[5] = 1  # here" in done.stdout
    assert "site-packages" not in done.stdout and "dispatcher.py" not in done.stdout


def test_device_functions_have_frames():
    error = raised(outermost[1, 4], np.zeros(4))
    code = [function.py_func.__code__ for function in (outermost, middle, innermost)]
    assert frames(error)[-3:] == [
        (__file__, "outermost", code[0].co_firstlineno + 3),
        (__file__, "middle", code[1].co_firstlineno + 2),
        (__file__, "innermost", code[2].co_firstlineno + 2),
    ]
    assert str(error).startswith("tid=[3, 0, 0]")


def test_the_printed_traceback_shows_the_source():
    text = "".join(
        traceback.format_exception(
            *(lambda e: (type(e), e, e.__traceback__))(raised(outermost[1, 4], np.zeros(4)))
        )
    )
    for comment in ("# outermost line", "# middle line", "# innermost line"):
        assert comment in text
    assert "cudasim/" not in text


def test_full_traceback_keeps_the_packages_frames():
    with options.override(full_traceback=True):
        error = raised(invert[1, 32], np.zeros(10))
    assert any("dispatcher.py" in filename for filename, _, _ in frames(error))


def test_typing_errors_have_no_frames_of_the_package():
    from cudasim import errors

    @cuda.jit
    def wrong(x):
        x[0] = x.nosuchattribute

    error = raised(wrong[1, 1], np.zeros(1))
    assert isinstance(error, errors.NumbaError)
    assert [name for _, name, _ in frames(error)] == ["raised"]
    assert "nosuchattribute" in str(error) and "test_errors.py" in str(error)


@pytest.mark.skipif(not HAS_NOTES, reason="exceptions have notes from Python 3.11 on")
def test_notes_quote_the_line_with_a_caret():
    (note,) = raised(invert[1, 32], np.zeros(10)).__notes__
    assert "in kernel invert\n" in note
    assert re.search(r"x\[i\] = 1 / x\[i\].*\n *\| +\^", note)


def test_exceptions_carry_the_findings():
    error = raised(invert[1, 32], np.zeros(10))
    index, division = error.findings
    assert (index.kind, index.severity, index.tid, index.ctaid) == (
        "out-of-bounds-index",
        "error",
        (10, 0, 0),
        (0, 0, 0),
    )
    assert (division.kind, division.severity, division.count) == ("float-division", "warning", 10)
    assert (index.place.file, index.place.line, index.kernel) == (__file__, ERROR_LINE, "invert")


# -- other errors -----------------------------------------------------------------------------------------


def test_a_launch_that_raised_leaves_host_arrays_alone():
    x = np.ones(10) * 2
    raised(invert[1, 32], x)
    assert (x == 2).all()


def test_raise_in_a_kernel():
    error = raised(raises[1, 8], np.zeros(1))
    assert type(error) is ValueError and str(error) == "tid=[3, 0, 0] ctaid=[0, 0, 0]: three is refused"


def test_raise_of_the_modules_own_class():
    error = raised(raises_own[1, 8], np.zeros(1))
    assert type(error) is KernelsOwnError and str(error) == "tid=[2, 0, 0] ctaid=[0, 0, 0]: own"


def test_raise_of_a_class_that_only_the_kernels_function_knows():
    class Local(Exception):
        pass

    @cuda.jit(device=True)
    def check(x):
        if x == 1:
            raise Local
        if x == 2:
            raise json.JSONDecodeError("wants more than a message", "text", 3)

    @cuda.jit
    def kernel(x):
        check(x)

    error = raised(kernel[1, 1], 1)
    assert type(error) is Local and str(error) == "tid=[0, 0, 0] ctaid=[0, 0, 0]"
    error = raised(kernel[1, 1], 2)
    assert type(error) is json.JSONDecodeError and error.pos == 3
    assert error.msg == "tid=[0, 0, 0] ctaid=[0, 0, 0]: wants more than a message"


def test_assert_in_a_kernel():
    error = raised(asserts[1, 4], np.arange(4))
    assert type(error) is AssertionError and str(error) == "tid=[2, 0, 0] ctaid=[0, 0, 0]: too large"


def test_integer_division_by_zero_always_raises():
    error = raised(divides[1, 1], np.zeros(1, np.int64), 1, 0)
    assert type(error) is ZeroDivisionError and "tid=[0, 0, 0] ctaid=[0, 0, 0]: integer division" in str(
        error
    )


def test_threads_at_different_barriers_stop_the_launch_with_who_waits_where():
    @cuda.jit
    def diverge(x):
        if cuda.threadIdx.x < 16:
            cuda.syncthreads()  # first barrier
        else:
            cuda.syncthreads()  # second barrier
        x[cuda.threadIdx.x] = 1

    error = raised(diverge[1, 48], np.zeros(48))
    line = diverge.py_func.__code__.co_firstlineno
    assert type(error) is KernelError and isinstance(error, RuntimeError)
    assert error.findings[0].kind == "barrier-divergence"
    groups = {group.thread_ranges: group.location[0].line for group in error.findings[0].waiting}
    assert groups == {"0-15": line + 3, "16-47": line + 5}


def test_early_exit_at_a_barrier_is_a_warning_and_strictly_an_error():
    @cuda.jit
    def leave(x):
        if cuda.threadIdx.x == 0:
            return
        cuda.syncthreads()
        x[cuda.threadIdx.x] = 1

    x = np.zeros(8)
    with pytest.warns(CudasimWarning) as caught:
        leave[1, 8](x)
    assert x.tolist() == [0] + [1] * 7
    assert caught[0].filename == __file__
    with options.override(strict=True):
        error = raised(leave[1, 8], x)
    assert error.findings[0].kind == "barrier-early-exit"


def test_a_barrier_that_cannot_open_is_reported_not_waited_for():
    @cuda.jit
    def spin(flag):
        while flag[0] == 0:
            pass

    error = raised(spin[1, 2], np.zeros(1))
    assert isinstance(error, KernelError) and error.findings[0].kind == "livelock"


def test_shared_memory_is_bounds_checked():
    @cuda.jit
    def beyond(x):
        shared = cuda.shared.array(8, types.float32)
        shared[cuda.threadIdx.x] = 1
        x[0] = shared[0]

    error = raised(beyond[1, 9], np.zeros(1))
    assert type(error) is IndexError and str(error).startswith("tid=[8, 0, 0]") and "size 8" in str(error)


WILD_STORE = """
target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define void @wild(ptr addrspace(1) %p) {
  store i32 1, ptr addrspace(1) %p
  ret void
}
!nvvm.annotations = !{!0}
!0 = !{ptr @wild, !"kernel", i32 1}
"""


@pytest.mark.parametrize(
    "where, kind", [(0, "null-pointer"), (1, "misaligned-access"), (400, "out-of-bounds-global")]
)
def test_wild_pointers_are_memory_errors_with_cudas_code(where, kind):
    from cudasim import _native
    from cudasim.device.current import current_device
    from cudasim.reports import reporting

    array = cuda.to_device(np.zeros(100, np.int32))
    address = where and array.parameters[0] + where
    image = _native.KernelImage.from_ir_text(WILD_STORE)
    plan = _native.LaunchPlan(
        current_device().native.load(image),
        image,
        "wild",
        "wild",
        _native.LaunchConfiguration((1, 1, 1), (1, 1, 1)),
        _native.LaunchOptions(),
        _native.Progress(),
    )
    report = plan.launch(address.to_bytes(8, "little"))
    with pytest.raises(KernelMemoryError) as caught:
        reporting.deliver(report, {}, lambda: None)
    assert isinstance(caught.value, MemoryError) and isinstance(caught.value, CudaAPIError)
    assert caught.value.findings[0].kind == kind
    assert caught.value.code == (716 if kind == "misaligned-access" else 700)
    assert str(caught.value).startswith("tid=[0, 0, 0] ctaid=[0, 0, 0]: ")
    if kind == "out-of-bounds-global":
        assert "device array made at test_errors.py" in caught.value.findings[0].object.name


def test_exception_classes_can_be_caught_by_their_python_names():
    memory = KernelMemoryError("message", 700)
    assert isinstance(memory, MemoryError) and memory.code == 700 and str(memory) == "message"


def test_the_next_launch_works():
    for _ in range(20):
        raised(invert[1, 32], np.zeros(10))
    x = np.full(4, 2.0)
    invert[1, 4](x)
    assert (x == 0.5).all()
