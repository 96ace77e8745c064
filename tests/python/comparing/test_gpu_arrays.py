"""Arguments in the memory of a real GPU that another library of the process uses; here of the stand-in driver
(gpu_tensors.py stands for PyTorch)."""

import pathlib

import pytest

KERNELS = """
import json
import numpy as np
import cudasim
from cudasim import options
from cudasim.errors import CudaAPIError
from gpu_tensors import Tensor, call, context, current, driver, make_current
from numba import cuda

@cuda.jit
def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i]

@cuda.jit
def shift(to, source):
    i = cuda.grid(1)
    if i == 0:
        to[0] = 50
        to[1] = source[0]

@cuda.jit
def add_one(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1

x = Tensor(np.arange(1000, dtype=np.float32))
y = Tensor(np.ones(1000, dtype=np.float32))
"""


@pytest.fixture
def script(run, gpu):
    """Runs KERNELS and what follows; gives what was printed, line by line."""
    run.write((pathlib.Path(__file__).parent / "gpu_tensors.py").read_text(), "gpu_tensors.py")

    def lines(program, planted="", fails=False, **variables):
        done = run.script(KERNELS + program, **gpu(planted, **variables))
        assert (done.returncode != 0) == fails, done.stderr
        return done.stderr if fails else done.stdout.splitlines()

    return lines


@pytest.mark.parametrize("mode", ["native", "python"])
def test_a_kernel_changes_arrays_of_a_gpu(script, mode):
    program = """
saxpy[4, 256](2, x, y)
assert (y.numpy() == 2 * np.arange(1000) + 1).all() and (x.numpy() == np.arange(1000)).all()
for wrapped in (cuda.In(y), cuda.Out(y), cuda.InOut(y), cuda.as_cuda_array(y), cuda.to_device(y)):
    add_one[4, 256](wrapped)
assert (y.numpy() == 2 * np.arange(1000) + 6).all()
print(y.numpy()[7])
"""
    assert script(program, CUDASIM_MODE=mode) == ["20.0"]


def test_a_launch_is_compared_and_its_results_are_on_the_gpu(script):
    program = """
found = cudasim.compare(saxpy[4, 256], 2, x, y)
print(found.verdicts, y.numpy()[7])
print([(array["name"], array["verdict"]) for array in found.report["launches"][0]["arrays"]])
with cudasim.compare_with_gpu() as found:
    saxpy[4, 256](2, x, y)
print(found.verdicts, y.numpy()[7])
"""
    assert script(program) == ["['same'] 15.0", "[('x', 'same'), ('y', 'same')]", "['same'] 29.0"]


def test_a_difference_has_its_element_and_the_simulators_results_are_on_the_gpu(script):
    program = """
try:
    cudasim.compare(saxpy[4, 256], 2, x, y)
except cudasim.GpuDifference as difference:
    arrays = difference.report["launches"][0]["arrays"]
    print([(each["name"], [element["index"] for element in each.get("elements", ())]) for each in arrays])
print(y.numpy()[257])
"""
    assert script(program, "flip=p4+1028.6") == ["[('x', []), ('y', [[257]])]", "515.0"]


def test_all_launches_of_a_program_are_compared(script):
    program = """
saxpy[4, 256](2, x, y)
print(y.numpy()[7])
"""
    assert script(program, CUDASIM_GPU="compare") == ["15.0"]


def test_arrays_that_share_memory_stay_aliases(script):
    program = """
shift[1, 32](y, y)
print(y.numpy()[:3])
t = Tensor(np.arange(10.0))
shift[1, 32](t[2:7], t[1:4])  # from before: overlaps, and does not begin at the same place
print(t.numpy())
t = Tensor(np.arange(8.0))
shift[1, 32](t[::2], t[1::2])
print(t.numpy())
shift[1, 32](t[::-1], t[7:8])
print(t.numpy())
print(cudasim.compare(shift[1, 32], t[4:], t[4:6]).verdicts)
"""
    assert script(program) == [
        "[50. 50.  1.]",
        "[ 0.  1. 50.  1.  4.  5.  6.  7.  8.  9.]",
        "[50.  1.  1.  3.  4.  5.  6.  7.]",
        "[50.  1.  1.  3.  4.  5. 50. 50.]",
        "['same']",
    ]


