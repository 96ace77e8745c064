"""Streams, events and callbacks: Numba's documentation ("Streams", "Events", "Memory management") and NVIDIA's CUDA Driver
API ("Stream Management", "Event Management"). Every test of results runs eagerly and deferred.
"""

import asyncio
import random
import threading
import time

import numpy as np
import pytest
from cudasim import cuda, options
from cudasim.errors import CudaAPIError
from cudasim.streams import stream_work
from python_mode_required import needs_python_mode


@pytest.fixture(params=["eager", "deferred"])
def both(request):
    with options.override(deferred=request.param == "deferred"):
        yield request.param
        cuda.synchronize()


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


def test_names_of_streams_are_numbas():
    ours = cuda.stream()
    assert repr(cuda.default_stream()) == "<Default CUDA stream>" and int(cuda.default_stream()) == 0
    assert repr(cuda.legacy_default_stream()) == "<Legacy default CUDA stream>"
    assert repr(cuda.per_thread_default_stream()) == "<Per-thread default CUDA stream>"
    assert (int(cuda.legacy_default_stream()), int(cuda.per_thread_default_stream())) == (1, 2)
    assert repr(ours) == f"<CUDA stream {int(ours)}>" and int(ours) != 0 and not ours.external
    external = cuda.external_stream(0x1234)
    assert repr(external) == f"<External CUDA stream {0x1234}>" and external.external
    assert int(external) == 0x1234 and ours.handle.value == int(ours)
    assert cuda.default_stream().__cuda_stream__() == (0, 0)
    assert ours.__cuda_stream__() == (0, int(ours))
    assert bool(ours) and bool(cuda.default_stream())
    assert ours != cuda.stream() and ours == ours and cuda.external_stream(int(ours)) == ours
    assert len({ours, cuda.external_stream(int(ours)), cuda.stream()}) == 2
    assert int(cuda.current_context().create_external_stream(77)) == 77
    with pytest.raises(TypeError, match="must be an int"):
        cuda.external_stream("0x1234")


@pytest.mark.parametrize("wrong", [1, "s", 1.5, object()])
def test_what_is_no_stream_is_refused_everywhere(wrong):
    d = cuda.to_device(np.zeros(2))
    for use in (
        lambda: add[1, 2, wrong],
        lambda: cuda.to_device(np.zeros(2), stream=wrong),
        lambda: d.copy_to_host(stream=wrong),
        lambda: d.copy_to_device(np.ones(2), stream=wrong),
        lambda: cuda.event().record(wrong),
        lambda: cuda.event().wait(wrong),
        lambda: add.forall(2, stream=wrong)(d, 1),
    ):
        with pytest.raises(TypeError, match="Expected a Stream object or 0"):
            use()


def test_no_stream_is_none_or_zero_for_launches_and_zero_for_events(both):
    d = cuda.to_device(np.zeros(2), stream=None)
    for stream in (0, None, cuda.default_stream(), cuda.legacy_default_stream(), cuda.external_stream(0)):
        add[1, 2, stream](d, 1)
    assert d.copy_to_host(stream=None).tolist() == [5, 5]
    event = cuda.event()
    event.record(0)
    event.wait(0)
    event.record(stream=cuda.default_stream())
    with pytest.raises(TypeError, match="got NoneType"):
        event.record(None)


def test_work_in_a_stream_runs_in_order(both):
    stream = cuda.stream()
    host = np.arange(8.0)
    d = cuda.to_device(host, stream=stream)
    host[:] = -1  # pageable memory was read when the copy was enqueued
    for _ in range(3):
        double[1, 8, stream](d)
        add[1, 8, stream](d, 1)
    result = np.empty(8)
    assert d.copy_to_host(result, stream=stream) is result
    assert result.tolist() == [8 * x + 7 for x in range(8)]


def test_host_arrays_as_arguments_are_written_back_at_once(both):
    stream, x = cuda.stream(), np.zeros(4)
    add[1, 4, stream](x, 1)
    assert x.tolist() == [1] * 4
    add[1, 4](x, 1)
    assert x.tolist() == [2] * 4


def test_copies_on_the_device_and_fills_take_their_turn(both):
    stream = cuda.stream()
    a, b = cuda.to_device(np.zeros(4)), cuda.device_array(4)
    add[1, 4, stream](a, 1)
    b.copy_to_device(a, stream=stream)
    add[1, 4, stream](a, 1)
    a.gpu_data.memset(0, stream=stream)
    add[1, 4, stream](a, 7)
    stream.synchronize()
    assert b.copy_to_host().tolist() == [1] * 4 and a.copy_to_host().tolist() == [7] * 4


def test_an_array_bound_to_a_stream_copies_there(both):
    stream = cuda.stream()
    d = cuda.to_device(np.zeros(2), stream=stream)
    assert d.stream == stream
    add[1, 2, stream](d, 1)
    assert d.copy_to_host().tolist() == [1, 1]
    assert d.bind(stream).copy_to_host().tolist() == [1, 1] and d[0] == 1


