"""Coordinates and ranges of threads and blocks as they are typed: `3`, `0..31`, `(40,2,0)`, `*`, lists of these."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cudasim.debugger_client.errors import CommandError

if TYPE_CHECKING:
    from collections.abc import Sequence

_COORDINATES = r"\(\s*\d+\s*(?:,\s*\d+\s*){0,2}\)"
_ITEM = rf"(?:\d+\s*\.\.\s*\d+|\d+|{_COORDINATES}|\*)"
_LIST = rf"{_ITEM}(?:\s*,\s*{_ITEM})*"
_RANGE = re.compile(rf"\[\s*{_LIST}\s*\]|{_LIST}")
_ONE = re.compile(rf"\d+(?:\s*,\s*\d+){{0,2}}|{_COORDINATES}")


def take_range(text: str) -> tuple[str, str]:
    """A range at the beginning of a text, without blanks, and the rest of the text.

    :raises CommandError: where the text does not begin with a range, or a range runs backwards
    """
    text = text.lstrip()
    found = _RANGE.match(text)
    rest = text[found.end() :] if found else ""
    if not found or (rest and not rest[0].isspace()):
        word = text.split(maxsplit=1)[0] if text else ""
        raise CommandError(
            f'"{word}" is no range: 3, 0..31, (40,2,0), * or a list of these such as [0..3,8].'
            if word
            else "A range is missing: 3, 0..31, (40,2,0), * or a list of these such as [0..3,8]."
        )
    taken = re.sub(r"\s", "", found[0])
    for first, last in re.findall(r"(\d+)\.\.(\d+)", taken):
        if int(first) > int(last):
            raise CommandError(f"The range {first}..{last} runs backwards.")
    return taken, rest.lstrip()


def take_one(text: str) -> tuple[int | list[int], str]:
    """One thread or block at the beginning of a text, and the rest: a linear index, or three coordinates.

    `3` and `(3)` are linear indices, as in CUDA's debugger for one dimension; `(3,1)` has z = 0.
    """
    text = text.lstrip()
    found = _ONE.match(text)
    if not found:
        word = text.split(maxsplit=1)[0] if text else ""
        raise CommandError(f'"{word}" is no index and no coordinates such as (3,0,0).')
    numbers = [int(number) for number in re.findall(r"\d+", found[0])]
    rest = text[found.end() :].lstrip()
    return (numbers[0] if len(numbers) == 1 else padded(numbers)), rest


def padded(numbers: Sequence[int]) -> list[int]:
    """Three coordinates; those that are missing are 0."""
    return [*numbers, 0, 0, 0][:3]


def linear(coordinates: Sequence[int], extent: Sequence[int]) -> int:
    """The linear index of coordinates in a block or grid, x fastest."""
    x, y, z = coordinates
    return x + extent[0] * (y + extent[1] * z)


def coordinates_of(index: int, extent: Sequence[int]) -> list[int]:
    """The coordinates of a linear index."""
    return [index % extent[0], index // extent[0] % extent[1], index // (extent[0] * extent[1])]


def expanded(text: str, extent: Sequence[int]) -> list[int]:
    """The linear indices of a range, in order and without repetitions; those beyond the extent are left out."""
    count = extent[0] * extent[1] * extent[2]
    found: dict[int, None] = {}
    for item in re.findall(_ITEM, text):
        if item == "*":
            indices: Sequence[int] = range(count)
        elif item.startswith("("):
            at = padded([int(number) for number in re.findall(r"\d+", item)])
            inside = all(one < size for one, size in zip(at, extent))
            indices = [linear(at, extent)] if inside else []
        else:
            first, _, last = item.partition("..")
            indices = range(int(first), min(int(last or first) + 1, count))
        found.update(dict.fromkeys(indices))
    return list(found)


def contains(text: str, index: int, extent: Sequence[int]) -> bool:
    """Whether a linear index lies in a range. Nothing is expanded: grids have millions of threads."""
    for item in re.findall(_ITEM, text):
        if item == "*":
            return True
        if item.startswith("("):
            at = padded([int(number) for number in re.findall(r"\d+", item)])
            if at == coordinates_of(index, extent):
                return True
        else:
            first, _, last = item.partition("..")
            if int(first) <= index <= int(last or first):
                return True
    return False


def as_ranges(indices: Sequence[int]) -> str:
    """Sorted indices as ranges: "0..3,8"."""
    parts: list[list[int]] = []
    for index in indices:
        if parts and parts[-1][1] == index - 1:
            parts[-1][1] = index
        else:
            parts.append([index, index])
    return ",".join(str(first) if first == last else f"{first}..{last}" for first, last in parts)
