"""What debuggers cost the program.

A breakpoint whose condition is false, for each time that it is passed: in cudasim's debugger, pdb and gdb. A launch with a breakpoint that
no thread comes to, beside the same launch without a debugger, without a history, and without the breakpoint. What the user waits for is
measured in debug_sessions.py.

Each program runs under its debugger in a process of its own, and measures itself: with the breakpoint and without it. Processor time, but
for gdb, which stops the program: there it is time on the wall.
"""

import functools
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

from bench import debug_sessions
from bench.timing import Absent

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
        if v == -1:
            out[i] = 0

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
#: Kernels with a line that no thread comes to. The script's argument says which of them it launches. It has
#: the device memory that this one needs, and no more, because all of it is copied before each launch.
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
kernel = sys.argv[1]
if kernel in ("add", "barriers"):
    vectors = [cuda.to_device(random.random(1 << 20)) for _ in range(3)]
elif kernel == "matmul":
    matrices = [cuda.to_device(random.random((192, 192))) for _ in range(3)]
else:
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
    launches[kernel]()
    times.append(time.process_time() - start)
print("seconds", sorted(times[1:])[3])
"""
#: What the script's argument may be.
KERNELS = ("add", "matmul", "mandelbrot", "barriers")
#: Arguments: none. Prints what a launch costs, and a copy of the device's memory.
NOTHING_ARMED = """
import time
import numpy as np
from numba import cuda

@cuda.jit
def add(x, y, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] + y[i]

@cuda.jit
def escape(out):
    i = cuda.grid(1)
    if i < out.size:
        c = complex(i % 1000 / 500 - 1.5, i // 1000 / 250 - 1)
        z = c
        n = 0
        while n < 50 and z.real * z.real + z.imag * z.imag < 4:
            z = z * z + c
            n += 1
        out[i] = n

n = 1 << 22  # more than caches hold, which the copy empties
x = np.arange(n, dtype=np.float32)
arrays = [cuda.to_device(each) for each in (x, 2 * x, x)]
numbers = cuda.device_array(1 << 18, dtype=np.int32)
source = np.ones(3 * x.nbytes + 4 * numbers.size, np.uint8)
target = source.copy()

def cost(work):
    times = []
    for _ in range(20):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times[1:])

found = (
    cost(lambda: np.copyto(target, source)),
    cost(lambda: add[n // 256, 256](*arrays)),
    cost(lambda: escape[1 << 10, 256](numbers)),
)
assert (arrays[2].copy_to_host() == 3 * x).all()
print("costs", *found)
"""
REPEATS = 3


def _line(text, mark):
    return next(n for n, each in enumerate(text.splitlines(), 1) if each.strip() == mark)


def _numbers(mark, command, folder, **variables):
    """What a program says behind this word, on a line of its own."""
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL,
        env={**os.environ, **variables},
    )  # fmt: skip
    found = re.search(rf"^.*{mark} ([\d.e+ -]+)$", done.stdout, re.MULTILINE)
    if not found:
        raise SystemExit(f"bench: {' '.join(map(str, command))} gave no {mark}\n{done.stdout}{done.stderr}")
    return [float(each) for each in found[1].split()]


def _seconds(command, folder, **variables):
    (seconds,) = _numbers("seconds", command, folder, **variables)
    return seconds


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
        # Nobody comes there; without it the launch would run its usual code.
        never = ["-ex", f"break {_line(text, 'out[i] = 0')}", "-ex", "run", "add.py"]
        return _cost([*command, *condition], [*command, *never], folder)


def _costs(command, folder):
    """Processor time of a copy, and of a launch of each kernel."""
    return _numbers("costs", command, folder, CUDASIM_WORKERS="1")


def nothing_armed():
    """What launches cost under cudasim's debugger where nothing can stop, without a copy of the device's memory, in parts of
    what they cost without it; of the dearer kernel."""
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "launches.py").write_text(NOTHING_ARMED)
        usual, debugged = [], []
        for _ in range(REPEATS):
            usual.append(_costs([sys.executable, "launches.py"], folder))
            debug = [sys.executable, "-m", "cudasim", "debug", "-batch", "-ex", "run", "launches.py"]
            debugged.append(_costs(debug, folder))
        # Other work on the machine makes memory slow, never quick. A process may have slow memory from its
        # beginning to its end, so the copy is that of the processes whose launches contain it.
        _, *plain = map(min, zip(*usual))
        copy, *mine = map(min, zip(*debugged))
        return max((ours - copy) / theirs for ours, theirs in zip(mine, plain))


def _launch(kernel, folder, *, breaks=True, **variables):
    """Processor time of a launch under the debugger, with a breakpoint to which no thread comes, or with none."""
    line = next(n for n, each in enumerate(LAUNCHES.splitlines(), 1) if each.endswith(f"# {kernel}"))
    command = [sys.executable, "-m", "cudasim", "debug", "-batch"]
    if breaks:
        command += ["-ex", f"break {line}"]
    return _seconds([*command, "-ex", "run", "--args", "launches.py", kernel], folder, **variables)


def _ratio(measured, beside):
    """Of the best of several runs, alternately: other work makes processor time longer, never shorter.

    :param measured: a function of the script's folder, as `beside`
    """
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "launches.py").write_text(LAUNCHES)
        pairs = [(measured(folder), beside(folder)) for _ in range(REPEATS)]
        return min(first for first, _ in pairs) / min(second for _, second in pairs)


def debug_launch(kernel):
    """How many times as long a launch with a breakpoint to which no thread comes takes as one without a debugger, both on one worker."""
    usual = [sys.executable, "launches.py", kernel]
    return _ratio(
        lambda folder: _launch(kernel, folder), lambda folder: _seconds(usual, folder, CUDASIM_WORKERS="1")
    )


def history():
    """How many times as long such a launch takes as one that cannot go back; of the dearest kernel."""
    return max(
        _ratio(
            lambda folder, kernel=kernel: _launch(kernel, folder),
            lambda folder, kernel=kernel: _launch(kernel, folder, CUDASIM_HISTORY="0"),
        )
        for kernel in KERNELS
    )


def never_hit():
    """How many times as long a launch takes with a breakpoint to which no thread comes as without one, both in code that can
    stop; of the dearest kernel. Without a history all launches run that code."""
    return max(
        _ratio(
            lambda folder, kernel=kernel: _launch(kernel, folder, CUDASIM_HISTORY="0"),
            lambda folder, kernel=kernel: _launch(kernel, folder, breaks=False, CUDASIM_HISTORY="0"),
        )
        for kernel in KERNELS
    )


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


#: What is measured of cudasim's debugger, each in a process of its own.
OWN = {
    "false_condition": cudasim,
    **{f"debug_launch_{kernel}": functools.partial(debug_launch, kernel) for kernel in KERNELS},
    "debug_history": history,
    "breakpoint_never_hit": never_hit,
    "nothing_armed": nothing_armed,
    "last_thread": debug_sessions.last_thread,
    "debug_step": debug_sessions.step,
    "stop_among_a_million": debug_sessions.stop_among_a_million,
    "reverse_step": functools.partial(debug_sessions.reverse_step, 4096, 256, 5),
    "reverse_step_spin": functools.partial(debug_sessions.reverse_step, 1, 1, 1),
    "reverse_continue": debug_sessions.reverse_continue,
}
#: The same of its peers.
PEERS = {
    "pdb": {"false_condition": pdb},
    "gdb": {"false_condition": gdb, "debug_step": debug_sessions.step_in_gdb},
    "oclgrind": {"last_thread": debug_sessions.last_thread_in_oclgrind},
}
