"""The finding not-guaranteed-complete (rule V7): with deferred execution, host memory that enqueued work has to do with is
touched before the host has synchronised.
"""

import gc
import warnings

import numpy as np
import pytest
from cudasim import cuda, options
from cudasim.errors import CudasimWarning
from cudasim.streams import early_access, stream_work

KIND = "not-guaranteed-complete"


@cuda.jit
def add(x, amount):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += amount


@cuda.jit
def copy(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i]


@pytest.fixture(autouse=True)
def deferred():
    with options.override(deferred=True):
        yield
        stream_work.drop()
        gc.collect()
        assert not early_access._watches


@pytest.fixture
def silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def pinned(values):
    array = cuda.pinned_array(len(values), np.float64)
    array[:] = values
    return array


READS = {
    "element": lambda a: a[0],
    "sum": lambda a: a.sum(),
    "copy": lambda a: a.copy(),
    "memoryview": lambda a: memoryview(a).tobytes(),
    "list": lambda a: a.tolist(),
    "view": lambda a: np.asarray(a)[::2].max(),
    "write": lambda a: a.fill(3),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize("size", [4, 100_000])
def test_pinned_memory_is_read_before_the_copy_to_it(read, size):
    stream, target = cuda.stream(), pinned(np.zeros(size))
    d = cuda.to_device(np.ones(size), stream=stream)
    d.copy_to_host(target, stream=stream)
    with pytest.warns(
        CudasimWarning, match=f"{KIND}: pinned memory .* a copy to it, enqueued at .*{__name__}"
    ):
        read(target)
        str()  # noqa: UP018 - a call, where what is pending runs
    stream.synchronize()
    assert target.tolist() == [1] * size


def test_the_value_is_stale_and_the_warning_is_at_the_line():
    stream, target = cuda.stream(), pinned([0, 0])
    cuda.to_device(np.ones(2), stream=stream).copy_to_host(target, stream=stream)
    with pytest.warns(CudasimWarning, match=KIND) as caught:
        value = float(target[1])
    assert value == 0 and caught[0].filename == __file__
    stream.synchronize()
    assert target[1] == 1


def test_a_filter_makes_it_an_error():
    stream, target = cuda.stream(), pinned([0, 0])
    cuda.to_device(np.ones(2), stream=stream).copy_to_host(target, stream=stream)
    with warnings.catch_warnings():
        warnings.simplefilter("error", CudasimWarning)
        with pytest.raises(CudasimWarning, match=KIND):
            float(target[0])
            str()  # noqa: UP018 - a call, where what is pending runs
    stream.synchronize()


def test_pinned_memory_is_written_before_the_copy_from_it():
    stream, source = cuda.stream(), pinned([1, 2])
    d = cuda.to_device(source, stream=stream)
    with pytest.warns(CudasimWarning, match=f"{KIND}: pinned memory is written before a copy from it"):
        source[0] = 5
        str()  # noqa: UP018 - a call, where what is pending runs
    assert d.copy_to_host(stream=stream).tolist() == [5, 2]


def test_reading_what_is_copied_from_is_all_right(silent):
    stream, source = cuda.stream(), pinned([1, 2])
    d = cuda.to_device(source, stream=stream)
    assert source.sum() == 3
    assert d.copy_to_host(stream=stream).tolist() == [1, 2]
    source[0] = 5


@pytest.mark.parametrize("make", [cuda.mapped_array, cuda.managed_array], ids=["mapped", "managed"])
def test_memory_that_a_kernel_changes_is_read_before(make):
    stream, array = cuda.stream(), make(4)
    array[:] = 1
    add[1, 4, stream](array, 1)
    stale = array[0]
    str()  # noqa: UP018 - a call, where what is pending runs
    assert stale == 1
    with pytest.warns(CudasimWarning, match=f"{KIND}: .* before kernel add, enqueued at .*") as caught:
        stream.synchronize()
    assert caught[0].filename == __file__ and array.tolist() == [2] * 4


@pytest.mark.parametrize("make", [cuda.mapped_array, cuda.managed_array], ids=["mapped", "managed"])
def test_reading_what_a_kernel_only_reads_is_all_right(make, silent):
    stream, array = cuda.stream(), make(4)
    array[:] = 1
    target = cuda.device_array(4)
    copy[1, 4, stream](array, target)
    assert array.sum() == 4
    assert target.copy_to_host(stream=stream).tolist() == [1] * 4


def test_synchronising_first_is_all_right(silent):
    stream, target, array = cuda.stream(), pinned([0, 0]), cuda.mapped_array(2)
    event = cuda.event()
    array[:] = 0
    d = cuda.to_device(np.zeros(2), stream=stream)
    for synchronise in (stream.synchronize, cuda.synchronize, event.synchronize, event.query):
        add[1, 2, stream](d, 1)
        add[1, 2, stream](array, 1)
        d.copy_to_host(target, stream=stream)
        event.record(stream)
        synchronise()
        assert target.tolist() == array.tolist()
    assert target[0] == 4


def test_parts_of_one_array_are_told_apart(silent):
    first, second, target = cuda.stream(), cuda.stream(), pinned(np.zeros(8))
    cuda.to_device(np.ones(4), stream=first).copy_to_host(target[:4], stream=first)
    cuda.to_device(np.full(4, 2.0), stream=second).copy_to_host(target[4:], stream=second)
    first.synchronize()
    assert target[:4].tolist() == [1] * 4
    second.synchronize()
    assert target.tolist() == [1] * 4 + [2] * 4


@pytest.mark.parametrize("mode", ["native", "python"])
def test_work_that_runs_is_not_disturbed_by_what_waits_elsewhere(mode, silent):
    first, second, array = cuda.stream(), cuda.stream(), cuda.mapped_array(2048)
    array[:] = 0
    with options.override(mode=mode):
        add[2, 32, first](array, 1)
        add[2, 32, second](array, 2)
        first.synchronize()
        second.synchronize()
    assert array[:64].tolist() == [3] * 64


def test_what_waits_is_watched_again_after_other_work_has_run():
    first, second, target = cuda.stream(), cuda.stream(), pinned(np.zeros(8))
    cuda.to_device(np.ones(4), stream=first).copy_to_host(target[:4], stream=first)
    cuda.to_device(np.full(4, 2.0), stream=second).copy_to_host(target[4:], stream=second)
    first.synchronize()
    with pytest.warns(CudasimWarning, match=KIND):
        stale = float(target[5])
        str()  # noqa: UP018 - a call, where what is pending runs
    assert stale == 0


def test_pinned_arguments_are_copied_when_their_turn_comes(silent):
    stream, array = cuda.stream(), pinned([0, 0])
    d = cuda.to_device(np.ones(2), stream=stream)
    d.copy_to_host(array, stream=stream)
    add[1, 2, stream](array, 1)  # after the copy, in the same stream
    stream.synchronize()
    assert array.tolist() == [2, 2]


def test_results_in_pinned_arguments_are_not_there_yet():
    stream, array = cuda.stream(), pinned([0, 0])
    add[1, 2, stream](array, 1)
    with pytest.warns(CudasimWarning, match=KIND):
        assert array.tolist() == [0, 0]
        str()  # noqa: UP018 - a call, where what is pending runs
    stream.synchronize()
    assert array.tolist() == [1, 1]


def test_dropped_work_watches_nothing(silent):
    stream, target = cuda.stream(), pinned([0, 0])
    cuda.to_device(np.ones(2), stream=stream).copy_to_host(target, stream=stream)
    stream_work.drop()
    gc.collect()
    assert target.tolist() == [0, 0]


def test_pageable_memory_is_never_a_surprise(silent):
    stream, target, source = cuda.stream(), np.zeros(100_000), np.ones(100_000)
    d = cuda.to_device(source, stream=stream)
    source[:] = 7
    d.copy_to_host(target, stream=stream)
    assert target.min() == target.max() == 1


def test_with_faulthandler_and_in_other_threads(run):
    done = run.script(
        """
        import faulthandler, threading, warnings
        import numpy as np
        from cudasim import cuda
        stream = cuda.stream()
        target = cuda.pinned_array(4)
        target[:] = 0
        d = cuda.to_device(np.ones(4))
        d.copy_to_host(target, stream=stream)
        faulthandler.enable()
        d.copy_to_host(target, stream=stream)
        thread = threading.Thread(target=lambda: print(target.tolist()))
        thread.start()
        thread.join()
        stream.synchronize()
        print(target.tolist())
        """,
        CUDASIM_DEFERRED="1",
    )
    assert done.stdout.splitlines() == ["[0.0, 0.0, 0.0, 0.0]", "[1.0, 1.0, 1.0, 1.0]"], done.stderr
    assert KIND in done.stderr and "Fatal" not in done.stderr and done.returncode == 0
