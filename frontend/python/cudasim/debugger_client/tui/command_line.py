"""The line of the full-screen view where commands are typed, with the history and the completion of the plain prompt."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from textual.binding import Binding
from textual.message import Message
from textual.widgets import Input

from cudasim.debugger_client import prompt

if TYPE_CHECKING:
    from typing import Any

    from textual import events


class Entered(Message):
    """A line was typed, and Enter."""

    def __init__(self, line: str) -> None:
        super().__init__()
        self.line = line


class CommandLine(Input):
    """Up and down go through the history; the tabulator key completes."""

    #: What keys do here, besides what they do in every line of input.
    KEYS = {
        "enter": "submit", "tab": "complete", "ctrl+c": "give_up", "ctrl+d": "delete_or_end",
        "up": "older", "ctrl+p": "older", "down": "newer", "ctrl+n": "newer",
    }  # fmt: skip

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self._actions = {
            key.strip(): binding.action
            for binding in Input.BINDINGS
            if isinstance(binding, Binding)
            for key in binding.key.split(",")
        } | self.KEYS
        self._history = prompt.KeptHistory()
        self._lines: list[str] = self._history.lines()
        self._at: int | None = None  # the line of the history that is shown
        self.is_asking = self._enters = False  # a completion is awaited; and then Enter
        self._typed = ""  # what was typed before that
        self._words: tuple[str, list[str], int] | None = (
            None  # what stands before them, what it may become, which it is
        )

    async def _on_key(self, event: events.Key) -> None:
        # The application looks at bindings after it has handed keys on, so that what is typed fast would come
        # out of order.
        action = self._actions.get(event.key)
        if action is not None:
            event.stop()
            event.prevent_default()
            await self.run_action(action)

    async def action_submit(self) -> None:
        """Enter. It is taken at once, because more may have been typed behind it; a completion that was asked for comes first."""
        if self.is_asking:
            self._enters = True
            return
        line, self.value = self.value, ""
        self.post_message(Entered(line))

    def action_give_up(self) -> None:
        """Ctrl-C."""
        self.value = ""
        self._enters = self.is_asking = False
        self.app.action_interrupt()  # type: ignore[attr-defined]

    def remember(self, line: str) -> None:
        """A line goes into the history."""
        self._at = None
        if line.strip() and (not self._lines or self._lines[-1] != line):
            self._lines.append(line)
            self._history.add(line)

    def action_older(self) -> None:
        """The line before, in the history."""
        at = len(self._lines) if self._at is None else self._at
        if at > 0:
            if self._at is None:
                self._typed = self.value
            self._show(at - 1)

    def action_newer(self) -> None:
        """The line after, in the history; what was typed behind the last one."""
        if self._at is not None:
            self._show(self._at + 1)

    def _show(self, at: int) -> None:
        self._at = at if at < len(self._lines) else None
        self.value = self._typed if self._at is None else self._lines[at]
        self.cursor_position = len(self.value)

    def action_complete(self) -> None:
        """Completes the word before the cursor; again: the next one that it could be."""
        if self._words is not None and self.value == self._words[0] + self._words[1][self._words[2]]:
            before, words, at = self._words
            self._choose(before, words, (at + 1) % len(words))
        else:
            line = self.value[: self.cursor_position]
            self.is_asking = self.app.ask_words(line)  # type: ignore[attr-defined]

    def take_words(self, line: str, begin: int, words: list[str]) -> list[str]:
        """What a line could become; returns the words among which there is a choice."""
        self.is_asking = False
        words = self._taken_words(line, begin, words)
        if self._enters:
            self._enters = False
            self.call_next(self.action_submit)
            return []
        return words

    def _taken_words(self, line: str, begin: int, words: list[str]) -> list[str]:
        self._words = None
        if line != self.value or not words:
            return []
        before, typed = line[:begin], line[begin:]
        common = os.path.commonprefix(words)
        if len(words) == 1:
            end = "" if words[0].endswith(("/", ":")) else " "
            self._set(before + words[0] + end)
            return []
        if len(common) > len(typed):
            self._set(before + common)
        else:
            self._choose(before, words, 0)
        return words

    def _choose(self, before: str, words: list[str], at: int) -> None:
        self._words = (before, words, at)
        self._set(before + words[at])

    def _set(self, text: str) -> None:
        self.value = text
        self.cursor_position = len(text)

    def action_delete_or_end(self) -> None:
        """Ctrl-D: deletes a character; on an empty line it is the end of input."""
        if self.value:
            self.action_delete_right()
        else:
            self.app.action_end_input()  # type: ignore[attr-defined]
