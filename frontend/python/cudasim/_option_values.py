"""What options take: functions from text (of the environment, an argument, a file) or a Python value to the option's value.

Each raises ValueError, TypeError or OverflowError for what is not valid; NotValid says more than what the option takes.
"""

from __future__ import annotations

import operator
import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SIZE = re.compile(r"(\d+\.?\d*|\.\d+)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)
_TRUE = frozenset(("1", "true", "yes", "on"))
_FALSE = frozenset(("0", "false", "no", "off", ""))


class NotValid(ValueError):
    """A value is not valid, for a reason of its own."""


def did_you_mean(name: Any, names: Any) -> str:
    """ " Did you mean 'x'?" for the name that is most like this one; "" when none is."""
    import difflib  # here: it is needed for messages only

    close = difflib.get_close_matches(str(name), list(names), 1, 0.7)
    return f" Did you mean {close[0]!r}?" if close else ""


def shown(value: Any) -> str:
    """repr(), shortened to a readable length."""
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:60]}... ({len(text)} characters)"


def whole_number(lowest: Any, highest: Any) -> Any:
    """A parser of whole numbers in a range."""

    def parse(value):
        if isinstance(value, bool):
            raise ValueError("a number")
        number = int(value) if isinstance(value, str) else operator.index(value)
        if not lowest <= number <= highest:
            raise ValueError("out of range")
        return number

    return parse


def seconds(highest: Any) -> Any:
    """A parser of seconds, from 0 on."""

    def parse(value):
        if isinstance(value, bool):
            raise ValueError("a number")
        number = float(value)
        if not 0 <= number <= highest:
            raise ValueError("out of range")
        return number

    return parse


def switch(value: Any) -> bool:
    """1 or 0, in any of the usual words."""
    if isinstance(value, str):
        lowered = value.strip().lower()
        if lowered in _TRUE or lowered in _FALSE:
            return lowered in _TRUE
    elif value in (0, 1):  # False, True and NumPy's too
        return bool(value)
    raise ValueError("neither 1 nor 0")


def is_switch_value(text: Any) -> bool:
    """Whether an argument can be a switch's value: `cudasim run --strict 0 a.py`."""
    return text.strip().lower() in _TRUE | _FALSE - {""}


def size(highest: Any) -> Any:
    """A parser of sizes in bytes: a number, or text with a unit such as "64M" or "2GiB"."""
    number = whole_number(0, highest)

    def parse(value):
        if not isinstance(value, str):
            return number(value)
        found = _SIZE.fullmatch(value.strip())
        if found is None:
            raise ValueError("no size")
        return number(int(float(found[1]) * _UNITS[found[2].lower()]))

    return parse


def path(value: Any) -> str:
    """A path as the file system can have it."""
    text = os.fspath(value)
    if not isinstance(text, str) or "\0" in text:
        raise ValueError("no path")
    os.fsencode(text)  # UnicodeEncodeError, a ValueError, where no file can have the name
    return text


#: What the option check can be a list of; sync is always on, and all is all but arithmetic.
CHECKS = ("memory", "races", "init", "sync", "leaks", "arithmetic")


def checks(value: Any) -> str:
    """Checks by their names, separated by commas, or an iterable of names: "memory,races,init,sync"."""
    words = value.split(",") if isinstance(value, str) else list(value)
    if not all(isinstance(word, str) for word in words):
        raise TypeError("no names")
    meant = {"none": (), "default": ("memory",), "all": CHECKS[:-1], **{word: (word,) for word in CHECKS}}
    chosen = {"sync"}
    for word in words:
        name = word.strip()
        if name not in meant:
            raise NotValid(f"There is no check {name!r}.{did_you_mean(name, meant)}")
        if name == "none" and len(words) > 1:
            raise NotValid("'none' is no part of a list.")
        chosen.update(meant[name])
    if not words:
        raise ValueError("no check")
    return ",".join(word for word in CHECKS if word in chosen)


def debugger(value: Any) -> str:
    """Which debugger there is to be: "cudasim", "listen", "listen:wait", "connect:PATH", or nothing."""
    text = path(value)
    known = ("", "cudasim", "listen", "listen:wait")
    if text not in known and (not text.startswith("connect:") or text == "connect:"):
        raise ValueError("no debugger")
    return text


def libdevice(value: Any) -> str:
    """Which maths functions kernels call: "own", "auto", or the path of a libdevice.10.bc."""
    text = path(value)
    if text == "":
        raise ValueError("no path")
    return text


def libdevice_from(value: str, folder: str) -> str:
    """The same in a file in that folder: paths begin there."""
    return value if value in ("own", "auto") else path_from(value, folder)


def path_from(value: Any, folder: Any) -> Any:
    """A path that begins in a folder, as the file with the path in it means it."""
    return os.path.join(folder, os.path.expanduser(value)) if value else value


def choice(*values: Any) -> Any:
    """A parser of one of several words."""

    def parse(value):
        if value not in values:
            meant = did_you_mean(value, values)
            raise NotValid(meant.strip()) if meant else ValueError("none of them")
        return value

    parse.choices = values  # type: ignore[attr-defined]  # for messages and documents
    return parse
