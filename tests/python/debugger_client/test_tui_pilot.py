"""The full-screen view without a terminal: textual's pilot presses keys, a real script is debugged."""

import asyncio
import contextlib
import threading
import time

import pytest

pytest.importorskip("textual")

from cudasim.debugger_client import commands, terminal_control  # noqa: E402
from cudasim.debugger_client.console import Console  # noqa: E402
from cudasim.debugger_client.debuggee import Debuggee  # noqa: E402
from cudasim.debugger_client.debugger import Debugger  # noqa: E402
from cudasim.debugger_client.errors import QuitDebugger  # noqa: E402
from cudasim.debugger_client.tui.app import DebuggerApp  # noqa: E402
from cudasim.debugger_client.tui.command_line import CommandLine  # noqa: E402
from cudasim.debugger_client.tui.panes import Output, Rows, Source, Threads, Variables  # noqa: E402
from cudasim.debugger_client.tui.screen import Screen  # noqa: E402
from cudasim.debugger_client.tui.snapshot import Row, Snapshot  # noqa: E402

assert commands.TABLE.commands

SCRIPT = """\
import numpy as np
from numba import cuda


@cuda.jit
def scale(x, y, wide):
    i = cuda.grid(1)
    s = cuda.shared.array(32, np.float32)
    s[cuda.threadIdx.x] = x[i]
    cuda.syncthreads()
    other = s[31 - cuda.threadIdx.x]
    y[i] = other * 2


print("before")
x = np.arange(64, dtype=np.float32)
scale[2, 32](x, np.zeros_like(x), np.zeros(100_000))
print("name", input("who? "))
"""
SECONDS = 60


class Pilot:
    """An application with a debugger in a thread of its own; coroutines wait for what is shown."""

    def __init__(self, pilot, app):
        self.app, self._pilot = app, pilot

    async def until(self, condition):
        """Waits until a condition is true, which says what is shown where it is not."""
        end = time.monotonic() + SECONDS
        while not condition():
            assert time.monotonic() < end, [(one.id, self.rows(type(one))) for one in self.app.query(Rows)]
            await self._pilot.pause(0.02)

    def rows(self, pane):
        """The texts of all rows of a pane."""
        shown = self.app.query_one(pane)
        return ["".join(segment.text for segment in shown.row(at)) for at in range(shown.row_count())]

    async def see(self, pane, text):
        """Waits until a row of a pane has a text."""
        await self.until(lambda: any(text in row for row in self.rows(pane)))

    async def type(self, line):
        """Types a line when commands are awaited."""
        await self.ready()
        self.app.query_one(CommandLine).value = line
        await self.press("enter")

    async def ready(self):
        """Waits for the prompt."""
        await self.until(lambda: self.app.view.awaits)

    async def press(self, *keys):
        """Presses keys."""
        await self._pilot.press(*keys)

    async def resize(self, columns, lines):
        """The window gets another size."""
        await self._pilot.resize_terminal(columns, lines)


class Stub:
    """Stands for the application's thread; the application runs in the test's."""

    def __init__(self):
        self.driver = self

    def leave(self):
        """The terminal is lent: there is none."""

    def enter(self):
        """It is back."""

    def stop(self):
        """The test ends it."""

    def size_of_output(self):
        """(columns, lines)."""
        return 80, 10


@pytest.fixture
def debugged(tmp_path, monkeypatch):
    """Runs a coroutine with a Pilot of a debugger of the script."""
    (tmp_path / "scale.py").write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    views = []

    def start_view(view):
        views.append(view)
        return Stub()

    def start(command, variables):
        return Debuggee(command, variables, screen.program_terminal(), True)

    debugger = Debugger(["scale.py"], Console(True), start)
    screen = debugger.screen = Screen(debugger, terminal_control.TerminalControl(), start_view)
    screen.enable()

    def serve():
        with contextlib.suppress(QuitDebugger):
            debugger.interact(screen.reader(lambda: lambda prompt: None))

    def run(test, size=(80, 24)):
        async def running():
            app = DebuggerApp(views[0])
            async with app.run_test(size=size) as pilot:
                thread = threading.Thread(target=serve, daemon=True)
                thread.start()
                try:
                    await test(Pilot(pilot, app))
                finally:
                    debugger.settings["confirm"].value = "off"
                    views[0].end("the test ends")
                    views[0].submit("quit")
            await asyncio.to_thread(thread.join, 20)

        asyncio.run(asyncio.wait_for(running(), 3 * SECONDS))

    yield run
    debugger.kill()
    screen.close_program()


def test_source_variables_threads_and_output(debugged):
    async def test(pilot):
        await pilot.type("break 12 thread 10 block 1")
        await pilot.see(Output, "Breakpoint 1 at scale.py:12")
        await pilot.type("run")
        await pilot.see(Source, "B>12     y[i] = other * 2")
        await pilot.see(Output, "before")
        await pilot.see(Variables, "i = 42")
        await pilot.see(Variables, "other = 53.0")
        await pilot.see(Threads, "* b(1) t(10) ×1 stopped scale.py:12")
        await pilot.type("delete 1")
        await pilot.type("continue")
        await pilot.see(Output, "who?")
        await pilot.until(lambda: pilot.app.view.takes_input)
        pilot.app.query_one(CommandLine).value = "Bob"
        await pilot.press("enter")
        await pilot.see(Output, "name Bob")
        await pilot.see(Output, "[The program exited normally]")
        await pilot.until(lambda: not pilot.rows(Variables) and not pilot.rows(Threads))

    debugged(test)


