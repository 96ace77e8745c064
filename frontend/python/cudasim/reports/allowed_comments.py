"""Comments that allow findings at their line: `# cudasim: allow data-race: why`.

One that gives no reason, or names no kind of finding, allows nothing and is malformed.
"""

from __future__ import annotations

import io
import linecache
import re
import tokenize
from functools import lru_cache
from typing import TYPE_CHECKING

from cudasim import _native
from cudasim._option_values import did_you_mean
from cudasim.findings import places_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cudasim.findings import Finding

_MEANT = re.compile(r"#\s*cudasim:\s*allow\b.*")
_COMMENT = re.compile(r"#\s*cudasim:\s*allow\s+(?P<kinds>[\w\-, ]+?)\s*:\s*(?P<reason>\S.*)")

#: Kinds of the check arithmetic, which is not among `all`.
_NOT_AMONG_ALL = frozenset(("shift-out-of-range", "float-to-integer", "not-finite"))


@lru_cache(maxsize=1)
def kinds() -> frozenset[str]:
    """The stable names of all kinds of findings."""
    return frozenset(name for name, _ in _native.finding_kinds())


def unknown_kind(name: str) -> str:
    """The sentence for a name that no kind of finding has."""
    return f"there is no kind of finding {name!r}.{did_you_mean(name, kinds())}"


def allows(finding: Finding) -> bool:
    """Whether a comment at one of its lines allows it."""
    return any(
        finding.kind in _kinds_in(linecache.getline(place.file, place.line)) for place in places_of(finding)
    )


def malformed(findings: Iterable[Finding]) -> list[str]:
    """What is wrong with comments at the lines of these findings that are meant to allow something, a message each."""
    places = sorted({place for finding in findings for place in places_of(finding)})
    faults = {
        (place.file, place.line): _fault(str(place), linecache.getline(place.file, place.line))
        for place in places
    }
    return [fault for fault in faults.values() if fault]


def unused(files: Iterable[str], findings: Iterable[Finding]) -> list[str]:
    """What is to be said of comments in these files for which there is no finding, a message each.

    Comments for kinds of the check arithmetic are left out, which most programs are not checked for, and those that
    malformed() tells.
    """
    found: dict[tuple[str, int], set[str]] = {}
    for finding in findings:
        for at in places_of(finding):
            found.setdefault((at.file, at.line), set()).add(finding.kind)
    messages = []
    for file in sorted(set(files)):
        for line, text in _comments(file):
            place, kinds_here, allowed = (
                f"{file}:{line}",
                found.get((file, line), set()),
                set(_kinds_in(text)),
            )
            fault = _fault(place, text)
            if fault and not kinds_here:
                messages.append(fault)
            elif not fault and not allowed <= _NOT_AMONG_ALL and not allowed & kinds_here:
                messages.append(f"{place}: nothing was found that this comment allows")
    return messages


def _fault(place, line):
    """What is wrong with the comment in a line; None where nothing is, or where there is none."""
    meant = _MEANT.search(line)
    if meant is None:
        return None
    if _COMMENT.search(line) is None:
        return f"{place}: {meant[0].strip()!r} is no suppression. Write: # cudasim: allow kind: reason"
    unknown = [kind for kind in _kinds_in(line) if kind not in kinds()]
    return f"{place}: {unknown_kind(unknown[0])}" if unknown else None


def _kinds_in(line):
    match = _COMMENT.search(line)
    return re.split(r"[\s,]+", match["kinds"].strip(" ,")) if match is not None else []


def _comments(file: str) -> Iterator[tuple[int, str]]:
    """(line, text) of each comment in a Python file that is meant to allow something."""
    text = "".join(linecache.getlines(file))
    if _MEANT.search(text) is None:
        return
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and _MEANT.match(token.string):
                yield token.start[0], token.string
    except (tokenize.TokenError, SyntaxError):
        return  # it is no Python, or not all of it
