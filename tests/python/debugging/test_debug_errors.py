"""The debug server when something goes wrong: errors of kernels, waits that never end, pauses, clients that vanish."""

import signal
import subprocess
import sys
import time

import pytest
from cudasim import options
from debug_session import debugging, numbers
from processes import clean_environment

FAULTS = """
    import numpy as np
    from numba import cuda

    @cuda.jit
    def kernel(x, limit):
        i = cuda.grid(1)
        place = i + 2  # place
        x[place] = 7  # store

    x = np.zeros(10, np.int64)
    try:
        kernel[1, 12](x, 3)
    except IndexError as error:
        print("raised", type(error).__name__)
    print(*x)
"""


def test_an_error_stops_before_its_damage_and_is_raised_as_usual(tmp_path):
    with debugging(tmp_path, FAULTS) as client:
        client.run()
        stop = client.wait("store", "exception")
        assert stop["cudasim"]["thread"] == [8, 0, 0]
        assert stop["text"].startswith("IndexError: index 10 is out of bounds")
        info = client.ask("exceptionInfo", threadId=1)
        assert (info["exceptionId"], info["breakMode"]) == (stop["description"], "always")
        assert info["description"] == stop["text"]
        locals_ = client.scope("Locals")
        assert (locals_["i"]["value"], locals_["place"]["value"]) == ("8", "10")
        assert client.value("place * 2") == "20"
        assert client.value("x.sum()") == str(8 * 7)
        assert "ended with this error" in client.refused("next", threadId=1)
        # Thread 9 makes the same error at the same place, and is not told of again.
        assert client.go_to_end() == "raised IndexError\n" + " ".join(["0"] * 10) + "\n"


def test_errors_do_not_stop_without_their_filter(tmp_path):
    with debugging(tmp_path, FAULTS, filters=()) as client:
        client.run()
        assert "raised IndexError" in client.end()
        assert not client.stops()
        (end,) = [each["body"] for each in client.seen if each.get("event") == "cudasim/launch"][1:]
        assert end["error"].startswith("IndexError")


def test_a_step_into_an_error_stops_at_it(tmp_path):
    with debugging(tmp_path, FAULTS) as client:
        client.break_at("place", cudasim={"threads": "8"})
        client.run()
        client.wait("place")
        client.go("next", "store", "step")
        client.go("next", "store", "exception")
        assert "raised IndexError" in client.go_to_end()


DIVERGENCE = """
    import numpy as np
    from numba import cuda

    @cuda.jit
    def kernel(x):
        i = cuda.threadIdx.x
        if i < 3:
            cuda.syncthreads()  # one
            x[i] = i
        else:
            cuda.syncthreads()  # other

    x = np.zeros(8, np.int64)
    try:
        kernel[1, 8](x)
    except Exception as error:
        print("raised", type(error).__name__)
"""


def test_waits_that_never_end_stop_with_every_thread_to_be_looked_at(tmp_path):
    with debugging(tmp_path, DIVERGENCE) as client:
        client.run()
        stop = client.wait(reason="exception")
        assert "different barriers" in stop["text"], stop
        groups = client.ask("cudasim/groups")["groups"]
        assert [(group["state"], group["threads"], group["line"]) for group in groups] == [
            ("at barrier", "0..2", client.line("one")), ("at barrier", "3..7", client.line("other"))]  # fmt: skip
        client.focus(thread=2)
        assert client.value("i") == "2"
        assert "no thread can go on" in client.refused("next", threadId=1)
        assert client.go_to_end() == "raised KernelError\n"


def test_the_time_limit_stops_with_every_thread_to_be_looked_at(tmp_path):
    with debugging(tmp_path, ENDLESS, CUDASIM_TIME_LIMIT="0.5") as client:
        client.run()
        stop = client.wait(reason="exception")
        assert "time limit" in stop["text"], stop
        assert sum(group["count"] for group in client.ask("cudasim/groups")["groups"]) == 3
        client.focus(thread=2)
        assert int(client.value("x[3]")) > 0
        assert "no thread can go on" in client.refused("stepIn", threadId=1)
        assert "KernelTimeoutError" in client.go_to_end(1)


