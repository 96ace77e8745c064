"""What `set` changes and `show` tells, and what `display` shows."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from cudasim.debugger_client.errors import CommandError

if TYPE_CHECKING:
    from typing import Any

UNITS = ("thread", "warp", "block", "grid")


@dataclasses.dataclass
class Setting:
    """One of them: its name as typed, what it may be, its value, and a sentence with {} for the value."""

    name: str
    choices: tuple[str, ...]
    value: Any
    sentence: str
    help: str


@dataclasses.dataclass
class Display:
    """An expression that every stop shows."""

    number: int
    expression: str
    format: str
    enabled: bool = True


def table() -> dict[str, Setting]:
    """All settings with their defaults."""
    on_off = ("on", "off")
    every = [
        Setting("step", UNITS, "thread", "Step, next and finish move the {}.",
                "What step, next and finish move: one thread, its warp, its block or the whole grid."),
        Setting("lock", on_off, "off", "Whether no other thread runs while the one in focus goes on is {}.",
                "Whether no other thread runs while the one in focus goes on, not even where it must wait for others: then it stops "
                "and says for whom. Continue, too, moves that thread alone."),
        Setting("listsize", (), 10, "The number of source lines that list shows is {}.", "How many lines list shows."),
        Setting("confirm", on_off, "on", "Whether to confirm what cannot be undone is {}.",
                "Whether run, kill, quit and delete ask before they end the program or remove all breakpoints. "
                "They never ask where no terminal is."),
        Setting("pagination", on_off, "on", "Whether long output waits after each screen is {}.",
                "Whether output that is longer than the terminal waits after each screen."),
        Setting("print elements", (), 200, "The number of elements of an array that are shown is {}.",
                "How many elements of an array or a tuple print shows; 0 means all that the program tells."),
        Setting("cuda break_on_launch", ("none", "application", "all"), "none", "Stopping at the entry of every kernel is {}.",
                "Whether every launch stops where its thread 0 of block 0 enters the kernel: application or all, or none."),
        Setting("cuda kernel_events", ("on", "off", "none", "application", "all"), "off", "Telling of launches is {}.",
                "Whether the begin and the end of every launch are told."),
        Setting("break_on_errors", on_off, "on", "Stopping where a thread fails is {}.",
                "Whether a thread that fails stops the program, before its error is raised in the script."),
        Setting("args", (), "", 'The arguments of the program are "{}".', "The arguments that run gives the program."),
    ]  # fmt: skip
    return {one.name: one for one in every}


def change(setting: Setting, text: str) -> None:
    """Sets a value from what was typed.

    :raises CommandError: for what the setting may not be
    """
    text = text.strip()
    if setting.name == "args":
        setting.value = text
    elif not setting.choices:
        if text in ("unlimited", "0") and setting.name == "print elements":
            setting.value = 0
        elif text.isdigit() and int(text) > 0:
            setting.value = int(text)
        else:
            raise CommandError(f'"{text}" is no number from 1 on.')
    else:
        words = {"1": "on", "yes": "on", "enable": "on", "0": "off", "no": "off", "disable": "off"}
        text = words.get(text, text) if "on" in setting.choices else text
        if not text and "on" in setting.choices:
            text = "on"
        matching = [choice for choice in setting.choices if text and choice.startswith(text)]
        if text in setting.choices:
            matching = [text]
        if len(matching) != 1:
            raise CommandError(f'"{text}" is none of: {", ".join(setting.choices)}.')
        setting.value = matching[0]
