"""Stops (cudasim.launch.stops, design.md E13): one client for compiled kernels on every carrier and for Python mode."""

import os
import signal
import sys
import threading
import time

import numpy as np
import pytest
from cudasim import cuda, options
from cudasim.errors import KernelTimeoutError
from cudasim.launch import stops
from stop_client import RUNS, Client, line_of, place, stop_at


@pytest.fixture(params=RUNS.values(), ids=RUNS, autouse=True)
def run_as(request):
    """Every test runs on every carrier and in Python mode, unless it chooses one itself."""
    with options.override(**request.param):
        yield request.param


@pytest.fixture
def python_mode():
    with options.override(mode="python"):
        yield


# Threads of these put their numbers one after another into `order`, whose first element counts them.


@cuda.jit
def without_waits(order, out):
    i = cuda.threadIdx.x
    twice = 2 * i
    order[0] += 1  # first
    order[order[0]] = i  # second
    out[i] = twice + 1


@cuda.jit
def with_barrier(order, out):
    i = cuda.threadIdx.x
    twice = 2 * i
    order[0] += 1  # first
    order[order[0]] = i  # second
    cuda.syncthreads()  # wait
    out[i] = twice + 1


@cuda.jit
def with_warp_operation(order, out):
    i = cuda.threadIdx.x
    twice = 2 * i
    order[0] += 1  # first
    order[order[0]] = i  # second
    cuda.syncwarp()  # wait
    out[i] = twice + 1


KERNELS = pytest.mark.parametrize(
    "kernel", [without_waits, with_barrier, with_warp_operation], ids=lambda kernel: kernel.py_func.__name__
)


def launched(kernel, client, threads=5):
    order, out = np.zeros(threads + 1, np.int64), np.zeros(threads, np.int64)
    with stops.attached(client):
        kernel[1, threads](order, out)
    return list(order[1:]), list(out)


@KERNELS
def test_a_thread_is_stopped_and_read_another_is_moved_and_all_go_on(kernel):
    seen = {}

    def at_stop(launch):
        if client.stops > 1:
            return
        assert launch.stopped_thread == (0, 0)
        assert launch.state((0, 0)) == "stopped"
        assert launch.state((0, 3)) == "not started"
        assert launch.location((0, 3)) == []
        # Thread 3 comes to the same line, and then to the next one.
        assert launch.run((0, 3)) == "stopped"
        assert place(launch, (0, 3)).line == line_of(kernel, "first")
        assert launch.stop_thread((0, 3))
        assert launch.run((0, 3)) == "stopped"
        assert place(launch, (0, 3)).line == line_of(kernel, "second")
        assert launch.stop_thread((0, 3), False)
        assert place(launch, (0, 0)).line == line_of(kernel, "first")
        assert place(launch, (0, 0)).function == kernel.py_func.__name__
        seen.update({thread: stops.values(launch, (0, thread))[0] for thread in (0, 3)})
        assert launch.coordinate((0, 3)) == ((3, 0, 0), (0, 0, 0))
        # It has counted itself, and nobody else has.
        assert seen[0]["order"][0] == 1
        state = launch.run((0, 3))
        if kernel is without_waits:
            assert state == "over"
        else:
            assert state == ("at barrier" if kernel is with_barrier else "in warp")
            assert place(launch, (0, 3)).line == line_of(kernel, "wait")
            assert launch.run((0, 3)) == state  # it cannot go on alone
        assert launch.run((0, 9)) == "absent"

    client = Client(stop_at(kernel, "first"), at_stop)
    order, out = launched(kernel, client)
    assert client.stops > 0
    assert order == [3, 0, 1, 2, 4]
    assert out == launched(kernel, Client())[1] == [1, 3, 5, 7, 9]
    assert (seen[0]["i"], seen[0]["twice"]) == (0, 0)
    assert (seen[3]["i"], seen[3]["twice"]) == (3, 6)
    assert list(seen[3]["out"]) == [0] * 5


