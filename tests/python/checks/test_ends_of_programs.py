"""`cudasim check` of programs that end in unusual ways, that fork, and that launch from several threads."""

import json
import re
import signal
import subprocess
import sys
import time

import pytest
from cudasim.reports import schedules
from processes import clean_environment

RACY = """
    import os, signal, sys
    import numpy as np
    from numba import cuda

    @cuda.jit
    def racy(x):
        x[0] = cuda.threadIdx.x

    @cuda.jit
    def clean(x):
        x[cuda.threadIdx.x] = 1

    def launch(kernel):
        kernel[1, 32](np.zeros(32, np.int32))

    """


def check(run, code, *arguments, **variables):
    path = run.write(RACY + code)
    return run("-m", "cudasim", "check", *arguments, path.name, **variables)


@pytest.mark.parametrize(
    "end, status, said",
    [
        ("os._exit(0)", 0, "the program ended by os._exit() or os.exec*(), with status 0;"),
        ("os._exit(7)", 7, "the program ended by os._exit() or os.exec*(), with status 7;"),
        ("os.execv(sys.executable, [sys.executable, '-c', ''])", 0, "os.exec*(), with status 0;"),
        ("os.kill(os.getpid(), signal.SIGTERM)", 143, "the program was ended by SIGTERM;"),
        ("import ctypes; ctypes.string_at(0)", 139, "the program was ended by SIGSEGV;"),
        ("os.closerange(3, 100); os.abort()", 134, "the program was ended by SIGABRT;"),
        ("sys.exit(3)", 3, None),
    ],
)
def test_findings_outlive_the_program(run, end, status, said):
    done = check(run, f"launch(racy); {end}", "--json=f.json", "--error-exitcode=9")
    assert done.returncode == 9 and "error: data-race" in done.stderr, done.stderr
    assert [each["kind"] for each in json.loads((run.folder / "f.json").read_text())["findings"]] == [
        "data-race"
    ]
    assert said is None or said in done.stderr
    done = check(run, f"launch(clean); {end}")
    assert done.returncode == status and "1 launch of 1 kernel under 2 schedules: 0 findings" in done.stderr
    assert (said or "the program ended by") in done.stderr or said is None


def test_the_launch_in_which_a_program_was_ended_is_named(run):
    code = """
    @cuda.jit
    def ends(x):
        os.kill(os.getpid(), signal.SIGTERM)
    launch(clean)
    launch(ends)
    """
    done = check(run, code, "--mode=python", "--schedules=0")
    assert done.returncode == 143
    assert "the program was ended by SIGTERM in launch 2, of ends;" in done.stderr


def test_findings_are_kept_where_the_program_closes_every_file(run):
    code = """
    launch(clean)
    os.closerange(3, 1000)
    files = [open(f"{number}.txt", "w") for number in range(20)]
    launch(racy)
    for file in files:
        file.close()
        assert os.path.getsize(file.name) == 0
    """
    done = check(run, code)
    assert done.returncode == 1 and "error: data-race" in done.stderr, done.stderr


