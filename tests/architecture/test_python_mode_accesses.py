"""Python mode reaches the memory of kernels through frontend/pyfiber/accesses.h only, so that observers see every access.

An Address is no pointer there, and the compiler keeps that. These tests keep the ways around it: each pattern below makes a pointer of
something, and each place that has it is listed, with the number of times that it does and the reason.
"""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "frontend" / "pyfiber"

# pattern -> {file: how often}
LISTED = {
    # The bytes of kernels' memory.
    r"\breach\(": {
        "accesses.h": 3,  # Address's friend, the function itself, load()
        "accesses.cpp": 3,  # load() where somebody observes; both sides of copy()
        "elements.cpp": 1,  # store()
        "atomics.cpp": 2,
    },
    r"\bfirst_\b": {"accesses.h": 6, "accesses.cpp": 1},  # the pointer in an Address
    r"\bfriend\b": {"accesses.h": 2},  # reach(), holds()
    # An address as a number, from which a pointer could be made.
    r"\.number\(\)": {
        "accesses.cpp": 4,  # for observers, and for the maker of ndarrays
        "kernel_array_methods.cpp": 1,  # alignment
        "memory_intrinsics.cpp": 1,  # where a shared array lies, for reports
        "assigned_states.cpp": 1,  # for the observer of values
        "unwritten_value.cpp": 3,  # for the observer of values: states, no bytes
        "stops.cpp": 1,  # whose memory a handler looks at
    },
    # ndarrays that nobody is told of.
    r"\bUse::nothing\b": {
        "accesses.cpp": 1,
        "kernel_array.cpp": 1,  # a number that is to be assigned
        "kernel_array_methods.cpp": 1,  # reshape() and its kind
    },
    r"\bmade_view\(": {"accesses.cpp": 2},
    # Objects whose memory becomes a kernel's, and values' bits.
    r"\bPyByteArray_AS_STRING\b|\bPyByteArray_AsString\b": {
        "kernel_array.cpp": 3,  # fresh memory gets its poison; a fresh array; a number that is to be assigned
        "memory_intrinsics.cpp": 2,  # dynamic shared memory
    },
    r"\bPyObject_GetBuffer\b|\bPyMemoryView_\w+": {},
    r"\bPyLong_AsVoidPtr\b": {
        "kernel_array_methods.cpp": 1,  # where a view of NumPy's begins
        "module.cpp": 1,  # where an argument of a kernel begins
    },
    # Values of Python as bits, in variables of the function.
    r"(reinterpret|static)_cast<(const )?(char|std::byte|u?int\d+_t|std::u?int\d+_t|float|double|T)\s*\*>": {
        "accesses.h": 1,  # Address(void*)
        "atomics.cpp": 2,
        "half_functions.cpp": 2,
        "libdevice_functions.cpp": 1,
        "stops.cpp": 3,  # what a handler sees and sets, no access of the kernel
    },
    r"\bmem(cpy|move|set|cmp)\(": {
        "accesses.cpp": 2,
        "atomics.cpp": 3,
        "elements.cpp": 2,
        "kernel_half.cpp": 1,
        "warp_intrinsics.cpp": 4,
    },
}


def sources():
    return [path for path in sorted(FOLDER.iterdir()) if path.suffix in {".h", ".cpp"}]


def code_of(path):
    """The text without comments."""
    return re.sub(r"//[^\n]*", "", path.read_text())


@pytest.mark.parametrize("pattern", LISTED)
def test_memory_is_reached_in_listed_places_only(pattern):
    found = {path.name: len(re.findall(pattern, code_of(path))) for path in sources()}
    found = {name: count for name, count in found.items() if count}
    assert found == LISTED[pattern], (
        f"{pattern}: an access of a kernel goes through accesses.h, which tells observers. What is none is listed in this test."
    )


def test_arrays_and_records_hold_addresses():
    """A plain pointer to a kernel's memory would pass everything."""
    headers = {name: code_of(FOLDER / name) for name in ("kernel_array.h", "kernel_record.cpp")}
    for name, text in headers.items():
        (members,) = re.findall(r"struct Kernel(?:Array|Record) \{(.*?)\n\};", text, re.DOTALL)
        assert re.search(r"\bAddress data;", members), name
        assert not re.search(r"\b(char|void|std::byte)\s*\*", members), name


def test_python_code_makes_memory_of_addresses_in_one_place():
    makers = r"from_address|ctypes\.cast|np\.frombuffer|np\.ndarray\(|as_strided|memoryview\("
    folders = ["python_mode", "kernel_library"]
    found = {
        f"{folder}/{path.name}": re.findall(makers, path.read_text())
        for folder in folders
        for path in sorted((ROOT / "frontend/python/cudasim" / folder).glob("*.py"))
    }
    assert {name: calls for name, calls in found.items() if calls} == {
        "python_mode/values.py": ["from_address", "np.ndarray("],  # numpy_view(), which accesses.h calls
        "python_mode/stopped_values.py": ["np.frombuffer"] * 2,  # bytes that a handler gives
    }
