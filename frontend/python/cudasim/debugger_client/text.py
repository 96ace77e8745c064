"""How things look: lines of source, stacks, tables, values of many threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim.debugger_client.places import coordinates, short_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from cudasim.debugger_client.places import Focus, Frame


def source_line(number: int, line: str | None) -> str:
    """A line with its number, as at a stop."""
    return f"{number}\t{line if line is not None else ''}".rstrip()


def location(focus: Focus) -> str:
    """A thread and where it is: "invert block(0,0,0) thread(10,0,0) at script.py:12"."""
    name = focus.function or focus.kernel
    if not focus.file:
        return f"{name} {focus.name}"
    return f"{name} {focus.name} at {short_path(focus.file)}:{focus.line}"


def frame_line(index: int, frame: Frame, arguments: Iterable[tuple[str, str]]) -> str:
    """A line of a backtrace."""
    values = ", ".join(f"{name}={brief(value)}" for name, value in arguments)
    return f"#{index:<3}{frame.name} ({values}) at {frame.place}"


def brief(text: str, width: int = 40) -> str:
    """A value on one line, cut where it is long."""
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 3] + "..."


def table(header: Sequence[str], rows: Sequence[Sequence[object]], right: str = "") -> list[str]:
    """Columns side by side, under their names.

    :param right: "r" for each column whose cells stand at its right edge, another letter for the others
    """
    cells = [list(map(str, row)) for row in [header, *rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = []
    for row in cells:
        parts = [
            cell.rjust(width) if right[column : column + 1] == "r" else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths))
        ]
        lines.append("  ".join(parts).rstrip())
    return lines


def indented(lines: Iterable[str], marked: Sequence[bool]) -> list[str]:
    """A table, its header first, with an asterisk before the marked rows."""
    result = []
    for index, line in enumerate(lines):
        star = index > 0 and marked[index - 1]
        result.append(("* " if star else "  ") + line)
    return result


def groups(found: Sequence[dict[str, Any]]) -> list[str]:
    """`info threads`: threads at the same place with the same state in one row."""
    rows = []
    for group in found:
        first = group.get("first") or {}
        at = f"block{coordinates(first.get('block', ()))} thread{coordinates(first.get('thread', ()))}"
        rows.append([group.get("blocks", ""), group.get("threads", ""), group.get("count", ""), at if first else "",
                     group.get("state", ""), group_place(group)])  # fmt: skip
    header = ["Blocks", "Threads", "Count", "First", "State", "Where"]
    return indented(table(header, rows, "llrlll"), [bool(group.get("focus")) for group in found])


def group_place(group: dict[str, Any]) -> str:
    """The place of a group of threads: "invert at script.py:12"."""
    if not group.get("file"):
        return ""
    place = f"{short_path(str(group['file']))}:{group.get('line', '')}"
    return f"{group['function']} at {place}" if group.get("function") else place


def lanes(values: Sequence[tuple[int, str]], per_row: int = 8) -> list[str]:
    """Values of a warp's lanes, eight in a row, in columns."""
    width = max((len(text) for _, text in values), default=0)
    last = max((number for number, _ in values), default=0)
    digits = len(str(last))
    if width > 24:
        per_row = 1
    lines = []
    for begin in range(0, len(values), per_row):
        row = values[begin : begin + per_row]
        label = f"{row[0][0]:>{digits}}" if per_row == 1 else f"{row[0][0]:>{digits}}..{row[-1][0]:<{digits}}"
        lines.append(f"  lane {label}  " + "  ".join(text.rjust(width) for _, text in row))
    return lines
