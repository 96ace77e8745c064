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
WAITS = [
    "[the thread waits at a barrier for threads 0..2, 4..255 of its block]",
    "[Lock is on. cuda block and cuda thread choose another thread to move; set lock off lets all run]",
    "11\t    cuda.syncthreads()",
]


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
        "the thread has not started; NameError: name 'i' is not defined",
        "No stack: the thread has not started.",
        f"{NAME} at kernel.py:8",
        "8\t    i, j = cuda.grid(2)",
        "9\t    s = cuda.shared.array((16, 16), np.int64)",
        "$2 = (653, 39)",
        "i = 653",
        "j = 39",
        "  Blocks             Threads    Count  First                         State        Where",
        "  0                  0              1  block(0,0,0) thread(0,0,0)    stopped      add at kernel.py:8",
        "  0, 168             0..255       510  block(0,0,0) thread(1,0,0)    not started",
        "* 168                125            1  block(40,2,0) thread(13,7,0)  stopped      add at kernel.py:9",
        "  1..167, 169..4095  0..255   1048064  block(1,0,0) thread(0,0,0)    not started",
        "  State          Blocks  Count",
        "* on the device  0,168       2",
        "  over                       0",
        "  not started             4094",
        "The focus is in block 168 (40,2,0) of 4096.",
        "block(40,2,0): thread 125 (1 of 256)",
        "It cannot be told for thread 0..124, 126..255: the thread has not started",
        "Continuing.",
        SUM,
        "[The program exited normally]",
    ]


def test_until_advance_and_finish_start_a_block_and_move_one_thread(million):
    folder, script = million
    shown = shows(
        folder, "start", "cuda block 5 thread 3", "until 10", "cuda block 6 thread 3", "advance 11", "info cuda blocks",
        "advance 12", "finish", "info cuda blocks", "cuda block 0", "next", "continue", script=script,
    )  # fmt: skip
    assert shown[shown.index("[Switching focus to add block(6,0,0) thread(3,0,0)]") + 2 :] == [
        "add block(6,0,0) thread(3,0,0) at kernel.py:11",
        "11\t    cuda.syncthreads()",
        "  State          Blocks  Count",
        "* on the device  0,5..6      3",
        "  over                       0",
        "  not started             4093",
        "The focus is in block 6 (6,0,0) of 4096.",
        "12\t    x[i, j] = s[cuda.threadIdx.x, cuda.threadIdx.y] + n",
        "Run till exit from #0  add (x=[[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ...],..., n=1) at kernel.py:12",
        "[Thread block(6,0,0) thread(3,0,0) has ended]",
        "  State          Blocks  Count",
        "* on the device  0,5..6      3",
        "  over                       0",
        "  not started             4093",
        "The focus is in block 6 (6,0,0) of 4096.",
        "[Switching focus to add block(0,0,0) thread(0,0,0)]",
        "add block(0,0,0) thread(0,0,0) at kernel.py:8",
        "8\t    i, j = cuda.grid(2)",
        "9\t    s = cuda.shared.array((16, 16), np.int64)",
        "Continuing.",
        SUM,
        "[The program exited normally]",
    ]


def test_lock_says_for_whom_a_thread_waits(million):
    folder, script = million
    assert shows(
        folder, "start", "cuda thread 3", "show lock", "set lock on", "next 9", "continue", "set lock off", "next",
        "continue", script=script,
    )[2:] == [
        "[Switching focus to add block(0,0,0) thread(3,0,0)]",
        "add block(0,0,0) thread(3,0,0) (not started)",
        "Whether no other thread runs while the one in focus goes on is off.",
        "add block(0,0,0) thread(3,0,0) at kernel.py:11",
        *WAITS,
        "Continuing.",
        *WAITS,
        "12\t    x[i, j] = s[cuda.threadIdx.x, cuda.threadIdx.y] + n",
        "Continuing.",
        SUM,
        "[The program exited normally]",
    ]  # fmt: skip


@pytest.fixture
def client(tmp_path, monkeypatch):
    with client_in(tmp_path, monkeypatch) as found:
        found.ask("break invert", "run")
        yield found


def test_what_lock_sends(client):
    assert client.ask("show lock") == "Whether no other thread runs while the one in focus goes on is off.\n"
    client.ask("set lock on", "step", "set lock off", "next")
    assert client.requests("stepIn")[-1]["cudasim"] == {"unit": "thread", "lock": True}
    assert client.requests("next")[-1]["cudasim"] == {"unit": "thread"}


def test_continue_under_lock_is_of_one_thread(client):
    client.ask("set lock", "continue")
    assert client.requests("continue")[-1] == {"threadId": 1, "cudasim": {"lock": True}}