ENDLESS = """
    import numpy as np
    from numba import cuda

    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        while x[0] == 0:  # head
            x[1 + i] += 1  # count

    x = cuda.to_device(np.zeros(40, np.int64))
    print("begins", flush=True)
    kernel[1, 3](x)
    print("ends", x.copy_to_host()[0])
"""


def test_a_pause_stops_a_kernel_that_runs_and_a_changed_variable_lets_it_end(tmp_path):
    with debugging(tmp_path, ENDLESS) as client:
        client.run()
        client.event("cudasim/launch")
        time.sleep(0.2)
        assert client.refused("stackTrace", threadId=1) == "no kernel is stopped"
        client.ask("pause", threadId=1)
        client.wait(reason="pause")
        assert int(client.value("x[1] + x[2] + x[3]")) > 0
        frame = client.frames()[0]["id"]
        assert client.ask("setExpression", expression="x[0]", value="5", frameId=frame)["value"] == "5"
        assert client.go_to_end() == "begins\nends 5\n"


def test_breakpoints_are_set_while_a_kernel_runs(tmp_path):
    with debugging(tmp_path, ENDLESS) as client:
        client.run()
        client.event("cudasim/launch")
        (breakpoint,) = client.break_at("count", cudasim={"threads": "2"})
        assert breakpoint["verified"]
        stop = client.wait("count", "breakpoint")
        assert stop["cudasim"]["thread"] == [2, 0, 0]
        client.break_at()
        frame = client.frames()[0]["id"]
        client.ask("setExpression", expression="x[0]", value="1", frameId=frame)
        assert "ends 1" in client.go_to_end()


def test_control_c_during_a_launch_is_a_pause(tmp_path):
    with debugging(tmp_path, ENDLESS) as client:
        client.run()
        client.event("cudasim/launch")
        time.sleep(0.3)
        client._program.send_signal(signal.SIGINT)
        client.wait(reason="pause")
        client._program.send_signal(signal.SIGINT)  # while it is stopped: nothing
        time.sleep(0.2)
        frame = client.frames()[0]["id"]
        client.ask("setExpression", expression="x[0]", value="9", frameId=frame)
        assert "ends 9" in client.go_to_end()


def test_control_c_in_host_code_is_the_programs(tmp_path):
    code = """
        import time
        from numba import cuda
        print("sleeps", flush=True)
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            print("interrupted")
    """
    with debugging(tmp_path, code) as client:
        client.run()
        while "sleeps" not in client._output.read_text():
            time.sleep(0.05)
        client._program.send_signal(signal.SIGINT)
        assert "interrupted" in client.end()


COUNTS = """
    import numpy as np
    from numba import cuda

    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        x[i] += i  # add

    x = np.zeros(100, np.int64)
    for _ in range(3):
        kernel[10, 10](x)
    print(*x)
"""


@pytest.mark.parametrize("how", ["closes", "disconnects"])
def test_a_program_goes_on_when_its_client_goes(tmp_path, how):
    with debugging(tmp_path, COUNTS) as client:
        client.break_at("add")
        client.run()
        client.wait("add")
        if how == "closes":
            client._connection.close()
        else:
            client.ask("disconnect")
        status, output = client.finish()
        assert (status, numbers(output)) == (0, [3 * i for i in range(100)])


def test_terminating_ends_the_process(tmp_path):
    with debugging(tmp_path, COUNTS) as client:
        client.break_at("add")
        client.run()
        client.wait("add")
        client.send("terminate")
        status, _ = client.finish()
        assert status == -signal.SIGTERM


