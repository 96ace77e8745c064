"""Launches beside the same launches on the GPU of this machine, where there is one. What it says of them is in docs/gpu_results.md."""

import json
import os
import pathlib
import subprocess

import pytest
from cudasim import _native

pytestmark = pytest.mark.gpu

HERE = pathlib.Path(__file__).resolve().parent
#: The driver's file, where whoever runs the tests names one.
DRIVER = {"CUDASIM_LIBCUDA": os.environ.get("CUDASIM_LIBCUDA")}
EXAMPLES = HERE.parents[2] / "examples"
#: Examples in which no order of operations is left open, and nothing is approximated.
SAME = [
    "vector_add", "matmul", "reduction", "histogram", "game_of_life", "prefix_sum", "heat_equation", "interop",
    "normalise_vectors", "monte_carlo_pi", "udf_columns",
]  # fmt: skip

START = """
import json, os, sys
import numpy as np
import cudasim
from cudasim.errors import NotComparedError
from numba import cuda, int32, float32

def launched(kernel, *args, **how):
    try:
        return cudasim.compare(kernel, *args, raises=False, **how).report["launches"][0]
    except NotComparedError as error:
        return error.launch

@cuda.jit
def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i]

@cuda.jit
def long(x, n):
    state = x[0]
    for _ in range(n):
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
    x[0] = state

x = np.arange(1000, dtype=np.float32)
y = np.ones(1000, dtype=np.float32)
"""


@pytest.fixture
def results(real, run_here):
    """Runs START and a program; gives the launches that it prints as JSON."""

    def launches(program, **variables):
        done = run_here.script(START + program, ENABLE_CUDASIM="1", **DRIVER, **variables)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    return launches


@pytest.mark.parametrize("name", SAME)
def test_examples_are_the_same(real, run_here, name):
    done = run_here(
        "-m",
        "cudasim.command_line",
        "compare",
        "--json",
        "report.json",
        EXAMPLES / f"{name}.py",
        timeout=300,
        **DRIVER,
    )
    assert done.returncode == 0, done.stderr
    launches = json.loads((run_here.folder / "report.json").read_text())["launches"]
    assert launches
    assert {launch.get("verdict", launch["status"]) for launch in launches} == {"same"}, done.stderr


