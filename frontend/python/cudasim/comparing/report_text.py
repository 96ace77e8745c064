"""The report of compared launches as text for a terminal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from cudasim.comparing import report as parts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: From no mismatches in a cell to all of them.
_SHADES = " .:-=+*#%@"

#: Names and values of a report that came from elsewhere do not reach the terminal's controls.
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def render(report: Mapping[str, Any]) -> str:
    """The whole report, a paragraph for each launch and for each array that differs. It ends with a line feed."""
    launches = [_launch(launch) for launch in report["launches"]]
    if len(launches) > 1:
        launches.append([_summary(report)])
    if not launches:
        launches.append(["No launch was compared."])
    return "\n\n".join("\n".join(lines) for lines in launches) + "\n"


def _clean(text: object) -> str:
    text = str(text).encode("utf-8", "backslashreplace").decode()
    return _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def _summary(report: Mapping[str, Any]) -> str:
    return f"{len(report['launches'])} launches: {parts.counts_text(report['launches'])}"


def _launch(launch: Mapping[str, Any]) -> list[str]:
    where = parts.place_text(launch.get("where"))
    verdict = parts.word_of(launch)
    head = parts.heading(launch) + (f" at {where}" if where else "")
    lines = [_clean(f"{head}: {verdict}")]
    if gpu := parts.gpu_text(launch):
        lines.append(_clean(f"GPU: {gpu}"))
    if launch.get("message"):
        lines += [_clean(line) for line in launch["message"].splitlines()]
    arrays = launch.get("arrays", [])
    lines += _table([_array_line(array) for array in arrays], "  ")
    for array in arrays:
        if array["verdict"] == "different":
            lines += ["", *_array(array)]
    for section in (_outside(launch), _printed(launch), _faults(launch), _explanations(launch)):
        if section:
            lines += ["", *section]
    return lines


def _array_line(array: Mapping[str, Any]) -> list[str]:
    notes = ""
    if array["verdict"] == "different":
        notes = f"{array['mismatched']} of {array['count']} elements mismatched"
    elif array["verdict"] == "close":
        notes = (
            f"{array['close']} of {array['count']} elements differ within the tolerance"
            + _greatest_of_close(array)
        )
    if array["verdict"] != "different" and array["zero_signs"]:
        notes += ("; " if notes else "") + f"{array['zero_signs']} zeros have the other sign"
    return [_clean(array["name"]), _type_text(array), array["verdict"], notes]


def _greatest_of_close(array: Mapping[str, Any]) -> str:
    greatest = array["greatest"]
    if greatest["ulp"]:
        return f", at most {greatest['ulp']['ulp']} ULP"
    if greatest["absolute"]:
        return f", at most by {parts.number_text(greatest['absolute']['absolute'])}"
    return ""


def _type_text(array: Mapping[str, Any]) -> str:
    return f"{_clean(array['dtype'])} {tuple(array['shape'])}"


def _array(array: Mapping[str, Any]) -> list[str]:
    count, total = array["mismatched"], array["count"]
    lines = [
        f"Array '{_clean(array['name'])}', {_type_text(array)}:",
        f"  Mismatched elements: {count} / {total} ({count / total:.1%})",
        *_greatest(array),
        *(f"  {note}" for note in parts.array_notes(array)),
        *_elements(array),
        *_map(array),
    ]
    return lines


def _greatest(array: Mapping[str, Any]) -> list[str]:
    words = {"absolute": "absolute difference", "relative": "relative difference", "ulp": "difference in ULP"}
    lines = []
    for measure, words_of_it in words.items():
        found = array["greatest"][measure]
        if not found:
            continue
        amount = str(found["ulp"]) if measure == "ulp" else parts.number_text(found[measure])
        values = f"simulated {_clean(found['simulated']['value'])}, GPU {_clean(found['gpu']['value'])}"
        allowed = parts.tolerance_text(array, measure)
        lines.append(
            f"  Greatest {words_of_it}: {amount} at index {_clean(parts.index_text(found))} ({values}"
            + (f"; {allowed})" if allowed else ")")
        )
    return lines


def _elements(array: Mapping[str, Any]) -> list[str]:
    elements = array["elements"]
    if not elements:
        return []
    rows = [["index", "simulated", "GPU", "difference", "ULP"]]
    for element in elements:
        rows.append(
            [
                _clean(parts.index_text(element)),
                _value(element["simulated"], element),
                _value(element["gpu"], element),
                parts.number_text(element["absolute"]),
                "" if element["ulp"] is None else str(element["ulp"]),
            ]
        )
    head, *lines = _table(rows, "    ")
    first = f"  The first {len(elements)} of them:" if len(elements) < array["mismatched"] else "  They are:"
    result = [first, head]
    for line, element in zip(lines, elements):
        result += [line, *_accesses(element, "      ")]
    return result


def _value(value: Mapping[str, Any], element: Mapping[str, Any]) -> str:
    """With its bits where the texts of both sides are the same: NaNs, for example."""
    text = _clean(value["value"])
    same = element["simulated"]["value"] == element["gpu"]["value"]
    return f"{text} ({_clean(value['bits'])})" if same else text


def _accesses(place: Mapping[str, Any], indent: str) -> list[str]:
    writes, reads = parts.access_lines(place)
    if "writes" in place and not writes:
        writes = ["no thread wrote it on the simulator"]
    return [f"{indent}{_clean(write)}" for write in writes] + [f"{indent}  {_clean(read)}" for read in reads]


def _map(array: Mapping[str, Any]) -> list[str]:
    heat_map = array.get("map")
    if not heat_map:
        return []
    counts = heat_map["counts"]
    rows, columns = len(counts), len(counts[0])
    large_enough = (rows >= 2 and columns >= 8) or (rows == 1 and columns >= 16)
    if not large_enough or not parts.is_clustered(heat_map):
        return []
    most = max(map(max, counts))
    height, width = heat_map["cell"]
    cell = (
        f"{height} by {width} elements" if height > 1 else "1 element" if width == 1 else f"{width} elements"
    )
    full = "a mismatched one" if height * width == 1 else f"{most} mismatched ones"
    lines = [f"  Where they are (a character stands for {cell}, '{_SHADES[-1]}' for {full}):"]
    border = "    +" + "-" * columns + "+"
    lines.append(border)
    lines += ["    |" + "".join(_shade(count, most) for count in row) + "|" for row in counts]
    lines.append(border)
    return lines


def _shade(count: int, most: int) -> str:
    # Every cell with a mismatch shows.
    return _SHADES[-(-count * (len(_SHADES) - 1) // most)]


def _outside(launch: Mapping[str, Any]) -> list[str]:
    outside = launch.get("outside") or []
    if not outside:
        return []
    lines = ["Memory outside of the arrays differs:"]
    for run in outside:
        size = f"{run['bytes']} byte{'' if run['bytes'] == 1 else 's'}"
        values = ""
        if "simulated" in run and "gpu" in run:
            values = f": simulated {run['simulated']}, GPU {run['gpu']}"
        lines.append(_clean(f"  {size} at {run['address']:#x}, {run['near']}{values}"))
        lines += _accesses(run, "    ")
    left_out = (launch.get("outside_count") or {}).get("runs", 0) - len(outside)
    if left_out > 0:
        lines.append(f"  and {left_out} more places")
    return lines


def _printed(launch: Mapping[str, Any]) -> list[str]:
    printed = launch.get("printed")
    if not printed or printed["verdict"] == "same":
        return []
    lines = ["Printed lines differ:"]
    for side, name in (("simulated", "the simulator"), ("gpu", "the GPU")):
        shown, count = printed[f"only_{side}"], printed["only_count"][side]
        if count:
            lines.append(f"  {count} on {name} only:")
            lines += [f"    {_clean(line)}" for line in shown]
        if count > len(shown):
            lines.append(f"    and {count - len(shown)} more")
    return lines


def _faults(launch: Mapping[str, Any]) -> list[str]:
    faults = launch.get("faults") or []
    if not faults:
        return []
    lines = ["Errors on the GPU:"]
    for fault in faults:
        where = parts.place_text(fault.get("where"))
        thread = ""
        if fault.get("thread"):
            thread = f" by thread {tuple(fault['thread'])} block {tuple(fault['block'])}"
        lines.append(_clean(f"  {fault['message']}{thread}" + (f" at {where}" if where else "")))
    return lines


def _explanations(launch: Mapping[str, Any]) -> list[str]:
    if launch.get("explanations") is None or launch.get("verdict") != "different":
        return []
    found = parts.ranked_explanations(launch)
    if not found:
        return ["Not explained: no experiment changed the differing elements."]
    lines = ["Explanations, the likeliest first:"]
    for rank, explanation in enumerate(found, 1):
        effect = parts.explanation_effect(explanation)
        lines.append(_clean(f"  {rank}. {explanation['text']}" + (f" ({effect})" if effect else "")))
        lines += [f"       {_clean(parts.place_text(place))}" for place in explanation.get("locations", ())]
    return lines


def _table(rows: Sequence[Sequence[str]], indent: str) -> list[str]:
    """Columns as wide as their widest cell, two spaces apart."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return [
        (indent + "  ".join(cell.ljust(width) for cell, width in zip(row, widths))).rstrip() for row in rows
    ]