def test_a_wrong_message_is_answered_and_the_session_goes_on(tmp_path):
    with debugging(tmp_path, COUNTS) as client:
        client.send_bytes(b"Content-Length: 9\r\n\r\nnot JSON!")
        assert "no JSON" in client.event("output")["output"]
        deep = b"[" * 100_000
        client.send_bytes(b"Content-Length: %d\r\n\r\n%s" % (len(deep), deep))
        assert "nests too deeply" in client.event("output")["output"]
        huge = 17 << 20
        client.send_bytes(b"Content-Length: %d\r\n\r\n" % huge + b" " * huge)
        assert "passed over" in client.event("output")["output"]
        assert "does not have" in client.refused("fly")
        client.break_at("add", cudasim={"threads": "3"})
        client.run()
        client.wait("add")


def test_a_broken_frame_ends_the_connection_and_the_program_goes_on(tmp_path):
    with debugging(tmp_path, COUNTS) as client:
        client.break_at("add")
        client.run()
        client.wait("add")
        client.send_bytes(b"nonsense\r\n\r\n")
        status, output = client.finish()
        assert (status, numbers(output)) == (0, [3 * i for i in range(100)])


def test_children_that_are_forked_have_no_debugger(tmp_path):
    code = COUNTS.replace(
        "for _ in range(3):",
        "import os\n    child = os.fork()\n    if child: os.waitpid(child, 0)\n    for _ in range(3):",
    )
    code = code.replace("print(*x)", "print(*x, flush=True)")
    with debugging(tmp_path, code) as client:
        client.break_at("add", condition="i == 99")
        client.run()
        for _ in range(3):
            client.wait("add")
            client.ask("continue", threadId=1)
        assert numbers(client.end()) == 2 * [3 * i for i in range(100)]


def test_processes_that_the_program_starts_have_no_debugger(tmp_path):
    code = """
        import os, subprocess, sys
        from numba import cuda
        assert "CUDASIM_DEBUGGER" not in os.environ
        print(subprocess.run([sys.executable, "-c", "from numba import cuda; print(cuda.__name__)"], capture_output=True, text=True).stdout)
    """
    with debugging(tmp_path, code) as client:
        client.run()
        assert "cuda" in client.end()


def test_kernels_in_python_mode_are_pdbs(tmp_path):
    with debugging(tmp_path, COUNTS, CUDASIM_MODE="python") as client:
        client.break_at("add")
        client.run()
        assert numbers(client.end()) == [3 * i for i in range(100)]
        told = [each["body"]["output"] for each in client.seen if each.get("event") == "output"]
        assert len(told) == 1
        assert "use pdb there" in told[0]


def test_a_program_that_raises_ends_with_its_own_status(tmp_path):
    with debugging(tmp_path, "raise ValueError('mine')") as client:
        client.run()
        output = client.end(1)
        assert output.endswith("ValueError: mine\n")
        assert "debuggee" not in output


def test_a_plain_program_connects_when_it_imports_numba_cuda(tmp_path):
    command = [sys.executable, str(tmp_path / "script.py")]
    with debugging(tmp_path, COUNTS, command=command) as client:
        client.break_at("add", condition="i == 5", cudasim={"temporary": True})
        client.run()
        client.wait("add")
        assert numbers(client.go_to_end()) == [3 * i for i in range(100)]


def test_nobody_at_the_socket_is_one_sentence(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "cudasim.debugging.debuggee", "script.py"], capture_output=True, text=True,
        env=clean_environment(ENABLE_CUDASIM="1", CUDASIM_DEBUGGER=f"connect:{tmp_path}/nobody"),
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"cudasim: there is no debugger at {tmp_path}/nobody: No such file or directory\n"


@pytest.mark.parametrize("value", ["cudasim:", "listen:now", "connect:", "gdb"])
def test_other_places_are_refused(monkeypatch, value):
    monkeypatch.setenv("CUDASIM_DEBUGGER", value)
    with pytest.raises(options.OptionError, match="connect:PATH"):
        options.get("debugger")


TWO_THREADS = """
    import threading
    import numpy as np
    from numba import cuda

    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        x[i] += i + 1  # add

    arrays = [np.zeros(4, np.int64) for _ in range(2)]
    threads = [threading.Thread(target=kernel[1, 4], args=(x,)) for x in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(*arrays[0], *arrays[1])
"""