def test_auto_synchronize(both):
    stream, d = cuda.stream(), cuda.to_device(np.zeros(2))
    with stream.auto_synchronize() as same:
        assert same is stream
        add[1, 2, stream](d, 1)
    assert stream_work.busy() is False
    assert d.copy_to_host().tolist() == [1, 1]


def test_callbacks_run_in_order_on_a_thread_of_their_own(both):
    stream, seen = cuda.stream(), []

    def callback(given, status, arg):
        seen.append((given is stream, status, arg, threading.current_thread() is threading.main_thread()))

    for number in range(5):
        stream.add_callback(callback, number)
    stream.add_callback(callback)
    stream.synchronize()
    assert seen == [(True, 0, number, False) for number in (0, 1, 2, 3, 4, None)]


def test_a_callback_that_nobody_synchronises_with_runs(both):
    stream, called = cuda.stream(), threading.Event()
    d = cuda.to_device(np.zeros(2), stream=stream)
    add[1, 2, stream](d, 1)
    stream.add_callback(lambda *_: called.set())
    assert called.wait(20)


def test_what_comes_after_a_callback_waits_for_it(both):
    stream, order = cuda.stream(), []

    def slow(*_):
        time.sleep(0.05)
        order.append("callback")

    stream.add_callback(slow)
    d = cuda.to_device(np.zeros(2), stream=stream)
    add[1, 2, stream](d, 1)
    stream.synchronize()
    order.append("host")
    assert order == ["callback", "host"]


def test_the_default_stream_waits_for_callbacks_of_others_and_others_do_not(both):
    held, free, release, order = cuda.stream(), cuda.stream(), threading.Event(), []
    held.add_callback(lambda *_: (release.wait(20), order.append("callback")))
    d = cuda.to_device(np.zeros(2), stream=free) if both == "eager" else cuda.device_array(2)
    free.synchronize()
    order.append("free")
    release.set()
    x = np.zeros(2)
    add[1, 2](x, 1)
    order.append("default")
    assert order == ["free", "callback", "default"] and x.tolist() == [1, 1] and d is not None


def test_a_callback_that_raises_is_warned_about_and_the_stream_goes_on(both):
    stream, seen = cuda.stream(), []

    def bad(*_):
        raise ValueError("oh dear")

    with pytest.warns(UserWarning, match="Exception in stream callback: oh dear") as caught:
        stream.add_callback(bad)
        stream.add_callback(lambda *_: seen.append(1))
        stream.synchronize()
    assert caught[0].filename == __file__ and seen == [1]


def test_a_callback_may_not_call_cuda(both):
    stream, d, errors = cuda.stream(), cuda.to_device(np.zeros(2)), []

    def calls(*_):
        for call in (
            lambda: add[1, 2, stream](d, 1),
            lambda: d.copy_to_host(),
            lambda: cuda.to_device(np.zeros(2)),
            lambda: stream.synchronize(),
            lambda: stream.add_callback(print),
            lambda: cuda.synchronize(),
            lambda: cuda.event(),
        ):
            try:
                call()
            except CudaAPIError as error:
                errors.append(error.code)

    stream.add_callback(calls)
    stream.synchronize()
    assert errors == [800] * 7
    add[1, 2, stream](d, 1)
    assert d.copy_to_host().tolist() == [1, 1]


def test_a_callback_is_something_to_call():
    with pytest.raises(TypeError, match="callback"):
        cuda.stream().add_callback(None)


def test_async_done_with_several_streams(both):
    async def one(index):
        stream = cuda.stream()
        d = cuda.to_device(np.full(4, index), stream=stream)
        add[1, 4, stream](d, 1)
        assert await stream.async_done() is stream
        return d.copy_to_host(stream=stream)

    async def every():
        return await asyncio.gather(*[one(index) for index in range(6)])

    assert [result.tolist() for result in asyncio.run(every())] == [[index + 1] * 4 for index in range(6)]


def test_async_done_can_be_cancelled_and_outlives_its_loop(both):
    async def cancelled():
        stream = cuda.stream()
        stream.add_callback(lambda *_: time.sleep(0.05))
        first, second = stream.async_done(), stream.async_done()
        first.cancel()
        assert await second is stream and first.cancelled()

    asyncio.run(cancelled())
    stream = cuda.stream()

    async def left():
        stream.add_callback(lambda *_: time.sleep(0.05))
        stream.async_done()

    asyncio.run(left())
    stream.synchronize()
    with pytest.raises(RuntimeError, match="no running event loop"):
        stream.async_done()


