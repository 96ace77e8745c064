"""info cuda: threads, blocks, warps, lanes, kernels, devices and barriers of the stopped launch."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from cudasim.debugger_client import ranges, text
from cudasim.debugger_client.commands.info_commands import INFO
from cudasim.debugger_client.commands.table import Table
from cudasim.debugger_client.places import coordinates

if TYPE_CHECKING:
    from typing import Any

    from cudasim.debugger_client.debugger import Debugger

INFO_CUDA = Table("info cuda ")
_WAITING = ("at barrier", "in warp")


@INFO.command("cuda", usage="SUBJECT", sub_table=INFO_CUDA)
def _cuda(debugger: Debugger, argument: str) -> None:
    """Threads, blocks, warps, lanes, kernels, devices or barriers of the stopped launch."""
    if not argument:
        argument = "kernels"
    INFO_CUDA.dispatch(debugger, argument)


def _groups(debugger: Debugger) -> list[dict[str, Any]]:
    debugger.session.thread()
    return debugger.session.request("cudasim/groups").get("groups") or []


def _show(debugger: Debugger, lines: list[str]) -> None:
    for line in lines:
        debugger.console.write(line)


@INFO_CUDA.command("threads")
def _threads(debugger: Debugger, argument: str) -> None:
    """All threads of the launch; those at the same place with the same state are one row."""
    _show(debugger, text.groups(_groups(debugger)))


@INFO_CUDA.command("kernels")
def _kernels(debugger: Debugger, argument: str) -> None:
    """The kernel that is stopped."""
    focus = debugger.session.thread()
    body = debugger.session.request("cudasim/kernel")
    row = [body.get("launch", focus.launch), body.get("kernel", focus.kernel), coordinates(body.get("grid") or focus.grid),
           coordinates(body.get("blockDim") or focus.block_dim), body.get("sharedBytes", 0), body.get("device", "")]  # fmt: skip
    _show(
        debugger,
        text.indented(
            text.table(["Launch", "Kernel", "Grid", "Block", "Shared bytes", "Device"], [row], "rlllrl"),
            [True],
        ),
    )


@INFO_CUDA.command("devices")
def _devices(debugger: Debugger, argument: str) -> None:
    """The device of the kernel that is stopped."""
    debugger.session.thread()
    device = debugger.session.request("cudasim/kernel").get("device", "")
    _show(debugger, text.indented(text.table(["Device"], [[device]]), [True]))


@INFO_CUDA.command("blocks")
def _blocks(debugger: Debugger, argument: str) -> None:
    """The blocks: which are on the device, how many are over or have not started."""
    focus = debugger.session.thread()
    body = debugger.session.request("cudasim/kernel")
    present = sorted(int(one) for one in body.get("blocksOnDevice") or [])
    over = body.get("blocksDone")
    over = len(over) if isinstance(over, list) else int(over or 0)
    total = focus.grid[0] * focus.grid[1] * focus.grid[2]
    at = ranges.linear(focus.block, focus.grid)
    rows = [["on the device", ranges.as_ranges(present), len(present)]]
    rows.append(["over", "", over])
    rows.append(["not started", "", total - over - len(present)])
    _show(
        debugger, text.indented(text.table(["State", "Blocks", "Count"], rows, "llr"), [True, False, False])
    )
    debugger.console.write(f"The focus is in block {at} {coordinates(focus.block)} of {total}.")


def _by_thread(debugger: Debugger) -> dict[int, dict[str, Any]]:
    """The group of each thread of the focus's block, by its linear index."""
    focus = debugger.session.thread()
    block = ranges.linear(focus.block, focus.grid)
    found: dict[int, dict[str, Any]] = {}
    for group in _groups(debugger):
        if ranges.contains(str(group.get("blocks", "")), block, focus.grid):
            for thread in ranges.expanded(str(group.get("threads", "")), focus.block_dim):
                found.setdefault(thread, group)
    return found


def _state(group: dict[str, Any]) -> tuple[str, str]:
    return str(group.get("state", "")), text.group_place(group)


@INFO_CUDA.command("warps")
def _warps(debugger: Debugger, argument: str) -> None:
    """The warps of the focus's block; lanes at the same place with the same state are one row."""
    focus = debugger.session.thread()
    at = ranges.linear(focus.thread, focus.block_dim)
    warps: dict[int, dict[tuple[str, str], list[int]]] = {}
    for thread, group in sorted(_by_thread(debugger).items()):
        warps.setdefault(thread // 32, {}).setdefault(_state(group), []).append(thread % 32)
    rows, marked = [], []
    for warp, parts in warps.items():
        for (state, place), lanes in parts.items():
            rows.append(
                [warp, ranges.as_ranges(lanes), f"{sum(1 << lane for lane in lanes):#010x}", state, place]
            )
            marked.append(warp == at // 32 and at % 32 in lanes)
    debugger.console.write(f"block{coordinates(focus.block)}")
    _show(
        debugger,
        text.indented(text.table(["Warp", "Lanes", "Mask", "State", "Where"], rows, "rllll"), marked),
    )


@INFO_CUDA.command("lanes")
def _lanes(debugger: Debugger, argument: str) -> None:
    """The lanes of the focus's warp, one in a row."""
    focus = debugger.session.thread()
    at = ranges.linear(focus.thread, focus.block_dim)
    rows, marked = [], []
    for thread, group in sorted(_by_thread(debugger).items()):
        if thread // 32 == at // 32:
            state, place = _state(group)
            rows.append(
                [thread % 32, coordinates(ranges.coordinates_of(thread, focus.block_dim)), state, place]
            )
            marked.append(thread == at)
    debugger.console.write(f"block{coordinates(focus.block)} warp {at // 32}")
    _show(debugger, text.indented(text.table(["Lane", "Thread", "State", "Where"], rows, "rlll"), marked))


@INFO_CUDA.command("barriers")
def _barriers(debugger: Debugger, argument: str) -> None:
    """The barriers and warp operations at which threads wait, and how many of their blocks' threads do."""
    focus = debugger.session.thread()
    size = focus.block_dim[0] * focus.block_dim[1] * focus.block_dim[2]
    waiting: Counter[tuple[str, str, str]] = Counter()
    threads: dict[tuple[str, str, str], list[str]] = {}
    for group in _groups(debugger):
        state, place = _state(group)
        if state in _WAITING:
            key = (str(group.get("blocks", "")), state, place)
            waiting[key] += int(group.get("count") or 0)
            threads.setdefault(key, []).append(str(group.get("threads", "")))
    if not waiting:
        debugger.console.write("No thread waits.")
        return
    rows = [[blocks, ",".join(threads[blocks, state, place]), count, state, place]
            for (blocks, state, place), count in waiting.items()]  # fmt: skip
    _show(debugger, text.table(["Blocks", "Threads", "Waiting", "State", "Where"], rows, "llrll"))
    debugger.console.write(f"A block has {size} threads.")
