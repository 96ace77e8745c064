"""Memory that is not there is an error of the launch: whatever `ulimit -v` says, no launch ends the process, and the next
one works. What a launch with large stacks took goes back when the next ones need less."""

import subprocess
import sys
import textwrap

import pytest
from processes import clean_environment

#: Kernels of every kind: threads that never wait, on coroutines, on fibers, with large
#: frames, in warps, cooperative.
KERNELS = """
    import resource, sys
    import numpy as np
    from cudasim import cuda, options
    from cudasim.types import float32, int32

    @cuda.jit
    def plain(x):
        i = cuda.grid(1)
        x[i] += 1

    @cuda.jit
    def waiting(x):
        tile = cuda.shared.array(1024, float32)
        i = cuda.grid(1)
        t = cuda.threadIdx.x
        tile[t] = x[i]
        cuda.syncthreads()
        x[i] = tile[cuda.blockDim.x - 1 - t]

    @cuda.jit
    def wide(x):
        scratch = cuda.local.array(65536, int32)
        i = cuda.grid(1)
        scratch[cuda.threadIdx.x] = i
        cuda.syncthreads()
        scratch[cuda.threadIdx.x + 1] = 5
        x[i] = scratch[cuda.threadIdx.x]

    @cuda.jit
    def meeting(x):
        i = cuda.grid(1)
        x[i] = 1
        cuda.cg.this_grid().sync()
        x[i] += x[(i + 1) % len(x)]

    def attempt(name, kernel, grid, block):
        x = np.zeros(grid * block, np.float32)
        try:
            kernel[grid, block](x)
        except BaseException as error:
            print(name, type(error).__name__, str(error).replace("\\n", " "), flush=True)
        else:
            print(name, "works", flush=True)
"""


def run_limited(code, mebibytes, **variables):
    """The code behind KERNELS, in a process with so much address space."""
    script = textwrap.dedent(KERNELS) + textwrap.dedent(code)
    command = f'ulimit -v {mebibytes << 10}; exec "$0" -c "$1"'
    return subprocess.run(
        ["bash", "-c", command, sys.executable, script],
        env=clean_environment(OPENBLAS_NUM_THREADS="1", PYTHONFAULTHANDLER="1", **variables),
        capture_output=True,
        text=True,
        timeout=240,
    )


ALL_KINDS = """
    for mode, carrier, workers in (("native", "automatic", 2), ("native", "fiber", 2), ("python", "automatic", 1)):
        options.set(mode=mode, carrier=carrier, workers=workers)
        for round in range(2):
            attempt("plain", plain, 64, 256)
            attempt("waiting", waiting, 16, 1024)
            if mode == "native":
                attempt("wide", wide, 8, 1024)
            attempt("meeting", meeting, 4, 1024)
            attempt("small", waiting, 2, 4)
    print("alive")
"""


@pytest.mark.parametrize("mebibytes", [180, 250, 350, 500, 800, 1200, 2000, 4000, 8000, 16000])
def test_no_limit_of_the_address_space_ends_the_process(mebibytes):
    done = run_limited(ALL_KINDS, mebibytes)
    assert done.returncode >= 0, done.stderr[-2000:]
    if done.returncode != 0:  # not even the imports
        assert mebibytes < 300 and ("MemoryError" in done.stderr or "ImportError" in done.stderr), (
            done.stderr[-2000:]
        )
        return
    *lines, last = done.stdout.splitlines()
    assert last == "alive"
    for line in lines:
        assert line.endswith(" works") or "ulimit -v" in line or "MemoryError" in line, line
    # With less, what helper threads' arenas (64 MiB each, the C library's) leave may not suffice for another
    # compilation.
    if mebibytes >= 1200:
        assert all(line == "small works" for line in lines if line.startswith("small")), done.stdout