def test_keys_are_commands(debugged):
    async def test(pilot):
        await pilot.type("tbreak 9 thread 3 block 0")
        await pilot.ready()
        await pilot.press("f5")
        await pilot.see(Source, ">" + " 9 ")
        await pilot.press("f10")
        await pilot.see(Source, ">10 ")
        await pilot.ready()
        await pilot.press("f9")
        await pilot.see(Source, "B>10 ")
        await pilot.type("next")
        await pilot.see(Source, ">11 ")
        await pilot.ready()
        await pilot.press("enter")
        await pilot.see(Source, ">12 ")
        await pilot.ready()
        await pilot.press("f6", "k", "b")
        await pilot.see(Source, "B 11 ")
        await pilot.ready()
        await pilot.press("b")
        await pilot.until(lambda: any(row.startswith("  11 ") for row in pilot.rows(Source)))
        await pilot.press("escape")
        assert pilot.app.focused is pilot.app.query_one(CommandLine)

    debugged(test)


def test_another_thread_and_an_opened_array(debugged):
    async def test(pilot):
        await pilot.type("break 11 thread 10 block 1")
        await pilot.type("run")
        await pilot.see(Threads, "* b(1) t(10)")
        await pilot.ready()
        threads = pilot.app.query_one(Threads)
        threads.cursor = next(at for at, row in enumerate(pilot.rows(Threads)) if "t(11..31)" in row)
        threads.focus()
        await pilot.press("enter")
        await pilot.see(Output, "[Switching focus to scale block(1,0,0) thread(11,0,0)]")
        await pilot.see(Variables, "i = 43")
        await pilot.ready()
        variables = pilot.app.query_one(Variables)
        variables.cursor = next(at for at, row in enumerate(pilot.rows(Variables)) if "+ wide" in row)
        variables.focus()
        await pilot.press("enter")
        await pilot.see(Variables, "the next 100 parts")
        await pilot.see(Variables, "- wide")
        assert 100 < len(pilot.rows(Variables)) < 130

    debugged(test)


def test_completion(debugged):
    async def test(pilot):
        await pilot.ready()
        line = pilot.app.query_one(CommandLine)

        def begin(text):
            line.value = text
            line.cursor_position = len(text)

        begin("info loc")
        await pilot.press("tab")
        await pilot.until(lambda: line.value == "info locals ")
        begin("dis")
        await pilot.press("tab")
        await pilot.until(lambda: line.value == "disable")
        await pilot.press("tab", "tab")  # past disassemble
        await pilot.until(lambda: line.value == "display")
        begin("nonsense ")
        await pilot.press("tab", "x")
        await pilot.until(lambda: line.value == "nonsense x")

    debugged(test)


@pytest.mark.parametrize("size", [(80, 24), (40, 12), (200, 60)])
def test_all_parts_fit(debugged, size):
    async def test(pilot):
        await pilot.type("break 12")
        await pilot.see(Output, "Breakpoint 1")
        await pilot.resize(*size)
        await pilot.until(lambda: pilot.app.size == size)
        for widget in [*pilot.app.query(Rows), pilot.app.query_one(CommandLine)]:
            await pilot.until(
                lambda widget=widget: widget.region.right <= size[0] and widget.region.bottom <= size[1]
            )
            assert widget.region.height >= 1 and widget.region.width >= 10

    debugged(test, size=(80, 24))


class Counted(Threads):
    """Counts the rows that are made."""

    made = 0

    def row(self, index):
        """One more."""
        self.made += 1
        return super().row(index)


def test_only_what_is_visible_is_made(debugged):
    groups = [
        {
            "blocks": str(at),
            "threads": "0..31",
            "count": 32,
            "state": "at barrier",
            "file": "k.py",
            "line": at,
        }
        for at in range(1_000_000)
    ]
    lines = [f"a{at} = {at}" for at in range(200_000)]
    wide = [Row(("Locals", "w"), "w", "1, " * 600), Row(("Locals", "c"), "c", "a\x1b[31m\r\nb")]

    async def test(pilot):
        await pilot.ready()
        pane = Counted()
        await pilot.app.query_one("#right").mount(pane)
        began = time.monotonic()
        pane.show(Snapshot(groups=groups))
        pilot.app.query_one(Source).show(
            Snapshot(path="long.py", lines=lines, current=150_000, shown=150_000)
        )
        pilot.app.query_one(Variables).show(Snapshot(variables=wide))
        await pilot.until(lambda: pane.made > 0)
        pane.focus()
        await pilot.press("end")
        await pilot.until(lambda: int(pane.scroll_offset.y) > 999_000)
        assert time.monotonic() - began < 20
        assert pane.made < 1000
        assert "\x1b" not in pilot.rows(Variables)[1] and "\n" not in pilot.rows(Variables)[1]
        source = pilot.app.query_one(Source)
        assert int(source.scroll_offset.y) < 150_000 <= int(source.scroll_offset.y) + source.size.height

    debugged(test)
