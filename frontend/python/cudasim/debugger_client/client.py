"""`cudasim debug`: from its arguments to its exit status."""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
from typing import TYPE_CHECKING

import cudasim
from cudasim.debugger_client import commands, prompt
from cudasim.debugger_client.console import Console
from cudasim.debugger_client.debuggee import Debuggee
from cudasim.debugger_client.debugger import Debugger
from cudasim.debugger_client.errors import CommandError, QuitDebugger
from cudasim.debugger_client.terminal_control import TerminalControl
from cudasim.debugger_client.tui.screen import Screen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cudasim.debugger_client.debugger import ReadLine

assert commands.TABLE.commands  # Importing them has filled the table.


def run(parsed: argparse.Namespace, script: list[str]) -> int:
    """One session; its exit status.

    :param parsed: what arguments.add_to() declared
    :param script: [script, arguments…] or ["-m", module, arguments…]
    """
    at_terminal = sys.stdin is not None and sys.stdin.isatty()
    interactive = at_terminal and sys.stdout.isatty() and not parsed.batch
    terminal = TerminalControl()
    console = Console(interactive)
    screen: Screen | None = None
    # Standard input is the program's, too, but not where commands are read from a pipe or a file.
    own_input = parsed.batch or at_terminal

    def start(command: list[str], environment: dict[str, str]) -> Debuggee:
        own_terminal = screen.program_terminal() if screen is not None else None
        return Debuggee(command, environment, own_terminal or terminal, own_input)

    debugger = Debugger(script, console, start)
    screen = debugger.screen = terminal.screen = Screen(debugger, terminal)
    with _ends_on_signals():
        try:
            if parsed.tui:
                try:
                    screen.enable()
                except CommandError as error:
                    console.error(str(error))
            if interactive and not parsed.quiet:
                is_there = parsed.core is not None or parsed.process is not None
                start_it = "." if is_there else ', "run" to start the program.'
                console.write(
                    f'cudasim {cudasim.__version__} debugger. Type "help" for its commands{start_it}'
                )
            problem = debugger.script_problem() if script else ""
            if problem and not parsed.batch:
                console.error(problem)
            if parsed.core is not None:
                debugger.run_line("run")
            elif parsed.process is not None:
                debugger.run_line(f"attach {parsed.process}")
            debugger.run_lines(_startup_lines(parsed.commands or []))
            if not parsed.batch:
                _interact(debugger, screen, at_terminal)
            status = _status(debugger) if parsed.batch else 0
        except QuitDebugger as request:
            status = (
                request.status if request.status is not None else _status(debugger) if parsed.batch else 0
            )
        finally:
            screen.close()
            debugger.leave()
            screen.close_program()
            terminal.take_back(programs_end=True)
            console.flush()
    return status


def _interact(debugger: Debugger, screen: Screen, at_terminal: bool) -> None:
    console = debugger.console
    read = screen.reader(lambda: prompt.reader(debugger, at_terminal))
    while True:
        debugger.interact(read)
        ask = console.interactive and debugger.is_running
        if not ask or console.agrees(debugger.quit_question):
            return


def _startup_lines(given: list[tuple[str, str]]) -> ReadLine:
    waiting = [text if kind == "command" else f"source {text}" for kind, text in given]

    def next_line(prompt: str) -> str | None:
        return waiting.pop(0) if waiting else None

    return next_line


def _status(debugger: Debugger) -> int:
    """With -batch: the program's own where it ended, else whether all commands succeeded."""
    status = debugger.session.last_status
    if status is None:
        return 1 if debugger.failed else 0
    return status if status >= 0 else 128 - status


@contextlib.contextmanager
def _ends_on_signals() -> Iterator[None]:
    """The signals that end a program end the session in order: the debugged program is killed, the terminal restored."""

    def end(number: int, frame: object) -> None:
        raise QuitDebugger(128 + number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