def test_strides_records_and_tuples(script):
    program = """
t = Tensor(np.zeros((4, 6), np.int32))

@cuda.jit
def fill(a, pair):
    i, j = cuda.grid(2)
    if i < a.shape[0] and j < a.shape[1]:
        a[i, j] = 10 * i + j + pair[1][0]
        pair[0][0] = 7

s, u = Tensor(np.zeros(2)), Tensor(np.full(2, 100))
fill[1, (8, 8)](t[1:3, ::2], (s, u))
print(t.numpy().tolist(), s.numpy().tolist())

kind = np.dtype([("a", np.int32), ("b", np.float64)])
records = Tensor(np.zeros(3, kind))
class Records(Tensor):
    @property
    def __cuda_array_interface__(self):
        return {**super().__cuda_array_interface__, "descr": kind.descr}
records.__class__ = Records

@cuda.jit
def set_fields(r):
    r[1].a, r[1].b = 3, 0.5

set_fields[1, 1](records)
print(records.numpy()[1])

@cuda.jit
def set_one(r):
    r.a = 9

set_one[1, 1](cuda.as_cuda_array(records)[2])
print(records.numpy()[2])
add_one[1, 32](Tensor(np.zeros(0)))
"""
    rows = [[0] * 6, [100, 0, 101, 0, 102, 0], [110, 0, 111, 0, 112, 0], [0] * 6]
    assert script(program) == [f"{rows} [7.0, 0.0]", "(3, 0.5)", "(9, 0.0)"]


def test_read_only_arrays_are_not_written_back(script):
    program = """
x.read_only = True
saxpy[4, 256](2, x, y)
try:
    saxpy[4, 256](2, y, x)
except ValueError as error:
    print(error)
print((x.numpy() == np.arange(1000)).all())
both = x[:]
both.read_only = False
saxpy[4, 256](2, x, both)
print(x.numpy()[1])
"""
    assert script(program) == [
        "the kernel wrote to 'y', but the array passed for it is read-only (its __cuda_array_interface__ says so); "
        "pass a writable array",
        "True",
        "3.0",
    ]


def test_the_thread_keeps_its_context_and_arrays_of_several_gpus_are_taken(script):
    program = """
import threading
make_current(1)
z = Tensor(np.ones(1000, dtype=np.float32))
before = current()
saxpy[4, 256](2, x, z)
assert current() == before and z.numpy()[7] == 15

def work():
    saxpy[4, 256](2, x, z)
    print(current(), z.address != 0)

thread = threading.Thread(target=work)
thread.start()
thread.join()
print(z.numpy()[7])
"""
    assert script(program, "devices=2") == ["None True", "29.0"]


@pytest.mark.parametrize(
    "change, planted, waits",
    [("x.stream, y.stream = 1, 2", "cuStreamSynchronize=999", True), ("x.stream, y.stream = 1, 2", "cuCtxSynchronize@1=999", True),
     ("x.stream = 1", "cuStreamSynchronize=999", True), ("x.version = y.version = 2", "cuCtxSynchronize@1=999", True),
     ("x.version = y.version = 2", "cuStreamSynchronize=999", False), ("pass", "cuStreamSynchronize=999", False),
     ("y = x[:]\nx.stream = 1", "cuStreamSynchronize=999", False)],
)  # fmt: skip
def test_streams_are_waited_for(script, change, planted, waits):
    """A failure of the driver's function that waits shows that it is called; that of the context also waits for what was written."""
    text = script(f"{change}\nsaxpy[4, 256](2, x, y)\n", planted, fails=waits)
    if waits:
        assert (
            "[999]" in text
            and planted.partition("@")[0].partition("=")[0] + " fails with CUDA_ERROR_UNKNOWN (999)" in text
        )


