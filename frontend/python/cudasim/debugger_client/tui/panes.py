"""The parts of the screen: source, variables, threads, output. Each is a list of rows of which only those on the screen are made, so that
long sources and many groups of threads cost nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from cudasim.debugger_client.places import coordinates, short_path
from cudasim.debugger_client.tui.highlighting import Highlighting
from cudasim.debugger_client.tui.scrollback import COMMAND, ERROR, PROGRAM

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from textual import events

    from cudasim.debugger_client.tui.scrollback import Scrollback
    from cudasim.debugger_client.tui.snapshot import Row, Snapshot

_DIM, _BOLD, _RED = Style(dim=True), Style(bold=True), Style(color="red")
_ENABLED, _DISABLED = Style(color="red", bold=True), Style(color="red", dim=True)
_CURRENT = Style(reverse=True)
_NAME, _HEADER = Style(color="cyan"), Style(bold=True, underline=True)
#: What is drawn for characters that would move the terminal's cursor.
_HARMLESS = {code: "·" for code in (*range(32), 127, *range(0x80, 0xA0))} | {ord("\t"): " "}


def harmless(text: str) -> str:
    """A text of one line, without control characters."""
    return text.expandtabs(8).translate(_HARMLESS)


class Rows(ScrollView, can_focus=True):
    """Rows of text with a cursor, which is shown where the pane has the focus."""

    BINDINGS = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "move_page(-1)", show=False),
        Binding("pagedown", "move_page(1)", show=False),
        Binding("home,g", "move(-1000000000)", show=False),
        Binding("end,G", "move(1000000000)", show=False),
        Binding("enter", "choose", show=False),
        Binding("ctrl+c", "app.interrupt", show=False),
    ]

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self.cursor = 0

    # What subclasses say

    def row_count(self) -> int:
        """How many rows there are."""
        return 0

    def row(self, index: int) -> list[Segment]:
        """One of them."""
        return []

    def widest(self) -> int:
        """How wide rows may be, in cells."""
        return 1

    def choose(self, index: int) -> None:
        """The user has chosen a row."""

    # Drawing

    def rows_changed(self) -> None:
        """The rows are others now."""
        self.virtual_size = Size(self.widest(), self.row_count())
        self.cursor = max(min(self.cursor, self.row_count() - 1), 0)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One line of what is visible."""
        left, top = self.scroll_offset
        index, width = int(top) + y, self.size.width
        if index >= self.row_count():
            return Strip.blank(width, self.rich_style)
        strip = Strip(self.row(index)).crop(int(left), int(left) + width)
        strip = strip.extend_cell_length(width).apply_style(self.rich_style)
        if self.has_focus and index == self.cursor:
            strip = strip.apply_style(Style(bgcolor="blue"))
        return strip

    def show_row(self, index: int) -> None:
        """Scrolls so that a row is visible, with a third of the pane before it where it was not."""
        height = max(self.size.height, 1)
        top = int(self.scroll_offset.y)
        if not top <= index < top + height:
            self.scroll_to(y=max(index - height // 3, 0), animate=False, force=True)

    def on_resize(self) -> None:
        """The row under the cursor stays visible."""
        self.call_after_refresh(self.show_row, self.cursor)

    # Keys and the mouse

    def action_move(self, rows: int) -> None:
        """Moves the cursor."""
        self.cursor = max(min(self.cursor + rows, self.row_count() - 1), 0)
        self.scroll_to_region(Region(int(self.scroll_offset.x), self.cursor, 1, 1), animate=False, force=True)
        self.refresh()

    def action_move_page(self, pages: int) -> None:
        """Moves the cursor by what is visible."""
        self.action_move(pages * max(self.size.height - 1, 1))

    def action_choose(self) -> None:
        """Chooses the row under the cursor."""
        if self.row_count():
            self.choose(self.cursor)

    def on_click(self, event: events.Click) -> None:
        """Chooses the row that was clicked on."""
        offset = event.get_content_offset(self)
        index = int(self.scroll_offset.y) + offset.y if offset is not None else -1
        if 0 <= index < self.row_count():
            self.cursor = index
            self.refresh()
            self.clicked(index, int(self.scroll_offset.x) + offset.x if offset is not None else 0)

    def clicked(self, index: int, column: int) -> None:
        """The user has clicked on a row."""
        self.choose(index)


class Wish(Message):
    """The user wants a command."""

    def __init__(self, line: str) -> None:
        super().__init__()
        self.line = line


class Source(Rows):
    """The text, with marks: the current line, and breakpoints."""

    BINDINGS = [
        Binding("b", "breakpoint", show=False),
        *(
            Binding(key, f"wish('{line}')", show=False)
            for key, line in (("n", "next"), ("s", "step"), ("c", "continue"), ("f", "finish"), ("r", "run"),
                              ("u", "up"), ("d", "down"))
        ),
    ]  # fmt: skip

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self._snapshot: Snapshot | None = None
        self._highlighting = Highlighting()
        self._widest = 1
        self._digits = 1

    def show(self, snapshot: Snapshot) -> None:
        """Shows a state of the debugger."""
        before, self._snapshot = self._snapshot, snapshot
        is_other = before is None or before.lines is not snapshot.lines or before.path != snapshot.path
        if is_other:
            self._highlighting = Highlighting(snapshot.path, snapshot.lines)
            self._digits = len(str(len(snapshot.lines)))
            self._widest = max(map(len, snapshot.lines), default=0) * 2 + self._digits + 6
        place = short_path(snapshot.path) if snapshot.path else "no source"
        self.border_title = harmless(f"{place}: {snapshot.title}").replace("[", "\\[")
        moved = is_other or before is None or before.shown != snapshot.shown
        if moved and snapshot.shown:
            self.cursor = snapshot.shown - 1
        self.rows_changed()
        if moved and snapshot.shown:
            self.call_after_refresh(self.show_row, snapshot.shown - 1)
        elif is_other:
            self.scroll_to(y=0, animate=False, force=True)

    def row_count(self) -> int:
        """As many as the text has lines."""
        return len(self._snapshot.lines) if self._snapshot else 0

    def widest(self) -> int:
        """An upper bound of what the lines need."""
        return self._widest

    def row(self, index: int) -> list[Segment]:
        """A line with its number and marks: B or b (disabled) for a breakpoint, > for the current line."""
        assert self._snapshot is not None
        number = index + 1
        mark = self._snapshot.breakpoints.get(number)
        is_current = number == self._snapshot.current
        segments = [
            Segment(" " if mark is None else "B" if mark else "b", _ENABLED if mark else _DISABLED),
            Segment(">" if is_current else " ", _BOLD),
            Segment(f"{number:>{self._digits}} ", None if is_current else _DIM),
        ]
        segments += [Segment(harmless(text), style) for text, style in self._highlighting.line(index)]
        if is_current:
            segments = [*segments[:3], *Segment.apply_style(segments[3:], None, _CURRENT)]
        return segments

    def action_breakpoint(self) -> None:
        """Sets a breakpoint at the cursor, or removes those that are there."""
        self.breakpoint_at(self.cursor + 1)

    def breakpoint_at(self, line: int) -> None:
        """Sets a breakpoint, or removes those that are there."""
        if self._snapshot is not None and self._snapshot.path:
            word = "clear" if line in self._snapshot.breakpoints else "break"
            self.post_message(Wish(f"{word} {short_path(self._snapshot.path)}:{line}"))

    def action_wish(self, line: str) -> None:
        """A key that is a command."""
        self.post_message(Wish(line))

    def clicked(self, index: int, column: int) -> None:
        """In front of a line: a breakpoint there."""
        if column < self._digits + 3:
            self.breakpoint_at(index + 1)


class Threads(Rows):
    """Groups of threads at the same place in the same state, as `info threads` has them."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self._groups: Sequence[dict[str, Any]] = ()
        self.border_title = "threads"

    def show(self, snapshot: Snapshot) -> None:
        """Shows a state of the debugger."""
        if snapshot.groups is self._groups:
            return
        self._groups = snapshot.groups
        count = len(self._groups)
        self.border_title = f"threads: {count} groups" if count else "threads"
        focus = next((index for index, group in enumerate(self._groups) if group.get("focus")), 0)
        self.cursor = focus
        self.rows_changed()
        self.call_after_refresh(self.show_row, focus)

    def row_count(self) -> int:
        """As many as there are groups."""
        return len(self._groups)

    def widest(self) -> int:
        """Enough for long ranges and names."""
        return 300 if self._groups else 1

    def row(self, index: int) -> list[Segment]:
        """A group: "* b(1) t(10) x1 stopped invert.py:17"."""
        group = self._groups[index]
        place = ""
        if group.get("file"):
            place = f"{short_path(str(group['file']))}:{group.get('line', '')}"
        marked = bool(group.get("focus"))
        text = f"b({group.get('blocks', '')}) t({group.get('threads', '')}) ×{group.get('count', '')}"
        parts = [Segment("* " if marked else "  ", _BOLD), Segment(harmless(text), _BOLD if marked else None)]
        return [*parts, Segment(f" {group.get('state', '')} ", _NAME), Segment(harmless(place), _DIM)]

    def choose(self, index: int) -> None:
        """The group's first thread comes into focus."""
        first = self._groups[index].get("first") or {}
        if first:
            block, thread = coordinates(first.get("block", ())), coordinates(first.get("thread", ()))
            self.post_message(Wish(f"cuda block {block} thread {thread}"))


class Turned(Message):
    """The user opens or closes a row of the variables."""

    def __init__(self, row: Row) -> None:
        super().__init__()
        self.row = row


class Variables(Rows):
    """Arguments, locals, shared memory, special registers; what has parts can be opened."""

    BINDINGS = [Binding("space,right,left", "choose", show=False)]

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self._rows: Sequence[Row] = ()
        self.border_title = "variables"

    def show(self, snapshot: Snapshot) -> None:
        """Shows a state of the debugger."""
        self._rows = snapshot.variables
        self.rows_changed()

    def row_count(self) -> int:
        """As many as are open."""
        return len(self._rows)

    def widest(self) -> int:
        """An upper bound of what the values need."""
        return max((len(row.value) + len(row.name) + 2 * row.depth + 6 for row in self._rows), default=1)

    def row(self, index: int) -> list[Segment]:
        """A variable: "+ s = [1, 2]"."""
        row = self._rows[index]
        sign = "  " if not row.has_parts else "- " if row.is_open else "+ "
        head = Segment("  " * row.depth + ("" if row.depth == 0 else sign))
        if row.more or not row.name:
            return [head, Segment(harmless(row.value), _DIM)]
        if row.depth == 0:
            return [head, Segment(harmless(row.name) + ("" if row.is_open else " ..."), _HEADER)]
        return [head, Segment(harmless(row.name), _NAME), Segment(" = "), Segment(harmless(row.value))]

    def choose(self, index: int) -> None:
        """Opens or closes it."""
        row = self._rows[index]
        if row.has_parts or row.more:
            self.post_message(Turned(row))


class Output(Rows):
    """What program and debugger have written; new lines are followed while the end is visible."""

    def __init__(self, scrollback: Scrollback, **how: Any) -> None:
        super().__init__(**how)
        self._scrollback = scrollback
        self._shown: tuple[int, int] = (-1, 0)
        self._rows: list[tuple[str, str]] = []
        self.border_title = "output"

    def look(self) -> None:
        """Shows what has been written since."""
        width = max(self.size.width, 1)
        if self._shown == (self._scrollback.version, width):
            return
        at_end = self.scroll_offset.y >= len(self._rows) - self.size.height or width != self._shown[1]
        self._shown = (self._scrollback.version, width)
        self._rows = []
        for text, kind in self._scrollback.lines():
            if len(text) <= width and (text.isascii() or cell_len(text) <= width):
                self._rows.append((text, kind))
            else:
                self._rows += [(part, kind) for part in chop_cells(text, width)]
        self.rows_changed()
        if at_end:
            self.cursor = max(len(self._rows) - 1, 0)
            self.scroll_end(animate=False, force=True)

    def on_resize(self) -> None:
        """Lines are broken elsewhere, and the last ones stay visible."""
        self.look()
        self.call_after_refresh(self.scroll_end, animate=False, force=True)

    def row_count(self) -> int:
        """As many as the lines need."""
        return len(self._rows)

    def row(self, index: int) -> list[Segment]:
        """A line, or a part of one."""
        text, kind = self._rows[index]
        return [Segment(text, {ERROR: _RED, COMMAND: _BOLD, PROGRAM: None}.get(kind, _NAME))]
