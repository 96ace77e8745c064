"""Reading command lines: with prompt_toolkit where it is installed and somebody sits at a terminal, plainly otherwise."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

from cudasim.debugger_client import completion

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cudasim.debugger_client.debugger import Debugger, ReadLine


def reader(debugger: Debugger, at_terminal: bool) -> ReadLine:
    """What reads the next line for a prompt; None at the end of input. Ctrl-C gives up the line that is being typed."""
    if not at_terminal:
        return _from_stream
    if os.environ.get("TERM", "dumb") != "dumb":
        try:
            return _with_toolkit(debugger)
        except ImportError:
            pass
    return _at_terminal(debugger)


def _from_stream(prompt: str) -> str | None:
    sys.stdout.write(prompt)
    sys.stdout.flush()
    line = sys.stdin.readline()
    if not line:
        sys.stdout.write("\n")
        return None
    return line.rstrip("\n")


def _retried(read: Any) -> ReadLine:
    def next_line(prompt: str) -> str | None:
        while True:
            try:
                return read(prompt)
            except KeyboardInterrupt:
                print("Quit")
            except EOFError:
                print("quit")
                return None

    return next_line


def _at_terminal(debugger: Debugger) -> ReadLine:
    """With Python's own line editing, where it has one."""
    try:
        import readline  # may be absent
    except ImportError:
        pass
    else:
        found: list[str] = []

        def complete(text: str, state: int) -> str | None:
            if state == 0:
                line = readline.get_line_buffer()[: readline.get_endidx()]
                begin, words = completion.candidates(debugger, line)
                shift = readline.get_begidx() - begin
                found[:] = [word[shift:] for word in words] if shift >= 0 else []
            return found[state] if state < len(found) else None

        readline.set_completer_delims(" \t")
        readline.set_completer(complete)
        readline.parse_and_bind("tab: complete")
    return _retried(input)


def history_file() -> str:
    """Where command lines are kept from session to session."""
    folder = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(folder, "cudasim", "debug_history")


def _own_file() -> str:
    """The history's file, which only the user may read.

    :raises OSError: where it cannot be made
    """
    path = history_file()
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    return path


class KeptHistory:
    """The history for other prompts: that of prompt_toolkit where it is installed, else nothing is kept."""

    def __init__(self) -> None:
        self._kept: Any = None
        try:
            from prompt_toolkit.history import FileHistory  # may be absent

            self._kept = FileHistory(_own_file())
        except (ImportError, OSError):
            pass

    def lines(self) -> list[str]:
        """All lines, the oldest first."""
        if self._kept is None:
            return []
        try:
            return list(self._kept.load_history_strings())[::-1]
        except OSError:
            return []

    def add(self, line: str) -> None:
        """Keeps a line."""
        if self._kept is not None:
            with contextlib.suppress(OSError):
                self._kept.store_string(line)


def _with_toolkit(debugger: Debugger) -> ReadLine:
    from prompt_toolkit import PromptSession  # may be absent
    from prompt_toolkit.completion import Completer, Completion
    from prompt_toolkit.history import FileHistory, History, InMemoryHistory

    class Words(Completer):
        """What the word before the cursor could become."""

        def get_completions(self, document: Any, complete_event: Any) -> Iterator[Completion]:
            """Called when the tabulator key is pressed."""
            line = document.text_before_cursor
            begin, words = completion.candidates(debugger, line)
            for word in words:
                yield Completion(word, start_position=begin - len(line))

    history: History
    try:
        history = FileHistory(_own_file())
    except OSError:
        history = InMemoryHistory()
    session: PromptSession = PromptSession(history=history, completer=Words(), complete_while_typing=False)
    # Blocks of commands are read with the same keys, but are no command lines to go back to.
    block: PromptSession = PromptSession(history=InMemoryHistory())
    return _retried(lambda prompt: (block if prompt == ">" else session).prompt(prompt))
