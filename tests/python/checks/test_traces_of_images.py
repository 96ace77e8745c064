"""Traces of elements in images that clang makes of CUDA C++: which lines wrote, and which reads the values come from."""

import ctypes
import re

import numpy as np
import pytest
from clang_images import IMAGES, image_of
from cudasim import _native, cuda, options
from cudasim.cuda.cudadrv import driver

SOURCE = IMAGES / "traced.cu"
ELEMENT = 5
HEAD = re.compile(r"^(KERNEL|__device__) (?:\w+ )?(\w+)\(")


def functions():
    """name → (whether it is a kernel, mark → its lines)"""
    found = {}
    for number, line in enumerate(SOURCE.read_text().splitlines(), 1):
        if match := HEAD.match(line):
            marks = {"writes": set(), "value": set(), "address": set()}
            found[match[2]] = (match[1] == "KERNEL", marks)
        for mark in re.split(r",\s*", line.rpartition("// ")[2]) if found and "// " in line else []:
            marks[mark].add(number)
    return found


FUNCTIONS = functions()
KERNELS = [name for name, (is_kernel, _) in FUNCTIONS.items() if is_kernel]
#: kernel → the device function that it calls, whose lines count as well
CALLED = {"a_function": "set", "recursion": "sum"}


@pytest.fixture(scope="module", params=[False, True], ids=["as_written", "optimised"])
def image(request, tmp_path_factory):
    return image_of(SOURCE, tmp_path_factory.mktemp("traces"), request.param)


def marked(name, mark):
    return set().union(*(FUNCTIONS[each][1][mark] for each in (name, CALLED.get(name)) if each))


def record_of(image, name, size=64):
    """A record of a launch on data[i] == i and zeros, the address of out, and what is there afterwards."""
    function = cuda.current_context().create_module_image(image).get_function(name)
    arrays = [cuda.to_device(np.arange(64, dtype=np.int32)), cuda.to_device(np.zeros(size, np.int32))]
    addresses = [each.__cuda_array_interface__["data"][0] for each in arrays]
    records = []
    _native.record_launches(lambda kernel: 1, lambda record, number, problem: records.append(record))
    try:
        arguments = [ctypes.c_void_p(address) for address in addresses]
        driver.launch_kernel(function.handle, 1, 1, 1, 64, 1, 1, 0, 0, arguments)
    finally:
        _native.record_launches(None)
    (record,) = records
    return record, addresses[1], arrays[1].copy_to_host()


@pytest.mark.parametrize("chosen", [{}, {"carrier": "fiber"}, {"policy": "lockstep"}], ids=str)
@pytest.mark.parametrize("name", KERNELS)
def test_lines_of_writes_and_of_the_reads_behind_them(image, name, chosen):
    with options.override(**chosen):
        record, out, result = record_of(image, name)
    ((element,), report) = _native.trace_elements(record, [(out + 4 * ELEMENT, 4)])
    assert report is None
    writes = element["writes"]
    assert {write["location"][0][2] for write in writes} == marked(name, "writes")
    for role in ("value", "address"):
        lines = {
            read["location"][0][2] for write in writes for read in write["reads"] if read["role"] == role
        }
        assert lines == marked(name, role), role
    # What was written last is there in the end.
    last = bytearray(4)
    for write in writes:
        start = write["address"] - out - 4 * ELEMENT
        last[start : start + write["bytes"]] = write["value"]
    assert bytes(last) == result[ELEMENT].tobytes()


def traced(image, name):
    record, out, _ = record_of(image, name)
    return _native.trace_elements(record, [(out + 4 * ELEMENT, 4)])[0][0]["writes"]


def test_a_write_in_a_function_has_the_places_of_its_calls(image):
    (write,) = traced(image, "a_function")
    assert [frame[1] for frame in write["location"]] == ["set", "a_function"]


def test_shared_and_constant_memory_are_named(image):
    (write,) = traced(image, "shared_memory")
    read = write["reads"][0]
    assert (read["space"], read["offset"], read["address"] % 64) == ("shared", 20, 20)
    assert read["name"].endswith("tile")
    (write,) = traced(image, "variables_of_the_image")
    assert {(read["name"], read["offset"]) for read in write["reads"]} == {
        ("table", 4),
        ("offset_in_memory", 0),
    }


def test_atomic_operations_have_results(image):
    writes = traced(image, "an_atomic_operation")
    assert [int.from_bytes(write["result"], "little") for write in writes] == [
        sum(range(thread)) for thread in range(64)
    ]
    assert all(write["atomic"] for write in writes)
    (write,) = traced(image, "an_older_value")  # the compare-and-swap writes nothing
    assert not write["atomic"] and write["result"] is None
    assert [(read["role"], read["atomic"]) for read in write["reads"]][0] == ("value", True)


def test_code_of_a_record_is_checked_whatever_the_record_says(image):
    with options.override(check="none"):
        record, out, _ = record_of(image, "an_element", size=48)
    assert "memory" not in record.options["check"]
    ((element,), report) = _native.trace_elements(record, [(out + 4 * ELEMENT, 4)])
    assert len(element["writes"]) == 1
    assert report.findings[0]["kind"] == "out-of-bounds-global", report.text()