@KERNELS
def test_nothing_changes_when_every_thread_stops_at_every_line(kernel):
    client = Client(lambda launch: launch.stop_everywhere())
    assert launched(kernel, client, 40) == launched(kernel, Client(), 40)
    assert client.stops >= 40 * 5


@cuda.jit
def with_loops(out):
    for k in range(out[0]):  # 0
        out[1] += k  # 1
        for j in range(1, 3):  # 2
            out[1] += j  # 3
    n = out[0]  # 4
    while n > 0:  # 5
        n -= 1  # 6
    for k in range(3): out[1] += k  # noqa: E701 # fmt: skip # 7
    out[2] = n  # 8


def test_a_loop_stops_once_before_each_of_its_rounds():
    """As Python's own line events: evaluating a range and its first round are one statement."""
    first = line_of(with_loops, "0")
    lines = []
    client = Client(
        lambda launch: launch.stop_everywhere(),
        lambda launch: lines.append(place(launch, launch.stopped_thread).line - first),
    )
    with stops.attached(client):
        with_loops[1, 1](np.array([2, 0, 0]))
    inner = [2, 3, 2, 3, 2]
    assert lines == [0, 1, *inner, 0, 1, *inner, 0, 4, 5, 6, 5, 6, 5, 7, 7, 7, 7, 8]


@KERNELS
def test_a_guide_decides_who_comes_next(kernel):
    """Racy kernels obey it: here the last thread goes as far as it can, then the one before, …"""

    def guide(launch):
        moved = True
        while moved:
            moved = False
            for thread in reversed(range(launch.threads_of_block)):
                while launch.state((0, thread)) in ("not started", "stopped", "can run", "spins"):
                    launch.run((0, thread))
                    moved = True
        assert [launch.state((0, thread)) for thread in range(launch.threads_of_block)] == ["over"] * 40

    client = Client(lambda launch: launch.stop_everywhere(), guide)
    order, out = launched(kernel, client, 40)
    assert client.stops == 1
    assert order == list(reversed(range(40)))
    assert out == [2 * i + 1 for i in range(40)]


def test_a_guide_may_interleave_threads_within_an_update():
    """A lost update, made on purpose: both threads have read before either writes."""

    @cuda.jit
    def lost_update(word):
        seen = word[0]
        word[0] = seen + 1  # write

    def guide(launch):
        if client.stops == 1:
            assert launch.run((0, 1)) == "stopped"
            assert stops.values(launch, (0, 1))[0]["seen"] == 0

    word = np.zeros(1, np.int64)
    client = Client(stop_at(lost_update, "write"), guide)
    with stops.attached(client):
        lost_update[1, 2](word)
    assert word[0] == 1
    lost_update[1, 2](word)
    assert word[0] == 3


@cuda.jit(device=True)
def half(value):
    part = value / 2  # no stop
    return part  # inside


@cuda.jit
def of_two_functions(out):
    i = cuda.threadIdx.x
    tile = cuda.shared.array(4, np.int16)
    tile[i] = i + 10
    narrow = np.float32(i)
    flag = i > 0
    out[i] = half(narrow) if flag else half(1.0)  # call
    pair = (i, narrow)
    out[i] += pair[0]  # after


