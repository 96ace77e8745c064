"""Traces of elements: which thread wrote them in a recorded launch, on which line, and what it had read."""

import inspect
import pathlib

import numpy as np
import pytest
from cudasim import _native, cuda, errors, options
from cudasim.recording.recorder import Recorder
from cudasim.recording.replay import Reader
from cudasim.types import float32
from python_mode_required import needs_python_mode

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples"


def recorded(kernel, grid, block, *arrays):
    """A record of a launch, and the arrays on the device."""
    on_device = [cuda.to_device(array) for array in arrays]
    records = []
    with Recorder(records.append).in_force():
        kernel[grid, block](*on_device)
    (record,) = records
    return record, on_device


def element(array, *index):
    """The range of an element."""
    interface = array.__cuda_array_interface__
    offset = sum(i * stride for i, stride in zip(index, array.strides, strict=True))
    return (interface["data"][0] + offset, array.dtype.itemsize)


def writes_to(record, array, *index, **limits):
    ((traced,), report) = _native.trace_elements(record, [element(array, *index)], **limits)
    assert report is None
    return traced["writes"]


def assembled(address, size, parts):
    """What the parts (dictionaries with address and value) are together, later ones over earlier ones."""
    content = bytearray(size)
    for part in parts:
        start = part["address"] - address
        content[start : start + len(part["value"])] = part["value"]
    return bytes(content)


def line_in(function, text):
    """The line of a kernel that contains a text."""
    lines, start = inspect.getsourcelines(function)
    (at,) = [number for number, line in enumerate(lines) if text in line]
    return start + at


PAIR = np.dtype([("a", np.int16), ("b", np.float64)], align=True)


@pytest.mark.parametrize(
    "dtype",
    ["bool", "int8", "uint16", "int32", "uint64", "float16", "float32", "float64", "complex64", "complex128"],
)
def test_values_of_all_types(dtype):
    @cuda.jit
    def move(x, y):
        i = cuda.grid(1)
        y[i] = x[i]

    x = np.random.default_rng(1).integers(1, 100, 64).astype(dtype)
    record, (on_device, y) = recorded(move, 2, 32, x, np.zeros(64, dtype))
    writes = writes_to(record, y, 37)
    assert {write["tid"] + write["ctaid"] for write in writes} == {(5, 0, 0, 1, 0, 0)}
    address, size = element(y, 37)
    assert assembled(address, size, writes) == x[37].tobytes()
    reads = [read for read in writes[-1]["reads"] if read["role"] == "value"]
    if not dtype.startswith("complex"):
        assert assembled(element(on_device, 37)[0], size, reads) == x[37].tobytes()
    assert {read["element"] for read in reads} == {"x[37]"}


def test_members_of_records():
    @cuda.jit
    def move(x, y):
        i = cuda.grid(1)
        y[i].b = x[i].a
        y[i].a = x[i].b

    x = np.zeros(8, PAIR)
    x["a"], x["b"] = np.arange(8), np.arange(8) * 10
    record, (_, y) = recorded(move, 1, 8, x, np.zeros(8, PAIR))
    writes = writes_to(record, y, 3)
    assert [(write["bytes"], write["value"]) for write in writes] == [
        (8, np.float64(3).tobytes()),
        (2, np.int16(30).tobytes()),
    ]
    assert [read["bytes"] for write in writes for read in write["reads"]] == [2, 8]


@cuda.jit(device=True)
def scaled(x, i, j, factors):
    return x[i, j] * factors[j]


@cuda.jit
def transpose(x, factors, y):
    tile = cuda.shared.array((8, 8), float32)
    i, j = cuda.grid(2)
    tile[i, j] = scaled(x, i, j, factors)
    cuda.syncthreads()
    y[i, j] = tile[j, i]


@pytest.mark.parametrize(
    "chosen", [{}, {"carrier": "fiber"}, {"check": "all"}, {"policy": "random"}], ids=str
)
def test_elements_of_shared_arrays_and_of_arguments_are_named(chosen):
    x, factors = np.arange(64, dtype=np.float32).reshape(8, 8), np.arange(8, dtype=np.float32)
    with options.override(**chosen):
        record, (_, _, y) = recorded(transpose, 1, (8, 8), x, factors, np.zeros((8, 8), np.float32))
    (write,) = writes_to(record, y, 2, 5)
    assert write["location"][0][1:3] == ("transpose", line_in(transpose.py_func, "y[i, j] ="))
    assert write["value"] == np.float32(x[5, 2] * factors[2]).tobytes()
    reads = write["reads"]
    assert [(read["role"], read["space"], read["element"]) for read in reads] == [
        ("value", "shared", "tile[5, 2]"),
        ("other", "global", "factors[5]"),
        ("other", "global", "x[2, 5]"),
    ]
    assert reads[0]["same_line"] and reads[0]["value"] == write["value"]
    assert [frame[1] for frame in reads[2]["location"]] == ["scaled", "transpose"]
    assert np.frombuffer(reads[2]["value"], np.float32) == x[2, 5]


