"""disassemble: the code of the kernel. info allocations and info symbol: the memory of the device."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cudasim.debugger_client import completion, expressions, text
from cudasim.debugger_client.commands.data_commands import address_of
from cudasim.debugger_client.commands.info_commands import INFO
from cudasim.debugger_client.commands.table import command
from cudasim.debugger_client.errors import CommandError
from cudasim.debugger_client.places import short_path

if TYPE_CHECKING:
    from typing import Any

    from cudasim.debugger_client.debugger import Debugger

_FORMS = {"ptx": "ptx", "nvvm": "nvvm", "s": "nvvm", "m": "nvvm"}
_NAMES = {"ptx": "PTX", "nvvm": "NVVM IR"}
_ARRAY = re.compile(r"array\((?:u?int|float|complex)(\d+), \d+d, C\) shape \(([\d, ]+)\)")


@command(
    "disassemble", "disas", usage="[/ptx|/nvvm] [FUNCTION]", group="data", completer=completion.locations
)
def _disassemble(debugger: Debugger, argument: str) -> None:
    """Show the code of a function, with the lines of the source that it comes from.

    It is the NVVM IR that the kernel is compiled of, of the selected function, or of FUNCTION, or of all for *. With /ptx (or
    -ptx) it is the PTX that a GPU's compiler would be given, optimised and with all device functions in it; making it may take
    seconds, and a minute at most. => marks what belongs to the line at which the thread stands.
    """
    form, function = "nvvm", argument
    match = re.match(r"[/-](\w+)(?:\s+|$)", argument)
    if match:
        if match[1] not in _FORMS:
            raise CommandError(f'"{match[0].strip()}" is none of: /ptx /nvvm.')
        form, function = _FORMS[match[1]], argument[match.end() :]
    if form == "ptx" and function:
        raise CommandError("The PTX is that of the whole kernel: name no function.")
    debugger.session.thread()
    arguments = {
        "form": form,
        **({"function": function} if function else {}),
        **debugger.session.frame_arguments(),
    }
    body = debugger.session.request("cudasim/disassemble", arguments)
    of_what = f"kernel {body.get('kernel')}" if form == "ptx" else f"function {body.get('function')}"
    about = f" for {body.get('architecture')}" if form == "ptx" else ""
    debugger.console.write(f"Dump of {_NAMES[form]} of {of_what}{about}:")
    before: tuple[str, int] | None = None
    for line in body.get("lines") or []:
        place = (str(line.get("file")), int(line.get("line") or 0))
        if place[1] and place != before:
            before = place
            debugger.console.write(_source_line(debugger, *place))
        mark = "=> " if line.get("current") else "   "
        debugger.console.write((mark + str(line.get("text", ""))).rstrip())
    debugger.console.write("[The rest is left out]" if body.get("truncated") else "End of dump.")


def _source_line(debugger: Debugger, path: str, number: int) -> str:
    try:
        lines = debugger.sources.lines(path)
    except CommandError:
        lines = []
    line = lines[number - 1] if 0 < number <= len(lines) else ""
    return text.source_line(number, line) if line else f"{short_path(path)}:{number}"


def _allocated(debugger: Debugger) -> list[dict[str, Any]]:
    debugger.session.thread()
    body = debugger.session.request("cudasim/allocations", debugger.session.frame_arguments())
    return body.get("allocations") or []


@INFO.command("allocations", "al")
def _allocations(debugger: Debugger, argument: str) -> None:
    """The memory of the device that the program has allocated: address, size, and which variables lie in it."""
    rows = []
    for one in _allocated(debugger):
        notes = [str(one["label"])] if one.get("label") else []
        notes += ["read only"] if one.get("readOnly") else []
        notes += ["memory of the host"] if one.get("host") else []
        rows.append([one["address"], one["bytes"], ", ".join(one.get("variables") or []), ", ".join(notes)])
    if not rows:
        debugger.console.write("No memory of the device is allocated.")
        return
    for line in text.table(["Address", "Bytes", "Variables", "What"], rows, "lrll"):
        debugger.console.write(line)


@INFO.command("symbol", "sy")
def _symbol(debugger: Debugger, argument: str) -> None:
    """What lies at an address: the array and its element, and the allocation."""
    address = address_of(debugger, argument)
    for one in _allocated(debugger):
        begin, size = int(one["address"], 16), int(one["bytes"])
        if begin <= address < begin + size:
            names = [_element(debugger, name, address) for name in one.get("variables") or []]
            known = ", ".join(filter(None, names))
            distance = f"{address - begin} bytes into" if address != begin else "the beginning of"
            debugger.console.write(
                f"{known + ': ' if known else ''}{distance} the allocation of {size} bytes at {begin:#x}"
            )
            return
    raise CommandError(f"No allocation of the device's memory holds {address:#x}.")


def _element(debugger: Debugger, name: str, address: int) -> str:
    """The element of an array that lies there: "x[3]"; empty where it lies outside of it."""
    value = expressions.evaluated(debugger, name, context="watch")
    if not value.address or address < int(value.address, 0):
        return ""
    distance = address - int(value.address, 0)
    match = _ARRAY.match(value.kind)
    if not match:
        return f"{name} + {distance} bytes"
    extents = [int(extent) for extent in match[2].split(",") if extent.strip()]
    index, rest = divmod(distance, int(match[1]) // 8)
    indices: list[int] = []
    for extent in reversed(extents):
        indices.insert(0, index % extent if extent else 0)
        index //= max(extent, 1)
    if index:
        return ""
    return f"{name}[{', '.join(map(str, indices))}]" + (f" + {rest} bytes" if rest else "")