def test_the_variables_of_every_function_are_there():
    frames = {}

    def at_stop(launch):
        thread = launch.stopped_thread
        frames[thread[1], client.stops] = stops.values(launch, thread)
        location = stops.location(launch, thread)
        names = [place.function for place in location]
        if location[0].line == line_of(half, "inside"):
            assert names == ["half", "of_two_functions"]
            assert location[1].line == line_of(of_two_functions, "call")
        else:
            assert names == ["of_two_functions"]

    def begins(launch):
        launch.stop_at(__file__, line_of(half, "inside"))
        launch.stop_at(__file__, line_of(of_two_functions, "after"))

    out = np.zeros(2)
    client = Client(begins, at_stop)
    with stops.attached(client):
        of_two_functions[1, 2](out)
    assert list(out) == [0.5, 1.5]
    assert [thread for thread, _ in frames] == [0, 0, 1, 1]
    inner, outer = frames[0, 1]
    assert (inner["value"], inner["part"]) == (1.0, 0.5)
    assert outer["i"] == 0
    assert outer["flag"] is False
    assert outer["narrow"] == 0
    assert "pair" not in outer
    assert outer["tile"].dtype == np.int16
    assert outer["tile"][0] == 10
    inner, outer = frames[1, 3]
    assert (inner["value"], inner["part"]) == (1.0, 0.5)
    assert type(outer["narrow"]) is np.float32
    assert outer["flag"] is True
    assert list(outer["tile"][:2]) == [10, 11]
    (kernel,) = frames[1, 4]
    assert kernel["pair"] == (1, 1.0)
    assert list(kernel["out"]) == [0.5, 0.5]


@cuda.jit
def counts_after_a_stop(out, rounds):
    out[0] = 1  # stop
    count = 0
    while count != rounds:  # accesses no memory: the thread computes, and nobody hears of it
        count += 1
    out[0] = count


def test_the_time_limit_stands_still_while_the_launch_is_stopped(run_as):
    rounds = 1_000_000 if run_as["mode"] == "python" else 40_000_000  # for much longer than 50 ms
    client = Client(stop_at(counts_after_a_stop, "stop"), lambda launch: time.sleep(3.5))
    out = np.zeros(1, np.int64)
    with options.override(time_limit=3), stops.attached(client):
        counts_after_a_stop[1, 1](out, rounds)
    assert out[0] == rounds
    assert client.stops == 1


def test_the_time_limit_counts_again_afterwards():
    client = Client(stop_at(counts_after_a_stop, "stop"), lambda launch: time.sleep(0.1))
    began = time.monotonic()
    with options.override(time_limit=0.3), stops.attached(client), pytest.raises(KernelTimeoutError):
        counts_after_a_stop[1, 1](np.zeros(1, np.int64), -1)
    assert 0.4 <= time.monotonic() - began < 5
    assert client.stops == 1


class Stumble(Exception):
    pass


@pytest.mark.parametrize("moves", [False, True])
def test_what_a_handler_raises_ends_the_launch(moves):
    def at_stop(launch):
        if moves:
            launch.run((0, 2))
        raise Stumble

    with pytest.raises(Stumble):
        launched(with_barrier, Client(stop_at(with_barrier, "first"), at_stop))
    assert launched(with_barrier, Client())[1] == [1, 3, 5, 7, 9]


def test_what_a_handler_raises_before_anything_runs_ends_the_launch():
    def begins(launch):
        raise Stumble

    out = np.zeros(5, np.int64)
    with pytest.raises(Stumble), stops.attached(Client(begins)):
        with_barrier[1, 5](np.zeros(6, np.int64), out)
    assert not out.any()


def test_control_c_ends_a_stopped_launch():
    def at_stop(launch):
        assert not launch.poll()
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        time.sleep(10)

    client = Client(stop_at(with_barrier, "first"), at_stop)
    with pytest.raises(KeyboardInterrupt):
        launched(with_barrier, client)
    assert client.stops == 1
    assert launched(with_barrier, Client())[1] == [1, 3, 5, 7, 9]


def test_a_handler_can_end_the_launch():
    def at_stop(launch):
        launch.end()
        assert launch.over
        assert launch.run((0, 1)) == "not started"

    client = Client(stop_at(with_barrier, "first"), at_stop)
    with pytest.raises(KeyboardInterrupt):
        launched(with_barrier, client)
    assert client.stops == 1


def test_a_stopped_launch_cannot_be_used_later():
    kept = []
    launched(without_waits, Client(stop_at(without_waits, "first"), kept.append))
    assert len(kept) == 5
    with pytest.raises(RuntimeError, match="not stopped any more"):
        kept[0].run((0, 0))


