"""Findings that somebody has looked at and allows: lines of a file. Comments in the source do the same (reports/allowed_comments.py).

A line of the file is `kind place # reason`, where the place is a file, `file:line` or `file:function`:

    data-race  src/histogram.py:update  # lost counts do not matter for the preview

Kinds and places may have `*`, `?` and `[characters]`. A `#` that belongs to a place is written `[#]`.
"""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING, NamedTuple

from cudasim.findings import places_of
from cudasim.reports import allowed_comments

if TYPE_CHECKING:
    from cudasim.findings import Finding

#: In a place a # stands in brackets.
_LINE = re.compile(r"(?P<kind>\S+)\s+(?P<place>(?:\[#\]|[^#])+?)\s*#(?!\])\s*(?P<reason>\S.*)")


class SuppressionError(ValueError):
    """A line of a file of suppressions is malformed; the message names it."""


class Suppression(NamedTuple):
    """One line of a file."""

    kind: str
    place: str
    reason: str
    line: int


def read(path: str) -> list[Suppression]:
    """The lines of a file.

    :raises SuppressionError: for a malformed line
    :raises OSError: for a file that cannot be read
    """
    found = []
    with open(path, "rb") as file:
        lines = file.read().splitlines()
    for number, raw in enumerate(lines, 1):
        try:
            line = raw.decode("utf-8").strip()
        except UnicodeDecodeError:
            raise SuppressionError(f"{path}:{number}: this is no text in UTF-8") from None
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise SuppressionError(
                f"{path}:{number}: {line!r} is no suppression. Write: kind file[:line or :function]  # reason"
            )
        kind = match["kind"]
        if not any(fnmatch.fnmatchcase(known, kind) for known in allowed_comments.kinds()):
            raise SuppressionError(f"{path}:{number}: {allowed_comments.unknown_kind(kind)}")
        found.append(Suppression(kind, match["place"], match["reason"], number))
    return found


def line_for(finding: Finding) -> str:
    """What allows a finding, as a line of such a file without its reason."""
    place = finding.place
    where = _escaped(f"{place.file}:{place.function}") if place is not None else "*"
    return f"{finding.kind}  {where}  # "


def _escaped(name):
    """The place that means this name and no other."""
    name = re.sub(r"[*?\[#]|^ | $", lambda match: f"[{match[0]}]", name)
    return re.sub(r"[\r\n\t\v\f]", "?", name)  # none of these can be written in a line


def allows(suppression: Suppression, finding: Finding) -> bool:
    """Whether it is of that kind, and one of its places is that of the suppression."""
    return fnmatch.fnmatch(finding.kind, suppression.kind) and any(
        _is_at(suppression.place, place) for place in places_of(finding)
    )


def _is_at(wanted, place):
    names = (place.file, f"{place.file}:{place.line}", f"{place.file}:{place.function}")
    return any(fnmatch.fnmatch(name, pattern) for name in names for pattern in (wanted, f"*/{wanted}"))