@pytest.mark.parametrize(
    "libdevice, causes", [(None, {"atomic-order", "uninitialised", "fma"}), ("own", {"libdevice"})]
)
def test_causes_of_differences_are_named(real, run_here, libdevice, causes):
    """What really differs on this GPU has its cause first; clean twins do not differ."""
    done = run_here(
        HERE / "explained_kernels.py",
        "--unplanted",
        timeout=600,
        ENABLE_CUDASIM="1",
        CUDASIM_LIBDEVICE=libdevice,
        **DRIVER,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    wrong = []
    for name, (case, *twins) in found.items():
        if case["verdict"] == "different" and case["explanations"][0]["cause"] != case["cause"]:
            wrong.append((name, case))
        wrong += [(name, "twin", twin) for twin in twins if twin["verdict"] not in ("same", "close")]
    assert not wrong, wrong
    differing = {case["cause"] for case, *_ in found.values() if case["verdict"] == "different"}
    assert causes <= differing, differing


def test_checks_that_fail_are_the_simulators(results):
    program = """
@cuda.jit
def indirect(where, x):
    i = cuda.grid(1)
    x[where[i]] = i

where = np.arange(64)
where[[40, 7]] = 64, -65
with cudasim.compare_with_gpu(also_faulting=True) as found:
    try:
        indirect[2, 32](where, np.zeros(64))
    except IndexError as error:
        pass
print(json.dumps(found.report["launches"][0]))
print(json.dumps(launched(saxpy[4, 256], 2, x, y)))
"""
    faulty, good = results(program)
    assert faulty["verdict"] == "same", faulty
    assert faulty["faults"][0]["thread"] == [7, 0, 0]
    assert "index -65 is out of bounds" in faulty["faults"][0]["message"]
    assert good["verdict"] == "same", good


def test_an_illegal_address_is_told_and_the_next_launch_runs(results):
    program = '''

TEXT = """
.version 7.0
.target sm_70
.address_size 64
.visible .func (.param .b32 status) store(.param .b64 result, .param .b64 offset)
{
    .reg .b64 %rd<2>;
    .reg .b32 %r<2>;
    ld.param.u64 %rd1, [offset];
    mov.u32 %r1, 1;
    st.global.u32 [%rd1], %r1;
    mov.u32 %r1, 0;
    st.param.b32 [status], %r1;
    ret;
}
"""
store = cuda.declare_device("store", "void(int64)", link=cuda.PTXSource(TEXT.encode()))

@cuda.jit
def astray(x, address):
    store(address)

for _ in range(2):
    with cudasim.compare_with_gpu(also_faulting=True) as found:
        try:
            astray[1, 1](x, 0x6000_0000_0000)
        except (cudasim.errors.KernelMemoryError, cudasim.GpuDifference):
            pass
    print(json.dumps(found.report["launches"][0]))
    print(json.dumps(launched(saxpy[4, 256], 2, x, y)))
'''
    found = results(program)
    for faulty, good in (found[:2], found[2:]):
        assert faulty["status"] == "failed" and "CUDA_ERROR_ILLEGAL_ADDRESS" in faulty["message"], faulty
        assert good["verdict"] == "same", good


def test_a_kernel_that_takes_too_long_is_ended(results):
    program = """
print(json.dumps(launched(long[1, 1], np.ones(1, np.uint64), 400_000_000)))
print(json.dumps(launched(saxpy[4, 256], 2, x, y)))
"""
    stopped, good = results(program, CUDASIM_GPU_TIME_LIMIT="0.5")
    assert stopped["status"] == "failed" and "not over after 0.5" in stopped["message"], stopped
    assert good["verdict"] == "same", good


def test_limits_are_refused_in_the_drivers_words(results):
    program = """
@cuda.jit
def shared(x):
    tile = cuda.shared.array(0, int32)
    i = cuda.threadIdx.x
    tile[i] = i
    cuda.syncthreads()
    x[i] = tile[x.size - 1 - i]

print(json.dumps(launched(shared[1, 64, 0, 200 * 1024], np.zeros(64, np.int32))))

@cuda.jit
def waves(x):
    grid = cuda.cg.this_grid()
    i = cuda.grid(1)
    for step in range(3):
        grid.sync()
        if i == step:
            x[0] += i
print(json.dumps(launched(waves[8, 64], np.zeros(1, np.int32))))
print(json.dumps(launched(saxpy[4, 256], 2, x, y)))
"""
    found = results(program, CUDASIM_DEVICE="h100")
    assert [launch.get("verdict") for launch in found] == ["same"] * 3, found


def test_printed_lines_are_compared(results):
    program = """
@cuda.jit
def says(x):
    i = cuda.grid(1)
    if i % 7 == 0:
        print("thread", i, x[i] * 0.5, i == 7)

sys.stdout = sys.stderr
found = launched(says[2, 32], x)
sys.stdout = sys.__stdout__
print(json.dumps(found))
"""
    found = results(program)[-1]
    assert found["verdict"] == "same", found
    assert found["printed"]["lines"] == {"simulated": 10, "gpu": 10}


def test_memory_holds_pointers_and_variables_keep_their_addresses(results):
    program = """
@cuda.jit
def k(addresses, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = i
        addresses[1] = addresses[0] + 1

y = cuda.to_device(np.zeros(64, np.float32))
addresses = cuda.to_device(np.array([y.__cuda_array_interface__["data"][0], 0], np.uint64))
print(json.dumps(launched(k[1, 64], addresses, y)))
"""
    (found,) = results(program)
    assert found["verdict"] == "same", found


def test_a_runner_that_is_killed_is_told(results):
    program = """
import subprocess, threading, time, signal

def kill():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            status = open(f"/proc/{pid}/status").read()
        except OSError:
            continue
        if f"PPid:\\t{os.getpid()}\\n" in status and "cudasim-gpu-run" in status:
            os.kill(int(pid), signal.SIGKILL)

start = time.perf_counter()
long[1, 1](np.ones(1, np.uint64), 600_000_000)
simulation = time.perf_counter() - start
print(json.dumps(launched(saxpy[4, 256], 2, x, y)))
print(json.dumps(launched(saxpy[4, 256], 2, x, y)))
with cudasim.compare_with_gpu() as found:
    threading.Timer(simulation + 0.5, kill).start()
    try:
        long[1, 1](np.ones(1, np.uint64), 600_000_000)
    except cudasim.GpuDifference as difference:
        print(difference, file=sys.stderr)
print(json.dumps(found.report["launches"][0]))
print(json.dumps(launched(saxpy[4, 256], 2, x, y)))
"""
    *good, killed, after = results(program)
    assert [launch["verdict"] for launch in (*good, after)] == ["same"] * 3
    assert killed["status"] == "failed", killed


def test_records_travel(real, run_here):
    script = run_here.write(START + "saxpy[4, 256](2, x, y)\nsaxpy[4, 256](3, x, y)\nprint(y[7])")
    main = "-m", "cudasim.command_line"
    done = run_here(*main, "record", "--gpu", "-o", "run.cudasim", script)
    assert done.returncode == 0, done.stderr
    ran = subprocess.run(
        [_native.find_gpu_runner(), "run.cudasim", "-o", "gpu.cudasim"],
        cwd=run_here.folder,
        env={name: value for name, value in DRIVER.items() if value},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    done = run_here(*main, "diff", "run.cudasim", "gpu.cudasim", "--json", "report.json")
    assert done.returncode == 0, done.stdout + done.stderr
    launches = json.loads((run_here.folder / "report.json").read_text())["launches"]
    assert [launch["verdict"] for launch in launches] == ["same", "same"]
    assert launches[0]["gpu"]["name"] == real["name"] and launches[0]["milliseconds"] > 0
