"""What debuggers see after a fault of a compiled kernel: arguments and variables in the traceback's frames."""

# ruff: noqa: F841 - variables of kernels that debuggers see
import gc
import io
import pdb
import subprocess
import sys
import textwrap
import weakref

import numpy as np
import pytest
from cudasim import cuda, options

# What garbage of earlier tests says when it is collected is none of these tests' warnings.
pytestmark = pytest.mark.filterwarnings("error", "ignore::ResourceWarning")


def frames_of(launch, *exceptions):
    """function name → its variables, of the frames in kernels."""
    with options.override(mode="native"), pytest.raises(exceptions or (Exception,)) as caught:
        launch()
    found, traceback = {}, caught.value.__traceback__
    while traceback is not None:
        found[traceback.tb_frame.f_code.co_name] = traceback.tb_frame.f_locals
        traceback = traceback.tb_next
    return found


def same(value, expected):
    return type(value) is type(expected) and value == expected


def test_arguments_and_local_variables_have_their_values_at_the_fault():
    @cuda.jit
    def scale(x, out, n, factor):
        i = cuda.grid(1)
        total = 0.0
        for j in range(n):
            total += x[i] * j
        half = np.float32(total) / np.float32(2)
        flag = i > 2
        out[i + n] = total * factor

    x, out = np.arange(32.0), np.zeros(20)
    seen = frames_of(lambda: scale[1, 32](x, out, 4, 1.5), IndexError)["scale"]
    assert list(seen)[:4] == ["x", "out", "n", "factor"]
    assert (seen["x"] == x).all() and seen["out"].shape == (20,)
    assert same(seen["n"], 4) and same(seen["factor"], 1.5)
    assert same(seen["i"], 16) and same(seen["j"], 3) and same(seen["total"], 96.0)
    assert same(seen["half"], np.float32(48)) and same(seen["flag"], True)


def test_a_variable_that_was_not_assigned_yet_is_none_of_them():
    @cuda.jit
    def late(x):
        i = cuda.grid(1)
        if i == 5:
            before = 7
            x[i + 100] = before
        after = i + 1
        x[i] = after

    seen = frames_of(lambda: late[1, 8](np.zeros(8)), IndexError)["late"]
    assert same(seen["i"], 5) and same(seen["before"], 7) and "after" not in seen


def test_values_are_those_of_the_last_assignment():
    @cuda.jit
    def steps(x):
        i = cuda.grid(1)
        value = i
        while value < 100:
            value = value * 2 + 1
        x[value] = 1

    seen = frames_of(lambda: steps[1, 1](np.zeros(8)), IndexError)["steps"]
    assert same(seen["value"], 127)


def test_a_variable_of_several_types_has_the_last():
    @cuda.jit
    def changes(x):
        value = cuda.grid(1)
        value = value + 0.5
        x[cuda.grid(1) + 10] = value

    assert same(frames_of(lambda: changes[1, 1](np.zeros(8)))["changes"]["value"], 0.5)


def test_every_frame_of_a_call_chain_has_its_own():
    @cuda.jit(device=True)
    def inner(a, index):
        doubled = index * 2
        return a[doubled]

    @cuda.jit(device=True)
    def outer(a, k):
        shifted = k + 1
        return inner(a, shifted)

    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        out[i] = outer(x, i)

    seen = frames_of(lambda: kernel[1, 8](np.arange(8.0), np.zeros(8)), IndexError)
    assert same(seen["kernel"]["i"], 3) and "shifted" not in seen["kernel"]
    assert (
        same(seen["outer"]["k"], 3)
        and same(seen["outer"]["shifted"], 4)
        and (seen["outer"]["a"] == np.arange(8.0)).all()
    )
    assert (
        same(seen["inner"]["index"], 4)
        and same(seen["inner"]["doubled"], 8)
        and list(seen["inner"])[:2] == ["a", "index"]
    )


def test_recursive_functions_show_the_innermost_call():
    @cuda.jit(device=True)
    def down(a, depth):
        left = depth - 1
        if depth == 0:
            return a[left]
        return down(a, left) + a[100 * (depth == 1)]

    @cuda.jit
    def kernel(x):
        x[0] = down(x, 3)

    seen = frames_of(lambda: kernel[1, 1](np.zeros(4)), IndexError)
    assert same(seen["down"]["depth"], 1) and same(seen["down"]["left"], 0)


