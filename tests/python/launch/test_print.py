"""print() in kernels: the text that numba-cuda prints on a GPU, through sys.stdout (rule V6).

The formats were read off the IR that numba-cuda 0.30 makes: integers as %lld and %llu, floats as %f, booleans and
texts as %s, tuples in parentheses; the rest is C's printf.
"""

import contextlib
import io
import os
import subprocess
import sys

import numpy as np
import pytest
from cudasim import cuda, errors

WORD = "a word"


def printed(kernel, *arguments, grid=1, block=1):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        kernel[grid, block](*arguments)
    return out.getvalue()


@cuda.jit
def numbers(a, i, u, f, b):
    print(a[0], i, u, f, b)


@pytest.mark.parametrize(
    "values, text",
    [
        ((np.array([1.5]), 7, np.uint8(200), np.float32(0.1), True), "1.500000 7 200 0.100000 True\n"),
        (
            (np.array([-1], np.int8), np.int64(-(2**63)), np.uint64(2**64 - 1), float("inf"), False),
            "-1 -9223372036854775808 18446744073709551615 inf False\n",
        ),
        (
            (np.array([65535], np.uint16), np.int16(-3), np.uint32(2**32 - 1), float("nan"), np.bool_(True)),
            "65535 -3 4294967295 nan True\n",
        ),
        (
            (np.array([1e20]), 0, np.uint64(0), -0.0, False),
            "100000000000000000000.000000 0 0 -0.000000 False\n",
        ),
        ((np.array([True]), np.int32(5), np.uint8(0), 1e-7, True), "True 5 0 0.000000 True\n"),
    ],
)
def test_numbers(values, text):
    assert printed(numbers, *values) == text


def test_floats_of_16_bits():
    @cuda.jit
    def kernel(x):
        print(x, cuda.bfloat16(0.5), (cuda.bfloat16(-3), 1))

    assert printed(kernel, np.float16(0.1)) == "0.099976 0.500000 (-3.000000, 1)\n"


def test_texts_tuples_and_nothing():
    @cuda.jit
    def kernel(t, a):
        print()
        print("text", 1)
        print(WORD, "100% %d %s")
        print(t, (1, 2.5), ((True, 2), (3,)), ())
        print(a.shape, cuda.threadIdx, cuda.blockDim.x)
        local = "kept"
        print(local)
        print("ä", 'tab\tand "quotes"')

    assert printed(kernel, (1, 2), np.zeros((3, 4)), block=(2, 1))[:1000] == "".join(
        f"\ntext 1\na word 100% %d %s\n(1, 2) (1, 2.500000) ((True, 2), (3,)) ()\n(3, 4) ({i}, 0, 0) 2\nkept\n"
        'ä tab\tand "quotes"\n'
        for i in range(2)
    )


def test_more_than_32_items_print_the_format():
    """numba-cuda's user manual, "Printing": the raw format string is printed instead."""

    @cuda.jit
    def kernel(i):
        print(
            i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i
        )

    assert printed(kernel, 1) == " ".join(["%lld"] * 33) + "\n"


def test_threads_print_in_order_and_blocks_in_turn():
    @cuda.jit
    def kernel():
        print("block", cuda.blockIdx.x, "thread", cuda.threadIdx.x)
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            print("end of block", cuda.blockIdx.x)

    expected = [
        line
        for b in range(200)
        for line in [*(f"block {b} thread {t}" for t in range(33)), f"end of block {b}"]
    ]
    assert printed(kernel, grid=200, block=33).splitlines() == expected


def test_capsys_sees_it(capsys):
    numbers[1, 1](np.zeros(1), 1, np.uint8(2), 3.0, True)
    assert capsys.readouterr().out == "0.000000 1 2 3.000000 True\n"


def test_each_write_is_one_line():
    class Lines:
        def __init__(self):
            self.texts = []

        def write(self, text):
            self.texts.append(text)

    @cuda.jit
    def kernel():
        print(cuda.grid(1))

    lines = Lines()
    with contextlib.redirect_stdout(lines):
        kernel[4, 8]()
    assert lines.texts == [f"{i}\n" for i in range(32)]


def test_what_was_printed_before_an_error_appears():
    @cuda.jit
    def kernel(a):
        i = cuda.grid(1)
        print("before", i)
        a[i] = 1
        print("after", i)

    out = io.StringIO()
    with contextlib.redirect_stdout(out), pytest.raises(IndexError):
        kernel[1, 3](np.zeros(2))
    assert sorted(out.getvalue().splitlines()) == ["after 0", "after 1", "before 0", "before 1", "before 2"]


