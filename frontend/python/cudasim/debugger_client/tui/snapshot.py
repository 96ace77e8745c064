"""What the full-screen view shows, taken while commands are awaited. It is asked for by the requests that commands make, and it is data
alone: drawing it asks for nothing."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from cudasim.debugger_client import values, variables
from cudasim.debugger_client.dap import ConnectionLost
from cudasim.debugger_client.errors import CommandError
from cudasim.debugger_client.locations import script_path

if TYPE_CHECKING:
    from typing import Any

    from cudasim.debugger_client.debugger import Debugger

#: Which variable, from its scope inwards: ("Locals", "s", "[3]").
Path = tuple[str, ...]

#: How many parts of a value are shown at first, and how many more each time.
PAGE = 100
#: How many characters of a value are kept.
_WIDEST = 2_000
#: The scopes that are open from the beginning.
OPEN: frozenset[Path] = frozenset(
    (scope,) for scope in (variables.ARGUMENTS, variables.LOCALS, variables.SHARED)
)


@dataclasses.dataclass(frozen=True)
class Row:
    """A line of the variables: a scope, a variable, a part of one, or (more) what stands for the parts that are not shown."""

    path: Path
    name: str
    value: str = ""
    has_parts: bool = False
    is_open: bool = False
    more: bool = False

    @property
    def depth(self) -> int:
        """How far it is indented."""
        return len(self.path) - 1


@dataclasses.dataclass
class Opened:
    """Which scopes and values are open, and how many of their parts are shown; it outlives stops."""

    paths: set[Path] = dataclasses.field(default_factory=lambda: set(OPEN))
    limits: dict[Path, int] = dataclasses.field(default_factory=dict)

    def turn(self, row: Row) -> None:
        """Opens what is closed, closes what is open, shows more where that is what the row stands for."""
        if row.more:
            whole = row.path[:-1]
            self.limits[whole] = self.limits.get(whole, PAGE) + PAGE
        elif row.path in self.paths:
            self.paths.discard(row.path)
            self.limits.pop(row.path, None)
        else:
            self.paths.add(row.path)


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """A state of the debugger."""

    title: str = ""
    path: str = ""
    lines: list[str] = dataclasses.field(default_factory=list)
    #: The line where the selected function is, 0 where no kernel stands.
    current: int = 0
    #: The line that is to be seen.
    shown: int = 0
    #: Line → whether a breakpoint there is enabled.
    breakpoints: dict[int, bool] = dataclasses.field(default_factory=dict)
    #: Elements of the answer to cudasim/groups.
    groups: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    variables: list[Row] = dataclasses.field(default_factory=list)


class Collector:
    """Takes snapshots. What cannot have changed since the last one is not asked for again."""

    def __init__(self, debugger: Debugger) -> None:
        self._debugger = debugger
        self.opened = Opened()
        self._groups_of: tuple[Any, ...] = ()
        self._groups: list[dict[str, Any]] = []

    def taken(self) -> Snapshot:
        """The state now. Where the program does not answer there is less to see; the command line tells why."""
        path, reference, current = self._place()
        shown = current
        listed = self._debugger.listed
        if listed is not None:
            path, reference, shown = listed.path, listed.reference, (listed.first + listed.last) // 2
            current = current if path == self._place()[0] else 0
        return Snapshot(
            title=self._title(),
            path=path,
            lines=self._debugger.sources.lines(path, reference) if path else [],
            current=current,
            shown=shown,
            breakpoints=self._breakpoints(path),
            groups=self._all_groups(),
            variables=self._rows(),
        )

    def _place(self) -> tuple[str, int, int]:
        session = self._debugger.session
        try:
            if session.focus is not None and session.frames():
                frame = session.frame()
                return frame.path, frame.source_reference, frame.line
        except (CommandError, ConnectionLost):
            pass
        return script_path(self._debugger.script), 0, 0

    def _title(self) -> str:
        session = self._debugger.session
        focus = session.focus
        if focus is None:
            return "no kernel is stopped" if session.program is not None else "no program runs"
        title = f"{focus.kernel} {focus.name}"
        if session.frame_index:
            title += f" frame {session.frame_index}"
        state = focus.state if focus.file or focus.state != "stopped" else "over"
        return title if state == "stopped" else f"{title} ({state})"

    def _breakpoints(self, path: str) -> dict[int, bool]:
        found: dict[int, bool] = {}
        for one in self._debugger.breakpoints.visible():
            line = one.actual_line or one.line
            at = one.path
            if one.function and path:
                at, line = path, self._debugger.sources.definition(path, one.function) or 0
            if line and at == path:
                found[line] = found.get(line, False) or one.enabled
        return found

    def _all_groups(self) -> list[dict[str, Any]]:
        session = self._debugger.session
        focus = session.focus
        if focus is None:
            self._groups_of, self._groups = (), []
            return self._groups
        key = (self._debugger.moves, focus.launch, *focus.block, *focus.thread)
        if key != self._groups_of:
            try:
                self._groups = session.request("cudasim/groups").get("groups") or []
                self._groups_of = key
            except (CommandError, ConnectionLost):
                self._groups, self._groups_of = [], ()
        return self._groups

    def _rows(self) -> list[Row]:
        session = self._debugger.session
        if session.focus is None:
            return []
        try:
            if not session.frames():
                return [Row(("",), "", f"The thread {_why(session.focus.state)}.")]
            rows: list[Row] = []
            scopes = session.request("scopes", {"frameId": session.frame().id}).get("scopes") or []
            order = {variables.LOCALS: 0, variables.ARGUMENTS: 1, variables.SHARED: 2}
            for scope in sorted(scopes, key=lambda one: order.get(one.get("name"), 3)):
                self._add(rows, (str(scope.get("name")),), scope, is_scope=True)
            return rows
        except (CommandError, ConnectionLost) as error:
            return [Row(("",), "", str(error))]

    def _add(self, rows: list[Row], path: Path, described: dict[str, Any], is_scope: bool = False) -> None:
        reference = int(described.get("variablesReference") or 0)
        limit = self._debugger.settings["print elements"].value
        text = "" if is_scope else values.shortened(str(described.get("value", "")), limit)[:_WIDEST]
        is_open = bool(reference) and path in self.opened.paths
        rows.append(Row(path, str(described.get("name", "")), text, bool(reference), is_open))
        if not is_open:
            return
        count = self.opened.limits.get(path, PAGE)
        parts = variables.children(self._debugger, reference, count + 1)
        for part in parts[:count]:
            self._add(rows, (*path, str(part.get("name"))), part)
        if len(parts) > count:
            rows.append(Row((*path, "..."), "", f"the next {PAGE} parts", more=True))


def _why(state: str) -> str:
    return "has not started" if state == "not started" else "is over"