def test_events_measure_milliseconds(both):
    stream, start, end = cuda.stream(), cuda.event(), cuda.event()
    start.record(stream)
    stream.add_callback(lambda *_: time.sleep(0.05))
    end.record(stream)
    end.synchronize()
    assert start.query() and end.query()
    assert 50 <= cuda.event_elapsed_time(start, end) < 5000
    assert start.elapsed_time(end) == cuda.event_elapsed_time(start, end)
    assert end.elapsed_time(start) == -start.elapsed_time(end)


def test_two_events_in_a_row_take_some_time(both):
    start, end = cuda.event(), cuda.event()
    start.record()
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) > 0


def test_an_event_that_was_not_recorded(both):
    event, recorded, silent = cuda.event(), cuda.event(), cuda.event(timing=False)
    assert event.query() is True
    event.synchronize()
    event.wait(cuda.stream())
    recorded.record()
    silent.record()
    silent.synchronize()
    recorded.synchronize()
    for pair in ((event, recorded), (recorded, event), (recorded, silent), (silent, recorded)):
        with pytest.raises(CudaAPIError, match="CUDA_ERROR_INVALID_HANDLE") as caught:
            pair[0].elapsed_time(pair[1])
        assert caught.value.code == 400
    with pytest.raises(TypeError, match="between two events"):
        recorded.elapsed_time(5)


def test_an_event_behind_a_callback_is_not_ready(both):
    stream, release = cuda.stream(), threading.Event()
    start, end = cuda.event(), cuda.event()
    start.record(stream)
    stream.add_callback(lambda *_: release.wait(20))
    end.record(stream)
    assert end.query() is False
    with pytest.raises(CudaAPIError, match="NOT_READY") as caught:
        start.elapsed_time(end)
    assert caught.value.code == 600
    release.set()
    end.synchronize()
    assert end.query() is True and start.elapsed_time(end) > 0


def test_an_event_can_be_polled(both):
    stream, event = cuda.stream(), cuda.event()
    stream.add_callback(lambda *_: time.sleep(0.05))
    event.record(stream)
    deadline = time.monotonic() + 20
    while not event.query():
        assert time.monotonic() < deadline
        time.sleep(0.001)


@pytest.mark.parametrize("policy", ["forward", "reverse", "random"])
def test_an_event_orders_two_streams(both, policy):
    with options.override(policy=policy):
        first, second, event = cuda.stream(), cuda.stream(), cuda.event()
        d = cuda.to_device(np.zeros(4))
        add[1, 4, first](d, 1)
        event.record(first)
        event.wait(second)
        double[1, 4, second](d)
        second.synchronize()
        assert d.copy_to_host().tolist() == [2] * 4


def test_host_threads_enqueue_and_synchronise_at_once(both):
    results = []

    def work(number):
        stream = cuda.stream()
        d = cuda.to_device(np.zeros(16), stream=stream)
        for _ in range(20):
            add[1, 16, stream](d, 1)
            if _ % 7 == number % 7:
                stream.synchronize()
        results.append(d.copy_to_host(stream=stream).tolist())

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == [[20] * 16] * 4


@needs_python_mode
def test_python_mode_is_deferred_too(both):
    with options.override(mode="python"):
        stream, d = cuda.stream(), cuda.to_device(np.zeros(4))
        add[1, 4, stream](d, 2)
        beyond[1, 4, stream](d)
        stream.synchronize()
        assert d.copy_to_host().tolist() == [1] * 4
        if both == "deferred":
            beyond[1, 8, stream](d)
            with pytest.raises(IndexError, match="launched at"):
                stream.synchronize()


def test_profiling_regions(both):
    cuda.profile_start()
    cuda.profile_stop()
    with cuda.profiling():
        pass
    with pytest.raises(KeyError), cuda.profiling():
        raise KeyError


def test_threads_that_do_anything_at_any_time_never_hang(both):
    results = []

    def work(seed):
        choose = random.Random(seed)
        streams, counts = [cuda.stream() for _ in range(3)], [0] * 3
        arrays = [cuda.to_device(np.zeros(32)) for _ in streams]
        events = [cuda.event() for _ in streams]
        for _ in range(150):
            at = choose.randrange(3)
            stream, array, event = streams[at], arrays[at], events[at]
            what = choose.choice(
                "launch launch launch default callback callback event query stream all copy".split()
            )
            if what in ("launch", "default"):
                add[1, 32, stream if what == "launch" else 0](array, 1)
                counts[at] += 1
            elif what == "callback":
                stream.add_callback(lambda *_: None)
            elif what == "event":
                event.record(stream)
                event.wait(streams[choose.randrange(3)])
            elif what == "query":
                event.query()
            elif what == "stream":
                stream.synchronize()
            elif what == "all":
                cuda.synchronize()
            elif array.copy_to_host(stream=stream)[0] != counts[at]:
                break
        results.append([array.copy_to_host()[0] for array in arrays] == counts)

    threads = [threading.Thread(target=work, args=(seed,), daemon=True) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == [True] * 4
