"""The table of breakpoints. It is the client's: it outlives the program, and what changes is sent to a program that runs.

The protocol sets all breakpoints of a source at once, and all those at functions, so a change is sent source by source.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from cudasim.debugger_client.errors import CommandError
from cudasim.debugger_client.places import short_path

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Request = Callable[[str, dict[str, Any]], dict[str, Any]]

#: Breakpoints of commands such as `start` have numbers from here on; users do not see them.
FIRST_INTERNAL = 1_000_000
#: What calls of `breakpoint()` are sent together as.
_CALLS = "breakpoint()"
#: The name that means the entry of every kernel.
EVERY_KERNEL = "*"
#: What watches are sent together with, as a key.
WATCHES = "<watches>"
#: What stops at watched memory, as the protocol says it.
WRITE, READ, READ_WRITE = "write", "read", "readWrite"
_KINDS = {WRITE: "hw watchpoint", READ: "read watchpoint", READ_WRITE: "acc watchpoint"}
_TITLES = {
    WRITE: "Hardware watchpoint",
    READ: "Hardware read watchpoint",
    READ_WRITE: "Hardware access (read/write) watchpoint",
}


@dataclasses.dataclass
class Breakpoint:
    """One breakpoint: at a line (path and line), at a function, at a call of `breakpoint()` in the program, or a watch (expression, and
    what the program calls its place)."""

    number: int
    path: str = ""
    line: int = 0
    function: str = ""
    expression: str = ""
    access: str = WRITE
    data_id: str = ""
    condition: str = ""
    hits: int = 0  # in this run of the program, those that were ignored included
    passes: int = 0  # it stops the program from the hit after this one on
    threads: str = ""
    blocks: str = ""
    temporary: bool = False
    enabled: bool = True
    once: bool = False  # disabled when it has stopped the program
    message: str | None = None
    commands: list[str] = dataclasses.field(default_factory=list)
    verified: bool = False
    actual_line: int = 0
    problem: str = ""
    is_call: bool = False

    @property
    def kind(self) -> str:
        """What `info breakpoints` calls it."""
        if self.is_call:
            return _CALLS
        if self.expression:
            return _KINDS[self.access]
        return "breakpoint" if self.message is None else "dprintf"

    @property
    def ignore(self) -> int:
        """How many crossings are still to be passed."""
        return max(self.passes - self.hits, 0)

    @ignore.setter
    def ignore(self, count: int) -> None:
        self.passes = self.hits + count if count else 0

    @property
    def is_refused(self) -> bool:
        """Whether the program says that its condition means nothing where it lies."""
        return bool(self.condition) and self.problem.startswith(
            f"the condition '{self.condition}' cannot be used"
        )

    @property
    def key(self) -> str:
        """What it is sent together with: its source, "" for functions, another word for calls of `breakpoint()` and for watches."""
        if self.is_call:
            return _CALLS
        if self.expression:
            return WATCHES
        return self.path if not self.function else ""

    @property
    def title(self) -> str:
        """A watch as gdb names it: "Hardware watchpoint 2: s[3]"."""
        return f"{_TITLES[self.access]} {self.number}: {self.expression}"

    @property
    def place(self) -> str:
        """Where it is, as far as that is known."""
        if self.expression:
            return self.expression
        if self.function:
            return "the entry of every kernel" if self.function == EVERY_KERNEL else self.function
        return f"{short_path(self.path)}:{self.actual_line or self.line}"

    def arguments(self, meaning_of: Callable[[str], str]) -> dict[str, Any]:
        """The element of setBreakpoints, setFunctionBreakpoints or setDataBreakpoints.

        :param meaning_of: gives the condition with values in the place of $1 and $name
        """
        result: dict[str, Any] = {"name": self.function} if self.function else {"line": self.line}
        if self.expression:
            result = {"dataId": self.data_id, "accessType": self.access}
        if self.condition:
            try:
                result["condition"] = meaning_of(self.condition)
            except CommandError:  # the program refuses it, and says why
                result["condition"] = self.condition
        if self.passes:
            result["hitCondition"] = f">= {self.passes + 1}"
        if self.message is not None:
            result["logMessage"] = self.message
        own: dict[str, Any] = {"id": self.number}
        if self.hits:
            own["hits"] = self.hits
        if self.threads:
            own["threads"] = self.threads
        if self.blocks:
            own["blocks"] = self.blocks
        if self.temporary:
            own["temporary"] = True
        result["cudasim"] = own
        return result


class Breakpoints:
    """All breakpoints, by number."""

    def __init__(self) -> None:
        self._all: dict[int, Breakpoint] = {}
        self._last_number = 0
        self._last_internal = FIRST_INTERNAL - 1
        self._sent: set[str] = set()
        self._calls: dict[int, Breakpoint] = {}  # by the program's numbers
        self._deleted_calls: set[tuple[str, int]] = set()
        self.meaning_of: Callable[[str], str] = lambda condition: condition

    def add(self, internal: bool = False, **what: Any) -> Breakpoint:
        """A new one, with the next number. It is not sent yet."""
        if internal:
            self._last_internal += 1
            number = self._last_internal
        else:
            self._last_number += 1
            number = self._last_number
        self._all[number] = Breakpoint(number, **what)
        return self._all[number]

    def find(self, number: int) -> Breakpoint:
        """The one with this number.

        :raises CommandError: where there is none
        """
        if number not in self._all or number >= FIRST_INTERNAL:
            raise CommandError(f"No breakpoint number {number}.")
        return self._all[number]

    def get(self, number: int) -> Breakpoint | None:
        """The one with this number, internal ones included. Calls of `breakpoint()` have the program's numbers, too."""
        return self._all.get(number) or self._calls.get(number)

    def take_calls(self, body: dict[str, Any]) -> None:
        """Takes the calls of `breakpoint()` of a kernel that is launched."""
        for call in body.get("breakpointCalls") or []:
            path, line = str(call["file"]), int(call["line"])
            known = [
                one for one in self._all.values() if one.is_call and (one.path, one.line) == (path, line)
            ]
            if not known and (path, line) not in self._deleted_calls:
                known = [self.add(path=path, line=line, is_call=True)]
            for one in known:
                one.verified = True
                self._calls[int(call["id"])] = one

    def take_hits(self, hits: list[dict[str, Any]]) -> None:
        """Takes what the program says of hits, at a stop and at the end of a launch."""
        for each in hits:
            one = self.get(int(each["id"]))
            if one is not None:
                one.hits = int(each["hits"])

    def all(self) -> list[Breakpoint]:
        """The user's and those of commands."""
        return list(self._all.values())

    def visible(self) -> list[Breakpoint]:
        """The user's, in the order of their numbers."""
        return [one for number, one in self._all.items() if number < FIRST_INTERNAL]

    def remove(self, numbers: list[int]) -> set[str]:
        """Removes some; returns the sources that have to be sent again."""
        removed = [self._all.pop(number) for number in numbers if number in self._all]
        self._deleted_calls |= {(one.path, one.line) for one in removed if one.is_call}
        return {one.key for one in removed}

    @property
    def last(self) -> Breakpoint | None:
        """The user's newest one."""
        return max(self.visible(), key=lambda one: one.number, default=None)

    def watches(self) -> list[Breakpoint]:
        """The watches among them."""
        return [one for one in self._all.values() if one.expression]

    def begin_run(self) -> None:
        """A new program knows of none, and has none verified. What is watched in an old one is not there any more."""
        for one in self.watches():
            del self._all[one.number]
        self._sent.clear()
        self._calls.clear()
        for one in self._all.values():
            one.verified, one.actual_line, one.problem = False, 0, ""
            one.passes, one.hits = one.ignore, 0

    def send_all(self, request: Request) -> None:
        """Sends everything to a program that has just started."""
        self.send(
            request, {one.key for one in self._all.values()} | ({_CALLS} if self._deleted_calls else set())
        )

    def send(self, request: Request, keys: set[str]) -> None:
        """Sends these sources' breakpoints, and "" for those at functions."""
        if _CALLS in keys:
            silent = [(one.path, one.line) for one in self._all.values() if one.is_call and not one.enabled]
            calls = [{"file": path, "line": line} for path, line in sorted([*silent, *self._deleted_calls])]
            request("cudasim/silenceCalls", {"calls": calls})
        for key in sorted(keys - {_CALLS}):
            those = [one for one in self._all.values() if one.key == key and one.enabled]
            if not those and key not in self._sent:
                continue
            elements = [one.arguments(self.meaning_of) for one in those]
            if key == WATCHES:
                body = request("setDataBreakpoints", {"breakpoints": elements})
            elif key:
                body = request("setBreakpoints", {"source": {"path": key}, "breakpoints": elements})
            else:
                body = request("setFunctionBreakpoints", {"breakpoints": elements})
            self._sent.add(key)
            answers = body.get("breakpoints")
            for one, answer in zip(those, answers if isinstance(answers, list) else []):
                _take(one, answer)

    def changed(self, body: dict[str, Any]) -> Breakpoint | None:
        """Takes a breakpoint event; the breakpoint that it is about."""
        answer = body.get("breakpoint")
        found = self._all.get(answer.get("id", 0)) if isinstance(answer, dict) else None
        if found is not None:
            _take(found, answer)
        return found


def _take(one: Breakpoint, answer: Any) -> None:
    if not isinstance(answer, dict):
        return
    one.verified = bool(answer.get("verified"))
    message = str(answer.get("message") or "")
    one.problem = "" if one.verified or message.startswith("pending") else message
    line = answer.get("line")
    one.actual_line = line if one.verified and isinstance(line, int) else 0
