"""Nothing a kernel does harms the Python process: endless kernels stop, faults do not pile up, fork works."""

import os
import signal
import sys
import time

import numpy as np
import pytest
from cudasim import cuda, options
from cudasim.errors import CudaAPIError, KernelTimeoutError


@cuda.jit
def count_long(x, n):
    i = 0
    while i < n:
        x[0] += i
        i += 1


@cuda.jit
def beyond(x):
    x[cuda.grid(1) + 1] = 1


def test_a_time_limit_stops_an_endless_kernel_and_says_where_threads_were():
    with options.override(time_limit=0.3):
        begin = time.monotonic()
        with pytest.raises(KernelTimeoutError) as caught:
            count_long[1, 2](np.zeros(1), 2**62)
    assert time.monotonic() - begin < 10
    error = caught.value
    assert isinstance(error, (CudaAPIError, TimeoutError)) and error.code == 702
    (group, *_) = error.findings[0].waiting
    assert group.location[0].file == __file__
    x = np.zeros(1)
    count_long[1, 1](x, 10)
    assert x[0] == 45


ENDLESS = """
    import os, signal, sys, threading, time
    import numpy as np
    from numba import cuda

    @cuda.jit
    def endless(x):
        i = 0
        if cuda.threadIdx.x == cuda.blockDim.x - 1:
            print("spinning")
        while i >= 0:
            i = (i + 1) % 1000
            x[0] = i

    class Out:  # what kernels print comes while they run: Ctrl-C when the last thread has begun
        def write(self, text):
            if "spinning" in text:
                threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            else:
                sys.__stdout__.write(text)
        def flush(self):
            sys.__stdout__.flush()
    sys.stdout = Out()
"""


def test_control_c_stops_an_endless_kernel(run):
    done = run.script(
        ENDLESS
        + """
    try:
        endless[1, 32](np.zeros(1))
    except KeyboardInterrupt as error:
        import traceback
        traceback.print_exc()
        print("interrupted", traceback.extract_tb(error.__traceback__)[-1].name)
    x = np.ones(1)

    @cuda.jit
    def after(x):
        x[0] = 7
    after[1, 1](x)
    print(x[0])
    """,
        ENABLE_CUDASIM="1",
    )
    assert done.stdout.splitlines() == ["interrupted endless", "7.0"], done.stderr
    assert "and in 31 other threads" in done.stderr or sys.version_info < (3, 11)


def test_control_c_ends_a_script_as_python_does(run):
    done = run.script(ENDLESS + "\n    endless[1, 32](np.zeros(1))\n", ENABLE_CUDASIM="1")
    assert done.returncode in (130, -signal.SIGINT)
    assert "KeyboardInterrupt" in done.stderr and "in endless" in done.stderr


def test_what_a_signal_handler_raises_comes_out_of_the_launch(run):
    done = run.script(
        """
        import signal
        import numpy as np
        from numba import cuda

        class TooLong(Exception):
            pass

        def handler(number, frame):
            raise TooLong("alarm")

        @cuda.jit
        def endless(x):
            i = 0
            while i >= 0:
                i = (i + 1) % 1000
                x[0] = i

        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        try:
            endless[1, 1](np.zeros(1))
        except TooLong as error:
            print("caught", error)
        """,
        ENABLE_CUDASIM="1",
    )
    assert done.stdout.strip() == "caught alarm", done.stderr


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_ten_thousand_faulting_launches_leak_nothing():
    x = cuda.to_device(np.zeros(4))

    def fault(times):
        for _ in range(times):
            try:
                beyond[1, 4](x)
            except IndexError:
                pass

    fault(1000)
    before = resident_bytes()
    fault(10_000)
    assert resident_bytes() - before < 8 << 20


