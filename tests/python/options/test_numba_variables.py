"""Numba's environment variables for CUDA that decide what the host sees."""

import pytest


def printed(run, code, **variables):
    done = run.script(
        "from numba import config, cuda, float32\nimport numpy as np\n" + code,
        ENABLE_CUDASIM="1",
        **variables,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_cuda_can_be_disabled(run):
    code = """
print(cuda.is_available())
print(cuda.cuda_error())
try:
    cuda.device_array(3)
except cuda.CudaSupportError as error:
    print("refused:", str(error).splitlines()[1])
"""
    available, why, refused = printed(run, code, NUMBA_DISABLE_CUDA="1")
    assert available == "False" and why.startswith(
        "CUDA is disabled due to setting NUMBA_DISABLE_CUDA=1 in the environment"
    )
    assert refused.startswith("refused: CUDA is disabled")
    assert printed(run, code, NUMBA_DISABLE_CUDA="0") == ["True", "None"]


@pytest.mark.parametrize(
    ("variables", "device", "function"),
    [
        ({}, "sm_90", "sm_75"),
        ({"NUMBA_CUDA_DEFAULT_PTX_CC": "8.6"}, "sm_90", "sm_86"),
        ({"NUMBA_CUDA_DEFAULT_PTX_CC": "5.0"}, "sm_90", "sm_75"),
        ({"NUMBA_FORCE_CUDA_CC": "8.0"}, "sm_80", "sm_80"),
    ],
)
def test_compute_capability_of_ptx(run, variables, device, function):
    code = """
@cuda.jit("void(float32[:])")
def kernel(x):
    x[0] = 1
def target(ptx):
    return next(line.split()[1] for line in ptx.splitlines() if line.startswith(".target"))
print(target(*kernel.inspect_asm().values()))
print(target(cuda.compile_ptx(lambda x: x, (float32,), device=True)[0]))
"""
    found = [name.rstrip(",") for name in printed(run, code, **variables)]
    assert found == [device, function]


def test_pending_deallocations(run):
    code = """
queue = cuda.current_context().memory_manager.deallocations
for _ in range(6):
    cuda.device_array(1)
    print(len(queue))
"""
    assert printed(run, code, NUMBA_CUDA_MAX_PENDING_DEALLOCS_COUNT="3") == ["1", "2", "3", "0", "1", "2"]
    assert printed(run, code, NUMBA_CUDA_MAX_PENDING_DEALLOCS_RATIO="0") == ["0"] * 6
