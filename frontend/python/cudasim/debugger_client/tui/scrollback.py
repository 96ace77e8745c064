"""What the debugger and the program have written, as lines: what a terminal keeps to be scrolled back to."""

from __future__ import annotations

import re
import threading

#: Who has written a line: the program, the debugger, its errors, or the user (the commands).
PROGRAM, ANSWER, ERROR, COMMAND = "program", "answer", "error", "command"
#: How many lines are kept, and how many characters of one. Older lines go when there are a tenth more.
LINES, CHARACTERS = 10_000, 10_000
_ESCAPE = r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-Z\\^-~]"
_PART = re.compile(rf"\r|\n|\x08|\t|{_ESCAPE}|[\x00-\x1f\x7f]|[^\x00-\x1f\x7f]+")
_SPECIAL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")
_UNFINISHED = re.compile(r"\r\Z|\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]{0,200}\x1b?)?\Z")


class Scrollback:
    """Lines of text. Every thread may write; a carriage return or a backspace writes over what the line had.

    Escape sequences are left out, apart from the one that erases the rest of a line.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lines: list[tuple[str, str]] = []
        self._open, self._kind, self._column = "", ANSWER, 0
        self._rest = ""
        self._is_open = False
        self.version = 0

    def write(self, text: str, kind: str) -> None:
        """Adds a text; its lines end with a line feed, and the last one may go on later."""
        with self._lock:
            if kind == PROGRAM:
                text = self._rest + text
                unfinished = _UNFINISHED.search(text)
                self._rest = unfinished[0] if unfinished else ""
                text = text[: len(text) - len(self._rest)]
            text = text.replace("\r\n", "\n")
            if _SPECIAL.search(text):
                for part in _PART.findall(text):
                    self._add(part, kind)
            else:
                self._add_plain(text, kind)
            if len(self._lines) > LINES + LINES // 10:
                del self._lines[:-LINES]
            self.version += 1

    def begin_line(self) -> None:
        """What is written next begins a line."""
        with self._lock:
            if self._open:
                self._end_line()

    def lines(self) -> list[tuple[str, str]]:
        """(text, who has written it) of all lines."""
        with self._lock:
            return [*self._lines, (self._open, self._kind)] if self._is_open else list(self._lines)

    def _add_plain(self, text: str, kind: str) -> None:
        """The same for a text without control characters; programs that write a lot mostly write such."""
        first, *others = text.split("\n")
        if first:
            self._put(first, kind)
        if others:
            self._end_line(kind)
            self._lines += [(line[:CHARACTERS], kind) for line in others[:-1]]
            if others[-1]:
                self._put(others[-1], kind)

    def _add(self, part: str, kind: str) -> None:
        if part == "\n":
            self._end_line(kind)
        elif part == "\r":
            self._column = 0
        elif part == "\b":
            self._column = max(self._column - 1, 0)
        elif part == "\t":
            self._put(" " * (8 - self._column % 8), kind)
        elif part[0] == "\x1b":
            if part in ("\x1b[K", "\x1b[0K"):
                self._open = self._open[: self._column]
        elif part[0] >= " " and part != "\x7f":
            self._put(part, kind)

    def _put(self, text: str, kind: str) -> None:
        if not self._is_open:
            self._kind, self._is_open = kind, True
        text = text[: max(CHARACTERS - self._column, 0)]
        end = self._column + len(text)
        self._open = self._open[: self._column] + text + self._open[end:]
        self._column = end

    def _end_line(self, kind: str = ANSWER) -> None:
        self._lines.append((self._open, self._kind if self._is_open else kind))
        self._open, self._column, self._is_open = "", 0, False
