"""Which threads wrote the elements that differ, and what they had read: found by running the recorded launch once more."""

from __future__ import annotations

from typing import Any

import numpy as np

from cudasim import _native, errors
from cudasim.comparing import report as reports
from cudasim.comparing.arrays import arrays_of
from cudasim.recording.parameters import ArrayArgument

#: Writes of an element that are listed, and of the last one reads.
_MOST_WRITES = _MOST_READS = 8


def add_accesses(record: Any, launch: dict[str, Any]) -> bool:
    """Adds writes and reads to the launch's differing elements. :returns: False where the launch cannot be repeated in this process"""
    places = {place["address"]: place["bytes"] for place in reports.differing_places(launch)}
    if not places or record.runs_in_front_end:
        return True
    try:
        elements, _ = _native.trace_elements(
            record, sorted(places.items()), writes=_MOST_WRITES, reads=_MOST_READS + 1
        )
    except (errors.RecordError, errors.CudaAPIError):
        return False
    names = _Names(record)
    accesses = {}
    for element in elements:
        writes = element["writes"]
        found: dict[str, Any] = {"writes": [_write(write, names) for write in writes]}
        if element["total_writes"] > len(writes):
            found["total_writes"] = element["total_writes"]
        if writes:
            reads = _reads_of_last(writes)
            found["reads"] = [_read(read, names) for read in reads[:_MOST_READS]]
            if len(reads) > _MOST_READS:
                found["more_reads"] = True
        accesses[element["address"]] = found
    reports.add_accesses(launch, accesses)
    return True


def _reads_of_last(writes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was read before the last write, the latest first. The parts of a complex number, or of a record, are written one by one."""
    last = writes[-1]
    reads: dict[tuple[int, int], dict[str, Any]] = {}
    for write in reversed(writes):
        if _writer(write) != _writer(last):
            break
        if write is not last and write["address"] == last["address"]:
            break  # the same part, earlier
        for read in write["reads"]:
            reads.setdefault((read["address"], read["bytes"]), read)
    return list(reads.values())


def _writer(write: dict[str, Any]) -> tuple[Any, ...]:
    """The thread and the line."""
    return write["tid"], write["ctaid"], _place(write["location"])


class _Names:
    """Arrays of a launch by the addresses in them."""

    def __init__(self, record: Any) -> None:
        self._arrays = list(arrays_of(record))

    def element(self, address: int, size: int) -> tuple[str, list[int], np.dtype, str] | None:
        """(array, index, type, field) of an access of `size` bytes at an address; None where no array has it. The type is that of the
        field, which is empty for whole elements."""
        for name, array in self._arrays:
            index = index_of(array, address)
            if index is None:
                continue
            begin = array.address + sum(i * stride for i, stride in zip(index, array.strides))
            return name, index, *part_of(array.dtype, address - begin, size)
        return None


def part_of(dtype: np.dtype, offset: int, size: int) -> tuple[np.dtype, str]:
    """(type, field) of `size` bytes at an offset in an element: "x", "b[1].x" in records, "real" and "imag" in complex numbers."""
    if dtype.itemsize <= size:
        return dtype, ""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        index = np.unravel_index(min(offset // base.itemsize, int(np.prod(shape)) - 1), shape)
        part, rest = part_of(base, offset % base.itemsize, size)
        return part, f"[{', '.join(map(str, index))}]" + (f".{rest}" if rest else "")
    for name, (own, begin, *_) in (dtype.fields or {}).items():
        if begin <= offset < begin + own.itemsize:
            part, rest = part_of(own, offset - begin, size)
            separator = "" if rest.startswith("[") else "."
            return part, name + (separator + rest if rest else "")
    if dtype.kind == "c" and size == dtype.itemsize // 2 and offset in (0, size):
        return np.dtype(f"f{size}"), "imag" if offset else "real"
    return dtype, ""


def index_of(array: ArrayArgument, address: int) -> list[int] | None:
    """The index of the element at an address in an array; None where it is in none. Strides may be negative, and in any order."""
    rest = address - array.address
    for extent, stride in zip(array.shape, array.strides):
        if stride < 0:
            rest += (extent - 1) * -stride
    index = [0] * len(array.shape)
    for axis in sorted(range(len(array.shape)), key=lambda one: -abs(array.strides[one])):
        stride, extent = abs(array.strides[axis]), array.shape[axis]
        if stride == 0:
            continue
        at = min(rest // stride, extent - 1)
        if at < 0:
            return None
        rest -= at * stride
        index[axis] = extent - 1 - at if array.strides[axis] < 0 else at
    return index if 0 <= rest < array.dtype.itemsize else None


def _place(location: list[tuple[str, str, int, int]]) -> dict[str, Any]:
    file, function, line, _ = location[0] if location else ("", "", 0, 0)
    return {"file": file, "line": line, "function": function}


def _write(write: dict[str, Any], names: _Names) -> dict[str, Any]:
    known = names.element(write["address"], write["bytes"])
    result = {
        "thread": list(write["tid"]),
        "block": list(write["ctaid"]),
        **_place(write["location"]),
        "value": _value(write["value"], known[2] if known else None),
        "atomic": write["atomic"],
    }
    if known and known[3]:
        result["field"] = known[3]
    return result


def _read(read: dict[str, Any], names: _Names) -> dict[str, Any]:
    place = _place(read["location"])
    own = read["space"] in ("shared", "local")
    known = None if own else names.element(read["address"], read["bytes"])
    dtype = known[2] if known else _dtype(read["element_type"])
    result = {
        "name": known[0] if known else read["element"] or read["name"] or read["space"],
        "value": _read_value(read, dtype),
        "file": place["file"],
        "line": place["line"],
    }
    if known:
        result["index"] = known[1]
        if known[3]:
            result["field"] = known[3]
    return result


def _dtype(name: str) -> np.dtype | None:
    try:
        return np.dtype(name) if name else None
    except TypeError:
        return None


def _value(content: bytes, dtype: np.dtype | None) -> str:
    """Bytes as a value of the element's type; hexadecimal where they are not one."""
    if (
        dtype is not None
        and dtype.itemsize == len(content)
        and (dtype.names is not None or dtype.kind in "biufcmM")
    ):
        return str(np.frombuffer(content, dtype)[0])
    return "0x" + content[::-1].hex()


def _read_value(read: dict[str, Any], dtype: np.dtype | None) -> str:
    """Of a long read only the first bytes are known."""
    if len(read["value"]) < read["bytes"]:
        return f"0x…{read['value'][::-1].hex()} (the first {len(read['value'])} of {read['bytes']} bytes)"
    return _value(read["value"], dtype)
