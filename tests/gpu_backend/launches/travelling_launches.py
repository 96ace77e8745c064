"""Records what tests and examples launch, for a machine with a GPU, and judges what that brought.

    python tests/gpu_backend/launches/travelling_launches.py record FOLDER tests/frontend/pykernel tests/examples
    for f in FOLDER/records/*.cudasim; do cudasim-gpu-run "$f" -o "${f%.cudasim}.gpu"; done    # there; see --launches, too
    python tests/gpu_backend/launches/travelling_launches.py judge FOLDER

`judge` prints the launches that do not leave the same bits, by the first explanation of the report, and FOLDER/judged.jsonl has a
line for each launch.
"""

from __future__ import annotations

import argparse
import collections
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from collecting import Wanted, judged  # noqa: E402
from compare_launches import rows_of, start  # noqa: E402


def record(folder: pathlib.Path, arguments: list[str], **wanted) -> list[dict]:
    """Runs pytest and records the first launch of each kernel. :returns: a row for each launch"""
    start(Wanted(folder=str(folder), **wanted), arguments).wait()
    return rows_of(str(folder))


def judge(folder: pathlib.Path) -> list[dict]:
    """A row for each launch that was recorded, with its outcome."""
    from cudasim import errors
    from cudasim.comparing.arrays import tolerances_of
    from cudasim.comparing.files import diff_files
    from cudasim.recording.recorder import Selection

    rows = rows_of(str(folder))
    by_file = collections.defaultdict(dict)
    for row in rows:
        if row["outcome"] == "recorded":
            by_file[row["record"]][row["number"]] = row
    for results in sorted(
        folder.glob("records/*.gpu")
    ):  # of all launches of a file, or some: 42.gpu, 42-931.gpu
        path = results.with_name(results.stem.partition("-")[0] + ".cudasim")
        of_file = by_file[path.name]
        try:
            report, _ = diff_files(str(path), str(results), tolerances_of(exact=True), Selection())
        except (errors.RecordError, ValueError, OSError) as error:
            print(f"{results}: {error}", file=sys.stderr)
            continue
        for launch in report["launches"]:
            row = of_file.get(launch["number"])
            if row is None or "has no result of it" in launch.get("message", ""):
                continue
            row |= judged(launch)
            row["ulp"] = max(
                (
                    array.get("ulp", {}).get("value", 0)
                    for array in launch.get("arrays", ())
                    if array.get("ulp")
                ),
                default=0,
            )
            row["explanations"] = [each["cause"] for each in launch.get("explanations", ())]
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(required=True, dest="command")
    recording = commands.add_parser("record")
    recording.add_argument("folder", type=pathlib.Path)
    recording.add_argument("--arch", default="sm_75", help="oldest GPU that is to run them")
    recording.add_argument("--no-fma", action="store_true", help="multiply-adds are not fused")
    recording.add_argument("--most-bytes", type=int, default=1 << 20, help="of the memory of a launch")
    recording.add_argument("arguments", nargs="*", help="of pytest")
    judging = commands.add_parser("judge")
    judging.add_argument("folder", type=pathlib.Path)
    chosen = parser.parse_args()
    folder = chosen.folder.resolve()
    if chosen.command == "record":
        rows = record(
            folder,
            chosen.arguments,
            architecture=chosen.arch,
            fma=not chosen.no_fma,
            most_bytes=chosen.most_bytes,
        )
    else:
        rows = judge(folder)
        with open(folder / "judged.jsonl", "w") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
        for row in rows:
            if row["outcome"] not in ("equal", "recorded"):
                explanation = row.get("explanations", ["-"])[:1]
                print(*explanation, row["test"], row["kernel"], row["outcome"], row["reason"], sep=" | ")
    for outcome, count in collections.Counter(row["outcome"] for row in rows).most_common():
        print(f"{count:6} {outcome}")
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
