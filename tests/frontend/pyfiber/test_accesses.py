"""What observers of accesses are told in Python mode (cudasim.launch.accesses): every access of a kernel, and nothing else."""

import re
import warnings

import numpy as np
import pytest
from cudasim import cuda, errors, options
from cudasim.launch import accesses
from python_mode_required import skip_module_without_python_mode

skip_module_without_python_mode()


def launched(kernel, *arguments, grid=1, block=1, places=False):
    """The events of one launch in Python mode."""
    with options.override(mode="python"), accesses.observed(places) as log, warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.NotGpuCodeWarning)
        kernel[grid, block](*arguments)
    return log.events()


def start(array):
    return array.__cuda_array_interface__["data"][0]


class Ranges:
    """Names of arrays by their addresses: a tuple (kind, array, offset, bytes) for each event."""

    def __init__(self, **arrays):
        self.ranges = {name: (start(array), array.nbytes) for name, array in arrays.items()}

    def __call__(self, events):
        return [(event.what, *self._named(event), event.bytes) for event in events]

    def _named(self, event):
        if event.what in ("shared memory", "local memory"):
            self.ranges[event.what.split()[0]] = event.address, event.bytes
        for name, (first, size) in self.ranges.items():
            if first <= event.address and event.address + event.bytes <= first + size:
                return name, event.address - first
        return "elsewhere", 0


# --- elements ---


@cuda.jit
def copies_one(target, source):
    target[2] = source[1]


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16", "M8[s]"])  # fmt: skip
def test_elements_of_every_type(dtype):
    a, b = cuda.to_device(np.zeros(3, dtype)), cuda.to_device(np.ones(3, dtype))
    size = np.dtype(dtype).itemsize
    events = launched(copies_one, a, b)
    assert Ranges(a=a, b=b)(events) == [("read", "b", size, size), ("write", "a", 2 * size, size)]
    assert {(e.order, e.scope, e.volatile) for e in events} == {("plain", "thread", False)}
    assert a.copy_to_host()[2] == b.copy_to_host()[1]


@cuda.jit
def adds_index(x):
    i = cuda.grid(1)
    x[i] += i


