"""The report of compared launches as one HTML page, which needs nothing else: no script, no font, no image.

Every text of the report is escaped, and the page forbids the browser to load or run anything.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from cudasim.comparing import report as parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_STYLE = """
:root { color-scheme: light dark; --back: #ffffff; --text: #1b1f24; --faint: #59636e; --line: #d1d9e0; --panel: #f6f8fa;
  --same: #1a7f37; --close: #8a5a00; --different: #c0202b; --heat: 192, 32, 43; --link: #0550ae; }
@media (prefers-color-scheme: dark) { :root { --back: #0d1117; --text: #e6edf3; --faint: #9198a1; --line: #3d444d;
  --panel: #151b23; --same: #4ac26b; --close: #d9a53a; --different: #ff7b72; --heat: 255, 123, 114; --link: #79c0ff; } }
body { background: var(--back); color: var(--text); font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 75rem;
  padding: 1rem 1.5rem 4rem; }
a { color: var(--link); } h1 { font-size: 1.5rem; } h2 { font-size: 1.25rem; border-top: 1px solid var(--line);
  padding-top: 1.5rem; margin-top: 2rem; } h3 { font-size: 1.05rem; margin-bottom: 0.25rem; }
code, td.value, pre { font-family: ui-monospace, monospace; font-size: 0.9em; overflow-wrap: anywhere; }
.faint { color: var(--faint); } .scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: 0.5rem 0 1rem; } caption { text-align: left; color: var(--faint); padding: 0.25rem 0; }
th, td { border: 1px solid var(--line); padding: 0.25rem 0.6rem; text-align: left; vertical-align: top; }
thead th { background: var(--panel); } td.number { text-align: right; font-variant-numeric: tabular-nums; }
.verdict { font-weight: 600; } .same { color: var(--same); } .close { color: var(--close); }
.different, .failed, .refused { color: var(--different); }
pre { background: var(--panel); border: 1px solid var(--line); padding: 0.5rem 0.75rem; white-space: pre-wrap; }
svg { display: block; width: 100%; height: auto; border: 1px solid var(--line); background: var(--panel); }
svg rect { fill: rgb(var(--heat)); } figure { margin: 0.5rem 0 1rem; max-width: 48rem; }
td ul { margin: 0; padding-left: 1.1rem; }
"""

_HEAD = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Simulator and GPU compared</title>
<style>{_STYLE}</style>
</head>
<body>
"""


def render(report: Mapping[str, Any]) -> str:
    """The page, of which all text can be written as UTF-8."""
    launches = list(enumerate(report["launches"], 1))
    pieces = [_HEAD, "<header><h1>Simulator and GPU compared</h1>\n"]
    pieces.append(f'<p class="faint">Written by cudasim {_text(report["cudasim"])}.</p></header>\n')
    if launches:
        pieces += _contents(launches)
    else:
        pieces.append("<p>No launch was compared.</p>\n")
    pieces.append("<main>\n")
    for place, launch in launches:
        pieces += _launch(place, launch)
    pieces.append("</main>\n</body>\n</html>\n")
    return "".join(pieces)


def _text(value: object) -> str:
    return html.escape(str(value).encode("utf-8", "backslashreplace").decode())


def _verdict(word: str) -> str:
    return f'<span class="verdict {_text(word)}">{_text(word)}</span>'


def _contents(launches: Sequence[tuple[int, Mapping[str, Any]]]) -> Iterator[str]:
    """The list of launches, with links; `place` is the launch's place in the report, as numbers may occur twice."""
    yield '<nav aria-label="Launches">\n<ol>\n'
    for place, launch in launches:
        word = parts.word_of(launch)
        title = parts.heading(launch)
        yield f'<li><a href="#launch-{place}">{_text(title)}</a> {_verdict(word)}</li>\n'
    yield "</ol>\n</nav>\n"


def _launch(place: int, launch: Mapping[str, Any]) -> Iterator[str]:
    yield f'<section id="launch-{place}" aria-labelledby="title-{place}">\n'
    word = parts.word_of(launch)
    title = _text(parts.heading(launch))
    yield f'<h2 id="title-{place}">{title} {_verdict(word)}</h2>\n'
    if where := parts.place_text(launch.get("where")):
        yield f"<p>Launched at <code>{_text(where)}</code></p>\n"
    if gpu := parts.gpu_text(launch):
        yield f"<p>GPU: {_text(gpu)}</p>\n"
    if launch.get("message"):
        yield f"<pre>{_text(launch['message'])}</pre>\n"
    yield from _explanations(launch)
    yield from _arrays(launch.get("arrays") or [])
    for array in launch.get("arrays") or []:
        if array["verdict"] != "same":
            yield from _array(array)
    yield from _outside(launch)
    yield from _printed(launch)
    yield from _faults(launch)
    yield "</section>\n"


def _table(caption: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """:param rows: cells as HTML, each with its <td> or <th>"""
    head = "".join(f'<th scope="col">{_text(column)}</th>' for column in columns)
    body = "".join(f"<tr>{''.join(row)}</tr>\n" for row in rows)
    return (
        f'<div class="scroll"><table>\n<caption>{_text(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}</tbody>\n</table></div>\n"
    )


def _row_head(value: object) -> str:
    return f'<th scope="row"><code>{_text(value)}</code></th>'


def _cell(value: object) -> str:
    return f'<td class="value">{_text(value)}</td>'


def _number(value: object) -> str:
    return f'<td class="number">{_text(value)}</td>'


def _arrays(arrays: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not arrays:
        return
    rows = [
        [
            _row_head(array["name"]),
            _cell(f"{array['dtype']} {tuple(array['shape'])}"),
            f"<td>{_verdict(array['verdict'])}</td>",
            _number(array["count"]),
            _number(array["mismatched"]),
            _number(array["close"]),
        ]
        for array in arrays
    ]
    columns = (
        "Array",
        "Type and shape",
        "Verdict",
        "Elements",
        "Mismatched",
        "Differing within the tolerance",
    )
    yield _table("Arrays", columns, rows)


def _array(array: Mapping[str, Any]) -> Iterator[str]:
    yield f"<h3>Array <code>{_text(array['name'])}</code> {_verdict(array['verdict'])}</h3>\n"
    count, total = array["mismatched"], array["count"]
    if count:
        yield f"<p>Mismatched elements: {count} / {total} ({count / total:.1%})</p>\n"
    if notes := parts.array_notes(array):
        yield "<ul>" + "".join(f"<li>{_text(note)}</li>" for note in notes) + "</ul>\n"
    rows = []
    for measure, name in (("absolute", "absolute"), ("relative", "relative"), ("ulp", "ULP")):
        found = array["greatest"][measure]
        if found:
            amount = found["ulp"] if measure == "ulp" else parts.number_text(found[measure])
            rows.append(
                [
                    _row_head(name),
                    _number(amount),
                    *_values(found),
                    _cell(parts.tolerance_text(array, measure)),
                ]
            )
    if rows:
        columns = ("Difference", "Amount", "Index", "Simulated", "GPU", "Tolerance")
        yield _table("Greatest differences", columns, rows)
    yield from _map(array)
    yield from _elements(array)


def _values(difference: Mapping[str, Any]) -> list[str]:
    cells = [_cell(parts.index_text(difference))]
    for side in ("simulated", "gpu"):
        value = difference[side]
        cells.append(
            f'<td class="value">{_text(value["value"])}<br><span class="faint">{_text(value["bits"])}</span></td>'
        )
    return cells


def _elements(array: Mapping[str, Any]) -> Iterator[str]:
    if not array["elements"]:
        return
    traced = any("writes" in element for element in array["elements"])
    rows = []
    for element in array["elements"]:
        index, *values = _values(element)
        ulp = "" if element["ulp"] is None else element["ulp"]
        row = [
            _row_head(parts.index_text(element)),
            *values,
            _number(parts.number_text(element["absolute"])),
            _number(ulp),
        ]
        if traced:
            row.append(f"<td>{_accesses(element)}</td>")
        rows.append(row)
    columns = [
        "Index",
        "Simulated",
        "GPU",
        "Difference",
        "ULP",
        *(["Written by, on the simulator"] if traced else []),
    ]
    shown = len(array["elements"])
    first = f"The first {shown} mismatched elements" if shown < array["mismatched"] else "Mismatched elements"
    yield _table(first, columns, rows)


def _accesses(place: Mapping[str, Any]) -> str:
    writes, reads = parts.access_lines(place)
    items = [*writes, *reads]
    if not items:
        return '<span class="faint">no thread</span>' if "writes" in place else ""
    return "<ul>" + "".join(f"<li><code>{_text(item)}</code></li>" for item in items) + "</ul>"


def _map(array: Mapping[str, Any]) -> Iterator[str]:
    """The heat map as SVG: a rectangle for each cell with mismatches, the more opaque the more there are."""
    heat_map = array.get("map")
    if not heat_map:
        return
    counts = heat_map["counts"]
    rows, columns = len(counts), len(counts[0])
    if rows * columns < 2:
        return
    height, width = heat_map["cell"]
    most = max(map(max, counts))
    label = f"Map of mismatched elements of array {array['name']}, {rows} by {columns} cells"
    across = "a cell is {} element{}".format(width, "" if width == 1 else "s")
    size = across + " wide" if rows == 1 else f"a cell is {height} × {width} elements"
    tall = 4 if rows == 1 else 1  # one row would be a hair
    yield f'<figure>\n<svg role="img" aria-label="{_text(label)}" viewBox="0 0 {columns} {rows * tall}">\n'
    for y, row in enumerate(counts):
        for x, count in enumerate(row):
            if not count:
                continue
            # A cell with few of many still shows.
            opacity = 0.15 + 0.85 * count / most
            place = f'x="{x}" y="{y * tall}" width="1" height="{tall}" fill-opacity="{opacity:.2f}"'
            title = f"rows {y * height}–{(y + 1) * height - 1}, " if rows > 1 else ""
            title += f"columns {x * width}–{(x + 1) * width - 1}: {count} mismatched"
            yield f"<rect {place}><title>{_text(title)}</title></rect>\n"
    yield f'</svg>\n<figcaption class="faint">Where mismatched elements are; {_text(size)}, at most {most} in a cell.</figcaption>\n</figure>\n'


def _explanations(launch: Mapping[str, Any]) -> Iterator[str]:
    if launch.get("explanations") is None or launch.get("verdict") != "different":
        return
    yield "<h3>Explanations</h3>\n"
    found = parts.ranked_explanations(launch)
    if not found:
        yield "<p>Not explained: no experiment changed the differing elements.</p>\n"
        return
    yield "<ol>\n"
    for explanation in found:
        effect = parts.explanation_effect(explanation)
        yield f"<li>{_text(explanation['text'])}" + (
            f' <span class="faint">({_text(effect)})</span>' if effect else ""
        )
        for place in explanation.get("locations", ()):
            yield f"<br><code>{_text(parts.place_text(place))}</code>"
        yield "</li>\n"
    yield "</ol>\n"


def _outside(launch: Mapping[str, Any]) -> Iterator[str]:
    outside = launch.get("outside") or []
    if not outside:
        return
    rows = [
        [
            _row_head(f"{run['address']:#x}"),
            _number(run["bytes"]),
            f"<td>{_text(run['near'])}</td>",
            _cell(run.get("simulated", "")),
            _cell(run.get("gpu", "")),
            f"<td>{_accesses(run)}</td>",
        ]
        for run in outside
    ]
    total = (launch.get("outside_count") or {}).get("runs", len(outside))
    caption = "Memory outside of the arrays that differs" + (
        f": the first {len(outside)} of {total} places" if total > len(outside) else ""
    )
    yield _table(
        caption, ("Address", "Bytes", "Memory", "Simulated", "GPU", "Written by, on the simulator"), rows
    )


def _printed(launch: Mapping[str, Any]) -> Iterator[str]:
    printed = launch.get("printed")
    if not printed or printed["verdict"] == "same":
        return
    yield "<h3>Printed lines</h3>\n"
    for side, name in (("simulated", "the simulator"), ("gpu", "the GPU")):
        shown, count = printed[f"only_{side}"], printed["only_count"][side]
        if count:
            more = f"\nand {count - len(shown)} more" if count > len(shown) else ""
            yield f"<p>{count} on {name} only:</p>\n<pre>{_text(chr(10).join(shown) + more)}</pre>\n"


def _faults(launch: Mapping[str, Any]) -> Iterator[str]:
    faults = launch.get("faults") or []
    if not faults:
        return
    rows = []
    for fault in faults:
        thread = (
            f"thread {tuple(fault['thread'])} block {tuple(fault['block'])}" if fault.get("thread") else ""
        )
        where = parts.place_text(fault.get("where"))
        rows.append(
            [_row_head(fault["kind"]), f"<td>{_text(fault['message'])}</td>", _cell(thread), _cell(where)]
        )
    yield _table("Errors on the GPU", ("Kind", "What happened", "Thread", "Place"), rows)