def test_launches_of_several_host_threads_are_served_one_after_another(tmp_path):
    with debugging(tmp_path, TWO_THREADS) as client:
        client.break_at("add", cudasim={"threads": "2"})
        client.run()
        launches = []
        for _ in range(2):
            launches.append(client.wait("add")["cudasim"]["launch"])
            time.sleep(0.2)
            assert not client.stops()
            assert client.value("x[0], x[1], x[2]") == "(1, 2, 0)"
            client.ask("continue", threadId=1)
        assert sorted(launches) == [1, 2]
        assert numbers(client.end()) == 2 * [1, 2, 3, 4]


@pytest.mark.alone
def test_a_million_threads_are_a_handful_of_groups(tmp_path):
    code = """
        import numpy as np
        from numba import cuda

        @cuda.jit
        def kernel(x):
            i, j = cuda.grid(2)
            twice = 2 * i  # twice
            cuda.syncthreads()  # wait
            x[i, j] = twice + j  # last

        x = cuda.to_device(np.zeros((1024, 1024), np.int64))
        kernel[(64, 64), (16, 16)](x)
        print(x.copy_to_host().sum())
    """
    with debugging(tmp_path, code) as client:
        client.break_at("twice", cudasim={"threads": "(13,7,0)", "blocks": "(40,2,0)"})
        client.run()
        about = client.wait("twice")["cudasim"]
        assert (about["block"], about["thread"]) == ([40, 2, 0], [13, 7, 0])
        began = time.perf_counter()
        groups = client.ask("cudasim/groups")["groups"]
        assert time.perf_counter() - began < 1  # 0.4 ms where nothing else runs
        assert sum(group["count"] for group in groups) == 1 << 20
        focus = 7 * 16 + 13
        assert [(group["state"], group["blocks"], group["threads"]) for group in groups] == [
            ("at barrier", "168", f"0..{focus - 1}"), ("stopped", "168", str(focus)), ("not started", "168", f"{focus + 1}..255"),
            ("over", "0..167", "0..255"), ("not started", "169..4095", "0..255")]  # fmt: skip
        names = [thread["name"] for thread in client.ask("threads")["threads"]]
        assert names[0] == "block(40,2,0) thread(13,7,0)"
        assert names[1] == f"b(168) t(0..{focus - 1}) x{focus} script.py:{client.line('wait')}"
        # Groups are threads, too: a step of one moves its first thread, which becomes the focus.
        (waiting,) = [group["threadId"] for group in groups if group["threads"] == f"{focus + 1}..255"]
        assert client.go("next", reason="step", threadId=waiting)["cudasim"]["thread"] == [14, 7, 0]
        assert client.focus()["thread"] == [14, 7, 0]
        assert "block 0 is over" in client.refused("cudasim/focus", block=[0, 0, 0])
        assert "there is no such thread" in client.refused("cudasim/focus", thread=[16, 0, 0])
        client.break_at()
        assert client.go_to_end() == f"{sum(2 * i + j for i in range(1024) for j in range(1024))}\n"


def test_exception_filters_are_kinds_of_errors(tmp_path):
    code = """
        import numpy as np
        from numba import cuda

        @cuda.jit
        def divides(x):
            x[0] = 7 // x[1]  # divides

        @cuda.jit
        def leaves(x):
            x[2] = 1  # leaves

        for kernel in (divides, leaves):
            try:
                kernel[1, 1](np.zeros(2, np.int64))
            except Exception as error:
                print(type(error).__name__)
    """
    with debugging(tmp_path, code, filters=["out-of-bounds-index"]) as client:
        answer = client.ask("setExceptionBreakpoints", filters=["calls", "out-of-bounds-index", "nosuch"])
        assert [one["verified"] for one in answer["breakpoints"]] == [True, True, False]
        assert "nosuch" in answer["breakpoints"][2]["message"]
        client.run()
        client.wait("leaves", reason="exception")
        assert client.go_to_end() == "ZeroDivisionError\nIndexError\n"
