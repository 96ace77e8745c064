"""One side of the comparison in a process of its own: prints {"results": {name: seconds}, "versions": ...}, or
{"absent": reason} where the peer cannot run.

    python -m bench.measure cudasim|simulator|njit|numpy|pocl|pdb|gdb|oclgrind NAME...

A time is the median of repeated runs after one run that is not counted (Numba's simulator: one run, since it
takes seconds): processor time for measurements on one core, else time on the wall. A result that differs from NumPy's ends the process with an error.
"""

import gc
import json
import pathlib
import statistics
import subprocess
import sys

import numpy as np

from bench import checked, compared, compiling, cuda_cpp, debuggers, maths, workloads
from bench.timing import REPEATS, Absent, require, timed, use_one_core

ONE_CORE = {"vector_add_large", "matmul_naive", "mandelbrot", "pi", "barrier", "shuffle", "fiber", "python_thread",
            "python_barrier", "empty_launch", "block_sums", "matmul_tiled", "histogram_large", "barrier_exchange"}  # fmt: skip


def check_twenty_lines(x, y, out):
    require(np.allclose(out, compiling.twenty_lines_result(x, y, 0.8)), "twenty_lines")


class Loops:
    """numba's @njit on the CPU."""

    def __init__(self):
        from bench import loops

        self.loops = loops

    def measure(self, function, *arguments):
        action = lambda: function(*arguments)  # noqa: E731
        action()
        return timed(action, REPEATS)

    def vector_add_large(self):
        x, y = workloads.vectors(10_000_000)
        out = np.empty_like(x)
        seconds = self.measure(self.loops.add, x, y, out)
        require(np.array_equal(out, x + y), "vector_add_large")
        return seconds

    def matmul_naive(self):
        a, b = workloads.matrices(512, np.float64)
        out = np.empty_like(a)
        seconds = self.measure(self.loops.matmul_naive, a, b, out)
        require(np.allclose(out, a @ b), "matmul_naive")
        return seconds

    def mandelbrot(self):
        size = workloads.MANDELBROT_SIZE
        image = np.zeros((size, size), dtype=np.int32)
        step, limit = workloads.MANDELBROT_STEP, workloads.MANDELBROT_LIMIT
        seconds = self.measure(self.loops.mandelbrot, image, -2.0, -1.5, step, limit)
        require(np.array_equal(image, workloads.mandelbrot_result()), "mandelbrot")
        return seconds

    def pi(self):
        from numba.cuda import random

        threads = workloads.PI_BLOCKS * workloads.PI_THREADS
        states = np.zeros(threads, random.xoroshiro128p_dtype)
        random.init_xoroshiro128p_states_cpu(states, workloads.PI_SEED, 0)
        out = np.zeros(threads)
        seconds = self.measure(self.loops.pi, states, workloads.PI_DRAWS, out)
        require(abs(out.mean() - np.pi) < 1e-2, "pi")
        return seconds


class NumPy:
    """NumPy's own array functions, one thread."""

    def vectorize(self):
        x, y = workloads.ufunc_input()
        return timed(lambda: workloads.ufunc_result(x, y), REPEATS)


