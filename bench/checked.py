"""How much longer launches take with checks than with the default ones: the same launch, alternating, on one worker. The same of
recorded launches that are repeated to trace elements. And the race detector beside Oclgrind's, which interprets the same kernels in OpenCL (pocl_kernels.cl)."""

import pathlib
import resource
import shutil
import statistics
import subprocess
import tempfile
import time

import numpy as np

from bench.timing import Absent

ROUNDS = 15
#: For Oclgrind: kernel, sizes and arguments of a launch, as its simulation files have them.
SIMULATIONS = {
    "matmul": """matmul_tiled
128 128 1
16 16 1

<size=65536 fill=1 float>
<size=65536 fill=1 float>
<size=65536 fill=0 float>
<size=8 long>
128
""",
    "add": """add
1048576 1 1
256 1 1

<size=8388608 fill=1 double>
<size=8388608 fill=1 double>
<size=8388608 fill=0 double>
<size=8 long>
1048576
""",
    "reduction": """reduce_blocks
1048576 1 1
256 1 1

<size=4194304 fill=1 float>
<size=16384 fill=0 float>
""",
}
SECONDS = 300  # that Oclgrind may take


def _launches():
    """name → a launch of a kernel over device arrays."""
    from cudasim import cuda
    from cudasim.types import float32

    from bench import kernels

    def of(*shape):
        return cuda.to_device(np.random.default_rng(0).random(shape, dtype=np.float32))

    @cuda.jit
    def stencil(u, v):
        column, row = cuda.grid(2)
        if 0 < column < u.shape[1] - 1 and 0 < row < u.shape[0] - 1:
            v[row, column] = float32(0.2) * (
                u[row, column]
                + u[row - 1, column]
                + u[row + 1, column]
                + u[row, column - 1]
                + u[row, column + 1]
            )

    bins = cuda.to_device(np.zeros(256, np.int32))
    values = cuda.to_device(np.random.default_rng(0).integers(0, 256, 1 << 20).astype(np.int32))
    square, large = [of(512, 512) for _ in range(3)], [of(1 << 20) for _ in range(3)]
    image = of(1024, 1024), of(1024, 1024)
    return {
        "matmul": lambda: kernels.matmul_tiled[(32, 32), (16, 16)](*square),
        "add": lambda: kernels.add[4096, 256](*large),
        "stencil": lambda: stencil[(32, 128), (32, 8)](*image),
        "reduction": lambda: kernels.reduce_blocks[4096, 256](large[0], large[1]),
        "histogram": lambda: kernels.count_values[4096, 256](values, bins),
    }


def _ratio(name, check):
    from cudasim import options

    launch = _launches()[name]
    times = {"default": [], check: []}
    with options.override(workers=1):
        for measured in (False, True):
            for _ in range(ROUNDS if measured else 2):
                for each, kept in times.items():
                    with options.override(check=each):
                        launch()  # checks note what launches without them may have written
                        start = time.perf_counter()
                        launch()
                        if measured:
                            kept.append(time.perf_counter() - start)
    return statistics.median(ours / usual for ours, usual in zip(times[check], times["default"]))


def _traced(name):
    """How much longer than the launch it takes to repeat a recorded one with 32 elements traced, once its memory is restored."""
    from cudasim import _native, options
    from cudasim.recording.recorder import Recorder

    launch = _launches()[name]
    records, ratios = [], []
    with options.override(workers=1):
        with Recorder(records.append).in_force():
            launch()
        (record,) = records
        written = [each for each in record.memory if each["recorded"]][-1]  # the last argument
        step = written["bytes"] // 32 // 8 * 8
        ranges = [(written["address"] + i * step, 4) for i in range(32)]
        device = _native.Device(_native.DeviceProfile(record.device), 0, 0)  # keeps the code
        repeated = _native.LaunchOptions(**{**record.options, "workers": 1})
        for _ in range(ROUNDS):
            times = [time.perf_counter()]
            restored = _native.RestoredLaunch(record, repeated, _native.Progress(None), device)
            del restored
            times.append(time.perf_counter())
            _native.trace_elements(record, ranges, device)
            times.append(time.perf_counter())
            launch()
            times.append(time.perf_counter())
            restoring, traced, usual = (end - begin for begin, end in zip(times, times[1:]))
            ratios.append((traced - restoring) / usual)
    return statistics.median(ratios[2:])


def _launch_beside_oclgrind(name):
    """The launch that SIMULATIONS has."""
    from cudasim import cuda

    from bench import kernels

    def arrays(dtype, *shapes):
        return [cuda.to_device(np.ones(shape, dtype)) for shape in shapes]

    if name == "matmul":
        square = arrays(np.float32, (128, 128), (128, 128), (128, 128))
        return lambda: kernels.matmul_tiled[(8, 8), (16, 16)](*square)
    if name == "add":
        long = arrays(np.float64, 1 << 20, 1 << 20, 1 << 20)
        return lambda: kernels.add[4096, 256](*long)
    values, sums = arrays(np.float32, 1 << 20, 4096)
    return lambda: kernels.reduce_blocks[4096, 256](values, sums)


def _seconds(name):
    """Processor time of a launch that looks for races, on one worker."""
    from cudasim import options

    launch = _launch_beside_oclgrind(name)
    times = []
    with options.override(workers=1, check="races"):
        for _ in range(ROUNDS):
            start = time.process_time()
            launch()
            times.append(time.process_time() - start)
    return statistics.median(times[2:])


def _seconds_in_oclgrind(name):
    """Processor time of the same under Oclgrind's detector, its start included. :raises Absent: without it"""
    if shutil.which("oclgrind-kernel") is None:
        raise Absent("oclgrind is not installed")
    kernels = (pathlib.Path(__file__).parent / "pocl_kernels.cl").read_text()
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "kernels.cl").write_text(kernels)
        pathlib.Path(folder, "launch.sim").write_text(f"kernels.cl\n{SIMULATIONS[name]}")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            ["oclgrind-kernel", "--data-races", "launch.sim"], cwd=folder, check=True, capture_output=True,
            timeout=SECONDS,
        )  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


#: What is measured of the checks.
OWN = {
    f"{check}_{name}": lambda check=check, name=name: _ratio(name, check)
    for check in ("races", "init", "all")
    for name in ("matmul", "add", "stencil", "reduction", "histogram")
}
OWN |= {f"traced_{name}": lambda name=name: _traced(name) for name in ("matmul", "add")}
OWN |= {f"data_races_{name}": lambda name=name: _seconds(name) for name in SIMULATIONS}
#: The same of peers.
PEERS = {
    "oclgrind": {f"data_races_{name}": lambda name=name: _seconds_in_oclgrind(name) for name in SIMULATIONS}
}