def test_elements_of_strided_arrays_are_named():
    @cuda.jit
    def move(x, y):
        i, j = cuda.grid(2)
        y[i, j] = x[j, i]

    x = np.asfortranarray(np.arange(12, dtype=np.int64).reshape(3, 4))
    record, (_, y) = recorded(move, 1, (4, 3), x, np.zeros((4, 3), np.int64, order="F"))
    (write,) = writes_to(record, y, 3, 1)
    assert [read["element"] for read in write["reads"]] == ["x[1, 3]"]


def test_atomic_operations_and_their_order():
    @cuda.jit
    def count(x, counts, largest):
        i = cuda.grid(1)
        cuda.atomic.add(counts, x[i] % 4, 1)
        cuda.atomic.max(largest, 0, x[i])

    x = np.random.default_rng(2).permutation(64).astype(np.float32)
    integers = x.astype(np.int32)

    @cuda.jit
    def greatest(x, largest):
        cuda.atomic.max(largest, 0, x[cuda.grid(1)])

    record, (_, counts, largest) = recorded(
        count, 2, 32, integers, np.zeros(4, np.int32), np.full(1, -1, np.int32)
    )
    writes = writes_to(record, counts, 3)
    threads = [int(i) for i in np.flatnonzero(integers % 4 == 3)]
    assert [write["tid"][0] + 32 * write["ctaid"][0] for write in writes] == threads
    assert [int.from_bytes(write["result"], "little") for write in writes] == list(range(16))
    assert [write["order"] for write in writes] == list(range(16))
    assert all(write["atomic"] for write in writes)
    assert writes[0]["reads"][0]["role"] == "address"
    assert len(writes_to(record, largest, 0, writes=4)) == 4

    record, (_, largest) = recorded(greatest, 2, 32, x, np.full(1, -1, np.float32))
    last = writes_to(record, largest, 0)[-1]
    assert last["value"] == np.float32(63).tobytes() and last["atomic"]
    assert [read["element"] for read in last["reads"] if read["role"] == "value"][-1:] == [
        f"x[{int(np.argmax(x))}]"
    ]


def test_nothing_is_printed_again_and_faults_are_reported(capsys):
    @cuda.jit
    def fails(x, y):
        i = cuda.grid(1)
        print("thread", i)
        y[i] = x[i]

    x, y = cuda.to_device(np.arange(4)), cuda.to_device(np.zeros(8, np.int64))
    records = []
    with Recorder(records.append).in_force(), pytest.raises(IndexError):
        fails[1, 8](x, y)
    assert capsys.readouterr().out.count("thread") == 8
    elements, report = _native.trace_elements(records[0], [element(y, 3), element(y, 6)])
    assert capsys.readouterr().out == ""
    assert [len(each["writes"]) for each in elements] == [1, 0]
    assert report.findings[0]["exception_type"] == "IndexError"


def changed_words(record, most):
    """(address, before, after) of words that the launch has changed, spread over its memory."""
    found = []
    for index, memory in enumerate(record.memory):
        if not memory["recorded"]:
            continue
        before, after = record.content(index), record.content(index, True)
        changed = [at for at in range(0, len(before) - 3, 4) if before[at : at + 4] != after[at : at + 4]]
        for at in changed[:: len(changed) // most + 1]:
            found.append((memory["address"] + at, before[at : at + 4], after[at : at + 4]))
    return found


@pytest.mark.parametrize("example", ["game_of_life", "prefix_sum", "normalise_vectors"])
def test_writes_together_are_what_memory_holds_afterwards(run, example):
    done = run(
        "-m", "cudasim.command_line", "record", "-o", "run.cudasim", "--after", "--launch", "..4",
        EXAMPLES / f"{example}.py",
    )  # fmt: skip
    reader = Reader(str(run.folder / "run.cudasim"))
    assert len(reader) > 0, done.stderr
    for record in map(reader.read, range(len(reader))):
        words = changed_words(record, 20)
        assert words
        elements, report = _native.trace_elements(record, [(address, 4) for address, _, _ in words])
        assert report is None
        for (address, before, after), traced in zip(words, elements, strict=True):
            assert traced["writes"]
            content = bytearray(before)
            for write in traced["writes"]:
                start = write["address"] - address
                content[start : start + write["bytes"]] = write["value"]
            assert bytes(content) == after


@needs_python_mode
def test_python_mode_is_refused():
    @cuda.jit
    def move(x, y):
        y[0] = x[0]

    with options.override(mode="python"):
        record, (_, y) = recorded(move, 1, 1, np.ones(1), np.zeros(1))
    with pytest.raises(errors.RecordError, match="Python mode, where writes are not traced"):
        _native.trace_elements(record, [element(y, 0)])


def test_ranges_that_are_not_in_the_record_are_refused():
    record, (x, _, _) = recorded(
        transpose,
        1,
        (8, 8),
        *[np.ones((8, 8), np.float32), np.ones(8, np.float32), np.zeros((8, 8), np.float32)],
    )
    with pytest.raises(ValueError, match="no content of memory"):
        _native.trace_elements(record, [(8, 4)])
    with pytest.raises(ValueError, match="between 1 and 1024 elements"):
        _native.trace_elements(record, [])