def use_the_simulator_of_numba_itself():
    """numba-cuda redirects numba.cuda to itself, and its simulator cannot be imported without a CUDA toolkit."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "NumbaCudaFinder"]


class Kernels:
    """numba.cuda code, on whichever implementation `numba.cuda` is in this process."""

    def __init__(self, repeats, warm_up):
        from bench import kernels

        self.kernels = kernels
        self.cuda = kernels.cuda
        self.repeats = repeats
        self.warm_up = warm_up

    def measure(self, kernel, grid, block, *arguments):
        launch = kernel[grid, block]

        def action():
            launch(*arguments)
            self.cuda.synchronize()

        if self.warm_up:
            action()
        return timed(action, self.repeats)

    def vector_add(self, size, name):
        x, y = workloads.vectors(size)
        out = self.cuda.device_array_like(x)
        x_device, y_device = self.cuda.to_device(x), self.cuda.to_device(y)
        seconds = self.measure(self.kernels.add, (size + 255) // 256, 256, x_device, y_device, out)
        require(np.array_equal(out.copy_to_host(), x + y), name)
        return seconds

    def vector_add_small(self):
        return self.vector_add(100_000, "vector_add_small")

    def vector_add_large(self):
        return self.vector_add(10_000_000, "vector_add_large")

    def matmul(self, kernel, size, dtype, tolerance, name):
        a, b = workloads.matrices(size, dtype)
        out = self.cuda.device_array_like(a)
        blocks = ((size + 15) // 16,) * 2
        seconds = self.measure(kernel, blocks, (16, 16), self.cuda.to_device(a), self.cuda.to_device(b), out)
        require(np.allclose(out.copy_to_host(), a @ b, rtol=tolerance), name)
        return seconds

    def matmul_naive(self):
        return self.matmul(self.kernels.matmul_naive, 512, np.float64, 1e-10, "matmul_naive")

    def matmul_tiled_small(self):
        return self.matmul(self.kernels.matmul_tiled, 64, np.float32, 1e-4, "matmul_tiled_small")

    def matmul_tiled(self):
        return self.matmul(self.kernels.matmul_tiled, 512, np.float32, 1e-3, "matmul_tiled")

    def matmul_tiled_large(self):
        return self.matmul(self.kernels.matmul_tiled, 1000, np.float32, 1e-3, "matmul_tiled_large")

    def mandelbrot(self):
        size = workloads.MANDELBROT_SIZE
        image = self.cuda.device_array((size, size), dtype=np.int32)
        step, limit = workloads.MANDELBROT_STEP, workloads.MANDELBROT_LIMIT
        blocks = (size // 16, size // 16)
        seconds = self.measure(self.kernels.mandelbrot, blocks, (16, 16), image, -2.0, -1.5, step, limit)
        require(np.array_equal(image.copy_to_host(), workloads.mandelbrot_result()), "mandelbrot")
        return seconds

    def reduction(self):
        x = workloads.reduction_input()
        out = self.cuda.device_array(1, dtype=np.float64)
        seconds = self.measure(self.kernels.reduce_tree, 1, 256, self.cuda.to_device(x), out)
        require(out.copy_to_host()[0] == x.sum(), "reduction")
        return seconds

    def block_sums(self):
        x = workloads.block_sums_input()
        sums = workloads.block_sums_result(x)
        out = self.cuda.device_array_like(sums)
        seconds = self.measure(self.kernels.reduce_blocks, sums.size, 256, self.cuda.to_device(x), out)
        require(np.array_equal(out.copy_to_host(), sums), "block_sums")
        return seconds / x.size

    def histogram_large(self):
        values = workloads.large_histogram_input()
        bins = self.cuda.to_device(np.zeros(workloads.HISTOGRAM_BINS, np.int32))
        seconds = self.measure(
            self.kernels.count_values, values.size // 256, 256, self.cuda.to_device(values), bins
        )
        runs = self.repeats + 1
        require(
            np.array_equal(bins.copy_to_host(), runs * workloads.histogram_result(values)), "histogram_large"
        )
        return seconds / values.size

    def histogram(self):
        values = workloads.histogram_input()
        bins = self.cuda.to_device(np.zeros(workloads.HISTOGRAM_BINS, dtype=np.int64))
        seconds = self.measure(self.kernels.count_values, (values.size + 127) // 128, 128,
                               self.cuda.to_device(values), bins)  # fmt: skip
        runs = self.repeats + (1 if self.warm_up else 0)
        require(np.array_equal(bins.copy_to_host(), runs * workloads.histogram_result(values)), "histogram")
        return seconds

    def barrier(self):
        count, threads = 1000, 256
        out = self.cuda.device_array(threads, dtype=np.int64)
        seconds = self.measure(self.kernels.barriers, 1, threads, count, out)
        require((out.copy_to_host() == count).all(), "barrier")
        return seconds / (count * threads)

    def barrier_exchange(self):
        rounds = workloads.EXCHANGE_ROUNDS
        out = self.cuda.device_array(256, dtype=np.int64)
        seconds = self.measure(self.kernels.pass_on, 1, 256, rounds, out)
        require(np.array_equal(out.copy_to_host(), workloads.exchange_result()), "barrier_exchange")
        return seconds / (2 * rounds * 256)

    def vectorize(self):
        """Calls a ufunc with host arrays, for a host array."""
        x, y = workloads.ufunc_input()
        ufunc = self.kernels.multiply_add()
        require(np.array_equal(ufunc(x, y), workloads.ufunc_result(x, y)), "vectorize")
        return timed(lambda: ufunc(x, y), self.repeats)

    def vectorize_on_device(self):
        """Calls a ufunc with device arrays, for a device array."""
        x, y = map(self.cuda.to_device, workloads.ufunc_input())
        ufunc = self.kernels.multiply_add()
        ufunc(x, y)
        return timed(lambda: ufunc(x, y), self.repeats)

    def pi(self):
        from numba.cuda import random

        blocks, threads = workloads.PI_BLOCKS, workloads.PI_THREADS
        states = random.create_xoroshiro128p_states(blocks * threads, seed=workloads.PI_SEED)
        out = self.cuda.device_array(blocks * threads)
        seconds = self.measure(self.kernels.pi(), blocks, threads, states, workloads.PI_DRAWS, out)
        require(abs(out.copy_to_host().mean() - np.pi) < 1e-2, "pi")
        return seconds

    def shuffle(self):
        rounds, values = 200, workloads.lane_values()
        x = self.cuda.to_device(values)
        seconds = self.measure(self.kernels.warp_means, 1, values.size, x, rounds)
        means = values.reshape(-1, 32).mean(axis=1).repeat(32)
        require(np.allclose(x.copy_to_host(), means, rtol=1e-4), "shuffle")
        return seconds / (rounds * 5 * values.size)

    def grid_sync(self):
        count, blocks, threads = 100, 64, 256
        out = self.cuda.device_array(blocks * threads, dtype=np.int64)
        seconds = self.measure(self.kernels.grid_barriers, blocks, threads, count, out)
        require((out.copy_to_host() == count).all(), "grid_sync")
        return seconds / (count * blocks * threads)

    def reduce(self):
        values = workloads.summands()
        x, total = self.cuda.to_device(values), self.cuda.reduce(self.kernels.add_two)
        require(total(x) == values.sum(dtype=np.float64), "reduce")
        return timed(lambda: total(x), self.repeats) / values.size

    def in_python_mode(self, measurement):
        from cudasim import options

        with options.override(mode="python"):
            return measurement()

    def python_vector_add_small(self):
        return self.in_python_mode(self.vector_add_small)

    def python_matmul_tiled_small(self):
        return self.in_python_mode(self.matmul_tiled_small)

    def python_reduction(self):
        return self.in_python_mode(self.reduction)

    def python_histogram(self):
        return self.in_python_mode(self.histogram)

    def python_barrier(self):
        return self.in_python_mode(self.barrier)

    def python_thread(self):
        """Runs threads from start to end on pooled stacks; 1,024 at a time wait once."""
        blocks, threads = 8, 1024
        out = self.cuda.device_array(threads, dtype=np.int64)
        launch = lambda: self.measure(self.kernels.barriers, blocks, threads, 1, out)  # noqa: E731
        seconds = self.in_python_mode(launch)
        require((out.copy_to_host() == 1).all(), "python_thread")
        return seconds / (blocks * threads)

    def empty_launch(self):
        launch = self.kernels.empty[1, 1]
        launch()
        runs = 1000

        def action():
            for _ in range(runs):
                launch()

        return timed(action, self.repeats) / runs

    def first_launch(self):
        return compiling.first_launch(self.kernels.twenty_lines, check_twenty_lines)

    first_launch_cached = first_launch  # the second of two processes: __main__.py

    def specialisations(self):
        return compiling.specialisations(self.kernels.twenty_lines, check_twenty_lines)

    def compile_examples(self):
        return compiling.worst_example()

    def fiber(self):
        """Growth of resident memory over a block of 1,024 threads that all wait at once, each on a fiber."""
        from cudasim import options

        out = self.cuda.device_array(1024, dtype=np.int64)
        with options.override(carrier="fiber"):
            self.kernels.barriers[1, 1](1, out)
            gc.collect()
            with open("/proc/self/clear_refs", "w") as file:
                file.write("5")  # the peak counts from here (proc(5))
            before = resident("VmRSS")
            self.kernels.barriers[1, 1024](1, out)
            require((out.copy_to_host() == 1).all(), "fiber")
            return (resident("VmHWM") - before) / 1024


def resident(field):
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    raise SystemExit(f"bench: /proc/self/status has no {field}")


def import_time():
    """Median over fresh processes."""
    code = ("import numpy, time; start = time.perf_counter(); import cudasim.cuda; "
            "print(time.perf_counter() - start)")  # fmt: skip
    times = []
    for _ in range(REPEATS):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        times.append(float(done.stdout))
    return statistics.median(times)


def versions():
    import importlib.metadata as metadata

    found = {"python": sys.version.split()[0]}
    for name in ("numpy", "numba", "numba-cuda", "pyopencl", "cudasim"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
    return found


def main(side, names):
    if side in ("njit", "pocl") or set(names) <= ONE_CORE:
        use_one_core()
    found = versions()
    if side in debuggers.PEERS or side in maths.PEERS:
        try:
            peers = {
                name: each
                for table in (debuggers.PEERS, checked.PEERS, maths.PEERS)
                for name, each in table.get(side, {}).items()
            }
            results = {name: peers[name]() for name in names}
        except Absent as reason:
            print(json.dumps({"absent": str(reason)}))
            return
        print(json.dumps({"results": results, "versions": found}))
        return
    if side == "njit":
        bench = Loops()
    elif side == "numpy":
        bench = NumPy()
    elif side == "pocl":
        from bench import pocl

        try:
            bench = pocl.PoCL()
        except Absent as reason:
            print(json.dumps({"absent": str(reason)}))
            return
        found["pocl"] = bench.version
    else:
        if side == "simulator":
            use_the_simulator_of_numba_itself()
        bench = Kernels(1 if side == "simulator" else REPEATS, warm_up=side == "cudasim")
        implementation = bench.cuda.__file__
        if ("cudasim" in pathlib.Path(implementation).parts[-3:]) != (side == "cudasim"):
            raise SystemExit(f"bench: {side} wanted, but numba.cuda is {implementation}")
    results = {}
    functions = {
        "import": import_time,
        **debuggers.OWN,
        **checked.OWN,
        **compared.OWN,
        **cuda_cpp.OWN,
        **maths.OWN,
    }
    for name in names:
        results[name] = functions[name]() if name in functions else getattr(bench, name)()
    print(json.dumps({"results": results, "versions": found}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
