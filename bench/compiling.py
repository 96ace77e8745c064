"""How long compiling takes: of every kernel of the examples, and of one kernel for ten types of arguments.

    python -m bench.compiling script.py [arguments]     prints [[kernel, seconds], ...] of one script

A kernel's time is from its Python function to linked machine code. Each script runs in a process of its own, so that
its first kernel pays for all that the compiler sets up once.
"""

import json
import pathlib
import runpy
import subprocess
import sys
import tempfile
import time

import numpy as np

from bench import workloads

ROOT = pathlib.Path(__file__).resolve().parents[1]
ELEMENT_TYPES = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")


def kernels_of_script(arguments):
    """Runs the script; (kernel, seconds) of every kernel that it compiled."""
    from cudasim import _native
    from cudasim.compile import compiler

    times = {}
    compile_kernel, make_plan = compiler.compile_kernel, _native.LaunchPlan

    def timed_front_end(function, *others, **options):
        start = time.perf_counter()
        result = compile_kernel(function, *others, **options)
        times[result.kernel_name] = [function.__name__, time.perf_counter() - start]
        return result

    def timed_back_end(*positions, **options):
        plan = make_plan(*positions, **options)
        start = time.perf_counter()
        plan.compile()
        times[positions[2]][1] += time.perf_counter() - start
        return plan

    compiler.compile_kernel, _native.LaunchPlan = timed_front_end, timed_back_end
    sys.argv = list(arguments)
    runpy.run_path(arguments[0], run_name="__main__")
    return list(times.values())


def scripts(folder):
    """Every example that compiles in its own process, with arguments that keep what it writes in the folder."""
    for path in sorted((ROOT / "examples").glob("*.py")):
        text = path.read_text()
        if "import multiprocessing" in text:
            continue
        output = ["--output", f"{folder}/picture.png"] if "--output" in text else []
        yield [str(path), *output]


def worst_example():
    """Seconds of the kernel that takes longest; says which on standard error."""
    kernels = []
    with tempfile.TemporaryDirectory() as folder:
        for arguments in scripts(folder):
            command = [sys.executable, "-m", "bench.compiling", *arguments]
            done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
            found = json.loads(done.stdout.splitlines()[-1])
            if not found:
                raise SystemExit(f"bench: {arguments[0]} compiled no kernel")
            kernels += [(seconds, f"{pathlib.Path(arguments[0]).stem}.{name}") for name, seconds in found]
    for seconds, name in sorted(kernels, reverse=True):
        print(f"bench: {name} compiled in {seconds * 1e3:.1f} ms", file=sys.stderr)
    return max(kernels)[0]


def specialisations(kernel, check):
    """Seconds of the first launches of one kernel with ten element types, one after another."""
    random = np.random.default_rng(11)
    inputs = [random.integers(0, 4, (2, 32, 32)).astype(code) for code in ELEMENT_TYPES]
    outputs = [np.empty((32, 32)) for _ in inputs]
    start = time.perf_counter()
    for (x, y), out in zip(inputs, outputs):
        kernel[(2, 2), (16, 16)](x, y, out, 0.8)
    seconds = time.perf_counter() - start
    for (x, y), out in zip(inputs, outputs):
        check(x.astype(float), y.astype(float), out)
    return seconds


def twenty_lines_result(x, y, limit):
    """What kernels.twenty_lines computes, by NumPy, for values of 0 and more; 0 where all are equal."""
    products = x[:, :, None] * y[None, :, :]
    values = np.minimum(products, limit)
    smallest = np.minimum(values.min(axis=1), x[:, :1])
    spread = np.maximum(values.max(axis=1), x[:, :1]) - smallest
    return np.divide(values.sum(axis=1), spread, out=np.zeros_like(spread), where=spread > 0)


def first_launch(kernel, check):
    """Seconds from nothing loaded to the end of the launch; in a fresh process."""
    x, y = workloads.matrices(32, np.float64)
    out = np.empty_like(x)
    start = time.perf_counter()
    kernel[(2, 2), (16, 16)](x, y, out, 0.8)
    seconds = time.perf_counter() - start
    check(x, y, out)
    return seconds


if __name__ == "__main__":
    print(json.dumps(kernels_of_script(sys.argv[1:])))