def test_fork_after_a_launch(run):
    done = run.script(
        """
        import os
        import numpy as np
        from numba import cuda

        @cuda.jit
        def increment(x):
            i = cuda.grid(1)
            if i < x.size:
                x[i] += 1

        x = np.zeros(10000)
        increment[40, 256](x)
        child = os.fork()
        increment[40, 256](x)
        if child == 0:
            os._exit(0 if (x == 2).all() else 1)
        assert (x == 2).all()
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """,
        ENABLE_CUDASIM="1",
    )
    assert done.stdout.strip() == "0", done.stderr
    assert done.stderr.count("CUDA initialized before forking") == 1 and "x)\n" in done.stderr


def test_a_forked_child_fails_as_on_a_gpu_where_gpus_are_asked_for(run):
    done = run.script(
        """
        import os, sys, threading
        from cudasim import cuda
        from cudasim.cuda.cudadrv.error import CudaDriverError
        def fails(number):
            try:
                cuda.device_array(3)
            except CudaDriverError as error:
                print(number, "CUDA initialized before forking" in str(error), flush=True)
        for number in (1, 2):  # in the first child nobody had used CUDA
            if os.fork() == 0:
                fails(number)
                thread = threading.Thread(target=fails, args=(number,))
                thread.start()
                thread.join()
                os._exit(0)
            os.wait()
            cuda.device_array(3)
        """,
        CUDASIM_REPORT_AS_SIMULATOR="0",
    )
    assert done.stdout == "2 True\n2 True\n", done.stdout + done.stderr


def test_multiprocessing_with_fork(run):
    done = run.script(
        """
        import multiprocessing
        import numpy as np
        from numba import cuda

        @cuda.jit
        def square(x):
            i = cuda.grid(1)
            x[i] = x[i] * x[i]

        def work(n):
            x = np.full(64, float(n))
            square[2, 32](x)
            return x.sum()

        if __name__ == "__main__":
            work(1)
            with multiprocessing.get_context("fork").Pool(3) as pool:
                print(pool.map(work, range(6)) == [64.0 * n * n for n in range(6)])
        """,
        ENABLE_CUDASIM="1",
    )
    assert done.stdout.strip() == "True", done.stderr


def test_runaway_recursion_is_reported_not_a_crash(run):
    done = run.script(
        """
        import numpy as np
        from numba import cuda

        @cuda.jit
        def deep(x):
            local = cuda.local.array(4096, "float64")
            for i in range(4096):
                local[i] = i
            x[0] = local[4095]

        x = np.zeros(1)
        deep[1, 64](x)
        print(x[0])
        """,
        ENABLE_CUDASIM="1",
    )
    assert done.returncode in (0, 1), done.stderr  # never by a signal


def test_interpreter_ends_cleanly_with_live_arrays_and_threads(run):
    done = run.script(
        """
        import threading, time
        import numpy as np
        from numba import cuda

        @cuda.jit
        def increment(x):
            x[cuda.grid(1)] += 1

        keep = cuda.to_device(np.zeros(1000))

        def work():
            while True:
                increment[1, 100](keep)

        threading.Thread(target=work, daemon=True).start()
        time.sleep(0.3)
        print("end")
        """,
        ENABLE_CUDASIM="1",
    )
    assert done.returncode == 0 and done.stdout.strip() == "end", done.stderr


def test_a_launch_from_a_signal_handler_during_a_launch_is_refused_not_waited_for(run):
    done = run.script(
        """
        import signal
        import numpy as np
        from cudasim import cuda
        @cuda.jit
        def count(x, n):
            for _ in range(n):
                x[0] += 1
        device, said = cuda.to_device(np.zeros(1)), []
        x = np.zeros(1)
        def handler(*_):
            try:
                count[1, 1](device, 5)
            except RuntimeError as error:
                said.append(str(error))
            device.copy_to_host()
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
        while not said:  # much longer than the 50 ms after which a launch first runs signal handlers
            count[1, 1](x, 300_000_000)
        signal.setitimer(signal.ITIMER_REAL, 0)
        count[1, 1](device, 3)
        print(device[0] % 5 == 3, *said, sep="\\n")
        """
    )
    results, *said = done.stdout.splitlines() or [""]
    assert results == "True" and said and all("signal handler" in each for each in said), (
        done.stdout + done.stderr
    )