def test_a_handler_launches_nothing_while_it_looks():
    def at_stop(launch):
        with pytest.raises(RuntimeError, match="launch"):
            without_waits[1, 1](np.zeros(2, np.int64), np.zeros(1, np.int64))

    client = Client(stop_at(with_barrier, "first"), at_stop)
    assert launched(with_barrier, client)[1] == [1, 3, 5, 7, 9]
    assert client.stops == 5


def test_memory_is_read_and_written_where_the_thread_may():
    def at_stop(launch):
        thread = launch.stopped_thread
        values = {variable["name"]: variable for variable in launch.variables(thread)}
        address = int.from_bytes(values["order"]["value"][:8], "little")
        count = int.from_bytes(launch.read(thread, address, 8), "little")
        assert launch.write(thread, address, (count + 1).to_bytes(8, "little"))
        assert launch.read(thread, 16, 8) is None
        assert not launch.write(thread, 16, bytes(8))

    order, out = np.zeros(9, np.int64), np.zeros(3, np.int64)
    with stops.attached(Client(stop_at(with_barrier, "first"), at_stop)):
        with_barrier[1, 3](order, out)
    assert list(order) == [6, 0, 0, 0, 1, 0, 2, 0, 0]


def test_shared_memory_is_written_where_it_lies():
    def at_stop(launch):
        thread = launch.stopped_thread
        (tile,) = [each for each in launch.variables(thread) if each["name"] == "tile"]
        address = int.from_bytes(tile["value"][:8], "little")
        if thread == (0, 0):
            assert launch.write(thread, address, np.int16(100).tobytes())
        else:
            assert launch.read(thread, address, 2) == np.int16(100).tobytes()

    @cuda.jit
    def shows(out):
        tile = cuda.shared.array(4, np.int16)
        tile[cuda.threadIdx.x] = 1
        cuda.syncthreads()
        out[cuda.threadIdx.x] = tile[0]  # look

    out = np.zeros(2, np.int64)
    with stops.attached(Client(stop_at(shows, "look"), at_stop)):
        shows[1, 2](out)
    assert list(out) == [100, 100]


def test_blocks_are_stopped_one_after_another():
    @cuda.jit
    def counts(out):
        out[cuda.blockIdx.x] += 1  # here

    seen = []

    def at_stop(launch):
        seen.append((launch.stopped_thread, launch.coordinate(launch.stopped_thread)[1]))
        assert launch.stopped_thread[0] in launch.blocks

    out = np.zeros(3, np.int64)
    with stops.attached(Client(stop_at(counts, "here"), at_stop)):
        counts[3, 1](out)
    assert seen == [((block, 0), (block, 0, 0)) for block in range(3)]
    assert list(out) == [1, 1, 1]


def test_blocks_are_started_before_their_turn():
    @cuda.jit
    def counts(out, order):
        i = cuda.blockIdx.x
        s = cuda.shared.array(2, np.int64)
        s[cuda.threadIdx.x] = i  # here
        order[0] += 1
        order[order[0]] = i
        cuda.syncthreads()
        out[2 * i + cuda.threadIdx.x] += s[1 - cuda.threadIdx.x] + 1

    def at_stop(launch):
        if client.stops > 1:
            return
        assert launch.state((3, 1)) == "not started" and launch.blocks == [0]
        assert launch.coordinate((3, 1)) == ((1, 0, 0), (3, 0, 0))
        assert launch.start_block(3) == "" and launch.blocks == [0, 3]
        assert launch.run((3, 1)) == "stopped"
        assert stops.values(launch, (3, 1))[0]["i"] == 3
        assert launch.run((3, 1)) == "at barrier"
        assert launch.state((3, 0)) == "not started"
        assert launch.run((4, 0)) == "stopped"  # starts its block
        assert launch.start_block(5) == "there is no block 5: the grid has 5"

    out, order = np.zeros(10, np.int64), np.zeros(11, np.int64)
    client = Client(stop_at(counts, "here"), at_stop)
    with stops.attached(client):
        counts[5, 2](out, order)
    assert list(order[1:]) == [3, 0, 0, 3, 4, 4, 1, 1, 2, 2]
    assert list(out) == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]


