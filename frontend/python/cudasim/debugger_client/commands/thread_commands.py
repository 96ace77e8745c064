"""thread: choosing simulated threads, finding some, and doing something in several."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim.debugger_client import ranges
from cudasim.debugger_client.commands.cuda_commands import CUDA, switch_focus
from cudasim.debugger_client.commands.data_commands import lane_values
from cudasim.debugger_client.commands.table import Table, command
from cudasim.debugger_client.errors import CommandError
from cudasim.debugger_client.places import coordinates

if TYPE_CHECKING:
    from cudasim.debugger_client.debugger import Debugger

THREAD = Table("thread ")


@command(
    "thread", "t", usage="[THREAD | find CONDITION | apply RANGE COMMAND]", group="threads", sub_table=THREAD
)
def _thread(debugger: Debugger, argument: str) -> None:
    """Show or choose the thread in focus, within its block.

    THREAD is a linear index or coordinates, such as 3 or (3,0,0). `thread find CONDITION` finds the threads of the block
    where a condition is true, `thread apply RANGE COMMAND` runs a command in each thread of a range, or in all.
    """
    if not argument:
        focus = debugger.session.thread()
        debugger.console.write(f"[Current focus is {focus.kernel} {focus.name}]")
    elif argument[0].isdigit() or argument[0] == "(":
        where, rest = ranges.take_one(argument)
        if rest:
            raise CommandError(f'Junk at the end of the arguments: "{rest}".')
        switch_focus(debugger, thread=where)
    elif argument.partition(" ")[0] in ("block", "thread"):
        CUDA.dispatch(debugger, argument)
    else:
        THREAD.dispatch(debugger, argument)


@THREAD.command("find", usage="CONDITION")
def _find(debugger: Debugger, argument: str) -> None:
    """Find the threads of the focus's block where CONDITION is true."""
    focus = debugger.session.thread()
    true, failed = [], []
    for one in lane_values(debugger, f"bool({argument})" if argument else "", "block"):
        threads = str(one.get("threads"))
        if "error" in one:
            failed.append((threads, one["error"]))
        elif str(one.get("result")) in ("True", "true", "1"):
            true += ranges.expanded(threads, focus.block_dim)
    place = f"block{coordinates(focus.block)}"
    if true:
        debugger.console.write(
            f"{place}: thread {ranges.as_ranges(sorted(true))} ({len(true)} of {_size(focus.block_dim)})"
        )
    else:
        debugger.console.write(f"{place}: no thread.")
    for threads, error in failed:
        debugger.console.write(f"It cannot be told for thread {threads}: {error}")


def _size(extent: list[int]) -> int:
    return extent[0] * extent[1] * extent[2]


@THREAD.command("apply", usage="RANGE|all COMMAND")
def _apply(debugger: Debugger, argument: str) -> None:
    """Run a command in each thread of a range of the focus's block."""
    before = debugger.session.thread()
    word, _, rest = argument.partition(" ")
    if word == "all":
        text, line = "*", rest.strip()
    else:
        text, line = ranges.take_range(argument)
    if not line:
        raise CommandError("Write thread apply RANGE COMMAND.")
    indices = ranges.expanded(text, before.block_dim)
    if not indices:
        raise CommandError(f"The block has no thread {text}; it has {_size(before.block_dim)}.")
    frame_index = debugger.session.frame_index
    try:
        for index in indices:
            at = ranges.coordinates_of(index, before.block_dim)
            debugger.console.write(f"\nThread block{coordinates(before.block)} thread{coordinates(at)}:")
            try:
                debugger.session.set_focus(block=before.block, thread=at)
                debugger.execute(line)
            except CommandError as error:
                debugger.fail(str(error))
            if debugger.session.focus is None or debugger.session.focus.launch != before.launch:
                return
    finally:
        if debugger.session.focus is not None and debugger.session.focus.launch == before.launch:
            try:
                debugger.session.set_focus(block=before.block, thread=before.thread)
                debugger.session.frame_index = frame_index
            except CommandError:
                pass  # The command has let that thread end.