def test_a_launch_from_a_signal_handler_that_interrupts_an_import_of_a_launch_is_refused(run):
    done = run.script(
        """
        import importlib.util, signal, sys
        import numpy as np
        from cudasim import cuda
        @cuda.jit
        def count(x, n):
            for _ in range(n):
                x[0] += 1
        device = cuda.to_device(np.zeros(1))
        def handler(*_):
            try:
                count[1, 1](device, 5)
            except RuntimeError as error:
                print(error)
        signal.signal(signal.SIGUSR1, handler)
        spec = importlib.util.find_spec("cudasim.compile.compiler")
        execute = spec.loader.exec_module
        def interrupted(module):
            signal.raise_signal(signal.SIGUSR1)
            execute(module)
        spec.loader.exec_module = interrupted
        class Finder:
            def find_spec(self, name, path, target=None):
                return spec if name == spec.name else None
        assert spec.name not in sys.modules  # or the test shows nothing
        sys.meta_path.insert(0, Finder())
        count[1, 1](device, 2)
        count[1, 1](device, 3)
        print(device[0])
        """
    )
    said, result = done.stdout.splitlines() or ["", ""]
    assert "signal handler" in said and result == "5.0", done.stdout + done.stderr


def test_a_launch_from_a_signal_handler_during_a_compilation_is_refused(run):
    done = run.script(
        """
        import signal
        import numpy as np
        from cudasim import cuda, options
        from cudasim.compile import compiler
        @cuda.jit
        def count(x, n):
            for _ in range(n):
                x[0] += 1
        @cuda.jit
        def known(x):
            x[0] = 7
        x = np.zeros(1)
        known[1, 1](x)
        said = []
        def handler(*_):
            known[1, 1](x)
            try:
                count[1, 1](x, np.float32(5))
            except RuntimeError as error:
                said.append(str(error))
        signal.signal(signal.SIGUSR1, handler)
        compile_kernel = compiler.compile_kernel
        def interrupted(*args, **keywords):
            signal.raise_signal(signal.SIGUSR1)
            return compile_kernel(*args, **keywords)
        compiler.compile_kernel = interrupted
        count[1, 1](x, 3)
        print(x[0], *said)
        """
    )
    assert done.stdout.startswith("10.0 a kernel cannot be launched for new types from a signal handler"), (
        done.stdout + done.stderr
    )


def test_a_fork_while_another_thread_launches_is_an_error_in_the_child_not_a_hang(run):
    done = run.script(
        """
        import os, sys, threading, time
        import numpy as np
        from cudasim import cuda
        from cudasim.errors import CudaDriverError
        @cuda.jit
        def count(x, n):
            for _ in range(n):
                x[0] += 1
        x = cuda.to_device(np.zeros(1))
        count[1, 1](x, 1)
        thread = threading.Thread(target=lambda: count[1, 1](x, 500_000_000))
        thread.start()
        time.sleep(0.05)
        child = os.fork()
        if child == 0:
            try:
                count[1, 1](np.zeros(1), 1)
            except CudaDriverError as error:
                print("before forking" in str(error), flush=True)
            del x
            sys.exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        thread.join()
        """
    )
    assert done.stdout == "True\n7\n", done.stderr


def test_kernels_launch_at_exit_and_in_finalizers(run):
    done = run.script(
        """
        import atexit
        import numpy as np
        from cudasim import cuda
        @cuda.jit
        def add(x, amount):
            x[cuda.grid(1)] += amount
        x = cuda.to_device(np.zeros(2))
        class Last:
            def __del__(self, add=add, x=x):
                add[1, 2](x, 10)
        def at_exit():
            add[1, 2](x, 1)
            print(x.copy_to_host().tolist())
        atexit.register(at_exit)
        Last()
        keep = Last()
        """
    )
    assert done.stdout == "[11.0, 11.0]\n" and done.returncode == 0, done.stderr
