"""What an executable says of itself (ELF, "Tool Interface Standard"): whether it brings a CUDA runtime of its own."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from typing import NamedTuple

_STRINGS, _DYNAMIC, _NEEDED = 3, 6, 1


class _Section(NamedTuple):
    name: str
    kind: int
    offset: int
    size: int
    link: int


def has_a_runtime_of_its_own(path: str) -> bool:
    """Whether NVIDIA's nvcc linked the CUDA runtime into the executable, which it does unless -cudart says otherwise: such a program calls
    NVIDIA's driver, and no library of the simulator.
    """
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            sections = list(_sections(data))
            has_device_code = any(section.name == ".nv_fatbin" for section in sections)
            return (
                has_device_code
                and not any(name.startswith("libcudart.so") for name in _needed(data, sections))
                and data.find(b"libcuda.so") >= 0
            )
    except (OSError, ValueError, struct.error, IndexError):
        return False


def _sections(data: mmap.mmap) -> Iterator[_Section]:
    """Those of a 64-bit file for little-endian machines; of others none."""
    if data[:6] != b"\x7fELF\x02\x01":
        return
    (table,) = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, table + i * size) for i in range(count)]
    for header in headers:
        name = _text(data, headers[names][4] + header[0])
        yield _Section(name, header[1], header[4], header[5], header[6])


def _needed(data: mmap.mmap, sections: list[_Section]) -> Iterator[str]:
    """The shared libraries that the file asks for."""
    for section in sections:
        if section.kind != _DYNAMIC or sections[section.link].kind != _STRINGS:
            continue
        for at in range(section.offset, section.offset + section.size, 16):
            tag, value = struct.unpack_from("<qQ", data, at)
            if tag == _NEEDED:
                yield _text(data, sections[section.link].offset + value)


def _text(data: mmap.mmap, start: int) -> str:
    return data[start : data.find(b"\0", start)].decode(errors="replace")
