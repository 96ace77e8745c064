"""python -m bench --numba PYTHON [--json FILE] [--check] [NAME...]: runs the sides, prints the table.

Exits with 1 when a result is wrong, and with --check also when a bar is missed by more than a factor of two.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from bench import checked, compared, cuda_cpp, debuggers, maths
from bench.bars import BARS
from bench.measure import ONE_CORE

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Each in a process of its own.
FRESH = {
    "first_launch",
    "first_launch_cached",
    "compile_examples",
    "specialisations",
    "import",
    "fiber",
    *debuggers.OWN,
    *checked.OWN,
    *compared.OWN,
    *cuda_cpp.OWN,
    *maths.OWN,
}
PEERS = ("simulator", "njit", "numpy", "pocl", *debuggers.PEERS, *maths.PEERS)


def measure(python, side, names, cache=None):
    """Results and versions of one process. Kernels are compiled anew unless a folder for them is given."""
    if not names:
        return {"results": {}, "versions": {}}
    environment = {key: value for key, value in os.environ.items() if "CUDASIM" not in key}
    environment["PYTHONPATH"] = str(ROOT)
    environment |= {"CUDASIM_CACHE_DIR": cache} if cache else {"CUDASIM_CACHE": "0"}
    environment["ENABLE_CUDASIM"] = "1" if side == "cudasim" else "0"
    if side == "simulator":
        environment["NUMBA_ENABLE_CUDASIM"] = "1"  # numba's own; ENABLE_CUDASIM=0 keeps ours out
    command = [python, "-m", "bench.measure", side, *names]
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"bench: {' '.join(command)} failed")
    return json.loads(done.stdout.splitlines()[-1])


def measure_all(numba_python, bars):
    """{side: {name: value}}, {side: versions}, {side: why it is absent}; peers run right before cudasim."""
    results: dict = {side: {} for side in ("cudasim", *PEERS)}
    found, absent = {}, {}
    for side in PEERS:
        names = list(dict.fromkeys(bar.peer_measurement for bar in bars if bar.peer == side))
        print(f"bench: {side}: {', '.join(names)}" if names else f"bench: {side}: nothing", flush=True)
        answer = measure(
            sys.executable if side in ("numpy", *debuggers.PEERS, *maths.PEERS) else numba_python, side, names
        )
        if "absent" in answer:
            absent[side] = answer["absent"]
            continue
        results[side] |= answer["results"]
        found[side] = answer["versions"]
    ours = list(dict.fromkeys(bar.measurement for bar in bars if bar.peer not in absent))
    print(f"bench: cudasim: {', '.join(ours)}", flush=True)
    groups = [[name] for name in ours if name in FRESH]
    groups.append([name for name in ours if name in ONE_CORE - FRESH])
    groups.append([name for name in ours if name not in ONE_CORE | FRESH])
    for group in groups:
        if group == ["first_launch_cached"]:
            with tempfile.TemporaryDirectory() as cache:
                measure(sys.executable, "cudasim", group, cache)  # fills it
                answer = measure(sys.executable, "cudasim", group, cache)
        else:
            answer = measure(sys.executable, "cudasim", group)
        results["cudasim"] |= answer["results"]
        found["cudasim"] = answer["versions"] or found.get("cudasim", {})
    return results, found, absent


def quantity(value, unit):
    if value is None:
        return "-"
    if unit == "x":
        return f"{value:.3g}x"
    if unit == "B":
        return f"{value / 1024:.1f} KiB"
    for size, name in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= size:
            return f"{value / size:.3g} {name}"
    return f"{value / 1e-9:.3g} ns"


def row_of(bar, results):
    ours = results["cudasim"][bar.measurement]
    peer = results[bar.peer][bar.peer_measurement] if bar.peer else None
    return {
        "name": bar.name, "title": bar.title, "unit": bar.unit, "cudasim": ours, "peer": bar.peer or None,
        "peer_value": peer, "ratio": bar.ratio(ours, peer), "bar": bar.limit,
        "kind": "at least" if bar.faster else "at most",
        "met": bar.met(ours, peer), "within_twice": bar.met(ours, peer, slack=2.0),
    }  # fmt: skip


def print_table(rows):
    head = ("work", "cudasim", "peer", "", "ratio", "bar", "")
    lines = [head]
    for row in rows:
        relative = row["peer"] is not None
        ratio = f"{row['ratio']:,.0f}x" if row["kind"] == "at least" else f"{row['ratio']:.2f}x"
        limit = f"{row['bar']:,g}x" if relative else quantity(row["bar"], row["unit"])
        lines.append((
            row["title"], quantity(row["cudasim"], row["unit"]), quantity(row["peer_value"], row["unit"]),
            row["peer"] or "", ratio if relative else "-",
            ("≥ " if row["kind"] == "at least" else "≤ ") + limit,
            "met" if row["met"] else "missed" if row["within_twice"] else "MISSED by more than twice",
        ))  # fmt: skip
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())


def main():
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__.splitlines()[0])
    parser.add_argument("--numba", required=True, help="a Python that has numba: the peers run there")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--check", action="store_true", help="fail beyond twice a bar's ratio")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(bar.name for bar in BARS))
    arguments = parser.parse_args()
    unknown = set(arguments.names) - {bar.name for bar in BARS}
    if unknown:
        parser.error(f"no such row: {', '.join(sorted(unknown))}")
    bars = [bar for bar in BARS if not arguments.names or bar.name in arguments.names]
    results, found, absent = measure_all(arguments.numba, bars)
    rows = [row_of(bar, results) for bar in bars if bar.peer not in absent]
    print_table(rows)
    skipped = [{"name": bar.name, "reason": absent[bar.peer]} for bar in bars if bar.peer in absent]
    for row in skipped:
        print(f"bench: {row['name']} skipped: {row['reason']}")
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(
            {"rows": rows, "skipped": skipped, "versions": found, "cores": os.cpu_count()}, indent=2
        )
        arguments.json.write_text(text + "\n")
        print(f"bench: written to {arguments.json}")
    missed = [row["name"] for row in rows if not row["within_twice"]]
    if arguments.check and missed:
        sys.exit(f"bench: missed by more than twice the bar: {', '.join(missed)}")


if __name__ == "__main__":
    main()