def test_each_access_has_its_thread():
    x = cuda.to_device(np.zeros(4, np.int32))
    events = launched(adds_index, x, grid=2, block=2)
    assert [(e.what, e.block, e.thread, e.address - start(x)) for e in events] == [
        (what, i // 2, i % 2, 4 * i) for i in range(4) for what in ("read", "write")
    ]


@cuda.jit
def swaps_behind_a_barrier(x, out):
    i = cuda.threadIdx.x
    x[i] = i
    cuda.syncthreads()
    out[i] = x[1 - i]


def test_threads_that_wait_at_a_barrier():
    x, out = cuda.to_device(np.zeros(2, np.int8)), cuda.to_device(np.zeros(2, np.int8))
    events = launched(swaps_behind_a_barrier, x, out, block=2)
    order = [(e.thread, *named) for e, named in zip(events, Ranges(x=x, out=out)(events))]
    assert order == [
        (0, "write", "x", 0, 1), (1, "write", "x", 1, 1),
        (0, "read", "x", 1, 1), (0, "write", "out", 0, 1),
        (1, "read", "x", 0, 1), (1, "write", "out", 1, 1),
    ]  # fmt: skip


@cuda.jit
def rows_and_planes(m, out):
    out[0] = m[1, 2]
    out[0] = m[-1, -1]
    out[0] = m[1][0]
    m.T[2, 0] = 5.0
    for x in m[0]:
        out[0] = x


def test_indices_of_several_dimensions_and_iteration():
    m, out = cuda.to_device(np.zeros((2, 3), np.float32)), cuda.to_device(np.zeros(1, np.float32))
    reads = [e for e in Ranges(m=m, out=out)(launched(rows_and_planes, m, out)) if e[1] == "m"]
    assert reads == [
        ("read", "m", 20, 4), ("read", "m", 20, 4), ("read", "m", 12, 4), ("write", "m", 8, 4),
        ("read", "m", 0, 4), ("read", "m", 4, 4), ("read", "m", 8, 4),
    ]  # fmt: skip


@cuda.jit
def only_asks(x, out):
    y = x.reshape(2, 2).T
    z = x[1:3].view(np.uint32)
    if len(x) != 4 or y.shape[0] != 2 or z.ndim != 1 or x.size != 4:
        out[0] = 1


def test_shapes_and_views_are_no_access():
    x, out = cuda.to_device(np.zeros(4, np.int32)), cuda.to_device(np.zeros(1))
    assert launched(only_asks, x, out) == []


# --- atomics, fences, warp operations ---

UPDATES = ["add", "sub", "max", "min", "nanmax", "nanmin", "and_", "or_", "xor", "inc", "dec", "exch"]


@pytest.mark.parametrize("name", UPDATES)
def test_atomic_updates(name):
    update = getattr(cuda.atomic, name)

    @cuda.jit
    def updates(x):
        update(x, 1, 3)

    x = cuda.to_device(np.array([1, 2], np.uint32))
    (event,) = launched(updates, x)
    assert Ranges(x=x)([event]) == [("update", "x", 4, 4)]
    assert (event.order, event.scope, event.volatile) == ordering_of_compiled(updates, x)


def ordering_of_compiled(kernel, x):
    """Order and scope that the compiled kernel has in its IR."""
    compiled = cuda.jit(kernel.py_func)
    with options.override(mode="native"):
        compiled[1, 1](x)
    (text,) = compiled.inspect_llvm().values()
    found = re.findall(r'(?:atomicrmw|cmpxchg).*syncscope\("(\w+)"\) (\w+)', text)
    assert found, text
    ((scope, order),) = set(found)
    return {"monotonic": "relaxed"}[order], scope, False


@cuda.jit
def swaps_if_equal(x):
    cuda.atomic.cas(x, 1, 7, 8)
    cuda.atomic.cas(x, 1, 7, 9)
    cuda.atomic.compare_and_swap(x[1:], 8, 5)
    cuda.atomic.compare_and_swap(x[1:], 8, 6)


def test_a_compare_and_swap_that_finds_another_value_reads():
    x = cuda.to_device(np.array([0, 7], np.int64))
    events = launched(swaps_if_equal, x)
    assert Ranges(x=x)(events) == [(what, "x", 8, 8) for what in ("update", "read", "update", "read")]
    assert {(e.order, e.scope, e.volatile) for e in events} == {ordering_of_compiled(swaps_if_equal, x)}
    assert list(x.copy_to_host()) == [0, 5]


@cuda.jit
def uses_cache_hints(x):
    x[0] = cuda.ldca(x, 1) + cuda.ldcg(x, 2) + cuda.ldcs(x, 3) + cuda.ldlu(x, 4) + cuda.ldcv(x, 5)
    cuda.stcg(x, 1, 10)
    cuda.stcs(x, 2, 10)
    cuda.stwb(x, 3, 10)
    cuda.stwt(x, 4, 10)


def test_cache_hints():
    x = cuda.to_device(np.zeros(6, np.int16))
    events = launched(uses_cache_hints, x)
    reads = [("read", "x", 2 * i, 2) for i in range(1, 6)]
    writes = [("write", "x", 2 * i, 2) for i in range(5)]
    assert Ranges(x=x)(events) == reads + writes
    # As the compiler marks them (frontend/pykernel/calls/cache_hint_calls.cpp).
    assert [e.volatile for e in events] == [False, True, False, False, True] + [False] * 5


@cuda.jit
def fences(x):
    cuda.threadfence_block()
    cuda.threadfence()
    cuda.threadfence_system()


def test_fences():
    events = launched(fences, cuda.to_device(np.zeros(1)))
    assert [(e.what, e.order, e.scope) for e in events] == [
        ("fence", "sequential", scope) for scope in ("block", "device", "system")
    ]


@cuda.jit
def meets(x):
    i = cuda.threadIdx.x
    x[i] = i
    cuda.syncwarp(3)
    x[i] = x[1 - i]


def test_warp_operations():
    x = cuda.to_device(np.zeros(2, np.int8))
    events = launched(meets, x, block=2)
    assert [(e.what, e.thread, e.mask) for e in events] == [
        ("write", 0, 0), ("lane comes", 0, 3), ("write", 1, 0), ("lane comes", 1, 3),
        ("lane goes on", 0, 3), ("read", 0, 0), ("write", 0, 0),
        ("lane goes on", 1, 3), ("read", 1, 0), ("write", 1, 0),
    ]  # fmt: skip


# --- records ---

POINT = np.dtype([("x", np.float32), ("y", np.float64), ("tags", np.int16, (3,))], align=True)


@cuda.jit
def uses_records(points, one, out):
    point = points[1]
    point.x = point["y"]
    point.tags[2] = 7
    out[0] = points.x[0]
    points[0] = points[1]
    out[0] = one.y
    points[1].tags[:] = 5


def test_records():
    points, out = cuda.to_device(np.zeros(2, POINT)), cuda.to_device(np.zeros(1))
    one = cuda.to_device(np.zeros(1, POINT))
    size, y, tags = POINT.itemsize, POINT.fields["y"][1], POINT.fields["tags"][1]
    assert Ranges(points=points, one=one, out=out)(launched(uses_records, points, one[0], out)) == [
        ("read", "points", size + y, 8), ("write", "points", size, 4),
        ("write", "points", size + tags + 4, 2),
        ("read", "points", 0, 4), ("write", "out", 0, 8),
        ("read", "points", size, size), ("write", "points", 0, size),
        ("read", "one", y, 8), ("write", "out", 0, 8),
        ("write", "points", size + tags, 6),
    ]  # fmt: skip


@cuda.jit
def spreads_a_record(points):
    points[1:] = points[0]


def test_a_record_that_is_assigned_to_several():
    points = cuda.to_device(np.zeros(3, POINT))
    size = POINT.itemsize
    assert Ranges(points=points)(launched(spreads_a_record, points)) == [
        ("read", "points", 0, size), ("write", "points", size, 2 * size),
    ]  # fmt: skip


# --- slices ---


@pytest.mark.parametrize("key, value, expected", [
    (slice(2, 5), 7, [("write", "a", 8, 12)]),
    (slice(None), "b", [("read", "b", 0, 24), ("write", "a", 0, 24)]),
    (slice(None, None, 2), 1.5, [("write", "a", 8 * i, 4) for i in range(3)]),
    (slice(3, 0, -1), 1, [("write", "a", 4, 12)]),
    (slice(4, 2), 1, []),
    (Ellipsis, (1, 2, 3, 4, 5, 6), [("write", "a", 0, 24)]),
])  # fmt: skip
def test_bulk_assignments(key, value, expected):
    @cuda.jit
    def assigns(a, b):
        a[key] = b if value == "b" else value

    a, b = cuda.to_device(np.zeros(6, np.int32)), cuda.to_device(np.ones(6, np.int32))
    assert Ranges(a=a, b=b)(launched(assigns, a, b)) == expected


@pytest.mark.parametrize("order", "CF")
def test_bulk_assignments_in_two_dimensions(order):
    """Each run of bytes is one access: a thread that writes its column does not write the others'."""

    @cuda.jit
    def assigns(m, column):
        m[:, 1] = column[0]
        m[:] = 2
        m[1:, 1:] = 3

    m = cuda.to_device(np.zeros((3, 4), np.int16, order=order))
    column = cuda.to_device(np.ones(1, np.int16))
    if order == "C":
        columns, corner = [(8 * i + 2, 2) for i in range(3)], [(8 * i + 2, 6) for i in (1, 2)]
    else:
        columns, corner = [(6, 6)], [(6 * j + 2, 4) for j in (1, 2, 3)]
    events = Ranges(m=m, column=column)(launched(assigns, m, column))
    assert events == [("read", "column", 0, 2)] + [
        ("write", "m", offset, size) for offset, size in [*columns, (0, 24), *corner]
    ]


@cuda.jit
def searches(a, out):
    if 3 in a:
        out[0] = 1
    flat = a[::2].ravel()
    out[0] = flat[1]


def test_what_numpy_reads_for_cudasim():
    a, out = cuda.to_device(np.arange(4, dtype=np.int64)), cuda.to_device(np.zeros(1, np.int8))
    assert Ranges(a=a, out=out)(launched(searches, a, out)) == [
        ("read", "a", 0, 32), ("write", "out", 0, 1),
        ("read", "a", 0, 8), ("read", "a", 16, 8),  # a copy of NumPy's, which is read then
        ("read", "elsewhere", 0, 8), ("write", "out", 0, 1),
    ]  # fmt: skip


# --- what NumPy gets ---


@pytest.mark.parametrize("use, array", [
    (lambda a, mask: np.asarray(a), "a"),
    (lambda a, mask: a.sum(), "a"),
    (lambda a, mask: np.add.reduce(a), "a"),
    (lambda a, mask: repr(a), "a"),
    (lambda a, mask: np.asarray(a), "a"),
])  # fmt: skip
def test_arrays_that_numpy_gets_are_views(use, array):
    @cuda.jit
    def hands_over(a, mask):
        use(a, mask)
        a[0] = 1
        use(a, mask)

    a, mask = cuda.to_device(np.zeros(4, np.float32)), cuda.to_device(np.array([True, False] * 2))
    events = Ranges(a=a, mask=mask)(launched(hands_over, a, mask))
    assert set(events) == {("view", array, 0, 16), ("write", "a", 0, 4)}
    first = events.index(("write", "a", 0, 4))
    assert 0 < first < len(events) - 1, "it is told each time, also of an ndarray that is there already"


@cuda.jit
def selects(a, mask, points):
    a[mask] = 0
    np.asarray(a[::2])
    str(points[1])


def test_masks_parts_and_records_that_numpy_gets():
    a, mask = cuda.to_device(np.zeros(4, np.int16)), cuda.to_device(np.array([True, False] * 2))
    points = cuda.to_device(np.zeros(2, POINT))
    assert Ranges(a=a, mask=mask, points=points)(launched(selects, a, mask, points)) == [
        ("read", "mask", 0, 4), ("view", "a", 0, 8),
        ("view", "a", 0, 2), ("view", "a", 4, 2),
        ("view", "points", POINT.itemsize, POINT.itemsize),
    ]  # fmt: skip


# --- memory of blocks and threads ---

TABLE = np.arange(3, dtype=np.int16)


@cuda.jit
def uses_every_memory(out):
    shared = cuda.shared.array(4, np.int32)
    local = cuda.local.array(2, np.float64)
    constant = cuda.const.array_like(TABLE)
    shared[3] = constant[1]
    local[1] = shared[3]
    out[0] = local[1]


def test_shared_local_and_constant_memory():
    out = cuda.to_device(np.zeros(1))
    assert Ranges(out=out)(launched(uses_every_memory, out)) == [
        ("shared memory", "shared", 0, 16), ("local memory", "local", 0, 16),
        ("read", "elsewhere", 0, 2), ("write", "shared", 12, 4),
        ("read", "shared", 12, 4), ("write", "local", 8, 8),
        ("read", "local", 8, 8), ("write", "out", 0, 8),
    ]  # fmt: skip


@cuda.jit
def shares(out):
    i = cuda.threadIdx.x
    fixed = cuda.shared.array(2, np.int8)
    dynamic = cuda.shared.array(0, np.int16)
    fixed[i] = i
    dynamic[i] = i


def test_shared_arrays_begin_once_in_each_block():
    out = cuda.to_device(np.zeros(1))
    with options.override(mode="python"), accesses.observed() as log:
        shares[2, 2, 0, 8](out)
    begun = {}
    for event in log.events():
        begun.setdefault(event.block, []).append((event.what, event.thread, event.bytes))
    assert begun[0] == begun[1] == [
        ("shared memory", 0, 2), ("shared memory", 0, 8), ("write", 0, 1), ("write", 0, 2),
        ("write", 1, 1), ("write", 1, 2),
    ]  # fmt: skip


# --- what is told when ---


@cuda.jit
def leaves_the_array(x):
    x[0] = 1
    x[9] = x[1]


@cuda.jit
def writes_constants(x):
    x[0] = 1
    cuda.const.array_like(TABLE)[0] = 5


@cuda.jit
def assigns_no_number(x):
    x[0] = 1
    x[1] = np


@pytest.mark.parametrize("kernel, error, seen", [
    (leaves_the_array, IndexError, [("read", "x", 4, 4)]),
    (writes_constants, MemoryError, []),
    (assigns_no_number, TypeError, []),
])  # fmt: skip
def test_an_access_that_is_refused_is_none(kernel, error, seen):
    x = cuda.to_device(np.zeros(2, np.int32))
    with options.override(mode="python"), accesses.observed() as log, warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.NotGpuCodeWarning)
        with pytest.raises((error, errors.TypingError)):
            kernel[1, 1](x)
    assert Ranges(x=x)(log.events()) == [("write", "x", 0, 4), *seen]


