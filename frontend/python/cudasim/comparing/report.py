"""The report of compared launches as data: dictionaries and lists as report_schema.json describes them.

What is compared comes from gpu_backend/comparison as JSON (`_native.compare_launch`). Which threads wrote a differing element, and
what explains the differences, is found out later and added to it (`add_accesses`).
"""

from __future__ import annotations

import importlib.resources
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import cudasim

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

#: The version of the form, which grows when programs that read the old one would fail with the new one.
VERSION = 1

#: From best to worst.
VERDICTS = ("same", "close", "different")


def report_of(launches: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The report of launches, each as the schema describes a launch."""
    return {"version": VERSION, "cudasim": cudasim.__version__, "launches": list(launches)}


def schema() -> dict[str, Any]:
    """The JSON Schema of reports."""
    text = importlib.resources.files("cudasim.comparing").joinpath("report_schema.json").read_text("utf-8")
    return json.loads(text)


def verdict_of(report: Mapping[str, Any]) -> str:
    """The worst verdict of all launches: "same" where none was compared."""
    found = [launch["verdict"] for launch in report["launches"] if launch.get("verdict")]
    return max(found, key=VERDICTS.index, default="same")


def word_of(launch: Mapping[str, Any]) -> str:
    """What came of a launch: its verdict; where it was not compared its status."""
    return launch.get("verdict") or launch["status"]


def counts_text(launches: Iterable[Mapping[str, Any]]) -> str:
    """ "2 same, 1 different", in the order in which they first come."""
    return ", ".join(f"{count} {word}" for word, count in Counter(map(word_of, launches)).items())


def differing_places(launch: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """What `add_accesses` adds to: the listed elements of arrays, and runs of bytes outside of them. Each has `address` and `bytes`."""
    for array in launch.get("arrays", ()):
        yield from array["elements"]
    yield from launch.get("outside", ())


def add_accesses(launch: Mapping[str, Any], accesses: Mapping[int, Mapping[str, Any]]) -> None:
    """Adds the writes to differing elements, and what their threads had read before.

    :param accesses: address of an element → its "writes", "reads", "total_writes", "more_reads", as in the schema. Addresses
        that are not those of listed elements are left out.
    """
    for place in differing_places(launch):
        found = accesses.get(place["address"])
        if found is None:
            continue
        for kind in ("writes", "reads"):
            if kind in found:
                place[kind] = [*place.get(kind, ()), *found[kind]]
        place.update({kind: found[kind] for kind in ("total_writes", "more_reads") if kind in found})


def index_text(element: Mapping[str, Any]) -> str:
    """Where a value is in its array: "(3, 5)", "(7,)", "(7,).field"; "()" in an array without axes."""
    index = tuple(element["index"])
    field = element.get("field")
    return f"{index}.{field}" if field else f"{index}"


def number_text(value: float | str | None) -> str:
    """A difference, shortened to what one reads: 4 digits."""
    if value is None:
        return ""
    return value if isinstance(value, str) else f"{value:.4g}"


def launch_title(launch: Mapping[str, Any]) -> str:
    """ "saxpy[(4, 1, 1), (256, 1, 1)]", as far as the launch's shape is known."""
    shape = [f"({', '.join(map(str, launch[name]))})" for name in ("grid", "block") if launch.get(name)]
    return launch["kernel"] + (f"[{', '.join(shape)}]" if shape else "")


def heading(launch: Mapping[str, Any]) -> str:
    """ "Launch 2: saxpy[(4, 1, 1), (256, 1, 1)]"; "Launch 2 of process 4242: …" where the script had started another one."""
    process = f" of process {launch['process']}" if "process" in launch else ""
    return f"Launch {launch['number']}{process}: {launch_title(launch)}"


def place_text(place: Mapping[str, Any] | None) -> str:
    """ "file.py:12", with the function where it is known: "file.py:12 in main"."""
    if not place or not place.get("file"):
        return ""
    text = f"{place['file']}:{place['line']}" if place.get("line") else place["file"]
    return f"{text} in {place['function']}" if place.get("function") else text


def gpu_text(launch: Mapping[str, Any]) -> str:
    """ "NVIDIA H100 (compute capability 9.0, driver 570.86), 0.020 ms by GPU events"; empty where no GPU is known."""
    gpu = launch.get("gpu")
    if not gpu:
        return ""
    known = []
    if gpu.get("compute_capability"):
        known.append(f"compute capability {gpu['compute_capability']}")
    if gpu.get("driver"):
        known.append(f"driver {gpu['driver']}")
    text = gpu["name"] + (f" ({', '.join(known)})" if known else "")
    time = launch.get("milliseconds")
    return text if time is None else f"{text}, {time:.3f} ms by GPU events"


def access_text(write: Mapping[str, Any]) -> str:
    """ "thread (7, 0, 0) block (0, 0, 0) saxpy.py:5 wrote 1.5" """
    where = place_text({**write, "function": None})
    words = f"thread {_coordinates(write['thread'])} block {_coordinates(write['block'])}"
    verb = "left, by an atomic operation," if write.get("atomic") else "wrote"
    field = f" to .{write['field']}" if write.get("field") else ""
    return f"{words} {where + ' ' if where else ''}{verb} {write['value']}{field}"


def read_text(read: Mapping[str, Any]) -> str:
    """ "read x[7] = 1.0 (saxpy.py:5)" """
    index = read.get("index")
    name = read["name"] + (f"[{', '.join(map(str, index))}]" if index else "")
    name += f".{read['field']}" if read.get("field") else ""
    where = place_text({**read, "function": None})
    return f"read {name} = {read['value']}" + (f" ({where})" if where else "")


def access_lines(place: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The writes to a differing element, and what the last writing thread had read, a line for each."""
    writes = [access_text(write) for write in place.get("writes", ())]
    if "total_writes" in place:
        writes.append(f"these are some of {place['total_writes']} writes")
    reads = [read_text(read) for read in place.get("reads", ())]
    if place.get("more_reads"):
        reads.append("and read more before")
    return writes, reads


def _coordinates(values: Sequence[int]) -> str:
    return f"({', '.join(map(str, values))})"


def tolerance_text(array: Mapping[str, Any], measure: str) -> str:
    """ "up to 1e-05 allowed": how great a difference may be by the tolerance of the array."""
    tolerance = array["tolerance"]
    if tolerance["exact"]:
        return "none allowed"
    allowed = tolerance[{"absolute": "atol", "relative": "rtol", "ulp": "ulp"}[measure]]
    return "" if allowed is None else f"up to {allowed:g} allowed"


def array_notes(array: Mapping[str, Any]) -> list[str]:
    """What there is to say about an array besides its mismatched elements and its greatest differences: sentences."""
    notes = []
    count = array["mismatched"]
    unchanged = array.get("unchanged") or {}
    for side, name in (("gpu", "the GPU"), ("simulated", "the simulator")):
        if kept := unchanged.get(side):
            notes.append(
                f"{kept} of the {count} mismatched elements {_have(kept)} on {name} the value from before the launch: "
                "a write may be missing there."
            )
    nan = array["nan"]
    for side, name in (("simulated", "the simulator"), ("gpu", "the GPU")):
        if nan[side]:
            notes.append(f"{_values(nan[side])} NaN on {name} only.")
    if nan["other_bits"]:
        notes.append(f"{_values(nan['other_bits'])} NaN on both sides, with different bits.")
    if array["zero_signs"]:
        notes.append(f"{_values(array['zero_signs'])} zero with different signs.")
    if array["close"]:
        notes.append(f"{array['close']} more {_elements(array['close'])} within the tolerance.")
    return notes


def _have(count: int) -> str:
    return "has" if count == 1 else "have"


def _values(count: int) -> str:
    return "1 value is" if count == 1 else f"{count} values are"


def _elements(count: int) -> str:
    return "element differs" if count == 1 else "elements differ"


def is_clustered(heat_map: Mapping[str, Any]) -> bool:
    """Whether mismatches lie together, or in stripes, rather than anywhere with equal probability.

    They do where they share cells: of m mismatches in C cells the expected number of occupied cells is C (1 − (1 − 1/C)^m). They do
    where occupied cells are neighbours, in one direction at least, more often than the share of occupied cells lets expect.
    """
    rows = heat_map["counts"]
    cells = sum(map(len, rows))
    occupied = sum(count > 0 for row in rows for count in row)
    mismatched = sum(map(sum, rows))
    if mismatched < 4:
        return False
    if occupied < 0.7 * cells * (1 - (1 - 1 / cells) ** mismatched):
        return True
    if not 4 <= occupied <= 0.9 * cells:
        return False
    expected = (occupied - 1) / (cells - 1)
    found = max(_neighbours(rows), _neighbours(list(zip(*rows))))
    return (found - expected) / (1 - expected) > 0.3


def _neighbours(rows: Sequence[Sequence[int]]) -> float:
    """Of the neighbours of occupied cells along rows, the share that is occupied."""
    pairs = [(left > 0) + (right > 0) for row in rows for left, right in zip(row, row[1:])]
    touched = sum(pairs)
    return sum(2 for pair in pairs if pair == 2) / touched if touched else 0.0


def ranked_explanations(launch: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Explanations, those first that remove most differences, then those that change most."""
    found = launch.get("explanations") or []
    return sorted(found, key=lambda one: (-one["removes"], -one["moves"]))


def explanation_effect(explanation: Mapping[str, Any]) -> str:
    """ "removes 12 and changes 1 of 12 differing elements" """
    of = explanation["of"]
    effects = []
    if explanation["removes"]:
        effects.append(f"removes {explanation['removes']}")
    if explanation["moves"]:
        effects.append(f"changes {explanation['moves']}")
    if not effects or not of:
        return ""
    return f"{' and '.join(effects)} of {of} differing element{'' if of == 1 else 's'}"
