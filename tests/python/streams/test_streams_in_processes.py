"""Streams at the edges of a process: the interpreter's end, fork(), Ctrl-C."""

import pytest

KERNELS = """
    import os, signal, sys, threading, time
    import numpy as np
    from cudasim import cuda

    @cuda.jit
    def says():
        print("ran")

    @cuda.jit
    def beyond(x):
        x[cuda.grid(1)] = 1

    @cuda.jit
    def spins(x):
        print("spinning")
        for i in range(1 << 60):
            x[0] += i

    def control_c_when_it_spins():
        class Out:
            def write(self, text):
                if "spinning" in text:
                    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
                else:
                    sys.__stdout__.write(text)
            def flush(self):
                sys.__stdout__.flush()
        sys.stdout = Out()

    stream = cuda.stream()
"""


def deferred(run, code):
    return run.script(KERNELS + code, CUDASIM_DEFERRED="1")


def test_what_waits_runs_at_the_end_of_the_interpreter(run):
    done = deferred(
        run,
        """
    says[1, 1, stream]()
    print("end", flush=True)
    stream.add_callback(lambda *_: print("called", flush=True))
    """,
    )
    assert (done.stdout.split(), done.returncode) == (["end", "ran", "called"], 0), done.stderr


def test_faults_at_the_end_of_the_interpreter_are_told(run):
    done = deferred(run, "    beyond[1, 4, stream](cuda.device_array(2))\n")
    assert "IndexError: tid=[2, 0, 0]" in done.stderr and "launched at" in done.stderr and done.stdout == ""


def test_a_callback_that_never_ends_does_not_keep_the_interpreter(run):
    done = run.script(
        KERNELS
        + """
    stream.add_callback(lambda *_: time.sleep(1000))
    print("end")
    """,
    )
    assert (done.stdout, done.returncode) == ("end\n", 0)


def test_ctrl_c_ends_what_waits(run):
    done = deferred(
        run,
        """
    d = cuda.to_device(np.zeros(1))
    control_c_when_it_spins()
    spins[1, 1, stream](d)
    says[1, 1, stream]()
    try:
        stream.synchronize()
    except KeyboardInterrupt:
        print("interrupted")
    says[1, 1, stream]()
    stream.synchronize()
    """,
    )
    assert (done.stdout.split(), done.returncode) == (["interrupted", "ran"], 0), done.stderr


def test_ctrl_c_while_a_callback_is_waited_for(run):
    done = run.script(
        KERNELS
        + """
    release = threading.Event()
    stream.add_callback(lambda *_: release.wait(60))
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    try:
        stream.synchronize()
    except KeyboardInterrupt:
        print("interrupted", time.monotonic() - begin < 30)
    release.set()
    stream.synchronize()
    """,
    )
    assert (done.stdout.split(), done.returncode) == (["interrupted", "True"], 0), done.stderr


def test_a_signal_handler_cannot_synchronise_what_it_interrupts(run):
    done = run.script(
        KERNELS
        + """
    def handler(*_):
        try:
            stream.synchronize()
        except RuntimeError as error:
            print("refused", "signal handler" in str(error))
    signal.signal(signal.SIGUSR1, handler)
    stream.add_callback(lambda *_: time.sleep(1))
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGUSR1)).start()
    stream.synchronize()
    """,
    )
    assert (done.stdout.split(), done.returncode) == (["refused", "True"], 0), done.stderr


@pytest.mark.parametrize("mode", ["native", "python"])
def test_the_child_of_a_fork_has_streams_of_its_own(run, mode):
    done = run.script(
        KERNELS
        + """
    stream.add_callback(lambda *_: None)
    stream.synchronize()  # the callback thread is there, and waits
    says[1, 1, stream]()
    child = os.fork()
    if child == 0:
        said = []
        stream.add_callback(lambda *_: said.append("child"))
        stream.synchronize()
        print(said, flush=True)
        os._exit(0)
    print("status", os.waitpid(child, 0)[1])
    """,
        CUDASIM_DEFERRED="1",
        CUDASIM_MODE=mode,
    )
    assert done.stdout.splitlines() == ["['child']", "status 0", "ran"], done.stderr
