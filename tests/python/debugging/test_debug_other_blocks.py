"""Threads of blocks that have not begun, and movements of one thread alone, through the protocol (docs/debug_protocol.md)."""

import pytest
from debug_session import debugging

MILLION = """
    import numpy as np
    from numba import cuda

    @cuda.jit
    def kernel(x, n):
        i, j = cuda.grid(2)  # first
        s = cuda.shared.array((16, 16), np.int64)
        s[cuda.threadIdx.x, cuda.threadIdx.y] = 2 * i + j  # store
        cuda.syncthreads()  # wait
        x[i, j] = s[cuda.threadIdx.x, cuda.threadIdx.y] + n  # last

    x = np.zeros((1024, 1024), np.int64)
    kernel[(64, 64), (16, 16)](x, 1)
    print(x.sum())
"""
TOTAL = f"{sum(2 * i + j + 1 for i in range(1024) for j in range(1024))}\n"
#: Linear indices of block (40,2,0) and of thread (13,7,0) in it.
BLOCK, THREAD = 2 * 64 + 40, 7 * 16 + 13
OTHERS = f"0..{THREAD - 1}, {THREAD + 1}..255"


@pytest.fixture
def client(tmp_path):
    """Thread 0 of block 0 of a million threads stands at the first statement, and no other has started."""
    with debugging(tmp_path, MILLION) as client:
        client.break_at("first", cudasim={"threads": "0", "blocks": "0"})
        client.run()
        client.wait("first")
        client.break_at()
        yield client


def states(client):
    """{(state, blocks): how many threads} of all that are in no block that has not begun."""
    groups = client.ask("cudasim/groups")["groups"]
    assert sum(group["count"] for group in groups) == 1 << 20
    assert groups[-1]["state"] == "not started"
    return {(group["state"], group["blocks"]): group["count"] for group in groups[:-1]}


def test_a_thread_of_a_block_that_has_not_begun_moves_alone(client):
    focus = client.focus(block=[40, 2, 0], thread=[13, 7, 0])
    assert (focus["state"], focus["block"], focus["thread"]) == ("not started", [40, 2, 0], [13, 7, 0])
    assert "file" not in focus
    assert client.frames()[0]["name"] == "kernel (not started)"
    assert client.frames()[0]["line"] == client.line("first")
    assert client.value("blockIdx.x") == "40" and client.value("threadIdx.y") == "7"
    assert {"threadIdx", "blockIdx", "laneid"} <= client.scope("Special registers").keys()
    assert client.scope("Locals") == {}
    assert states(client) == {("stopped", "0"): 1, ("not started", "0"): 255}  # looking does not start it

    stop = client.go("stepIn", "first", "step")
    assert (stop["cudasim"]["block"], stop["cudasim"]["thread"]) == ([40, 2, 0], [13, 7, 0])
    stop = client.go("next", reason="step")
    while stop["cudasim"]["line"] != client.line("wait"):
        stop = client.go("next", reason="step")
    assert (client.value("i"), client.value("j")) == (str(40 * 16 + 13), str(2 * 16 + 7))
    groups = client.ask("cudasim/groups")["groups"]
    assert [group["threads"] for group in groups if group["blocks"] == str(BLOCK)] == [str(THREAD)]
    alone = {("stopped", "0"): 1, ("stopped", str(BLOCK)): 1, ("not started", f"0, {BLOCK}"): 510}
    assert states(client) == alone
    assert groups[-1]["blocks"] == f"1..{BLOCK - 1}, {BLOCK + 1}..4095"

    # Where it must wait its own block runs, and nobody else.
    client.go("next", "last", "step")
    now = states(client)
    assert now.pop(("stopped", "0")) == 1 and now.pop(("not started", "0")) == 255
    assert now.pop(("stopped", str(BLOCK))) == 1
    assert sum(now.values()) == 255 and {blocks for _, blocks in now} == {str(BLOCK)}
    stop = client.go("next", reason="step")
    assert stop["description"] == "thread ended"
    assert client.go_to_end() == TOTAL


def test_a_single_thread_that_must_wait_says_for_whom(client):
    client.focus(block=BLOCK, thread=THREAD)
    stop = client.go("continue", reason="step", singleThread=True)
    assert stop["description"] == "waits" and stop["cudasim"]["line"] == client.line("wait")
    assert stop["cudasim"]["waits"] == {"kind": "barrier", "threads": OTHERS}
    assert stop["cudasim"]["notes"] == [f"the thread waits at a barrier for threads {OTHERS} of its block"]
    assert states(client) == {
        ("stopped", "0"): 1,
        ("at barrier", str(BLOCK)): 1,
        ("not started", f"0, {BLOCK}"): 510,
    }
    stop = client.go("next", "wait", "step", cudasim={"lock": True})
    assert stop["cudasim"]["waits"]["threads"] == OTHERS
    # Another one comes, and is waited for no longer.
    client.focus(thread=3)
    stop = client.go("continue", reason="step", singleThread=True)
    assert stop["cudasim"]["waits"]["threads"] == f"0..2, 4..{THREAD - 1}, {THREAD + 1}..255"
    stop = client.go("next", "last", "step")
    assert "waits" not in stop["cudasim"]
    assert client.go_to_end() == TOTAL


def test_a_block_that_is_over_says_so(client):
    client.break_at("last", cudasim={"threads": "7", "blocks": "2"})
    client.go(mark="last")
    message = client.refused("cudasim/focus", block=[1, 0, 0])
    assert message.startswith("block 1 is over: all its threads have run to their ends; a reverse command")
    client.break_at()
    assert client.go_to_end() == TOTAL


def test_a_block_that_was_moved_goes_back(client):
    client.focus(block=BLOCK, thread=THREAD)
    client.go("stepIn", "first", "step")
    client.go("next", reason="step")
    client.go("next", "store", "step")
    client.go("stepBack", reason="step")
    client.go("stepBack", "first", "step")
    assert states(client)["not started", f"0, {BLOCK}"] == 510
    client.go("next", reason="step")
    client.go("next", "store", "step")
    assert client.go_to_end() == TOTAL
