"""Deferred execution (option `deferred`): what waits, what makes it run, and where its faults are raised."""

import asyncio
import contextlib
import gc
import io
import linecache
import threading
import weakref

import numpy as np
import pytest
from cudasim import cuda, options
from cudasim.cuda.cudadrv import driver
from cudasim.errors import CudaAPIError
from cudasim.streams import stream_work


@pytest.fixture
def deferred():
    with options.override(deferred=True):
        yield
        stream_work.drop()


@cuda.jit
def add(x, amount):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += amount


@cuda.jit
def double(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2


@cuda.jit
def beyond(x):
    x[cuda.grid(1)] = 1


def test_nothing_runs_before_the_host_synchronises(deferred):
    stream, d = cuda.stream(), cuda.to_device(np.zeros(2))
    ran = []

    @cuda.jit
    def prints():
        print("ran")

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        prints[1, 1, stream]()
        add[1, 2, stream](d, 1)
        assert out.getvalue() == "" and stream_work.busy()
        stream.synchronize()
    assert out.getvalue() == "ran\n" and not stream_work.busy() and ran == []


@pytest.mark.parametrize(
    "force",
    [
        lambda stream, event: stream.synchronize(),
        lambda stream, event: event.synchronize(),
        lambda stream, event: event.query(),
        lambda stream, event: cuda.synchronize(),
        lambda stream, event: cuda.current_context().synchronize(),
        lambda stream, event: cuda.default_stream().synchronize() or cuda.to_device(np.zeros(1)),
        lambda stream, event: cuda.device_array(1).copy_to_host(),
        lambda stream, event: add[1, 1](np.zeros(1), 1),
    ],
)
def test_what_makes_deferred_work_run(deferred, force):
    stream, event = cuda.stream(), cuda.event()
    beyond[1, 4, stream](cuda.device_array(2))
    event.record(stream)
    with pytest.raises(IndexError):
        force(stream, event)


def test_a_fault_is_raised_where_the_host_synchronises_and_names_the_launch(deferred):
    stream, d = cuda.stream(), cuda.device_array(2)
    beyond[1, 4, stream](d)  # the launch
    with pytest.raises(
        IndexError, match=r"tid=\[2, 0, 0\].*\n.*launched at .*test_deferred_streams.py:\d+"
    ) as caught:
        stream.synchronize()
    line = int(str(caught.value).rpartition(":")[2])
    assert "# the launch" in linecache.getline(__file__, line)
    files = [entry.path.name for entry in caught.traceback]
    assert set(files) == {"test_deferred_streams.py"}
    stream.synchronize()  # told once
    add[1, 2, stream](d, 1)
    stream.synchronize()


def test_driver_calls_without_a_stream_run_after_everything_before_them(deferred):
    stream, a, b, host = cuda.stream(), cuda.to_device(np.zeros(4)), cuda.device_array(4), np.zeros(4)

    def launch(array):
        add[1, 4, stream](array, 1)

    launch(a)
    driver.device_to_host(host, a, a.nbytes)
    assert host.tolist() == [1] * 4
    launch(a)
    driver.device_to_device(b, a, a.nbytes)
    launch(a)
    assert b.copy_to_host().tolist() == [2] * 4
    launch(a)
    driver.host_to_device(a, host, a.nbytes)
    assert a.copy_to_host().tolist() == [1] * 4
    launch(a)
    driver.device_memset(a, 0, a.nbytes)
    assert a.copy_to_host().tolist() == [0] * 4


def test_driver_calls_with_a_stream_take_their_turn(deferred):
    stream, a, b = cuda.stream(), cuda.to_device(np.zeros(4)), cuda.device_array(4)
    host = cuda.pinned_array(4)
    add[1, 4, stream](a, 1)
    driver.device_to_device(b, a, a.nbytes, stream)
    driver.device_memset(a, 0, a.nbytes, stream)
    driver.device_to_host(host, b, b.nbytes, stream)
    driver.driver.cuMemcpyDtoDAsync(a.device_ctypes_pointer, b.device_ctypes_pointer, 8, int(stream))
    assert stream_work.busy()
    stream.synchronize()
    assert host.tolist() == [1] * 4 and a.copy_to_host().tolist() == [1, 0, 0, 0]


def test_what_depends_on_a_faulty_launch_does_not_run(deferred):
    first, second, event = cuda.stream(), cuda.stream(), cuda.event()
    d, seen = cuda.to_device(np.zeros(2)), []
    beyond[1, 4, first](cuda.device_array(2))
    event.record(first)
    event.wait(second)
    add[1, 2, second](d, 1)
    second.add_callback(lambda stream, status, arg: seen.append(status))
    with pytest.raises(IndexError):
        second.synchronize()
    assert d.copy_to_host().tolist() == [0, 0] and seen == [719]


def test_async_done_learns_of_a_fault(deferred):
    async def waits():
        stream = cuda.stream()
        beyond[1, 4, stream](cuda.device_array(2))
        await stream.async_done()

    with pytest.raises(Exception, match="Stream error 719"):
        asyncio.run(waits())
    with pytest.raises(IndexError):
        cuda.synchronize()


def test_what_the_device_forbids_fails_at_the_launch(deferred):
    stream, d = cuda.stream(), cuda.to_device(np.zeros(2))
    for grid, block, shared in ((1, 1025, 0), (1, (1, 1, 65), 0), ((1, 65536), 1, 0), (1, 1, 228 * 1024)):
        with pytest.raises(CudaAPIError, match="cuLaunchKernel") as caught:
            add[grid, block, stream, shared](d, 1)
        assert caught.value.code == 1
    stream.synchronize()
    assert d.copy_to_host().tolist() == [0, 0]


def test_several_faults_are_all_named(deferred):
    streams = [cuda.stream() for _ in range(3)]
    for stream in streams:
        beyond[1, 4, stream](cuda.device_array(2))
    with pytest.raises(IndexError) as caught:
        cuda.synchronize()
    assert str(caught.value).count("launched at") == 3 and str(caught.value).count("also: IndexError") == 2


def test_streams_without_an_event_may_run_in_another_order(deferred):
    results = {}
    for policy in ("forward", "reverse"):
        with options.override(policy=policy):
            first, second, d = cuda.stream(), cuda.stream(), cuda.to_device(np.zeros(1))
            add[1, 1, first](d, 1)
            double[1, 1, second](d)  # the program forgot to wait for the first
            cuda.synchronize()
            results[policy] = d.copy_to_host()[0]
    assert results == {"forward": 2, "reverse": 1}


def test_synchronising_one_stream_leaves_the_others(deferred):
    first, second = cuda.stream(), cuda.stream()
    d = cuda.to_device(np.zeros(1))
    event = cuda.event()
    add[1, 1, first](d, 1)
    event.record(second)
    second.synchronize()
    assert event.query() and stream_work.busy()
    first.synchronize()
    assert not stream_work.busy()


def test_arrays_live_until_the_launch_that_uses_them(deferred):
    stream, result = cuda.stream(), cuda.to_device(np.zeros(4))
    temporary = cuda.to_device(np.full(4, 5.0), stream=stream)
    alive = weakref.ref(temporary)

    @cuda.jit
    def copy(x, y):
        i = cuda.grid(1)
        y[i] = x[i]

    copy[1, 4, stream](temporary, result)
    del temporary
    gc.collect()
    assert alive() is not None
    stream.synchronize()
    gc.collect()
    assert alive() is None and result.copy_to_host().tolist() == [5] * 4


def test_each_host_thread_has_its_default_stream(deferred):
    key = cuda.per_thread_default_stream().key
    other = []
    thread = threading.Thread(target=lambda: other.append(cuda.per_thread_default_stream().key))
    thread.start()
    thread.join()
    assert key == cuda.per_thread_default_stream().key != other[0]
