"""Findings that somebody has looked at and allows: lines of a file, and comments at the lines themselves.

A line of the file is `kind place # reason`, where the place is a file, `file:line` or `file:function`, and may have `*`:

    data-race  src/histogram.py:update  # lost counts do not matter for the preview

A comment `# cudasim: allow data-race: why` at the line of either access says the same. One that gives no reason allows nothing, and is
malformed as such a line of a file is.
"""

from __future__ import annotations

import fnmatch
import linecache
import re
from typing import TYPE_CHECKING, NamedTuple

from cudasim.findings import SourceLocation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cudasim.findings import Finding

_LINE = re.compile(r"(?P<kind>\S+)\s+(?P<place>\S+)\s*#\s*(?P<reason>\S.*)")
_MEANT = re.compile(r"#\s*cudasim:\s*allow\b.*")
_COMMENT = re.compile(r"#\s*cudasim:\s*allow\s+(?P<kinds>[\w\-, ]+?)\s*:\s*(?P<reason>\S.*)")


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
    with open(path, encoding="utf-8") as file:
        for number, text in enumerate(file, 1):
            line = text.strip()
            if not line or line.startswith("#"):
                continue
            match = _LINE.fullmatch(line)
            if match is None:
                raise SuppressionError(
                    f"{path}:{number}: {line!r} is no suppression. Write: kind file[:line or :function]  # reason"
                )
            found.append(Suppression(match["kind"], match["place"], match["reason"], number))
    return found


def line_for(finding: Finding) -> str:
    """What allows a finding, as a line of such a file without its reason."""
    place = finding.place
    where = f"{place.file}:{place.function}" if place is not None else "*"
    return f"{finding.kind}  {where}  # "


def allows(suppression: Suppression, finding: Finding) -> bool:
    """Whether it is of that kind, and one of its places is that of the suppression."""
    return fnmatch.fnmatch(finding.kind, suppression.kind) and any(
        _is_at(suppression.place, place) for place in _places(finding)
    )


def is_allowed_in_source(finding: Finding) -> bool:
    """Whether a comment at one of its lines allows it."""
    for place in _places(finding):
        match = _COMMENT.search(linecache.getline(place.file, place.line))
        if match is not None and finding.kind in re.split(r"[\s,]+", match["kinds"]):
            return True
    return False


def malformed_in_source(findings: Iterable[Finding]) -> list[str]:
    """What is wrong with comments at the lines of these findings that are meant to allow something, a message each."""
    messages = {}
    for place in sorted({place for finding in findings for place in _places(finding)}):
        line = linecache.getline(place.file, place.line)
        meant = _MEANT.search(line)
        if meant is not None and _COMMENT.search(line) is None:
            messages[place.file, place.line] = (
                f"{place}: {meant[0].strip()!r} is no suppression. Write: # cudasim: allow kind: reason"
            )
    return list(messages.values())


def _places(finding: Finding) -> Iterator[SourceLocation]:
    yield from (access.place for access in finding.accesses if access.place is not None)
    if finding.place is not None:
        yield finding.place


def _is_at(wanted, place):
    names = (place.file, f"{place.file}:{place.line}", f"{place.file}:{place.function}")
    return any(fnmatch.fnmatch(name, pattern) for name in names for pattern in (wanted, f"*/{wanted}"))
