"""Colours of source text, line by line and only for lines that are drawn: pygments comes with textual."""

from __future__ import annotations

import functools
import os
import re
from typing import TYPE_CHECKING

from pygments.lexers import get_lexer_by_name
from pygments.token import Token
from rich.style import Style

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_LEXERS = {".py": "python", ".cu": "cuda", ".cuh": "cuda", ".cpp": "cpp", ".cc": "cpp", ".h": "cpp", ".hpp": "cpp"}  # fmt: skip
_STYLES = [
    (Token.Comment, Style(dim=True, italic=True)),
    (Token.Keyword, Style(color="magenta")),
    (Token.Operator.Word, Style(color="magenta")),
    (Token.Literal.String, Style(color="green")),
    (Token.Literal.Number, Style(color="yellow")),
    (Token.Name.Decorator, Style(color="yellow")),
    (Token.Name.Function, Style(color="bright_blue")),
    (Token.Name.Class, Style(color="bright_blue")),
    (Token.Name.Builtin, Style(color="cyan")),
]
_STRING = Style(color="green")
#: Lines that are longer are not coloured.
_LONGEST = 1_000
_QUOTES = re.compile(r"'''|\"\"\"|#|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"")


class Highlighting:
    """The colours of one text."""

    def __init__(self, path: str = "", lines: Sequence[str] = ()) -> None:
        self._lines = lines
        self._language = _LEXERS.get(os.path.splitext(path)[1], "")
        self._in_string = _lines_in_strings(lines) if self._language == "python" else set()
        self._made: dict[int, list[tuple[str, Style | None]]] = {}

    def line(self, index: int) -> list[tuple[str, Style | None]]:
        """The pieces of a line with their colours."""
        if index not in self._made:
            if len(self._made) > 10_000:
                self._made.clear()
            self._made[index] = self._pieces(self._lines[index], index)
        return self._made[index]

    def _pieces(self, text: str, index: int) -> list[tuple[str, Style | None]]:
        if index in self._in_string:
            return [(text, _STRING)]
        if not self._language or not text or len(text) > _LONGEST:
            return [(text, None)]
        pieces = [
            (part.rstrip("\n"), _style_of(kind)) for kind, part in _lexer(self._language).get_tokens(text)
        ]
        # A lexer may change ends of lines; a text that it changes is shown without colours.
        return pieces if "".join(part for part, _ in pieces) == text else [(text, None)]


@functools.cache
def _lexer(language: str) -> Any:
    return get_lexer_by_name(language, stripnl=False, ensurenl=False)


@functools.cache
def _style_of(kind: Any) -> Style | None:
    return next((style for token, style in _STYLES if kind in token), None)


def _lines_in_strings(lines: Sequence[str]) -> set[int]:
    """The lines that begin inside of a string of several lines."""
    found: set[int] = set()
    quote = ""
    for index, line in enumerate(lines):
        if quote:
            found.add(index)
        elif "'''" not in line and '"""' not in line:
            continue
        at = 0
        while True:
            if quote:
                end = line.find(quote, at)
                if end < 0:
                    break
                at, quote = end + 3, ""
            else:
                match = _QUOTES.search(line, at)
                if match is None or match[0] == "#":
                    break
                at = match.end()
                quote = match[0] if match[0] in ("'''", '"""') else ""
    return found
