"""What simulated devices are: those of the engine's table by their keys, and users' own by a file.

A file is TOML, or JSON with the same names:

    base = "a100"                    a device of the table, whose values hold where the file has none; or
    compute_capability = "8.6"       whose limits hold where the file has none
    name = "My GPU"
    multiprocessors = 20
    total_memory = "6G"
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any, NamedTuple

from cudasim._option_sources import parse_toml
from cudasim._option_values import NotValid, did_you_mean, path_from, shown, size, switch, whole_number

#: Keys of simulator/execution/device_profile.cpp; a test compares them.
DEVICES = (
    "h100", "v100", "t4", "a100", "a10", "l4", "l40s", "h200", "b200", "rtx2080ti", "rtx3060", "rtx3090", "rtx4060", "rtx4090",
    "rtx5090", "jetsonorin",
)  # fmt: skip

_WARP = 32  # on every GPU so far, and in the engine


class _Field(NamedTuple):
    parse: Callable[[Any], Any]
    accepts: str


def _numbers(lowest, highest):
    return _Field(whole_number(lowest, highest), f"a whole number from {lowest} to {highest}")


def _bytes(highest, text):
    return _Field(size(highest), f"bytes, or text with K, M, G, T; at most {text}")


def _extents(*highest):
    parsers = [whole_number(1, each) for each in highest]

    def parse(value):
        if not isinstance(value, (list, tuple)) or len(value) != 3:
            raise ValueError("no three extents")
        return tuple(parser(each) for parser, each in zip(parsers, value))

    return _Field(parse, f"three whole numbers, at most {list(highest)}")


def _name(value):
    if not isinstance(value, str) or not 0 < len(value) <= 200 or not value.isprintable():
        raise ValueError("no name")
    return value


def _capability(value):
    """(8, 6) of "8.6", 8.6 or [8, 6]."""
    parts = value if isinstance(value, (list, tuple)) else str(value).split(".")
    major, minor = (int(part) for part in parts)
    if isinstance(value, bool) or not (5 <= major <= 99 and 0 <= minor <= 9):
        raise ValueError("no compute capability")
    return major, minor


#: What a file may say, by the names of simulator/execution/device_profile.h.
FIELDS = {
    "name": _Field(_name, "a text"),
    "compute_capability": _Field(_capability, 'a compute capability such as "8.6"'),
    "total_memory": _bytes(64 << 40, "64T"),
    "multiprocessors": _numbers(1, 100_000),
    "warp_size": _Field(whole_number(_WARP, _WARP), f"{_WARP}, as every GPU has it"),
    "max_threads_per_block": _numbers(1, 1024),
    "max_threads_per_multiprocessor": _numbers(_WARP, 65536),
    "max_blocks_per_multiprocessor": _numbers(1, 1024),
    "max_block": _extents(1024, 1024, 1024),
    "max_grid": _extents(2**31 - 1, 2**31 - 1, 2**31 - 1),
    "shared_per_block": _bytes(1 << 20, "1M"),
    "shared_per_block_optin": _bytes(1 << 20, "1M"),
    "shared_per_multiprocessor": _bytes(1 << 20, "1M"),
    "shared_reserved_per_block": _bytes(1 << 20, "1M"),
    "constant_memory": _bytes(64 << 10, "64K"),
    "l2_cache": _bytes(2**31 - 1, "2G - 1"),
    "registers_per_block": _numbers(1, 2**31 - 1),
    "registers_per_multiprocessor": _numbers(1, 2**31 - 1),
    "clock_khz": _numbers(1, 2**31 - 1),
    "memory_clock_khz": _numbers(1, 2**31 - 1),
    "memory_bus_bits": _numbers(1, 2**31 - 1),
    "single_to_double_ratio": _numbers(1, 1024),
    "integrated": _Field(switch, "true or false"),
}

#: What a compute capability does not say.
_OF_THE_BOARD = ("multiprocessors", "total_memory")
#: (less, more): limits that no device has the other way round.
_ORDER = (
    ("max_threads_per_block", "max_threads_per_multiprocessor"),
    ("shared_per_block", "shared_per_block_optin"),
    ("shared_per_block_optin", "shared_per_multiprocessor"),
)


def entries(text: str) -> str:
    """What the option `device` takes: keys in the form of the table and paths of files, separated by commas. "H100, RTX 2080 Ti" is
    "h100,rtx2080ti"."""
    if not isinstance(text, str):
        raise ValueError("no names of devices")
    return ",".join(map(_entry, text.split(",")))


def _entry(text):
    if is_file(text):
        file = os.path.abspath(os.path.expanduser(text.strip()))
        load(file)
        return file
    key = "".join(filter(str.isalnum, text)).lower()
    if key not in DEVICES:
        raise NotValid(f"There is no device {shown(text.strip())}.{did_you_mean(key, DEVICES)}")
    return key


def entries_from(text: str, folder: str) -> str:
    """The same text with the paths in it as a file in this folder means them."""
    return ",".join(
        path_from(entry.strip(), folder) if is_file(entry) else entry for entry in text.split(",")
    )


def is_file(text: str) -> bool:
    """Whether an entry of the option `device` names a file, and no device of the table."""
    return os.sep in text or text.lower().endswith((".toml", ".json"))


def profile(entry: str) -> dict[str, Any]:
    """All values of a device.

    :param entry: a key of the table, or the path of a file
    :raises NotValid: for what is wrong in the file
    """
    return load(entry) if is_file(entry) else _by_key(entry)


def _by_key(key):
    from cudasim import _native  # options are read before the engine is loaded

    return next(values for values in _native.device_profiles() if values["key"] == key)


def load(path: str) -> dict[str, Any]:
    """All values of the device that a file describes. :raises NotValid: naming the file and what is wrong in it"""
    given = _content(path)
    base = given.pop("base", None)
    for key in given:
        if key not in FIELDS:
            raise NotValid(
                f"{path}: {shown(key)} is nothing that a device has.{did_you_mean(key, [*FIELDS, 'base'])} It has: base, "
                f"{', '.join(FIELDS)}."
            )
    values = {key: _parsed(path, key, value) for key, value in given.items()}
    stem = os.path.splitext(os.path.basename(path))[0]
    name = values.pop("name", stem)
    values = {**_beginning(path, base, values), **values, "key": stem, "name": f"{name} (simulated)"}
    values["shared_per_block"] = _smaller(given, values, "shared_per_block", "shared_per_block_optin")
    values["max_threads_per_block"] = _smaller(
        given, values, "max_threads_per_block", "max_threads_per_multiprocessor"
    )
    for less, more in _ORDER:
        if values[less] > values[more]:
            raise NotValid(f"{path}: {less} is {values[less]}, more than {more}, which is {values[more]}.")
    return values


def _smaller(given, values, name, limit):
    """A value that the file does not have, no larger than its limit."""
    return values[name] if name in given else min(values[name], values[limit])


def _content(path):
    try:
        with open(path, "rb") as file:
            content = file.read(1 << 20)
    except OSError as error:
        raise NotValid(f"{path} cannot be read: {error.strerror}.") from None
    try:
        if path.lower().endswith(".json"):
            table = json.loads(content)
        else:
            table = parse_toml(content)
    except ValueError as error:
        raise NotValid(f"{path} is neither TOML nor, with the ending .json, JSON: {error}.") from None
    except ImportError:
        raise NotValid(
            f"Reading {path} needs the package tomli on CPython 3.10 (pip install tomli); or write it as JSON."
        ) from None
    if not isinstance(table, dict):
        raise NotValid(f"{path} is not a table of names and values.")
    return table


def _parsed(path, key, value):
    try:
        return FIELDS[key].parse(value)
    except (ValueError, TypeError, OverflowError):
        raise NotValid(f"{path}: {key} is {shown(value)}, but has to be {FIELDS[key].accepts}.") from None


def _beginning(path, base, values):
    """What holds where the file says nothing."""
    from cudasim import _native  # options are read before the engine is loaded

    if base is not None:
        if base not in DEVICES:
            raise NotValid(
                f"{path}: there is no device {shown(base)}.{did_you_mean(base, DEVICES)} There are: {', '.join(DEVICES)}."
            )
        return _by_key(base)
    missing = [name for name in ("compute_capability", *_OF_THE_BOARD) if name not in values]
    if missing:
        raise NotValid(
            f"{path} lacks {', '.join(missing)}; or it names a base, base = {DEVICES[0]!r}, whose values hold."
        )
    limits = _native.architecture_limits(*values["compute_capability"])
    if limits is None:
        raise NotValid(
            f"{path}: the limits of compute capability {'.'.join(map(str, values['compute_capability']))} are not known; name a "
            f"base, base = {DEVICES[0]!r}, whose limits hold where the file has none."
        )
    return limits