def test_shared_and_local_arrays_are_as_at_the_fault():
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        small = cuda.local.array(3, np.int32)
        large = cuda.local.array((4, 8), np.float64)
        tile = cuda.shared.array(8, np.float64)
        for j in range(3):
            small[j] = i * 10 + j
        for j in range(32):
            large[j // 8, j % 8] = j
        tile[i] = x[i]
        cuda.syncthreads()
        out[i + 5] = tile[i] + small[0] + large[1, x.size - 8]
        cuda.syncthreads()
        tile[i] = -1

    seen = frames_of(lambda: kernel[1, 8](np.arange(8.0), np.zeros(8)), IndexError)["kernel"]
    assert same(seen["i"], 3)
    assert seen["small"].tolist() == [30, 31, 32] and seen["small"].dtype == np.int32
    assert (seen["large"] == np.arange(32.0).reshape(4, 8)).all()
    assert (seen["tile"] == np.arange(8.0)).all()


def test_variables_of_a_kernel_that_waits_are_there_behind_the_barrier():
    @cuda.jit
    def kernel(x, out):
        tile = cuda.shared.array(64, np.float64)
        t = cuda.threadIdx.x
        i = cuda.grid(1)
        total = 0.0
        for start in range(0, 128, 64):
            tile[t] = x[start + t]
            cuda.syncthreads()
            for k in range(64):
                total += tile[k]
            cuda.syncthreads()
        out[i] = total

    seen = frames_of(lambda: kernel[2, 64](np.ones(128), np.zeros(100)), IndexError)["kernel"]
    assert same(seen["i"], 100) and same(seen["t"], 36) and same(seen["total"], 128.0)
    assert same(seen["start"], 64) and same(seen["k"], 63)


def test_values_of_every_type_come_as_python_and_numpy_have_them():
    record = np.dtype([("a", np.int32), ("b", np.float64)])

    @cuda.jit
    def kernel(c64, c128, u8, f32, when, pair, records, sliced, out):
        i = cuda.grid(1)
        z = c64 + c64
        w = c128 + 1
        byte = u8
        element = records[1]
        both = (i, f32)
        row = sliced[1]
        out[i + 10] = pair[0]

    moment = np.datetime64("2024-02-29")
    records = np.array([(1, 2.5), (3, 4.5)], record)
    table = np.arange(12.0).reshape(3, 4)
    seen = frames_of(
        lambda: kernel[1, 1](np.complex64(1 + 2j), 3 - 1j, np.uint8(200), np.float32(0.5), moment, (4, 5.5), records,
                             cuda.to_device(table)[:, ::2], np.zeros(3)), IndexError)["kernel"]  # fmt: skip
    assert same(seen["z"], np.complex64(2 + 4j)) and same(seen["w"], 4 - 1j)
    assert same(seen["u8"], 200) and same(seen["byte"], 200) and same(seen["f32"], np.float32(0.5))
    assert (
        seen["when"] == moment and same(seen["pair"], (4, 5.5)) and same(seen["both"], (0, np.float32(0.5)))
    )
    assert seen["records"].dtype == record and seen["records"].tolist() == records.tolist()
    assert seen["element"].item() == (3, 4.5)
    assert (seen["sliced"] == table[:, ::2]).all() and (seen["row"] == table[1, ::2]).all()


@pytest.mark.parametrize("fault", ["division", "raise", "assert"])
def test_every_kind_of_fault_has_variables(fault):
    @cuda.jit
    def division(x, n):
        i = cuda.grid(1)
        x[0] = i // (i - n)

    @cuda.jit
    def raising(x, n):
        i = cuda.grid(1)
        if i == n:
            raise ValueError("that one")

    @cuda.jit
    def asserting(x, n):
        i = cuda.grid(1)
        assert i != n, "that one"

    kernel = {"division": division, "raise": raising, "assert": asserting}[fault]
    seen = frames_of(lambda: kernel[1, 32](np.zeros(4), 9))[kernel.__name__]
    assert same(seen["i"], 9) and same(seen["n"], 9)


def test_a_variable_that_may_be_unassigned_is_there_where_it_was_assigned():
    @cuda.jit
    def kernel(x, n):
        i = cuda.grid(1)
        if i > n:
            chosen = i * 2
            x[i - 1] = chosen
        x[i] = 1

    assert same(frames_of(lambda: kernel[1, 8](np.zeros(4), 2), IndexError)["kernel"]["chosen"], 8)
    assert "chosen" not in frames_of(lambda: kernel[1, 8](np.zeros(4), 5), IndexError)["kernel"]


def test_where_no_thread_faulted_the_arguments_are_those_of_the_launch():
    @cuda.jit
    def kernel(x, n):
        i = cuda.grid(1)
        if i < n:
            cuda.syncthreads()
        else:
            cuda.syncthreads()
        x[i] = i

    x = np.zeros(32)
    seen = frames_of(lambda: kernel[1, 32](x, 5))["kernel"]
    assert seen["x"] is x and same(seen["n"], 5)


def test_arrays_on_the_device_are_as_the_launch_left_them():
    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        x[i] = i + 1

    x = cuda.to_device(np.zeros(4))
    seen = frames_of(lambda: kernel[1, 8](x), IndexError)["kernel"]
    assert seen["x"].tolist() == [1, 2, 3, 4]
    with pytest.raises(ValueError, match="read-only"):
        seen["x"][0] = 5


def test_options_do_not_change_what_is_seen():
    def kernel(x, n):
        i = cuda.grid(1)
        total = 0
        for j in range(n):
            total += j * i
        x[total] = 1

    for settings in (
        {"carrier": "fiber"},
        {"check": "none"},
        {"policy": "random", "seed": 3},
        {"fma": True},
    ):
        for opt in (True, False):
            with options.override(**settings):
                seen = frames_of(lambda opt=opt: cuda.jit(opt=opt)(kernel)[1, 8](np.zeros(8), 4), IndexError)[
                    "kernel"
                ]
            assert (seen["i"], seen["j"], seen["total"]) == (2, 3, 12), settings


def test_debuggers_find_them():
    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        square = i * i
        x[square] = OFFSET

    with pytest.raises(IndexError) as caught:
        kernel[1, 8](np.zeros(8))
    output = io.StringIO()
    debugger = pdb.Pdb(
        stdin=io.StringIO("p i, square, OFFSET, x.shape\nargs\nq\n"), stdout=output, nosigint=True
    )
    debugger.use_rawinput = False
    debugger.reset()
    debugger.interaction(None, caught.value.__traceback__)
    assert "(3, 9, 5, (8,))" in output.getvalue() and "x = array(" in output.getvalue()


OFFSET = 5


def test_pytest_shows_them(tmp_path):
    test = tmp_path / "test_shown.py"
    test.write_text(
        textwrap.dedent("""
        import numpy as np
        from numba import cuda

        @cuda.jit
        def kernel(x):
            i = cuda.grid(1)
            square = i * i
            x[square] = 1

        def test_it():
            kernel[1, 8](np.zeros(8))
    """)
    )
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "--cudasim", "--pdb", "-p", "no:cacheprovider", str(test)],
                          input="p square, i\nq\n", capture_output=True, text=True, cwd=tmp_path)  # fmt: skip
    assert "(9, 3)" in done.stdout, done.stdout + done.stderr
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "--cudasim", "--showlocals", "-p", "no:cacheprovider", str(test)],
                          capture_output=True, text=True, cwd=tmp_path)  # fmt: skip
    assert "square     = 9" in done.stdout and "cudasim object" not in done.stdout, done.stdout


