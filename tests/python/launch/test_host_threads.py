"""Launches from several host threads: on one device, on several, of kernels that are being compiled; and the GIL."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from cudasim import cuda, options, types
from cudasim.errors import KernelTimeoutError
from cudasim.launch import kernel as kernel_module
from python_mode_required import needs_python_mode

THREADS = 8


@cuda.jit
def add(x, amount):
    i = cuda.grid(1)
    if i < x.size:
        for _ in range(amount):
            x[i] += 1


@cuda.jit
def turn_round(x):
    s = cuda.shared.array(64, "float64")
    i = cuda.threadIdx.x
    s[i] = x[cuda.grid(1)]
    cuda.syncthreads()
    x[cuda.grid(1)] = s[63 - i]


@cuda.jit
def beyond(x):
    x[cuda.grid(1)] = 1


@cuda.jit
def endless(x):
    i = 0
    while i >= 0:
        i = (i + 1) % 1000
        x[0] = i


def in_threads(work, count=THREADS):
    """The results of work(0), work(1), … all begun at once, each in a thread of its own."""
    begin = threading.Barrier(count)

    def begun(number):
        begin.wait()
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(begun, range(count)))


@pytest.fixture(params=["native", pytest.param("python", marks=needs_python_mode)])
def mode(request):
    with options.override(mode=request.param):
        yield request.param


def test_threads_of_a_pool_launch_on_one_device(mode):
    def work(number):
        for _ in range(20):
            x = np.zeros(1000 + number)
            add[8, 256](x, number)
            assert (x == number).all()
            d = cuda.to_device(np.arange(640.0))
            turn_round[10, 64](d)
            turned = d.copy_to_host().reshape(10, 64)[:, ::-1]
            assert (turned.ravel() == np.arange(640.0)).all()
        return number

    assert in_threads(work) == list(range(THREADS))


def test_each_thread_gets_the_errors_of_its_own_launches(mode):
    def work(number):
        for _ in range(20):
            with pytest.raises(IndexError, match=rf"tid=\[{number + 1}, 0, 0\].*with size {number + 1}"):
                beyond[1, 32](np.zeros(number + 1))
        return number

    assert in_threads(work) == list(range(THREADS))


def test_a_kernel_that_several_threads_launch_first_is_compiled_once(monkeypatch):
    compiled = []
    monkeypatch.setattr(
        kernel_module, "compiled_listeners", [lambda kernel: compiled.append(kernel.argument_types)]
    )

    @cuda.jit
    def fresh(x):
        x[cuda.grid(1)] = 3

    def work(number):
        x = np.zeros(4, (np.float32, np.float64)[number % 2])
        fresh[1, 4](x)
        return x.tolist()

    assert in_threads(work) == [[3.0] * 4] * THREADS
    assert sorted(compiled, key=str) == [(types.float32[::1],), (types.float64[::1],)]


def test_threads_compile_different_kernels_at_once(run):
    # A garbage collection in the middle of ast.parse lets another thread in.
    done = run.script(
        """
        import gc, time
        from concurrent.futures import ThreadPoolExecutor
        import numpy as np
        from cudasim import cuda

        def make(n):
            @cuda.jit
            def fill(x):
                x[cuda.grid(1)] = n
            return fill

        def work(n):
            x = np.zeros(3)
            make(n)[1, 3](x)
            return x.tolist() == [n] * 3

        work(0)
        gc.set_threshold(1, 1000, 1000)
        gc.callbacks.append(lambda *_: time.sleep(0))
        with ThreadPoolExecutor(8) as pool:
            print(all(pool.map(work, range(1, 33))))
        """
    )
    assert done.stdout == "True\n", done.stderr


def test_devices_work_at_once_and_one_device_takes_turns(run):
    done = run.script(
        """
        import threading, time
        import numpy as np
        from cudasim import cuda, options
        from cudasim.errors import KernelTimeoutError

        @cuda.jit
        def endless(x):
            i = 0
            while i >= 0:
                i = (i + 1) % 1000
                x[0] = i

        def work(device):
            cuda.select_device(device)
            try:
                endless[1, 1](np.zeros(1))
            except KernelTimeoutError:
                pass

        def seconds(*devices):
            threads = [threading.Thread(target=work, args=(device,)) for device in devices]
            begin = time.monotonic()
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            return time.monotonic() - begin

        options.set(time_limit=1)
        print(seconds(0, 1) < 1.8, seconds(0, 0) > 1.9)
        """,
        CUDASIM_DEVICE="h100,a10",
    )
    assert done.stdout == "True True\n", done.stderr


def test_other_threads_run_while_a_kernel_does(mode):
    counted, over = [0], threading.Event()

    def count():
        while not over.wait(0.001):
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    with options.override(time_limit=1.0), pytest.raises(KernelTimeoutError):
        endless[1, 1](np.zeros(1))
    seen = counted[0]
    over.set()
    thread.join()
    assert seen > 20  # in Python mode the GIL changes hands every 5 ms


def test_lines_that_several_threads_print_stay_whole(run):
    done = run.script(
        """
        from concurrent.futures import ThreadPoolExecutor
        from cudasim import cuda
        @cuda.jit
        def speak(n):
            print("launch", n, "thread", cuda.grid(1))
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(speak[2, 16], range(40)))
        """
    )
    lines = done.stdout.splitlines()
    assert sorted(lines) == sorted(f"launch {n} thread {i}" for n in range(40) for i in range(32)), (
        done.stderr
    )


def test_control_c_ends_the_wait_for_another_threads_launch(run):
    done = run.script(
        """
        import os, signal, threading, time
        import numpy as np
        from cudasim import cuda

        @cuda.jit
        def endless(x):
            i = 0
            while i >= 0:
                i = (i + 1) % 1000
                x[0] = i

        threading.Thread(target=lambda: endless[1, 1](np.zeros(1)), daemon=True).start()
        time.sleep(1.0)
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        begin = time.monotonic()
        try:
            endless[1, 1](np.zeros(1))
        except KeyboardInterrupt:
            print("interrupted", time.monotonic() - begin < 20)
        """
    )
    assert done.stdout == "interrupted True\n" and done.returncode == 0, done.stderr


def test_several_host_threads_show_their_progress():
    from cudasim.reports import progress

    shown = []

    class Display:
        def show(self, done, seconds):
            shown.append(threading.get_ident())

        def close(self, done):
            pass

        make_room = close

    def work(_):
        with pytest.raises(KernelTimeoutError):
            begin = time.monotonic()
            while True:
                assert time.monotonic() - begin < 30
                endless[1, 1](np.zeros(1))

    before = progress.shown_as
    progress.shown_as = lambda kernel, mode: lambda blocks: Display()
    try:
        with options.override(time_limit=2.2):
            in_threads(work, 2)
    finally:
        progress.shown_as = before
        options.set()  # plans that refer to Display are made anew
    assert len(set(shown)) == 2
