"""Compares what tests and examples launch with the stand-in for NVIDIA's driver, bit for bit, and reports what differs.

python tests/gpu_backend/launches/compare_launches.py --all
python tests/gpu_backend/launches/compare_launches.py --fma off tests/frontend/pykernel/test_arrays.py
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
STAND_IN = ROOT / "build" / "release" / "tests" / "gpu_backend" / "libcuda" / "stand_in" / "libcuda.so.1"
sys.path.insert(0, str(HERE))

from collecting import VARIABLE, Wanted  # noqa: E402


def start(wanted: Wanted, arguments: list[str], log: pathlib.Path) -> subprocess.Popen:
    """A run of pytest whose launches are compared. Whether its tests pass does not matter: they run with other options than they expect."""
    pathlib.Path(wanted.folder).mkdir(parents=True, exist_ok=True)
    environment = {
        **os.environ, VARIABLE: json.dumps(dataclasses.asdict(wanted)), "PYTHONPATH": str(HERE), "ENABLE_CUDASIM": "1",
    }  # fmt: skip
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "comparing_plugin",
        "-p",
        "no:cacheprovider",
        *arguments,
    ]
    with open(log, "w") as output:
        return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT)


def rows_of(folder: str) -> list[dict]:
    """What was collected in a folder."""
    return [
        json.loads(line)
        for path in sorted(pathlib.Path(folder, "rows").glob("*.jsonl"))
        for line in path.open()
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--all", action="store_true", help="every launch, not only the first one of each kernel"
    )
    parser.add_argument("--every", type=int, default=1, help="one kernel of so many")
    parser.add_argument("--fma", choices=("on", "off", "both"), default="both")
    parser.add_argument("--libdevice", default="auto", help="the option of this name")
    parser.add_argument("--folder", help="where rows and records go")
    parser.add_argument("arguments", nargs="*", help="of pytest")
    chosen = parser.parse_args()
    folder = chosen.folder or tempfile.mkdtemp(prefix="compared_launches_")
    runs = []
    for fma in ("on", "off"):
        if chosen.fma not in (fma, "both"):
            continue
        wanted = Wanted(folder=f"{folder}/fma-{fma}", stand_in=str(STAND_IN), fma=fma == "on", libdevice=chosen.libdevice,
                        every=chosen.every, repeated=chosen.all)  # fmt: skip
        runs.append((wanted, start(wanted, chosen.arguments, pathlib.Path(f"{folder}/fma-{fma}.log"))))
    for wanted, process in runs:
        process.wait()
        rows = rows_of(wanted.folder)
        print(wanted.folder, dict(collections.Counter(row["outcome"] for row in rows)))
        for (outcome, reason), count in collections.Counter(
            (row["outcome"], row["reason"][:160]) for row in rows if row["outcome"] != "equal"
        ).most_common(60):
            print(f"  {count:5} {outcome}: {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