def test_signals_reach_the_program_and_a_killed_command_ends_it(run):
    code = """
    import time
    def handler(number, frame):
        print("handled", flush=True)
    signal.signal(signal.SIGTERM, handler)
    launch(racy)
    print(os.getpid(), flush=True)
    signal.pause()
    print("goes on", flush=True)
    time.sleep(100)
    """
    path = run.write(RACY + code)
    process = subprocess.Popen(
        [sys.executable, "-m", "cudasim", "check", path.name],
        env=clean_environment(),
        cwd=run.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        program = int(process.stdout.readline())
        time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "handled\n"
        assert process.stdout.readline() == "goes on\n"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
    assert process.returncode == 1 and "KeyboardInterrupt" in said and "error: data-race" in said
    process = subprocess.Popen(
        [sys.executable, "-m", "cudasim", "check", path.name],
        env=clean_environment(),
        cwd=run.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        program = int(process.stdout.readline())
        process.kill()
        assert process.stdout.read() == ""  # the program holds the other end no more
    assert program != process.pid


def test_launches_of_threads_and_exit_handlers_are_checked(run):
    code = """
    import atexit, threading, time
    atexit.register(launch, racy)
    def later():
        time.sleep(0.1)
        launch(clean)
    threading.Thread(target=later).start()
    """
    done = check(run, code)
    assert done.returncode == 1 and "2 launches of 2 kernels" in done.stderr, done.stderr
    assert "in launch 2 of the program" in done.stderr


FORKS = {
    "os.fork": """
    if os.fork() == 0:
        launch(racy)
        sys.exit(0)
    os.wait()
    """,
    "a pool": """
    import multiprocessing
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.map(launch, [racy], chunksize=1)
        pool.close()
        pool.join()
    """,
}


@pytest.mark.parametrize("how", FORKS)
def test_findings_of_forked_processes_are_reported(run, how):
    done = check(run, FORKS[how] + "launch(clean)", "--json=f.json")
    assert done.returncode == 1, done.stderr
    assert done.stderr.count("cudasim check:") == 1, done.stderr
    assert (
        "in launch 1 of process 1 that the program forked, order of threads: reverse, forward" in done.stderr
    )
    assert "2 launches of 2 kernels under 2 schedules: 1 finding (1 error" in done.stderr
    assert len(json.loads((run.folder / "f.json").read_text())["findings"]) == 1
    token = re.search(r"--schedule (\S+)", done.stderr)[1]
    done = check(run, FORKS[how] + "launch(clean)", "--schedule", token)
    assert done.returncode == 1 and "order of threads: reverse\n" in done.stderr, done.stderr


def test_memory_of_the_parent_is_no_leak_of_a_forked_process(run):
    code = """
    from numba.cuda.cudadrv.driver import driver
    memory = driver.cuMemAlloc(64)
    launch(clean)
    if os.fork() == 0:
        sys.exit(0)
    os.wait()
    driver.cuMemFree(memory)
    """
    assert check(run, code).returncode == 0


def test_a_session_without_a_reporter_is_not_taken_along_by_a_fork(run):
    code = """
    from cudasim.reports import check_session
    check_session.session = check_session.CheckSession([])
    launch(racy)
    if os.fork() == 0:
        try:
            launch(racy)
        except cuda.cudadrv.driver.CudaAPIError:
            raise
        except Exception as error:
            print(type(error).__name__)
        os._exit(0)
    os.wait()
    print(len(check_session.session.found))
    """
    done = run(run.write(RACY + code), ENABLE_CUDASIM="1", CUDASIM_CHECK="races")
    assert done.stdout == "KernelError\n1\n", done.stderr


def test_launches_of_several_threads_do_not_mix(run):
    code = """
    import threading
    def several(kernel):
        for _ in range(4):
            launch(kernel)
    threads = [threading.Thread(target=several, args=(kernel,)) for kernel in (racy, clean, clean)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    """
    done = check(run, code)
    assert (
        "12 launches of 2 kernels under 2 schedules: 1 finding (1 error, 0 warnings, 0 notes)" in done.stderr
    )
    assert done.returncode == 1 and "in kernel racy" in done.stderr and "a repeated launch" not in done.stderr


def test_a_repetition_that_does_not_run_fails_and_says_why(run):
    code = """
    import threading
    from cudasim.reports import check_session, repetitions
    class Busy:
        def run(self, launch, take):
            def work():
                if os.getpid() != own:
                    raise ValueError("no way\\nin detail")
                return launch.run()
            return repetitions.InChildren().run(launch._replace(run=work), take)
    own = os.getpid()
    check_session.session.executor = Busy()
    launch(clean)
    """
    done = check(run, code)
    assert done.returncode == 1
    assert done.stderr == (
        "cudasim check: a repeated launch (reverse) failed: ValueError: no way; the program goes on\n"
        "cudasim check: 1 launch of 1 kernel under 2 schedules: 0 findings\n"
        "cudasim check: not every schedule was run, see above\n"
    )


def test_nothing_is_said_of_repetitions_of_a_launch_that_is_not_valid(run):
    code = """
    try:
        clean[1, 5000](np.zeros(5000))
    except Exception as error:
        print(type(error).__name__)
    launch(clean)
    """
    done = check(run, code)
    assert "a repeated launch" not in done.stderr and done.stdout.strip()


def test_seeds_and_numbers_of_tokens_are_bounded():
    for token, reason in (
        ("1:random-18446744073709551616:00000000", "the seed of .* is too large"),
        ("1:random-" + "9" * 5000 + ":00000000", "the seed of .* is too large"),
        ("9" * 5000 + ":reverse:00000000", "is no schedule's token"),
        ("1:random-²:00000000", "is no schedule"),
    ):
        with pytest.raises(schedules.TokenError, match=reason):
            schedules.parsed(token)
    assert schedules.named("random-18446744073709551615").options["seed"] == 2**64 - 1
    with pytest.raises(
        schedules.CountError, match="1000000000000 schedules are too many; there may be 100000"
    ):
        schedules.first(10**12)
