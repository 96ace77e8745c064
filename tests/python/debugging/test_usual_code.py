"""Launches under the debug server in which nothing can stop: they run their usual code, and again with stops when they fail or
are wanted to stop."""

import subprocess
import sys
import time

import pytest
from debug_session import debugging, numbers
from processes import clean_environment

FAILS = """
    import numpy as np
    from numba import cuda

    @cuda.jit
    def kernel(x, total, seen):
        i = cuda.grid(1)
        print("thread", i)
        cuda.atomic.add(total, 0, 1)
        x[i] += 1
        cuda.syncthreads()
        place = i * 3  # place
        seen[place] = i  # store

    x, total, seen = (cuda.to_device(np.zeros(n, np.int64)) for n in (8, 1, 12))
    for _ in range(2):
        try:
            kernel[2, 4](x, total, seen)
        except IndexError as error:
            print("raised", error)
    print(*x.copy_to_host(), *total.copy_to_host(), *seen.copy_to_host())
"""


def plain(folder, code_file, policy="forward"):
    """What the script prints without a debugger, on one worker."""
    done = subprocess.run(
        [sys.executable, str(code_file)], cwd=folder, capture_output=True, text=True, timeout=60,
        env=clean_environment(ENABLE_CUDASIM="1", CUDASIM_WORKERS="1", CUDASIM_POLICY=policy), stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return done.stdout


@pytest.mark.parametrize("policy", ["forward", "reverse", "random"])
def test_a_launch_that_fails_runs_again_and_stops_before_the_damage(tmp_path, policy):
    with debugging(tmp_path, FAILS, CUDASIM_POLICY=policy) as client:
        client.run()
        stop = client.wait("store", "exception")
        assert "notes" not in stop["cudasim"] or not stop["cudasim"]["notes"]
        block, thread = stop["cudasim"]["block"][0], stop["cudasim"]["thread"][0]
        number = 4 * block + thread
        locals_ = client.scope("Locals")
        assert (locals_["i"]["value"], locals_["place"]["value"]) == (str(number), str(3 * number))
        # Threads that came before it in the order have done all of it, each once.
        assert client.value("x.max()") == "1"
        assert client.value("total[0]") == client.value("x.sum()")
        client.go("stepBack", "store")  # to where the statement begins
        client.go("stepBack", "place")
        client.go("continue", "store", "exception")
        # The next launch has no error that was not told of in its own kernel before: it stops again.
        client.go("continue", "store", "exception")
        output = client.go_to_end()
    assert output == plain(tmp_path, tmp_path / "script.py", policy)
    assert output.count("thread") == 16


LAUNCHES = """
    import numpy as np
    from numba import cuda

    @cuda.jit
    def kernel(x, n):
        i = cuda.grid(1)
        x[i] += n  # add

    x = np.zeros(8, np.int64)
    for n in range(1, 4):
        print("launch", n, flush=True)
        kernel[2, 4](x, n)
        if n == 1:
            input()
    print(*x)
"""


def test_a_breakpoint_between_two_launches_is_known_and_stops_the_second(tmp_path):
    code = LAUNCHES.replace(
        "input()", "import pathlib, time\n            while not pathlib.Path('go').exists(): time.sleep(0.01)"
    )
    with debugging(tmp_path, code) as client:
        client.run()
        client.event("cudasim/launch")
        client.event("cudasim/launch")
        (found,) = client.break_at("add", cudasim={"threads": "1", "blocks": "1"})
        assert found["verified"]
        (tmp_path / "go").touch()
        assert client.wait("add", "breakpoint")["cudasim"]["launch"] == 2
        client.break_at()
        assert numbers(client.go_to_end().splitlines()[-1]) == [6] * 8


CALLS = """
    import numpy as np
    from numba import cuda

    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        if i == 2:
            breakpoint()
        x[i] += 1  # add

    x = np.zeros(4, np.int64)
    for _ in range(3):
        kernel[1, 4](x)
    print(*x)
"""


def test_a_call_of_breakpoint_stops_every_launch(tmp_path):
    with debugging(tmp_path, CALLS) as client:
        client.run()
        for launch in (1, 2, 3):
            stop = client.wait(reason="breakpoint") if launch == 1 else client.go(reason="breakpoint")
            assert (stop["cudasim"]["launch"], stop["cudasim"]["thread"]) == (launch, [2, 0, 0])
        assert client.go_to_end() == "3 3 3 3\n"


ENDLESS = """
    import numpy as np
    from numba import cuda

    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        if i < 60:
            cuda.atomic.add(x, 1, 1)
        else:
            while x[0] == 0:
                x[2] += 1  # count

    x = cuda.to_device(np.zeros(3, np.int64))
    kernel[8, 10](x)
    print("ends", *x.copy_to_host()[:2])
"""


def test_a_pause_comes_back_to_where_the_launch_was(tmp_path):
    with debugging(tmp_path, ENDLESS) as client:
        client.run()
        client.event("cudasim/launch")
        time.sleep(0.5)
        client.ask("pause", threadId=1)
        stop = client.wait(reason="pause")
        assert stop["cudasim"]["block"] in ([6, 0, 0], [7, 0, 0]), (
            stop
        )  # a block that spins lets others begin
        assert client.value("x[1]") == "60"
        frame = client.frames()[0]["id"]
        client.ask("setExpression", expression="x[0]", value="1", frameId=frame)
        client.ask("continue", threadId=1)
        assert client.end() == "ends 1 60\n"


def test_a_launch_beside_mapped_memory_stops_without_running_twice(tmp_path):
    code = FAILS.replace("x, total, seen = (", "mapped = cuda.mapped_array(1)\n    x, total, seen = (")
    with debugging(tmp_path, code) as client:
        client.run()
        client.wait("store", "exception")
        client.go("continue", "store", "exception")
        output = client.go_to_end()
    assert output == plain(tmp_path, tmp_path / "script.py")