def test_the_error_names_stack_bytes_threads_and_the_limit():
    code = """
        options.set(mode="python")
        attempt("waiting", waiting, 2, 1024)
        attempt("small", waiting, 2, 8)
        attempt("waiting", waiting, 2, 1024)
    """
    done = run_limited(code, 3000)
    assert done.returncode == 0, done.stderr[-2000:]
    first, small, second = done.stdout.splitlines()
    for line in (first, second):
        assert line.startswith("waiting KernelMemoryError tid=[")
        assert "out of memory: each thread of a block of 1024 that waits has a stack of 8 MiB" in line
        assert "stacks were made; ulimit -v allows this process 3000 MiB, of which " in line
    assert small == "small works"


def test_threads_times_frame_is_compared_with_the_memory_before_it_is_touched():
    code = """
        options.set(mode="native", carrier="fiber", workers=1)
        attempt("wide", wide, 4, 1024)
        # Not ru_maxrss, which a child inherits from the process that started it.
        peak = next(int(line.split()[1]) >> 10 for line in open("/proc/self/status") if line.startswith("VmHWM:"))
        attempt("wide", wide, 4, 32)
        print(peak)
    """
    done = run_limited(code, 700)
    assert done.returncode == 0, done.stderr[-2000:]
    refused, small, peak = done.stdout.splitlines()
    assert (
        refused.startswith("wide KernelMemoryError")
        and "a block of 1024 that waits has a stack of" in refused
    )
    assert "ulimit -v allows this process 700 MiB" in refused and "were made" not in refused
    assert small == "wide works"
    assert int(peak) < 250


def test_memory_of_large_stacks_goes_back_when_the_next_launch_needs_less():
    code = """
        def resident():
            with open("/proc/self/statm") as statm:
                return int(statm.read().split()[1]) * resource.getpagesize() >> 20

        @cuda.jit
        def narrow(x):
            x[cuda.grid(1)] = float32(1)

        options.set(mode="native", carrier="fiber", workers=1)
        x = np.zeros(1024, np.float32)
        narrow[1, 32](x)
        before = resident()
        wide[1, 1024](x)
        print(resident() - before)
        narrow[1, 32](x)
        print(resident() - before)
    """
    done = run_limited(code, 1 << 22)
    assert done.returncode == 0, done.stderr[-2000:]
    touched, kept = map(int, done.stdout.split())
    assert touched > 200, "the launch was to touch 256 MiB"
    assert kept < 32


def test_equal_launches_keep_the_memory_of_their_stacks():
    code = """
        options.set(mode="native", carrier="fiber", workers=1)
        x = np.zeros(1024, np.float32)
        wide[1, 1024](x)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(3):
            wide[1, 1024](x)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    """
    done = run_limited(code, 1 << 22)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) < 2000


def test_more_workers_than_cores_can_use_start_no_more_threads():
    code = """
        import os
        options.set(mode="native", workers=1024)
        x = np.zeros(1 << 20, np.float32)
        for _ in range(20):
            plain[4096, 256](x)
        threads = len(os.listdir("/proc/self/task"))
        print(threads <= max(8, 4 * os.cpu_count()) + 1 or threads)
    """
    done = run_limited(code, 1 << 22)
    assert done.stdout == "True\n", done.stderr[-2000:]


def test_checks_without_address_space_say_so_and_find_what_they_can():
    code = """
        import cudasim
        @cuda.jit
        def racy(x):
            x[0] = cuda.threadIdx.x

        options.set(mode="native", workers=1)
        for checks in ("init", "races", "all"):
            with cudasim.check(checks) as found:
                for name, kernel in (("plain", plain), ("waiting", waiting), ("racy", racy)):
                    attempt(name, kernel, 2, 256)
            print(checks, sorted({each.kind for each in found}))
    """
    done = run_limited(code, 64_000)
    works = "plain works\nwaiting works\nracy works\n"
    assert done.stdout == (
        f"{works}init ['init-checks-off']\n{works}races ['data-race']\n{works}all ['data-race', 'init-checks-off']\n"
    ), done.stderr[-2000:]
