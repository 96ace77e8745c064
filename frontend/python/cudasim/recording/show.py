"""What is in a file of records, for people and for programs."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from cudasim.recording.parameters import ArrayArgument, arguments_of, elements_of
from cudasim.recording.replay import Reader, findings_of

_DEFAULTS = {
    "policy": "forward",
    "carrier": "automatic",
    "wrap": "allow",
    "check": "memory,sync",
    "race_model": "idiom",
    "preemption": 0.125,
    "pct_depth": 3,
    "optimisation": 2,
}


def as_text(reader: Reader, positions: list[int], sources: bool = False) -> str:
    """The launches at these positions of the file.

    :param sources: whether the texts of their files are shown
    """
    count = "1 launch" if len(reader) == 1 else f"{len(reader)} launches"
    lines = [f"{reader.path}: {count}"]
    if not reader.finished:
        lines.append("The recording was not finished; the launches that the file has are whole.")
    for position in positions:
        lines += ["", *_launch(reader.read(position), sources)]
    return "\n".join(lines) + "\n"


def as_json(reader: Reader, positions: list[int]) -> str:
    """The same for programs, without the contents of memory."""
    launches = [_as_data(reader.read(position)) for position in positions]
    return json.dumps({"finished": reader.finished, "launches": launches}, indent=2) + "\n"


def _as_data(record: Any) -> dict:
    return {
        "number": record.number,
        "kernel": record.display_name,
        "mode": "python" if record.runs_in_front_end else "native",
        "cudasim": record.version,
        "device": record.device["name"],
        "grid": list(record.grid),
        "block": list(record.block),
        "cluster": record.cluster and list(record.cluster),
        "dynamic_shared_bytes": record.dynamic_shared_bytes,
        "options": record.options,
        "arguments": [
            {"name": name, "type": kind, **_argument_data(value)}
            for name, kind, value in arguments_of(record)
        ],
        "parameters": record.parameters.hex(),
        "memory": record.memory,
        "outcome": {
            "finished": record.finished,
            "blocks_run": record.blocks_run,
            "findings": json.loads(record.findings)["findings"],
            "printed": record.printed.decode(errors="backslashreplace"),
        },
    }


def _argument_data(value: Any) -> dict:
    if isinstance(value, ArrayArgument):
        return {"address": value.address, "shape": list(value.shape), "strides": list(value.strides)}
    if isinstance(value, tuple):
        return {"elements": [_argument_data(each) for each in value]}
    return {
        "value": value.item()
        if isinstance(value, (np.number, np.bool_)) and value.dtype.kind in "biuf"
        else str(value)
    }


#: Options that say nothing to whoever reads a record.
_NOT_SHOWN = ("max_faults", "cooperative_by_kernel")


def _launch(record: Any, sources: bool) -> list[str]:
    mode = "Python mode" if record.runs_in_front_end else "compiled"
    lines = [record.headline(), f"  {mode}, on {record.device['name']}, recorded by cudasim {record.version}"]
    changed = {name: value for name, value in sorted(record.options.items())
               if value and value != _DEFAULTS.get(name) and name not in _NOT_SHOWN}  # fmt: skip
    lines.append(
        "  options: " + (", ".join(f"{name}={value}" for name, value in changed.items()) or "the defaults")
    )
    if record.dynamic_shared_bytes:
        lines.append(f"  dynamic shared memory: {record.dynamic_shared_bytes} bytes")
    known = arguments_of(record)
    for name, kind, value in known:
        lines.append(f"  {name}: {kind}{_argument_text(record, kind, value)}")
    if not known:
        lines.append(f"  parameters: {len(record.parameters)} bytes: {record.parameters[:64].hex(' ', 8)}")
    reached = [memory for memory in record.memory if memory["recorded"]]
    live = [memory for memory in record.memory if memory["kind"] != "freed"]
    lines.append(
        f"  memory: {sum(memory['bytes'] for memory in reached)} bytes in {len(reached)} of {len(live)} allocations "
        "can be reached and are recorded"
    )
    lines += _outcome(record)
    if sources:
        for path, text in _sources(record):
            lines += ["", f"  {path}", *(f"  | {line}" for line in text.splitlines())]
    return lines


def _argument_text(record: Any, kind: str, value: Any) -> str:
    if isinstance(value, ArrayArgument):
        return f", {_array_text(record, value)}"
    if isinstance(value, tuple):
        return " = (" + ", ".join(_element_text(record, each) for each in value) + ")"
    return f" at {value:#x}" if kind.startswith("Record") else f" = {value}"


def _element_text(record: Any, value: Any) -> str:
    if isinstance(value, ArrayArgument):
        return f"array of {value.dtype}, {_array_text(record, value)}"
    if isinstance(value, tuple):
        return "(" + ", ".join(_element_text(record, each) for each in value) + ")"
    return str(value)


def _array_text(record: Any, value: ArrayArgument) -> str:
    place = f"shape {value.shape} at {value.address:#x}"
    elements = elements_of(record, value)
    if elements is None:
        return place
    with np.printoptions(threshold=8, edgeitems=3, linewidth=90):
        text = np.array2string(elements.reshape(-1)) if elements.size else "[]"
    return place + ": " + " ".join(text.split())


def _outcome(record: Any) -> list[str]:
    lines = []
    if not record.finished:
        lines.append("  the launch was stopped before its end")
    for finding in findings_of(record):
        lines.append(f"  {finding.text}" + (f" ({finding.place})" if finding.place else ""))
    printed = record.printed.decode(errors="backslashreplace").splitlines()
    if printed:
        lines.append(f"  printed {len(printed)} lines; the first: {printed[0]}")
    return lines or ["  no findings, nothing printed"]


def _sources(record: Any) -> list[tuple[str, str]]:
    if not record.runs_in_front_end:
        return record.image.sources
    return sorted(json.loads(record.front_end)["files"].items())
