"""What comparing launches with a GPU costs: the comparison beside np.array_equal, recording beside copying the arrays, and the process that
runs launches, with the tests' stand-in for NVIDIA's driver.
"""

import json
import pathlib
import statistics
import time

import numpy as np

from bench.timing import require

ELEMENTS = 1 << 22
ROUNDS = 15
STAND_IN = (
    pathlib.Path(__file__).resolve().parents[1]
    / "build/release/tests/gpu_backend/libcuda/stand_in/libcuda.so.1"
)


def _ratio(dtype, shape):
    """Of processor time, for arrays that differ in every element."""
    from cudasim import _native

    random = np.random.default_rng(3)
    simulated = random.integers(1, 1 << 20, ELEMENTS).astype(dtype).reshape(shape)
    gpu = simulated + np.array(8, dtype)  # beyond every tolerance
    array = {"name": "x", "dtype": str(simulated.dtype), "shape": shape, "simulated": simulated, "gpu": gpu}
    ours, peers = [], []
    for _ in range(ROUNDS):
        start = time.process_time()
        found = _native.compare_launch([array])
        middle = time.process_time()
        equal = np.array_equal(simulated, gpu)
        ours.append(middle - start)
        peers.append(time.process_time() - middle)
        require(not equal and json.loads(found)["arrays"][0]["mismatched"] == ELEMENTS, "compare_launch")
    return statistics.median(ours) / statistics.median(peers)


def _kernel_and_arrays(elements):
    from cudasim import cuda

    @cuda.jit
    def add(x, y, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = x[i] + y[i]

    arrays = [cuda.to_device(np.arange(elements, dtype=np.float32)) for _ in range(3)]
    return add[(elements + 255) // 256, 256], arrays


def _recording():
    """What a recorded launch takes beyond a launch, beside copying its arrays: the memory before, and after where it is another one."""
    from cudasim import options
    from cudasim.recording.recorder import Recorder

    options.set(workers=1)
    launch, arrays = _kernel_and_arrays(ELEMENTS)
    hosts = [array.copy_to_host() for array in arrays]
    launch(*arrays)
    ours, copies = [], []
    for _ in range(ROUNDS):
        start = time.process_time()
        launch(*arrays)
        middle = time.process_time()
        with Recorder(lambda record: None, keep_after=True).in_force():
            recorded = time.process_time()
            launch(*arrays)
            ours.append(time.process_time() - recorded - (middle - start))
        start = time.process_time()
        for host in (*hosts, hosts[2]):
            host.copy()
        copies.append(time.process_time() - start)
    return statistics.median(ours) / statistics.median(copies)


def _gpu():
    from cudasim import _native

    return _native.GpuRunner(_native.find_gpu_runner(), str(STAND_IN))


def _gpu_start():
    """Until the process that runs launches is there, with its driver started."""
    times = []
    for _ in range(ROUNDS):
        gpu = _gpu()
        start = time.perf_counter()
        gpu.start()
        times.append(time.perf_counter() - start)
        del gpu  # ends the process
    return statistics.median(times)


def _gpu_launch():
    """A launch there, with small arrays, without the time to load its module."""
    from cudasim import _native
    from cudasim.recording.recorder import Recorder

    records = []
    launch, arrays = _kernel_and_arrays(1000)
    with Recorder(records.append, keep_after=True).in_force():
        launch(*arrays)
    (record,) = records
    _native.add_gpu_code(record, "sm_90")
    gpu, times = _gpu(), []
    for _ in range(ROUNDS + 1):
        start = time.perf_counter()
        outcome = gpu.run(record, 60)
        times.append(time.perf_counter() - start - outcome.load_milliseconds / 1000)
        require(outcome.status == "ran", "gpu_launch")
    return statistics.median(times[1:])


#: Of cudasim alone.
OWN = {
    "gpu_recording": _recording,
    "gpu_start": _gpu_start,
    "gpu_launch": _gpu_launch,
    **{
        f"compare_{dtype}": lambda dtype=dtype: _ratio(dtype, (ELEMENTS,))
        for dtype in ("float32", "float64", "int32", "int64")
    },
}
OWN["compare_matrix"] = lambda: _ratio("float32", (ELEMENTS // 1024, 1024))