def test_an_error_of_the_stream_is_raised():
    class Full:
        def write(self, text):
            raise OSError("no space left")

    @cuda.jit
    def kernel():
        print(1)

    with contextlib.redirect_stdout(Full()), pytest.raises(OSError, match="no space left"):
        kernel[1, 1]()
    assert printed(kernel) == "1\n"


def test_without_a_stream_nothing_happens():
    with contextlib.redirect_stdout(None):
        numbers[1, 1](np.zeros(1), 1, np.uint8(2), 3.0, True)


def test_device_functions_print():
    @cuda.jit(device=True)
    def say(x):
        print("x =", x)
        return x + 1

    @cuda.jit
    def kernel(n):
        for i in range(n):
            say(say(i) * 10)

    assert printed(kernel, 2) == "x = 0\nx = 10\nx = 1\nx = 20\n"


@pytest.mark.parametrize(
    "body, error",
    [
        ("print(a)", NotImplementedError),
        ("print(None)", NotImplementedError),
        ("print(np.float32)", NotImplementedError),
        ("print(('x', 1))", NotImplementedError),
        ("print(1, end='')", errors.UnsupportedError),
    ],
)
def test_what_numba_cannot_print_is_refused(body, error):
    from cudasim.compile import compiler

    sys.path.insert(0, "tests/frontend/pykernel")
    import linecache

    text = f"def k(a):\n    {body}\n"
    linecache.cache["<print>"] = (len(text), None, text.splitlines(True), "<print>")
    namespace = {"np": np}
    exec(compile(text, "<print>", "exec"), namespace)
    with pytest.raises(error, match='File "<print>", line 2, in k'):
        compiler.compile_kernel(namespace["k"], ["array(float64, 1d, C)"])


SCRIPT = """
import numpy as np
from cudasim import cuda

@cuda.jit
def kernel(n):
    for i in range(n):
        print("thread", cuda.grid(1), "line", i)

kernel[{grid}, {block}]({lines})
"""


def run(code, **options):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, **options
    )


def test_a_script_prints_to_its_standard_output(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(grid=2, block=2, lines=2))
    result = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    assert result.stdout == "".join(f"thread {t} line {i}\n" for t in range(4) for i in range(2)), (
        result.stderr
    )


@pytest.mark.parametrize("checks", ["0", "1"])
def test_kernels_with_barriers_print_whatever_is_checked(tmp_path, checks):
    script = tmp_path / "script.py"
    script.write_text("""
import numpy as np
from cudasim import cuda

@cuda.jit
def kernel(a):
    local = cuda.local.array(4, np.float64)
    local[:] = cuda.threadIdx.x
    for i, x in enumerate(a[::-1]):
        print(i, x)
        cuda.syncthreads()
    print("end", local[3], a.shape)

kernel[1, 2](np.arange(3.0))
""")
    result = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "CUDASIM_MEMORY_CHECKS": checks},
    )
    lines = [f"{i} {2.0 - i:.6f}\n" for i in range(3) for _ in range(2)]
    assert result.stdout == "".join([*lines, "end 0.000000 (3,)\n", "end 1.000000 (3,)\n"]), result.stderr


def test_much_output_needs_little_memory(tmp_path):
    """60 MB from 40 blocks, in a process that may not grow by that much."""
    script = tmp_path / "script.py"
    script.write_text(
        SCRIPT.format(grid=40, block=50, lines=1000)
        + """
import sys  # ru_maxrss would be the largest of this process and of the one that forked it
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")), file=sys.stderr)
"""
    )
    with open(tmp_path / "out", "w") as out:
        result = subprocess.run(
            [sys.executable, script], stdout=out, stderr=subprocess.PIPE, text=True, timeout=120
        )
    lines = (tmp_path / "out").read_text().splitlines()
    assert len(lines) == 40 * 50 * 1000
    assert all(line.startswith("thread ") for line in lines) and len(set(lines)) == len(lines)
    assert int(result.stderr) < 400_000  # KiB


def test_a_kernel_that_prints_for_ever_is_interrupted(tmp_path):
    import signal
    import time

    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(grid=2, block=2, lines="2**62"))
    process = subprocess.Popen(
        [sys.executable, "-u", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "thread 0 line 0\n"
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, error = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in error and time.monotonic() - began < 30


def test_the_gpu_gets_vprintf():
    from cudasim import _native
    from cudasim.compile import compiler

    compiled = compiler.compile_kernel(
        numbers.py_func, ["array(float64, 1d, C)", "int64", "uint64", "float64", "bool"]
    )
    ptx = _native.ptx(compiled.image, compiled.kernel_name, "sm_80", False)
    assert "vprintf" in ptx and ".extern .func  (.param .b32 func_retval0) vprintf" in ptx
