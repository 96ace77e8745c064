"""The rows of the benchmark. A bar compares cudasim with a peer, or with a number of seconds or bytes, or is a ratio of its own."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Bar:
    name: str  # of the measurement on every side, unless told otherwise below
    title: str
    peer: str  # "simulator", "njit", "numpy", "pocl", "pdb", "gdb", "oclgrind", "own" (cudasim, set otherwise), or "" for an absolute bar
    limit: float  # with a peer: a ratio; else in the measurement's unit
    unit: str = "s"
    peer_name: str = ""  # of the peer's measurement, where that is another
    own_name: str = ""  # of cudasim's measurement, where that is another
    may_be_slower: bool = False  # than a peer that most rows have to leave far behind

    @property
    def peer_measurement(self):
        return self.peer_name or self.name

    @property
    def measurement(self):
        return self.own_name or self.name

    @property
    def faster(self):
        """True: cudasim must be at least `limit` times as fast. False: it may take at most `limit`."""
        return self.peer in ("simulator", "pdb", "gdb", "oclgrind") and not self.may_be_slower

    def ratio(self, ours, peer):
        if self.faster:
            return peer / ours
        return ours / peer if self.peer else ours

    def met(self, ours, peer, slack=1.0):
        ratio = self.ratio(ours, peer)
        return ratio >= self.limit / slack if self.faster else ratio <= self.limit * slack


def _beside_pocl(measurement, title, limit):
    """The same kernel in OpenCL, compiled by PoCL, which checks nothing."""
    return Bar(
        f"pocl_{measurement}",
        f"{title}, one core",
        "pocl",
        limit,
        peer_name=measurement,
        own_name=measurement,
    )


def _cuda_cpp(measurement, title, limit):
    """The same in CUDA C++, with the default checks and without."""
    for own, what, most in (("cpp", "CUDA C++", limit), ("cpp_unchecked", "CUDA C++ without checks", 1.4)):
        yield Bar(
            f"{own}_{measurement}",
            f"{title}, {what}, one core",
            "pocl",
            most,
            peer_name=measurement,
            own_name=f"{own}_{measurement}",
        )


def _beside_debugger(debugger, limit):
    """The same breakpoint in another debugger, in a loop on the host."""
    title = "a breakpoint's false condition, each time it is passed"
    name = "false_condition"
    return Bar(f"{name}_{debugger}", title, debugger, limit, peer_name=name, own_name=name)


def _debug_launch(kernel, title, limit):
    """A launch under the debugger in which nothing stops, beside the same launch without."""
    return Bar(f"debug_launch_{kernel}", f"{title} under the debugger, one core", "", limit, unit="x")


def _with_checks(kernel, title, races, everything):
    """A launch with checks on request, beside the same launch with the default checks.

    :param races, everything: the bars of the checks races and all; that of init alone is the same for all
    """
    bars = {"races": races, "init": 2.5, "all": everything}
    return (
        Bar(f"{check}_{kernel}", f"{title}, check={check}, one core", "", limit, unit="x")
        for check, limit in bars.items()
    )


def _compared(name, title):
    """Results that differ from a GPU's in every element, compared with them, beside np.array_equal."""
    return Bar(f"compare_{name}", f"4 million {title} that differ, compared, one core", "", 2.0, unit="x")


def _python_mode(name, title):
    """The same kernel in CPython on simulated threads, beside Numba's simulator."""
    return Bar(f"python_{name}", f"{title}, Python mode", "simulator", 10, peer_name=name)