@cuda.jit
def sums(out, factor):
    total = 0
    small = np.float32(1)
    for i in range(3):
        total += i  # body
    out[cuda.threadIdx.x] = total * factor + small


def set_value(launch, name, value):
    return launch.set_variable(launch.stopped_thread, 0, name, np.asarray(value).tobytes())


def test_variables_are_set():
    def at_stop(launch):
        if client.stops != 2:
            return
        assert set_value(launch, "total", np.int64(100))
        assert set_value(launch, "factor", np.float64(0.5))
        assert set_value(launch, "small", np.float32(7))
        values = stops.values(launch, launch.stopped_thread)[0]
        assert (values["total"], values["factor"], values["small"]) == (100, 0.5, 7)
        assert not set_value(launch, "total", np.int16(1))  # another size
        assert not set_value(launch, "out", np.int64(1))  # an array
        assert not set_value(launch, "unknown", np.int64(1))
        assert not launch.set_variable(launch.stopped_thread, 1, "total", bytes(8))

    out = np.zeros(2)
    client = Client(stop_at(sums, "body"), at_stop)
    with stops.attached(client):
        sums[1, 2](out, 2.0)
    assert list(out) == [(100 + 1 + 2) * 0.5 + 7, 7]


# Python mode alone ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("python_mode")
def test_values_that_compiled_kernels_do_not_have_are_shown_as_text():
    @cuda.jit
    def with_objects(out):
        text = "word"
        nothing = None  # noqa: F841 - the handler looks at it
        out[0] = len(text)  # here

    def at_stop(launch):
        values = stops.values(launch, launch.stopped_thread)[0]
        assert repr(values["text"]) == "'word'"
        assert repr(values["nothing"]) == "None"
        assert not launch.set_variable(launch.stopped_thread, 0, "text", bytes(8))

    client = Client(stop_at(with_objects, "here"), at_stop)
    with stops.attached(client):
        with_objects[1, 1](np.zeros(1, np.int64))
    assert client.stops == 1


@cuda.jit(device=True)
def factorial(n):
    if n < 2:
        return 1  # deepest
    return n * factorial(n - 1)


@cuda.jit
def recursive(out):
    out[0] = factorial(4)


def test_functions_that_call_themselves_have_a_frame_for_each_call():
    def at_stop(launch):
        frames = stops.values(launch, launch.stopped_thread)
        assert [frame.get("n") for frame in frames] == [1, 2, 3, 4, None]

    out = np.zeros(1, np.int64)
    client = Client(stop_at(factorial, "deepest"), at_stop)
    with stops.attached(client):
        recursive[1, 1](out)
    assert out[0] == 24
    assert client.stops == 1


@pytest.mark.usefixtures("python_mode")
@pytest.mark.parametrize("in_threads", [False, True])
def test_the_hosts_trace_function_sees_the_lines_as_well(in_threads):
    """In its two forms: one that the launching thread has, and one that begins with each thread, as coverage.py's."""
    lines = []

    def trace(frame, event, _):
        if frame.f_code is sums.py_func.__code__ and event == "line":
            lines.append(frame.f_lineno)
        return trace

    def begins_tracing(frame, event, argument):
        sys.settrace(trace)
        return trace(frame, event, argument)

    def traced(client):
        lines.clear()
        before = sys.gettrace(), threading.gettrace()
        if in_threads:
            threading.settrace(begins_tracing)
        sys.settrace(trace)
        try:
            with stops.attached(client):
                sums[1, 2](np.zeros(2), 2.0)
        finally:
            sys.settrace(before[0])
            threading.settrace(before[1])
        return list(lines)

    client = Client(lambda launch: launch.stop_everywhere())
    alone = traced(Client())
    assert len(alone) > 2 * 8
    assert traced(client) == alone
    assert client.stops == len(alone)
