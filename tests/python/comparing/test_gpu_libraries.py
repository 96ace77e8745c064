"""Arrays of PyTorch and CuPy on a real GPU, as arguments of kernels that are simulated and compared with the same GPU."""

import importlib.util

import pytest

pytestmark = pytest.mark.gpu

KERNELS = """
import numpy as np
import cudasim
from numba import cuda

@cuda.jit
def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i]

@cuda.jit
def shift(to, source):
    if cuda.grid(1) == 0:
        to[0] = 50
        to[1] = source[0]
"""


@pytest.fixture
def with_library(real, run_here):
    """Runs KERNELS and what follows, and gives the lines that are printed; skips where the library is not there or has no GPU."""

    def lines(library, program, **variables):
        if importlib.util.find_spec(library) is None:
            pytest.skip(f"{library} is not installed")
        check = "torch.cuda.is_available()" if library == "torch" else "cupy.cuda.is_available()"
        if run_here("-c", f"import {library}; print({check})").stdout.strip() != "True":
            pytest.skip(f"{library} cannot use the GPU")
        done = run_here.script(f"import {library}\n" + KERNELS + program, ENABLE_CUDASIM="1", **variables)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return lines


TORCH = """
x = torch.arange(1000, device="cuda", dtype=torch.float32)
y = torch.ones(1000, device="cuda")
"""


def test_tensors_of_pytorch_are_compared(with_library):
    program = (
        TORCH
        + """
found = cudasim.compare(saxpy[4, 256], 2, x, y)
print(found.verdicts, y[7].item(), y.is_cuda)
y += x  # PyTorch goes on with the simulator's results
print(y[7].item())
shift[1, 32](y[1:], y)
print(y[:3].tolist())
"""
    )
    assert with_library("torch", program) == ["['same'] 15.0 True", "22.0", "[1.0, 50.0, 1.0]"]


@pytest.mark.parametrize("setting", ["expandable_segments:True", "backend:cudaMallocAsync"])
def test_tensors_in_mapped_memory_and_in_pools(with_library, setting):
    program = TORCH + "print(cudasim.compare(saxpy[4, 256], 2, x, y).verdicts, y[7].item())"
    assert with_library("torch", program, PYTORCH_CUDA_ALLOC_CONF=setting) == ["['same'] 15.0"]


def test_work_of_pytorchs_other_streams_is_waited_for(with_library):
    program = (
        TORCH
        + """
with torch.cuda.stream(torch.cuda.Stream()):
    torch.cuda._sleep(200_000_000)
    y += 1
    saxpy[4, 256](2, x, y)
    y *= 10
    print(y[7].item())
"""
    )
    assert with_library("torch", program) == ["160.0"]


def test_tensors_of_another_host_thread(with_library):
    program = (
        TORCH
        + """
import threading
thread = threading.Thread(target=lambda: saxpy[4, 256](2, x, y))
thread.start()
thread.join()
print(y[7].item())
"""
    )
    assert with_library("torch", program) == ["15.0"]


def test_a_broken_context_is_told_with_its_code(with_library):
    program = (
        TORCH
        + """
from cudasim.errors import CudaAPIError
try:
    torch.zeros(3, device="cuda")[torch.tensor([7], device="cuda")]
    torch.cuda.synchronize()
except RuntimeError:
    pass
try:
    saxpy[4, 256](2, x, y)
except CudaAPIError as error:
    print(error.code, "fails with CUDA_ERROR_" in error.msg)
"""
    )
    assert with_library("torch", program) == ["710 True"]  # CUDA_ERROR_ASSERT


def test_arrays_of_cupy_are_compared(with_library):
    program = """
x = cupy.arange(1000, dtype=np.float32)
y = cupy.ones(1000, dtype=np.float32)
print(cudasim.compare(saxpy[4, 256], 2, x, y).verdicts, float(y[7]))
stream = cupy.cuda.Stream(non_blocking=True)
with stream:
    y += 1
    saxpy[4, 256](2, x[::-1], y)
    y *= 2
    print(float(y[999]))
"""
    assert with_library("cupy", program) == ["['same'] 15.0", "4000.0"]