def test_deferred_launches_are_done_when_they_return(script):
    program = """
stream = cuda.stream()
saxpy[4, 256, stream](2, x, y)
saxpy[4, 256, stream](2, x, y)
print(y.numpy()[7])
"""
    assert script(program, CUDASIM_DEFERRED="1") == ["29.0"]


def test_failures_of_the_driver_have_its_code(script):
    program = """
import os
for planted in ("cuPointerGetAttribute=700", "cuMemcpyDtoH_v2=201", "cuMemcpyHtoD_v2=2", "cuPointerGetAttribute=3"):
    os.environ["CUDASIM_TEST_LIBCUDA"] = planted
    try:
        saxpy[4, 256](2, x, y)
    except CudaAPIError as error:
        print(error.code, error.msg)
os.environ["CUDASIM_TEST_LIBCUDA"] = ""
print(y.numpy()[7])
"""
    broken, invalid, memory, absent, value = script(program)
    assert broken.startswith(
        "700 the array passed for 'x': cuPointerGetAttribute fails with CUDA_ERROR_ILLEGAL_ADDRESS (700)"
    )
    assert (
        invalid.startswith("201 ")
        and "'x'" in invalid
        and "cuMemcpyDtoH fails with CUDA_ERROR_INVALID_CONTEXT (201)" in invalid
    )
    assert (
        memory.startswith("2 ")
        and "'y'" in memory
        and "cuMemcpyHtoD fails with CUDA_ERROR_OUT_OF_MEMORY (2)" in memory
    )
    assert absent.startswith("3 ") and "CUDA_ERROR_NOT_INITIALIZED (3)" in absent
    assert value == "1.0"  # nothing was written


def test_a_pointer_that_the_driver_does_not_know_is_an_error(script):
    text = script("x.address = 0x7000_0000_0000\nsaxpy[4, 256](2, x, y)\n", fails=True)
    assert "the array passed for 'x' is not in device memory that is allocated" in text
    assert "libcuda.so.1) does not know the address" in text


def test_without_a_driver_the_error_says_what_to_do(run):
    done = run.script(
        """
from numba import cuda

class Tensor:
    __cuda_array_interface__ = {"shape": (4,), "typestr": "<f4", "data": (0x7F0000000000, False), "version": 3}

@cuda.jit
def kernel(x):
    x[0] = 1

kernel[1, 1](Tensor())
""",
        ENABLE_CUDASIM="1",
    )
    assert done.returncode == 1
    assert (
        "'x' is not in device memory" in done.stderr
        and "pass a copy on the host: no library has loaded a CUDA driver" in done.stderr
    )


def test_programs_without_such_arrays_load_nothing(run, gpu):
    done = run.script(
        """
import sys
import numpy as np
from numba import cuda

@cuda.jit
def kernel(x):
    x[0] = 1

kernel[1, 1](np.zeros(3))
kernel[1, 1](cuda.to_device(np.zeros(3)))
class Foreign:
    array = cuda.to_device(np.zeros(3))
    __cuda_array_interface__ = array.__cuda_array_interface__
kernel[1, 1](Foreign())
print("cudasim.memory.gpu_arrays" in sys.modules, "libcuda.so" in open("/proc/self/maps").read())
""",
        **gpu(),
    )
    assert done.stdout.split() == ["False", "False"], done.stderr


def test_a_tensor_on_the_host_is_no_argument(script):
    """PyTorch's tensors on the CPU have the attribute's name, and raise AttributeError for it. Numba does not take them."""
    text = script(
        """
class OnHost:
    def __array__(self, *_, **__):
        return np.zeros(3)

    @property
    def __cuda_array_interface__(self):
        raise AttributeError("Can't get __cuda_array_interface__ on non-CUDA tensor type")

add_one[1, 32](OnHost())
""",
        fails=True,
    )
    assert "ValueError: Cannot determine Numba type of <class '__main__.OnHost'>" in text