BARS = (
    Bar("vector_add_small", "vector add of 100,000", "simulator", 10_000),
    Bar("vector_add_large", "vector add of 10 million float64, one core", "njit", 3.0),
    Bar("matmul_naive", "naive matmul 512, float64, one core", "njit", 2.5),
    Bar("mandelbrot", "Mandelbrot 1024 x 1024, one core", "njit", 1.5),
    Bar("matmul_tiled_small", "64 x 64 matmul in 16 x 16 tiles", "simulator", 5_000),
    Bar("reduction", "256-thread tree reduction, 9 barriers", "simulator", 5_000),
    Bar("matmul_tiled_large", "tiled matmul 1000 x 1000 float32, two cores", "", 3.0),
    Bar("block_sums", "256-thread tree reduction in 10 million threads, per thread, one core", "", 20e-9),
    Bar("barrier", "a barrier, per thread, one core", "", 15e-9),
    Bar("shuffle", "warp-shuffle reduction, per shuffle and thread, one core", "", 20e-9),
    Bar("grid_sync", "a grid barrier of 64 blocks of 256, per thread", "", 40e-9),
    Bar("reduce", "cuda.reduce of 10 million float32, per element", "", 3e-9),
    Bar("histogram", "histogram of 10,000, global atomics", "simulator", 10_000),
    Bar("vectorize", "vectorize of 10 million float32, host arrays, two cores", "numpy", 3.0),
    Bar("pi", "xoroshiro pi, 1,536 threads of 10,000 draws, one core", "njit", 2.0),
    Bar(
        "vectorize_on_device",
        "vectorize of 10 million float32, device arrays, two cores",
        "numpy",
        2.5,
        peer_name="vectorize",
    ),
    _beside_pocl("vector_add_large", "vector add of 10 million float64", 2.5),
    _beside_pocl("matmul_naive", "naive matmul 512, float64", 2.0),
    _beside_pocl("matmul_tiled", "tiled matmul 512, float32", 2.5),
    _beside_pocl("block_sums", "256-thread tree reduction in 10 million threads", 3.0),
    _beside_pocl("histogram_large", "histogram of 1 million, global atomics", 2.0),
    _beside_pocl("barrier_exchange", "a barrier and an exchange through shared memory, per thread", 8.0),
    *_cuda_cpp("vector_add_large", "vector add of 10 million float64", 2.5),
    *_cuda_cpp("matmul_naive", "naive matmul 512, float64", 1.2),
    *_cuda_cpp("matmul_tiled", "tiled matmul 512, float32", 2.0),
    *_cuda_cpp("block_sums", "256-thread tree reduction in 10 million threads", 1.7),
    *_cuda_cpp("histogram_large", "histogram of 1 million, global atomics", 1.1),
    Bar("cpp_launch", "empty launch, CUDA C++", "", 3e-6),
    Bar("cpp_compile", "nvcc, 200 lines", "", 1.0),
    Bar("cpp_program_warm", "a CUDA C++ program of one kernel, start to end, compiled before", "", 40e-3),
    Bar("cpp_program_cold", "a CUDA C++ program of one kernel, start to end", "", 100e-3),
    _python_mode("vector_add_small", "vector add of 100,000"),
    _python_mode("matmul_tiled_small", "64 x 64 matmul in 16 x 16 tiles"),
    _python_mode("reduction", "256-thread tree reduction, 9 barriers"),
    _python_mode("histogram", "histogram of 10,000, global atomics"),
    Bar("python_thread", "a thread that waits once, Python mode, one core", "", 2e-6),
    Bar("python_barrier", "a barrier, per thread, Python mode, one core", "", 150e-9),
    Bar("empty_launch", "empty launch, 1 block of 1 thread, compiled", "", 6e-6),
    Bar("false_condition", "a breakpoint's false condition, each time it is passed, one core", "", 20e-9),
    _debug_launch("add", "vector add", 5),
    _debug_launch("matmul", "naive matmul", 5),
    _debug_launch("mandelbrot", "Mandelbrot", 5),
    _debug_launch("barriers", "256-thread tree reduction", 15),
    Bar("debug_history", "history of a launch under the debugger, the dearest kernel", "", 1.3, "x"),
    Bar("breakpoint_never_hit", "a breakpoint that is never hit, the dearest kernel", "", 1.1, "x"),
    Bar(
        "nothing_armed",
        "a launch under the debugger without breakpoints, without its copy of memory, one core",
        "",
        1.2,
        "x",
    ),
    _beside_debugger("pdb", 100),
    _beside_debugger("gdb", 1_000),
    Bar("last_thread", "to a breakpoint in the last of a million threads", "oclgrind", 100),
    Bar("debug_step", "next, with stack and variables, over DAP", "", 2e-3),
    Bar(
        "debug_step_gdb",
        "next, with stack and variables, beside a C loop",
        "gdb",
        2.0,
        peer_name="debug_step",
        own_name="debug_step",
        may_be_slower=True,
    ),
    Bar("stop_among_a_million", "a step and all groups of a million threads", "", 100e-3),
    Bar("reverse_step", "reverse-step after 10**9 statements of a million threads", "", 250e-3),
    Bar("reverse_step_spin", "reverse-step after 10**9 statements of one thread", "", 250e-3),
    Bar("reverse_continue", "reverse-continue, beside the way forward", "", 2.0, "x"),
    Bar("maths_functions", "ten maths functions of libdevice beside the simulator's own, one core", "own", 6),
    *_with_checks("matmul", "tiled matmul 512", 4, 5.5),
    *_with_checks("add", "vector add of 1 million", 6, 8),
    *_with_checks("stencil", "5-point stencil 1024 x 1024", 6, 8),
    *_with_checks("reduction", "256-thread tree reduction in 1 million threads", 3, 4),
    *_with_checks("histogram", "histogram of 1 million, global atomics", 3, 4),
    Bar("traced_matmul", "32 elements traced, tiled matmul 512, restoring apart", "", 20, "x"),
    Bar("traced_add", "32 elements traced, vector add of 1 million, restoring apart", "", 20, "x"),
    Bar("data_races_matmul", "tiled matmul 128, races, one core", "oclgrind", 300),
    Bar("data_races_add", "vector add of 1 million, races, one core", "oclgrind", 300),
    Bar("data_races_reduction", "tree reduction in 1 million threads, races, one core", "oclgrind", 60),
    _compared("float32", "float32"),
    _compared("float64", "float64"),
    _compared("int32", "int32"),
    _compared("int64", "int64"),
    _compared("matrix", "float32 in rows of 1024"),
    Bar("gpu_recording", "recording a launch on 48 MiB, beside copying its arrays, one core", "", 3.0, "x"),
    Bar("gpu_start", "start of the process that runs launches on a GPU, stand-in driver", "", 50e-3),
    Bar("gpu_launch", "a launch there on small arrays, without loading its PTX", "", 1e-3),
    Bar("first_launch", "first launch of a 20-line kernel, cold", "", 80e-3),
    Bar("first_launch_cached", "first launch of a 20-line kernel, from the cache", "", 10e-3),
    Bar("compile_examples", "compiling a kernel of the examples, cold, the slowest", "", 80e-3),
    Bar("specialisations", "ten specialisations of a 20-line kernel", "", 0.5),
    Bar("import", "import of cudasim.cuda beyond NumPy's", "", 60e-3),
    Bar("fiber", "a live fiber, resident", "", 16 * 1024, "B"),
)