def test_results_are_the_same_with_and_without_a_variable_for_a_product():
    """What is captured does not stop multiplications and additions from being fused."""

    @cuda.jit
    def in_one(x, y, z, out):
        i = cuda.grid(1)
        out[i] = x[i] * y[i] + z[i]

    @cuda.jit
    def in_two(x, y, z, out):
        i = cuda.grid(1)
        product = x[i] * y[i]
        out[i] = product + z[i]

    values = np.random.default_rng(1).random((3, 256))
    results = []
    for kernel in (in_one, in_two):
        out = np.zeros(256)
        with options.override(fma=True):
            kernel[1, 256](*values, out)
        results.append(out)
    assert (results[0] == results[1]).all() and (results[0] != values[0] * values[1] + values[2]).any()


def test_a_traceback_keeps_no_cycle_alive():
    @cuda.jit
    def kernel(x):
        x[cuda.grid(1)] = 1

    gc.collect()
    gc.disable()
    try:
        try:
            kernel[1, 8](np.zeros(4))
        except IndexError as error:
            alive = weakref.ref(error.__traceback__.tb_next.tb_frame.f_locals["x"])
    finally:
        gc.enable()
    assert alive() is None


def test_an_index_that_wraps_around_shows_them_where_it_is_an_error():
    @cuda.jit
    def shift(v, u):
        i = cuda.grid(1)
        j = i - 3
        v[i] = u[j]

    with options.override(wrap="error"):
        seen = frames_of(lambda: shift[1, 8](np.zeros(8), np.ones(8)), IndexError)["shift"]
    assert same(seen["i"], 0) and same(seen["j"], -3)
