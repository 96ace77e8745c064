"""The lines of source files: what was compiled, where a program runs that can tell, and the file otherwise."""

from __future__ import annotations

import ast
import os
import re
import tokenize
from typing import TYPE_CHECKING

from cudasim.debugger_client.errors import CommandError

if TYPE_CHECKING:
    from cudasim.debugger_client.session import Session


class Sources:
    """Texts by path; they are kept until the next launch, or the next run of the program."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._kept: dict[tuple[str, int], list[str]] = {}
        self._known_in: tuple[object, int] | None = None

    def lines(self, path: str, reference: int = 0) -> list[str]:
        """All lines, without their ends; empty where there is no such text."""
        focus = self._session.focus
        present = (self._session.program, focus.launch if focus else 0)
        if present != self._known_in:
            self._kept.clear()
            self._known_in = present
        key = (path, reference)
        if key not in self._kept:
            text = self._compiled(path, reference)
            self._kept[key] = (_text_of_file(path) if text is None else text).splitlines()
        return self._kept[key]

    def line(self, path: str, number: int, reference: int = 0) -> str | None:
        """One line; None where there is none."""
        lines = self.lines(path, reference)
        return lines[number - 1] if 0 < number <= len(lines) else None

    def definition(self, path: str, function: str) -> int | None:
        """The line where a function is defined."""
        pattern = re.compile(rf"\s*def\s+{re.escape(function)}\s*\(")
        for number, line in enumerate(self.lines(path), 1):
            if pattern.match(line):
                return number
        return None

    def is_outside_of_functions(self, path: str, number: int) -> bool:
        """Whether a line of a Python file lies in no function, so that no kernel has it; False where that is not known."""
        try:
            tree = ast.parse("\n".join(self.lines(path)))
        except (SyntaxError, ValueError):
            return False
        functions = (each for each in ast.walk(tree) if isinstance(each, (ast.FunctionDef, ast.Lambda)))
        return bool(tree.body) and not any(_has_line(each, number) for each in functions)

    def functions(self, path: str) -> list[tuple[int, str]]:
        """(line, name) of all functions in a file."""
        found = (
            (number, re.match(r"\s*def\s+(\w+)\s*\(", line))
            for number, line in enumerate(self.lines(path), 1)
        )
        return [(number, match[1]) for number, match in found if match]

    def _compiled(self, path: str, reference: int) -> str | None:
        if self._session.focus is None or not path:
            return None
        source = {"path": path, "sourceReference": reference} if reference else {"path": path}
        try:
            body = self._session.request("source", {"source": source, "sourceReference": reference})
        except CommandError:
            return None
        content = body.get("content")
        return content if isinstance(content, str) else None


def _text_of_file(path: str) -> str:
    if not os.path.isfile(path):
        return ""
    try:
        with tokenize.open(path) as file:
            return file.read()
    except (OSError, SyntaxError, UnicodeError):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return ""


def _has_line(function, number):
    first = min([function.lineno, *(each.lineno for each in getattr(function, "decorator_list", ()))])
    return first <= number <= (function.end_lineno or function.lineno)
