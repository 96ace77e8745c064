"""What debuggers cost.

A breakpoint whose condition is false, for each time that it is passed: in cudasim's debugger, pdb and gdb. A launch with a breakpoint that
no thread comes to, beside the same launch without a debugger.

Each program runs under its debugger in a process of its own, and measures itself: with the breakpoint and without it. Processor time, but
for gdb, which stops the program: there it is time on the wall.
"""

import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

#: (script, its line for the breakpoint)
KERNEL = (
    """
import time
import numpy as np
from numba import cuda

@cuda.jit
def add(x, y, out):
    i = cuda.grid(1)
    if i < x.size:
        v = x[i] + y[i]
        out[i] = v

n = 1 << 20
x = np.arange(n, dtype=np.float32)
arrays = [cuda.to_device(each) for each in (x, 2 * x, x)]
times = []
for _ in range(8):
    start = time.process_time()
    add[n // 256, 256](*arrays)
    times.append(time.process_time() - start)
assert (arrays[2].copy_to_host() == 3 * x).all()
print("seconds", sorted(times[1:])[3] / n)
""",
    "out[i] = v",
)
LOOP = (
    """
import time

def add(x, y, out):
    for i in range(len(x)):
        v = x[i] + y[i]
        out[i] = v

n = {count}
x, y, out = [1.0] * n, [2.0] * n, [0.0] * n
start = time.process_time()
add(x, y, out)
print("seconds", (time.process_time() - start) / n)
""",
    "out[i] = v",
)
PROGRAM = (
    """
#include <stdio.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

static float x[{count}], y[{count}], out[{count}];

static void add(void) {
    for (int i = 0; i < {count}; ++i) {
        float v = x[i] + y[i];
        out[i] = v;
    }
}

int main(void) {
    double start = now();
    add();
    printf("seconds %.12f\\n", (now() - start) / {count});
    return 0;
}
""",
    "out[i] = v;",
)
#: Kernels with a line that no thread comes to. The script's argument says which of them it launches.
LAUNCHES = """
import sys
import time
import numpy as np
from numba import cuda, float64

@cuda.jit
def add(x, y, out, limit):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] + y[i]
        if i < limit:
            out[i] = 1  # add

@cuda.jit
def matmul(a, b, out, limit):
    column, row = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        total = 0.0
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, column]
        out[row, column] = total
        if row < limit:
            out[row, column] = 1  # matmul

@cuda.jit
def mandelbrot(image, steps, limit):
    column, row = cuda.grid(2)
    if row < image.shape[0] and column < image.shape[1]:
        real = -2.0 + column * 3 / image.shape[0]
        imaginary = -1.5 + row * 3 / image.shape[1]
        x = 0.0
        y = 0.0
        count = 0
        while count < steps and x * x + y * y <= 4.0:
            x, y = x * x - y * y + real, 2.0 * x * y + imaginary
            count += 1
        image[row, column] = count
        if row < limit:
            image[row, column] = 1  # mandelbrot

@cuda.jit
def barriers(x, out, limit):
    shared = cuda.shared.array(256, float64)
    thread = cuda.threadIdx.x
    shared[thread] = x[thread]
    cuda.syncthreads()
    step = 128
    while step > 0:
        if thread < step:
            shared[thread] += shared[thread + step]
        cuda.syncthreads()
        step //= 2
    if thread == 0:
        out[cuda.blockIdx.x] = shared[0]
        if thread < limit:
            out[cuda.blockIdx.x] = 1  # barriers

random = np.random.default_rng(1)
vectors = [cuda.to_device(random.random(1 << 20)) for _ in range(3)]
matrices = [cuda.to_device(random.random((192, 192))) for _ in range(3)]
image = cuda.to_device(np.zeros((256, 256), np.int32))
launches = {
    "add": lambda: add[4096, 256](*vectors, -1),
    "matmul": lambda: matmul[(12, 12), (16, 16)](*matrices, -1),
    "mandelbrot": lambda: mandelbrot[(16, 16), (16, 16)](image, 100, -1),
    "barriers": lambda: barriers[512, 256](vectors[0], vectors[1], -1),
}
times = []
for _ in range(8):
    start = time.process_time()
    launches[sys.argv[1]]()
    times.append(time.process_time() - start)
print("seconds", sorted(times[1:])[3])
"""
REPEATS = 3


class Absent(Exception):
    """The debugger cannot run here; says why."""


def _line(text, mark):
    return next(n for n, each in enumerate(text.splitlines(), 1) if each.strip() == mark)


def _seconds(command, folder, **variables):
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL,
        env={**os.environ, **variables},
    )  # fmt: skip
    found = re.search(r"^.*seconds ([\d.e+-]+)$", done.stdout, re.MULTILINE)
    if not found:
        raise SystemExit(f"bench: {' '.join(map(str, command))} gave no time\n{done.stdout}{done.stderr}")
    return float(found[1])


def _cost(with_breakpoint, without, folder):
    """Seconds for each time that the breakpoint is passed."""
    costs = [_seconds(with_breakpoint, folder) - _seconds(without, folder) for _ in range(REPEATS)]
    return max(statistics.median(costs), 0.0)


def cudasim():
    """Of cudasim's debugger, per thread, one worker. The other launch is debugged, too."""
    text, mark = KERNEL
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "add.py").write_text(text)
        command = [sys.executable, "-m", "cudasim", "debug", "-batch"]
        condition = ["-ex", f"break {_line(text, mark)} if i == -1", "-ex", "run", "add.py"]
        return _cost([*command, *condition], [*command, "-ex", "run", "add.py"], folder)


def debug_launch(kernel):
    """How many times as long a launch with a breakpoint to which no thread comes takes as one without a debugger, both on one worker."""
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "launches.py").write_text(LAUNCHES)
        line = next(n for n, each in enumerate(LAUNCHES.splitlines(), 1) if each.endswith(f"# {kernel}"))
        script = ["launches.py", kernel]
        debugged = [sys.executable, "-m", "cudasim", "debug", "-batch", "-ex", f"break {line}", "-ex", "run"]
        ratios = [
            _seconds([*debugged, "--args", *script], folder)
            / _seconds([sys.executable, *script], folder, CUDASIM_WORKERS="1")
            for _ in range(REPEATS)
        ]
        return statistics.median(ratios)


def pdb():
    """Of Python's debugger, per round of a loop."""
    text, mark = LOOP
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "add.py").write_text(text.replace("{count}", "200000"))
        command = [
            sys.executable,
            "-m",
            "pdb",
            "-c",
            f"break {_line(text, mark)}, i == -1",
            "-c",
            "continue",
            "-c",
            "quit",
            "add.py",
        ]
        return _cost(command, [sys.executable, "add.py"], folder)


def gdb():
    """Of gdb, per round of a loop of a C program. :raises Absent: without gdb, a compiler, or the right to trace"""
    missing = [name for name in ("gdb", "cc") if shutil.which(name) is None]
    if missing:
        raise Absent(f"{' and '.join(missing)} not installed")
    text, mark = PROGRAM
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "add.c")
        source.write_text(text.replace("{count}", "5000"))
        subprocess.run(["cc", "-g", "-O0", "-o", "add", "add.c"], cwd=folder, check=True)
        command = [
            "gdb",
            "-nx",
            "-batch",
            "-ex",
            f"break add.c:{_line(text, mark)} if i == -1",
            "-ex",
            "run",
            "./add",
        ]
        probe = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=600
        )
        if "seconds" not in probe.stdout:
            raise Absent("gdb cannot trace processes here")
        return _cost(command, [os.path.join(folder, "add")], folder)
