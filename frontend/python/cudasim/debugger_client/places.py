"""Where threads are: a focus, a stop, a frame, as the program describes them."""

from __future__ import annotations

import dataclasses
import os
from typing import Any


def coordinates(numbers: Any) -> str:
    """As CUDA's debugger writes them: "(10,0,0)"."""
    return "(" + ",".join(str(number) for number in numbers) + ")"


def short_path(path: str) -> str:
    """A path below the current folder is shown relative to it."""
    if not os.path.isabs(path):
        return path
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative


@dataclasses.dataclass
class Focus:
    """The simulated thread that commands are about."""

    thread_id: int
    kernel: str
    block: list[int]
    thread: list[int]
    grid: list[int]
    block_dim: list[int]
    launch: int = 0
    state: str = "stopped"
    file: str = ""
    line: int = 0
    function: str = ""

    @classmethod
    def from_body(cls, body: dict[str, Any], thread_id: int, before: Focus | None = None) -> Focus:
        """From a response to cudasim/focus, or what a stopped event says; the launch is that of the focus before, where it is not said."""
        return cls(
            thread_id=thread_id,
            kernel=str(body.get("kernel") or (before.kernel if before else "kernel")),
            block=list(body.get("block") or [0, 0, 0]),
            thread=list(body.get("thread") or [0, 0, 0]),
            grid=list(body.get("grid") or (before.grid if before else [1, 1, 1])),
            block_dim=list(body.get("blockDim") or (before.block_dim if before else [1, 1, 1])),
            launch=int(body.get("launch") or (before.launch if before else 0)),
            state=str(body.get("state") or "stopped"),
            file=str(body.get("file") or ""),
            line=int(body.get("line") or 0),
            function=str(body.get("function") or ""),
        )

    @property
    def name(self) -> str:
        """The thread, without its kernel: "block(0,0,0) thread(10,0,0)"."""
        return f"block{coordinates(self.block)} thread{coordinates(self.thread)}"

    def is_same_thread(self, other: Focus) -> bool:
        """Whether another focus is on this thread of this launch."""
        return (self.launch, self.block, self.thread) == (other.launch, other.block, other.thread)


@dataclasses.dataclass
class Watched:
    """What a thread did with something that is watched. `old` is None where it was read."""

    number: int
    element: str = ""
    old: str | None = None
    new: str | None = None
    changed: bool = False
    file: str = ""
    line: int = 0

    @classmethod
    def from_body(cls, body: dict[str, Any]) -> Watched:
        """From an element of a stopped event's watches."""

        def words(name: str) -> str | None:
            return str(body[name]) if name in body else None

        return cls(
            number=int(body.get("id") or 0),
            element=str(body.get("element") or ""),
            old=words("old"),
            new=words("new"),
            changed=bool(body.get("changed")),
            file=str(body.get("file") or ""),
            line=int(body.get("line") or 0),
        )


@dataclasses.dataclass
class Stop:
    """Why the program stopped, and where."""

    reason: str
    focus: Focus
    hit_ids: list[int]
    description: str = ""
    text: str = ""
    notes: list[str] = dataclasses.field(default_factory=list)
    watches: list[Watched] = dataclasses.field(default_factory=list)
    #: How often breakpoints have been hit: elements {id, hits}.
    hits: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    #: Answers of `cudasim/writes`: elements of the event's `writes`, and how many there were in all.
    writes: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    writes_in_all: int = 0
    #: What the function returned that `finish` has left: `returned` of the stopped event.
    returned: dict[str, Any] = dataclasses.field(default_factory=dict)
    #: The thread must wait, and lock is on: `waits` of the stopped event.
    waits: dict[str, Any] = dataclasses.field(default_factory=dict)

    @classmethod
    def from_body(cls, body: dict[str, Any]) -> Stop:
        """From a stopped event."""
        own = body.get("cudasim") or {}
        return cls(
            reason=str(body.get("reason") or "pause"),
            focus=Focus.from_body(own, int(body.get("threadId") or 0)),
            hit_ids=[number for number in body.get("hitBreakpointIds") or [] if isinstance(number, int)],
            description=str(body.get("description") or ""),
            text=str(body.get("text") or ""),
            notes=[str(note) for note in own.get("notes") or []],
            watches=[Watched.from_body(one) for one in own.get("watches") or []],
            hits=list(own.get("hits") or []),
            writes=list(own.get("writes") or []),
            writes_in_all=int(own.get("writesInAll") or 0),
            returned=dict(own.get("returned") or {}),
            waits=dict(own.get("waits") or {}),
        )


@dataclasses.dataclass
class Frame:
    """A function that a thread is in."""

    id: int
    name: str
    line: int
    path: str
    source_reference: int = 0

    @classmethod
    def from_body(cls, body: dict[str, Any]) -> Frame:
        """From an element of stackFrames."""
        source = body.get("source") or {}
        return cls(
            id=int(body.get("id") or 0),
            name=str(body.get("name") or "??"),
            line=int(body.get("line") or 0),
            path=str(source.get("path") or source.get("name") or ""),
            source_reference=int(source.get("sourceReference") or 0),
        )

    @property
    def place(self) -> str:
        """Its file and line: "script.py:12"."""
        return f"{short_path(self.path)}:{self.line}" if self.path else "an unknown place"


@dataclasses.dataclass
class Ended:
    """The program is over."""

    status: int | None
    lost: str = ""


@dataclasses.dataclass
class Listed:
    """The lines that `list` showed last."""

    path: str
    first: int
    last: int
    reference: int = 0
