"""What is told of the program: where it stopped and why, launches, its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim.debugger_client import expressions, text, values
from cudasim.debugger_client.breakpoints import FIRST_INTERNAL
from cudasim.debugger_client.debuggee import signal_name
from cudasim.debugger_client.errors import CommandError
from cudasim.debugger_client.places import coordinates, short_path

if TYPE_CHECKING:
    from typing import Any

    from cudasim.debugger_client.breakpoints import Breakpoint
    from cudasim.debugger_client.debugger import Debugger
    from cudasim.debugger_client.places import Ended, Focus, Stop


def tell_stop(debugger: Debugger, stop: Stop, hit: list[Breakpoint], silent: bool) -> None:
    """Why and where; the source line; what is on display."""
    write = debugger.console.write
    depth = len(debugger.session.frames())
    before, same_frame = debugger.previous_focus, False
    if before is not None:
        same_frame = before.is_same_thread(stop.focus) and before.function == stop.focus.function
        same_frame = same_frame and depth == debugger.previous_depth
    debugger.previous_depth = depth
    if silent:
        return
    if before is not None and before.launch == stop.focus.launch and not before.is_same_thread(stop.focus):
        write(f"[Switching focus to {stop.focus.kernel} {stop.focus.name}]")
    visible = [one for one in hit if one.number < FIRST_INTERNAL]
    where = text.location(stop.focus)
    if stop.reason == "exception":
        write(f"Thread {stop.focus.name} stopped: {stop.text or stop.description or 'an error'}")
        write(where)
    elif visible:
        tell_watches(debugger, stop, visible)
        places = [one for one in visible if not one.expression]
        kind = "Temporary breakpoint" if places and places[0].temporary else "Breakpoint"
        write(f"{kind} {places[0].number}, {where}" if places else where)
    elif stop.reason == "pause":
        write("Interrupted.")
        write(where)
    elif stop.reason == "data breakpoint":
        write(where)
    elif stop.reason == "entry" or hit:
        write(f"Kernel entry, {where}")
    elif not stop.focus.file:
        write(f"[Thread {stop.focus.name} has ended]")
    elif stop.reason not in ("step", "goto") or not same_frame:
        write(where)
    for note in stop.notes:
        write(f"[{note}]")
    if stop.waits:
        write(
            "[Lock is on. cuda block and cuda thread choose another thread to move; set lock off lets all run]"
        )
    tell_line(debugger, stop.focus)
    if stop.returned:
        value, kind = str(stop.returned.get("value")), str(stop.returned.get("type"))
        number = debugger.history.add(value, kind)
        shown = values.shortened(value, debugger.settings["print elements"].value)
        write(f"Value returned is ${number} = {shown}")
    tell_displays(debugger)


def tell_watches(debugger: Debugger, stop: Stop, hit: list[Breakpoint]) -> None:
    """What was watched, and what it was and is."""
    write = debugger.console.write
    for one in hit:
        found = next((watched for watched in stop.watches if watched.number == one.number), None)
        if found is None:
            continue
        write(f"\n{one.title}{', element ' + found.element if found.element else ''}\n")
        if found.changed:
            write(f"Old value = {found.old}\nNew value = {found.new}")
        else:
            write(f"Value = {found.new}")
        if found.line and (found.file, found.line) != (stop.focus.file, stop.focus.line):
            write(f"Assigned at {short_path(found.file)}:{found.line}")


def tell_line(debugger: Debugger, focus: Focus) -> None:
    """The source line of a thread; nothing where it is not known."""
    if focus.file and focus.line:
        frames = debugger.session.frames()
        reference = frames[0].source_reference if frames else 0
        debugger.console.write(
            text.source_line(focus.line, debugger.sources.line(focus.file, focus.line, reference))
        )


def tell_focus(debugger: Debugger, focus: Focus) -> None:
    """Where a thread is that was chosen, or why it is nowhere."""
    where = text.location(focus)
    if focus.file:
        debugger.console.write(where)
        tell_line(debugger, focus)
    else:
        debugger.console.write(f"{where} ({focus.state})")


def tell_displays(debugger: Debugger) -> None:
    """What `display` has been told to show."""
    for display in debugger.displays:
        if display.enabled:
            tell_display(debugger, display.number, display.expression, display.format)


def tell_display(debugger: Debugger, number: int, expression: str, letter: str) -> None:
    """One expression and its value, or why it has none."""
    shown = f"/{letter} {expression}" if letter else expression
    try:
        value = expressions.evaluated(debugger, expression, letter, "watch").text
    except CommandError as error:
        value = f"<{str(error).rstrip('.')}>"
    debugger.console.write(f"{number}: {shown} = {value}")


def tell_end(debugger: Debugger, ended: Ended) -> None:
    """How the program ended."""
    if ended.lost:
        debugger.console.error(
            f"The connection to the program is lost ({ended.lost}); the program was killed."
        )
        return
    status = ended.status
    if status == 0:
        line = "[The program exited normally]"
    elif status is None:
        line = "[The program has ended]"
    elif status > 0:
        line = f"[The program exited with code {status}]"
    else:
        line = f"[The program was ended by signal {signal_name(-status)}]"
    debugger.console.write(line)


def tell_event(debugger: Debugger, name: str, body: dict[str, Any]) -> None:
    """Events that come while the program runs."""
    write = debugger.console.write
    if name == "output":
        output = str(body.get("output") or "")
        write(output, end="" if output.endswith("\n") else "\n")
    elif name == "breakpoint" and body.get("reason") == "removed":
        answer = body.get("breakpoint") or {}
        gone = debugger.breakpoints.get(answer.get("id", 0))
        if gone is not None:
            debugger.breakpoints.remove([gone.number])
            write(f"Watchpoint {gone.number} deleted: {gone.expression}, because {answer.get('message')}.")
    elif name == "breakpoint":
        found = debugger.breakpoints.get((body.get("breakpoint") or {}).get("id", 0))
        before = found.problem if found else ""
        changed = debugger.breakpoints.changed(body)
        if changed is not None and changed.problem and changed.problem != before:
            write(f"Breakpoint {changed.number} at {changed.place}: {changed.problem}")
    if name == "cudasim/launch":
        debugger.breakpoints.take_calls(body)
        debugger.breakpoints.take_hits(body.get("hits") or [])
    if name == "cudasim/launch" and debugger.settings["cuda kernel_events"].value not in ("off", "none"):
        launch, kernel = body.get("launch", "?"), body.get("kernel", "?")
        if body.get("event") == "begin":
            shape = (
                f"grid {coordinates(body.get('grid') or ())}, block {coordinates(body.get('blockDim') or ())}"
            )
            write(f"[Launch {launch}: {kernel}, {shape}]")
        else:
            error = body.get("error")
            write(f"[Launch {launch}: {kernel} {'failed: ' + str(error) if error else 'has ended'}]")
    debugger.console.flush()
