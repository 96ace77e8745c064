"""The full-screen application: the panes, the command line, the keys. It runs in a thread of its own (start())."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import threading
from typing import TYPE_CHECKING

from textual.app import App
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widgets import Static

from cudasim.debugger_client.tui.command_line import CommandLine, Entered
from cudasim.debugger_client.tui.driver import ThreadDriver
from cudasim.debugger_client.tui.panes import Output, Rows, Source, Threads, Turned, Variables, Wish, harmless
from cudasim.debugger_client.tui.view import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from textual.app import ComposeResult

    from cudasim.debugger_client.tui.view import View

#: Seconds between looks at what has been written, and within which the application begins and ends.
_LOOK, _TIME_TO_BEGIN, _TIME_TO_END = 0.05, 60.0, 10.0
#: Seconds that a command runs before the view says so.
_SHORT = 0.2
#: Columns that the command line keeps beside a long prompt.
_ROOM = 24
_KEYS = " F1 help F5 continue F10 next F11 step F12 finish F9 break F6 pane ^C pause"


class DebuggerApp(App[None]):
    """The screen of one view."""

    CSS = """
    Screen { layout: vertical; }
    #upper { height: 3fr; min-height: 4; }
    #source { width: 3fr; }
    #right { width: 2fr; }
    #variables { height: 3fr; border-left: solid $panel; }
    #threads { height: 2fr; border-left: solid $panel; }
    #output { height: 2fr; min-height: 3; }
    Rows { border-top: solid $panel; border-title-align: left; overflow-x: hidden; scrollbar-size: 1 1; }
    Rows:focus { border-top: solid $accent; }
    #bottom { height: 1; }
    #prompt { width: auto; }
    #command { width: 1fr; height: 1; border: none; padding: 0; background: $surface; }
    #command:focus { border: none; }
    #words { height: auto; max-height: 4; display: none; color: $text-muted; }
    #keys { height: 1; background: $panel; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = [
        Binding("ctrl+q", "nothing", show=False, priority=True),
        Binding("ctrl+z", "suspend_process", show=False, priority=True),
        Binding("ctrl+backslash", "quit_program", show=False, priority=True),
        Binding("ctrl+l", "redraw", show=False, priority=True),
        Binding("ctrl+x", "prefix", show=False, priority=True),
        Binding("f6", "other_pane(1)", show=False, priority=True),
        Binding("shift+f6", "other_pane(-1)", show=False, priority=True),
        Binding("escape", "to_command", show=False),
        Binding("colon", "to_command", show=False),
        *(
            Binding(key, f"wish('{line}')", show=False, priority=True)
            for key, line in (("f1", "help tui"), ("f10", "next"), ("f11", "step"), ("f12", "finish"),
                              ("shift+f11", "finish"))
        ),
        Binding("f5", "go_on", show=False, priority=True),
        Binding("f9", "breakpoint", show=False, priority=True),
        Binding("pageup", "scroll_source(-1)", show=False),
        Binding("pagedown", "scroll_source(1)", show=False),
        Binding("ctrl+pageup,shift+pageup", "scroll_output(-1)", show=False),
        Binding("ctrl+pagedown,shift+pagedown", "scroll_output(1)", show=False),
    ]  # fmt: skip

    def __init__(self, view: View, driver_class: Any = None) -> None:
        super().__init__(driver_class=driver_class)
        self.view = view
        self.source, self.variables, self.threads = (
            Source(id="source"),
            Variables(id="variables"),
            Threads(id="threads"),
        )
        self.output = Output(view.scrollback, id="output")
        self.words = Static(id="words", markup=False)
        self.prompt_label = Static(id="prompt", markup=False)
        self.command_line = CommandLine(id="command")
        self.driver: ThreadDriver | None = None
        self.is_up = threading.Event()
        self.problem = ""
        self._own_loop: asyncio.AbstractEventLoop | None = None
        self._prefixed = False
        self._busy_since, self._says_so = 0.0, False

    def driver_made(self, driver: ThreadDriver) -> None:
        """Called by the driver."""
        self.driver = driver

    def compose(self) -> ComposeResult:
        """The panes."""
        with Horizontal(id="upper"):
            yield self.source
            with Vertical(id="right"):
                yield self.variables
                yield self.threads
        yield self.output
        yield self.words
        with Horizontal(id="bottom"):
            yield self.prompt_label
            yield self.command_line
        yield Static(_KEYS, id="keys", markup=False)

    def on_mount(self) -> None:
        """Begins to show what changes."""
        self._own_loop = asyncio.get_running_loop()
        self.view.on_change = self.change_from_thread
        self.command_line.focus()
        self.set_interval(_LOOK, self._look)
        self.change()
        self.is_up.set()

    # What is shown

    def change_from_thread(self) -> None:
        """Something has changed."""
        self.from_thread(self.change)

    def from_thread(self, function: Callable[[], Any]) -> None:
        """Calls a function in the application's thread, soon; not at all where that has ended."""
        if self._own_loop is not None:
            with contextlib.suppress(RuntimeError):
                self._own_loop.call_soon_threadsafe(self._guarded, function)

    def _guarded(self, function: Callable[[], Any]) -> None:
        # Callbacks of the loop have no application around them, and their errors would be logged and lost.
        with self._context():
            try:
                function()
            except Exception as error:
                self._fail(error)

    def _fail(self, error: Exception) -> None:
        self.problem = self.problem or f"{type(error).__name__}: {error}"
        self.exit()

    def change(self) -> None:
        """Shows the view's state."""
        if not self.output.is_attached:  # the application ends
            return
        view, snapshot = self.view, self.view.snapshot
        self.source.show(snapshot)
        self.variables.show(snapshot)
        self.threads.show(snapshot)
        if view.awaits:
            self._show_prompt(view.prompt)
            self.command_line.password = False
        self._busy_since, self._says_so = 0.0, False
        self._look()

    def _look(self) -> None:
        if not self.output.is_attached:  # the application ends
            return
        self.output.look()
        if self.view.awaits:
            return
        self._busy_since += _LOOK
        if self._busy_since >= _SHORT:
            takes_input = self.view.takes_input
            if not self._says_so:
                self._says_so = True
                running = dataclasses.replace(self.view.snapshot, title="running", current=0)
                self.source.show(running)
            self._show_prompt("program> " if takes_input else "running> ")
            program = self.view.program
            self.command_line.password = takes_input and program is not None and not program.echoes

    def _show_prompt(self, text: str) -> None:
        if len(text) + _ROOM > self.size.width:
            text = text.split(" ", 1)[0] + " " if text.startswith("(cudasim)") else text
        label = self.prompt_label
        if getattr(label, "shown_text", None) != text:
            label.shown_text = text  # type: ignore[attr-defined]
            label.update(text)

    def redraw(self) -> None:
        """Draws all again: somebody else had the terminal."""
        self.refresh(layout=True)
        self.screen.refresh(layout=True)

    def on_resize(self) -> None:
        """The program's terminal is as large as the output."""
        if self.view.program is not None:
            self.view.program.resize(*self.size_of_output())

    def size_of_output(self) -> tuple[int, int]:
        """(columns, lines) of what the program writes to."""
        size = self.output.size
        return max(size.width, 20), max(size.height, 2)

    # What the user does

    def on_entered(self, event: Entered) -> None:
        """A line was typed."""
        line = event.line
        self._show_words([])
        if self.view.awaits == COMMANDS or (not self.view.awaits and not self.view.takes_input):
            self.command_line.remember(line)
        self.view.submit(line)

    def on_input_changed(self) -> None:
        """What it could become is not true any more."""
        self._show_words([])

    def ask_words(self, line: str) -> bool:
        """Asks what a line could become; returns whether the command line will be told."""

        def take(begin: int, words: list[str]) -> None:
            self.from_thread(lambda: self._take_words(line, begin, words))

        return self.view.complete(line, take)

    def _take_words(self, line: str, begin: int, words: list[str]) -> None:
        choice = self.command_line.take_words(line, begin, words)
        self.call_after_refresh(self._show_words, choice)  # behind the message that the line has changed

    def _show_words(self, words: list[str]) -> None:
        shown = self.words
        shown.display = bool(words)
        if words:
            shown.update(harmless("  ".join(words[:100])))

    def on_wish(self, event: Wish) -> None:
        """A pane wants a command."""
        self.view.press(event.line)

    def on_turned(self, event: Turned) -> None:
        """The variables are to be opened or closed."""
        self.view.turn(event.row)

    def action_wish(self, line: str) -> None:
        """A key that is a command."""
        self.view.press(line)

    def action_go_on(self) -> None:
        """F5: run, or continue."""
        self.view.press("continue" if self.view.debugger.is_running else "run")

    def action_breakpoint(self) -> None:
        """F9: a breakpoint at the source's cursor, which is at the current line after a stop."""
        self.source.action_breakpoint()

    def action_interrupt(self) -> None:
        """Ctrl-C."""
        self.view.interrupt()

    def action_end_input(self) -> None:
        """Ctrl-D."""
        self.view.end_input()

    def action_quit_program(self) -> None:
        """Ctrl-\\: ends a program that does not listen to Ctrl-C."""
        if self.view.takes_input and self.view.program is not None:
            self.view.program.type("\x1c")

    def action_suspend_process(self) -> None:
        """Ctrl-Z: the shell comes."""
        if self.driver is not None:
            self.view.suspends()

    def action_redraw(self) -> None:
        """Ctrl-L."""
        self.redraw()

    def action_nothing(self) -> None:
        """Ctrl-Q ends other applications."""

    def action_prefix(self) -> None:
        """Ctrl-X: the key that follows means something, as in gdb."""
        self._prefixed = True

    async def on_event(self, event: Any) -> None:
        """Keys behind Ctrl-X: a switches the view off, o goes to the next pane."""
        if self._prefixed and getattr(event, "key", None) is not None and event.key != "ctrl+x":
            self._prefixed = False
            if event.key in ("a", "ctrl+a", "A"):
                self.view.press("tui disable")
                return
            if event.key in ("o", "ctrl+o"):
                self.action_other_pane(1)
                return
        await super().on_event(event)

    def action_other_pane(self, by: int) -> None:
        """The next pane gets the keys."""
        panes: list[Any] = [self.command_line, *self.query(Rows)]
        at = panes.index(self.focused) if self.focused in panes else 0
        panes[(at + by) % len(panes)].focus()

    def action_to_command(self) -> None:
        """Escape: keys go to the command line."""
        self.command_line.focus()

    def action_scroll_source(self, pages: int) -> None:
        """PageUp and PageDown in the command line."""
        self.source.action_move_page(pages)

    def action_scroll_output(self, pages: int) -> None:
        """The same for the output."""
        self.output.action_move_page(pages)