kept = []


@cuda.jit
def keeps(x):
    kept.append(x)


def test_the_host_is_no_thread():
    x = cuda.to_device(np.zeros(2, np.int32))
    with options.override(mode="python"), accesses.observed() as log, warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.NotGpuCodeWarning)
        keeps[1, 1](x)
        array = kept.pop()
        array[0] = 5
        assert array[0] == 5 and np.asarray(array)[0] == 5
    assert log.events() == []


def inner(x):
    x[1] = 5


called = cuda.jit(device=True)(inner)


@cuda.jit
def outer(x):
    x[0] = 1
    called(x)


def test_places_come_with_their_callers():
    x = cuda.to_device(np.zeros(2, np.int32))
    here = outer.py_func.__code__.co_firstlineno
    first, second = launched(outer, x, places=True)
    assert [(place.function, place.line) for place in first.places] == [("outer", here + 2)]
    assert [(place.function, place.line) for place in second.places] == [
        ("inner", inner.__code__.co_firstlineno + 1),
        ("outer", here + 3),
    ]
    assert first.places[0].file == __file__
    assert [event.places for event in launched(outer, x)] == [(), ()]


def test_nobody_is_told_of_other_launches():
    x = cuda.to_device(np.zeros(4, np.int32))
    with accesses.observed() as log:
        with options.override(mode="native"):
            adds_index[1, 4](x)
        assert log.events() == []
        with options.override(mode="python"):
            adds_index[1, 4](x)
            assert len(log.events()) == 8
    with options.override(mode="python"):
        adds_index[1, 4](x)
    assert len(log.events()) == 8
    assert list(x.copy_to_host()) == [0, 3, 6, 9]
