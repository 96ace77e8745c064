"""`cudasim debug` with blocks that have not begun, and with `set lock on`."""

import pytest
from client_sessions import client_in
from test_debugged_kernels import shows, write

MILLION = """
    import numpy as np
    from numba import cuda


    @cuda.jit
    def add(x, n):
        i, j = cuda.grid(2)
        s = cuda.shared.array((16, 16), np.int64)
        s[cuda.threadIdx.x, cuda.threadIdx.y] = 2 * i + j
        cuda.syncthreads()
        x[i, j] = s[cuda.threadIdx.x, cuda.threadIdx.y] + n


    x = np.zeros((1024, 1024), np.int64)
    add[(64, 64), (16, 16)](x, 1)
    print("sum", x.sum())
"""
SUM = f"sum {sum(2 * i + j + 1 for i in range(1024) for j in range(1024))}"
NAME = "add block(40,2,0) thread(13,7,0)"


@pytest.fixture
def million(tmp_path):
    return tmp_path, write(tmp_path, MILLION)


def test_a_thread_of_a_block_far_away_moves_alone(million):
    folder, script = million
    shown = shows(
        folder, "start", "cuda block (40,2,0) thread (13,7,0)", "info locals", "print threadIdx.y, blockIdx.x",
        "print i", "bt", "step", "next", "print i, j", "info locals", "info cuda threads", "info cuda blocks",
        "thread find i == 653", "continue", script=script,
    )  # fmt: skip
    assert shown == [
        "Kernel entry, add block(0,0,0) thread(0,0,0) at kernel.py:8",
        "8\t    i, j = cuda.grid(2)",
        f"[Switching focus to {NAME}]",
        f"{NAME} (not started)",
        "No stack: the thread has not started.",
        "$1 = (7, 40)",
    ]


def test_lock_says_for_whom_a_thread_waits(million):
    folder, script = million
    assert shows(
        folder, "start", "cuda thread 3", "show lock", "set lock on", "next 9", "continue", "set lock off", "next",
        "continue", script=script,
    ) == []  # fmt: skip


@pytest.fixture
def client(tmp_path, monkeypatch):
    with client_in(tmp_path, monkeypatch) as found:
        found.ask("tbreak 12 thread 10 block 0", "run")
        yield found


def test_what_lock_sends(client):
    assert client.ask("show lock") == "Whether no other thread runs while the one in focus goes on is off.\n"
    client.ask("next", "set lock on", "step", "until", "barrier", "set lock off", "next")
    assert [one.get("cudasim") for one in client.requests("next")] == [{"unit": "thread"}] * 2
    assert client.requests("stepIn")[-1]["cudasim"] == {"unit": "thread", "lock": True}
    assert client.requests("cudasim/until")[-1]["cudasim"] == {"lock": True}
    assert client.requests("cudasim/barrier")[-1]["cudasim"] == {"lock": True}


def test_continue_under_lock_is_of_one_thread(client):
    client.ask("set lock", "continue")
    assert client.requests("continue")[-1] == {"threadId": 1, "cudasim": {"lock": True}}
