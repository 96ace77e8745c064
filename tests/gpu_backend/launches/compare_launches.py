"""Compares what tests and examples launch with the stand-in for NVIDIA's driver, bit for bit, and says what differs.

    python tests/gpu_backend/launches/compare_launches.py tests/frontend/pykernel tests/examples
    python tests/gpu_backend/launches/compare_launches.py --all --fma off tests/frontend/pykernel/test_arrays.py
    python tests/gpu_backend/launches/compare_launches.py --folder /tmp/compared -- tests/python/ufuncs -k gufunc

All tests run twice, with multiply-adds fused and not, and with NVIDIA's libdevice where one is found. Launches in which the simulator finds an
error are not compared. What differs, and is not in known_differences.py, is an error, as is a rate of exceptions above 2%. The
folder has a record of each launch that differs, for `cudasim replay`.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(ROOT / "tests")]

from collecting import VARIABLE, Wanted  # noqa: E402
from known_differences import EXCEPTIONS, LEFT_OUT  # noqa: E402
from stand_in_driver import STAND_IN  # noqa: E402

MOST_EXCEPTIONS = 0.02  #: of the launches that are compared


def start(wanted: Wanted, arguments: list[str]) -> subprocess.Popen:
    """A run of pytest whose launches are compared. Tests that fail do not matter: some expect other options."""
    pathlib.Path(wanted.folder).mkdir(parents=True, exist_ok=True)
    environment = {
        **os.environ,
        VARIABLE: json.dumps(dataclasses.asdict(wanted)),
        "PYTHONPATH": str(HERE),
        "ENABLE_CUDASIM": "1",
    }
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
    with open(pathlib.Path(wanted.folder, "pytest.log"), "w") as output:
        return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT)


def compared(
    folder: pathlib.Path, arguments: list[str], fma: tuple[bool, ...] = (True, False), **wanted
) -> dict[bool, list[dict]]:
    """Runs pytest once for each setting of fma, side by side.

    :param wanted: further fields of Wanted
    :returns: fma -> what was found, as Collector writes it
    """
    runs = {}
    for fused in fma:
        chosen = Wanted(
            folder=str(folder / f"fma-{'on' if fused else 'off'}"),
            stand_in=str(STAND_IN),
            fma=fused,
            **wanted,
        )
        runs[fused] = chosen.folder, start(chosen, arguments)
    try:
        for _, process in runs.values():
            process.wait()
    finally:  # interrupted
        for _, process in runs.values():
            process.terminate()
            process.wait()
    return {fused: rows_of(place) for fused, (place, _) in runs.items()}


def rows_of(folder: str) -> list[dict]:
    return [
        json.loads(line)
        for path in sorted(pathlib.Path(folder, "rows").glob("*.jsonl"))
        for line in path.open()
    ]


@dataclasses.dataclass
class Judgement:
    """What the launches of a run amount to."""

    equal: int = 0
    faulty: int = 0  #: in the simulation, so not compared
    left_out: int = 0
    by_cause: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    unexpected: list[str] = dataclasses.field(default_factory=list)

    @property
    def rate(self) -> float:
        """The share of exceptions."""
        exceptions = self.by_cause.total() + len(self.unexpected)
        return exceptions / max(1, exceptions + self.equal)

    def __str__(self) -> str:
        lines = [
            f"{self.equal} equal, {self.faulty} with an error in the simulation, {self.left_out} left out, exceptions: {100 * self.rate:.2f}%"
        ]
        lines += [f"  {count:4} {cause}" for cause, count in self.by_cause.most_common()]
        lines += [f"  UNEXPECTED {text}" for text in self.unexpected]
        return "\n".join(lines)


def judge(rows: list[dict], fma: bool) -> Judgement:
    """Compares what was found with known_differences.py."""
    found = Judgement()
    for row in rows:
        if any(re.search(pattern, row["test"]) for pattern, _ in LEFT_OUT):
            found.left_out += 1
            continue
        known = [each for each in EXCEPTIONS if each.applies(row, fma)]
        where = f"{row['test']}, kernel {row['kernel']}"
        if row["outcome"] == "not compared":
            found.faulty += 1
        elif row["outcome"] == "equal":
            found.equal += 1
            if any(each.surely for each in known):
                found.unexpected.append(f"{where}: is equal, so its row in known_differences.py has to go")
        elif cause := next((each.cause for each in known if each.explains(row)), None):
            found.by_cause[cause] += 1
        else:
            found.unexpected.append(f"{where}: {row['outcome']}: {row['reason']}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--all", action="store_true", help="every launch, not only the first one of each kernel"
    )
    parser.add_argument("--fma", choices=("on", "off", "both"), default="both")
    parser.add_argument("--libdevice", default="auto", help="the option of this name")
    parser.add_argument("--folder", help="where rows, records and pytest's output go")
    parser.add_argument("arguments", nargs="*", help="of pytest")
    chosen = parser.parse_args()
    folder = pathlib.Path(chosen.folder or tempfile.mkdtemp(prefix="compared_launches_")).resolve()
    settings = {"on": (True,), "off": (False,), "both": (True, False)}[chosen.fma]
    print(f"rows, records and pytest's output: {folder}", flush=True)
    failed = False
    for fma, rows in compared(
        folder, chosen.arguments, settings, libdevice=chosen.libdevice, repeated=chosen.all
    ).items():
        judgement = judge(rows, fma)
        failed |= bool(judgement.unexpected) or judgement.rate > MOST_EXCEPTIONS or judgement.equal == 0
        print(f"fma {'on' if fma else 'off'}: {judgement}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
