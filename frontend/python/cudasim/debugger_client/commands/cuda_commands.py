"""cuda: the focus, in CUDA's coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim.debugger_client import ranges, stop_reports
from cudasim.debugger_client.commands.table import Table, command, split_word
from cudasim.debugger_client.errors import CommandError
from cudasim.debugger_client.places import coordinates

if TYPE_CHECKING:
    from typing import Any

    from cudasim.debugger_client.debugger import Debugger

CUDA = Table("cuda ")
_WORDS = ("kernel", "grid", "device", "sm", "block", "warp", "lane", "thread")


def switch_focus(debugger: Debugger, **where: Any) -> None:
    """Moves the focus, and tells where it is now."""
    focus = debugger.session.set_focus(**where)
    debugger.position_changed()
    debugger.previous_focus = focus
    debugger.previous_depth = len(debugger.session.frames())
    debugger.console.write(f"[Switching focus to {focus.kernel} {focus.name}]")
    stop_reports.tell_focus(debugger, focus)


@command(
    "cuda", usage="[block B] [thread T] [warp W] [lane L] [kernel] [device]", group="threads", sub_table=CUDA
)
def _cuda(debugger: Debugger, argument: str) -> None:
    """Choose the thread in focus by its coordinates, or show them.

    B and T are linear indices or coordinates: `cuda block 1 thread 3`, `cuda thread (3,0,0)`. What is not named stays; a
    block without a thread means its first. Any block that is not over can be chosen; one that has not begun does so when a
    thread of it is moved. `cuda block thread` without numbers shows where the focus is, `cuda kernel`
    and `cuda device` what it belongs to. W counts the warps of the block, L the lanes of a warp.
    """
    words: list[tuple[str, Any]] = []
    rest = argument
    while rest:
        word, rest = split_word(rest)
        full = CUDA.find(word).name
        if rest[:1].isdigit() or rest[:1] == "(":
            value, rest = ranges.take_one(rest)
            words.append((full, value))
        else:
            words.append((full, None))
        rest = rest.lstrip(", ")
    if not words:
        words = [("kernel", None), ("block", None), ("thread", None)]
    if all(value is None for _, value in words):
        debugger.console.write(", ".join(_described(debugger, word) for word, _ in words))
        return
    where: dict[str, Any] = {}
    chosen = dict(words)
    missing = [word for word, value in words if value is None]
    if missing:
        raise CommandError(f"The number of the {missing[0]} is missing.")
    for word in ("block", "thread"):
        if word in chosen:
            where[word] = chosen[word]
    if "warp" in chosen or "lane" in chosen:
        if "thread" in chosen:
            raise CommandError("A thread is chosen by its number, or by its warp and lane.")
        where["thread"] = _thread_of_lane(debugger, chosen)
    _check_fixed(debugger, chosen)
    if where:
        switch_focus(debugger, **where)
    else:
        focus = debugger.session.thread()
        debugger.console.write(f"[Focus stays on {focus.kernel} {focus.name}]")


def _thread_of_lane(debugger: Debugger, chosen: dict[str, Any]) -> int:
    focus = debugger.session.thread()
    present = ranges.linear(focus.thread, focus.block_dim)
    warp, lane = (
        chosen.get("warp", present // 32),
        chosen.get("lane", 0 if "warp" in chosen else present % 32),
    )
    if not isinstance(warp, int) or not isinstance(lane, int) or lane > 31:
        raise CommandError("Warps have a number, and lanes one from 0 to 31.")
    return 32 * warp + lane


def _check_fixed(debugger: Debugger, chosen: dict[str, Any]) -> None:
    """One kernel of one device stands at a time."""
    focus = debugger.session.thread()
    for word in ("kernel", "grid"):
        if word in chosen and chosen[word] != focus.launch:
            raise CommandError(f"No {word} {chosen[word]}; {focus.kernel} is {word} {focus.launch}.")
    for word in ("device", "sm"):
        if word in chosen and chosen[word] != 0:
            raise CommandError(f"No {word} {chosen[word]}; there is {word} 0.")


def _described(debugger: Debugger, word: str) -> str:
    focus = debugger.session.thread()
    linear = ranges.linear(focus.thread, focus.block_dim)
    if word in ("block", "thread"):
        return f"{word} {coordinates(focus.block if word == 'block' else focus.thread)}"
    if word == "warp":
        return f"warp {linear // 32}"
    if word == "lane":
        return f"lane {linear % 32}"
    if word in ("kernel", "grid"):
        return f"{word} {focus.launch} ({focus.kernel})"
    if word == "device":
        device = debugger.session.request("cudasim/kernel").get("device")
        return f"device {device}"
    return f"{word} 0"


def _add(word: str) -> None:
    def choose(debugger: Debugger, argument: str) -> None:
        _cuda(debugger, f"{word} {argument}")

    choose.__doc__ = f"Choose the {word} of the focus, or show it."
    CUDA.command(word, usage="[NUMBER]")(choose)


for _word in _WORDS:
    _add(_word)