class Running:
    """An application that runs in its thread."""

    def __init__(self, app: DebuggerApp) -> None:
        self._app = app
        self._stops = False
        self._thread = threading.Thread(target=self._run, name="cudasim debug: screen", daemon=True)
        self._thread.start()
        while not app.is_up.wait(0.05) and self._thread.is_alive():
            pass
        if not app.is_up.is_set():
            raise RuntimeError(app.problem or "it has ended at once")
        assert app.driver is not None
        self.driver = app.driver

    def _run(self) -> None:
        app = self._app
        try:
            asyncio.run(app.run_async())
            error = getattr(app, "_exception", None)
            if error is not None and not app.problem:
                app.problem = f"{type(error).__name__}: {error}"
        except Exception as error:
            app.problem = f"{type(error).__name__}: {error}"
        finally:
            if app.driver is not None:
                app.driver.stop_application_mode()
            if not self._stops:
                app.view.end(app.problem or "its terminal has gone away")

    def stop(self) -> None:
        """Ends it, and gives the terminal back."""
        self._stops = True
        self._app.from_thread(self._app.exit)
        self._thread.join(_TIME_TO_END)
        self.driver.stop_application_mode()
        self._app.view.on_change = lambda: None

    def size_of_output(self) -> tuple[int, int]:
        """(columns, lines) of what the program writes to."""
        return self._app.size_of_output()


def start(view: View) -> Running:
    """Fills the screen.

    :raises RuntimeError: where that is not possible
    """
    return Running(DebuggerApp(view, ThreadDriver))
