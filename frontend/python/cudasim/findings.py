"""Findings as Python sees them: what exceptions carry in `exc.findings` and reports are made from.

The fields are those of simulator/findings/finding.h.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any


class SourceLocation(NamedTuple):
    """A line of source; line and column count from 1, 0 is unknown."""

    file: str
    function: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class MemoryObject(NamedTuple):
    """The allocation or variable that a fault or a race is about; offset in bytes, relative to its first byte; element as the
    source has it ("tile[3, 5]"), empty where it is not known."""

    name: str
    space: str
    address: int
    bytes: int
    offset: int
    element: str = ""
    element_type: str = ""

    def __str__(self) -> str:
        memory = f"{self.bytes} bytes" + (f" of {self.space} memory" if self.space else "")
        if self.offset < 0:
            where = f"{-self.offset} bytes before its start"
        elif self.offset >= self.bytes:
            where = f"{self.offset - self.bytes} bytes past its end"
        else:
            where = f"at byte {self.offset}"
        return f"{self.name or 'unnamed'}, {memory} at {self.address:#x}; the access is {where}"


class WaitingGroup(NamedTuple):
    """Threads of one block that stand at the same place; thread ranges are inclusive."""

    state: str
    location: tuple
    block: int
    ctaid: tuple
    threads: tuple
    thread_ranges: str

    def __str__(self) -> str:
        place = f" at {self.location[0]}" if self.location else ""
        return f"ctaid={list(self.ctaid)} threads {self.thread_ranges}: {self.state}{place}"


class RacingAccess(NamedTuple):
    """One of the two accesses that race; value is empty where it is not known, tid and ctaid where it is the host's, a copy for
    example."""

    what: str
    tid: tuple
    ctaid: tuple
    coordinates: str
    location: tuple
    value: str

    def __str__(self) -> str:
        by = f" by {self.coordinates}" if self.coordinates else ""
        value = f", value {self.value}" if self.value else ""
        return f"{self.what}{by}{value}" + (f", at {self.place}" if self.place is not None else "")

    @property
    def place(self) -> SourceLocation | None:
        """The innermost source location, or None."""
        return self.location[0] if self.location else None


class Finding(NamedTuple):
    """One thing a launch had to say. Equal findings are counted, not repeated."""

    kind: str
    severity: str
    message: str
    exception_type: str
    cuda_error_code: int
    kernel: str
    tid: tuple
    ctaid: tuple
    coordinates: str
    location: tuple
    count: int  # type: ignore[assignment]  # a field, and tuple's method of this name
    threads: int
    object: MemoryObject | None
    waiting: tuple
    accesses: tuple
    variables: tuple
    reproduce: str

    @property
    def place(self) -> SourceLocation | None:
        """The innermost source location, or None."""
        return self.location[0] if self.location else None

    def headline(self) -> str:
        """Coordinates and message, as the exception says them (design rule C2)."""
        return f"{self.coordinates}: {self.message}" if self.coordinates else self.message


def places_of(finding: Finding) -> Iterator[SourceLocation]:
    """Its innermost lines: of each of its accesses, and its own."""
    yield from (access.place for access in finding.accesses if access.place is not None)
    if finding.place is not None:
        yield finding.place


def is_consequence(finding: Finding, found: Iterable[Finding]) -> bool:
    """Whether another finding of the same launch says all that this one does: a division by zero gives infinity or NaN."""
    return finding.kind == "not-finite" and any(
        other.kind == "float-division"
        and (other.kernel, other.location) == (finding.kernel, finding.location)
        and other.count >= finding.count
        for other in found
    )


def without_repetition(kind: str, text: str) -> str:
    """A text that names the kind, without the words of its message that say the same: "data-race: data race: write of x[0]"."""
    said = kind.replace("-", " ")
    return text.replace(f"{kind}: {said}: ", f"{kind}: ", 1)


def _chain(native):
    return tuple(SourceLocation(*place) for place in native)


def _ranges(pairs):
    """ "0-3, 7" of [[0, 3], [7, 7]]."""
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in pairs)


def _coordinates(thread):
    return f"tid={thread['tid']} ctaid={thread['ctaid']}" if thread is not None else ""


def from_json(given: dict[str, Any]) -> Finding:
    """A Finding from an object of docs/findings.md. It knows no variables."""

    def chain(frames):
        return tuple(
            SourceLocation(each["file"], each["function"], each["line"], each["column"]) for each in frames
        )

    def coordinates(thread):
        return (tuple(thread["tid"]), tuple(thread["ctaid"])) if thread is not None else ((), ())

    thread, memory = given["thread"], given["object"]
    tid, ctaid = coordinates(thread)
    accesses = [
        RacingAccess(
            what=each["what"],
            tid=coordinates(each["thread"])[0],
            ctaid=coordinates(each["thread"])[1],
            coordinates=_coordinates(each["thread"]),
            location=chain(each["location"]),
            value=each["value"],
        )
        for each in given["accesses"]
    ]
    waiting = [
        WaitingGroup(
            each["state"], chain(each["location"]), each["block"], tuple(each["ctaid"]), tuple(map(tuple, each["threads"])),
            _ranges(each["threads"]),
        )
        for each in given["waiting"]
    ]  # fmt: skip
    return Finding(
        kind=given["kind"], severity=given["severity"], message=given["message"], exception_type=given["exception_type"],
        cuda_error_code=given["cuda_error_code"], kernel=given["kernel"], tid=tid, ctaid=ctaid,
        coordinates=_coordinates(thread), location=chain(given["location"]), count=given["count"], threads=given["threads"],
        object=None if memory is None else MemoryObject(**memory), waiting=tuple(waiting), accesses=tuple(accesses),
        variables=(), reproduce=given["reproduce"],
    )  # fmt: skip


def from_native(native: dict[str, Any]) -> Finding:
    """A Finding from the dictionary that cudasim._native makes."""
    memory = native["object"]
    waiting = tuple(
        WaitingGroup(
            group["state"],
            _chain(group["location"]),
            group["block"],
            group["ctaid"],
            tuple(map(tuple, group["threads"])),
            group["thread_ranges"],
        )
        for group in native["waiting"]
    )
    accesses = tuple(
        RacingAccess(**{**access, "location": _chain(access["location"])}) for access in native["accesses"]
    )
    fields = {
        **native,
        "accesses": accesses,
        "location": _chain(native["location"]),
        "waiting": waiting,
        "variables": tuple(native["variables"]),
        "object": None if memory is None else MemoryObject(**memory),
    }
    return Finding(**fields)
