"""Runs a recorded launch under a debugger: `python -m cudasim.debugging.core_file FILE [--launch N]`.

It is what `cudasim debug --core FILE` debugs. The launch runs as it was recorded, on memory as it was, and stops where it fails; one that
did not fail stops at the entry of its kernel. When it has ended, the end is compared with the recorded one. The exit status is 0 where
they are the same, 1 where they differ, 2 where the launch cannot be run.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from cudasim import _native, errors
from cudasim.recording import replay

if TYPE_CHECKING:
    from typing import Any


class CoreError(Exception):
    """The launch cannot be debugged."""


def chosen(reader: replay.Reader, number: int | None) -> Any:
    """The launch with a number; without one the first that failed, or the first.

    :raises CoreError: where there is none
    """
    records = [reader.read(index, False) for index in range(len(reader))]
    if not records:
        raise CoreError("there is no launch in it" + ("" if reader.finished else ": its end is missing"))
    if not reader.finished:
        print("The end of the file is missing: it was cut, or its recording was not finished.")
    if number is not None:
        for index, record in enumerate(records):
            if record.number == number:
                return reader.read(index)
        known = ", ".join(str(record.number) for record in records[:20])
        raise CoreError(f"there is no launch {number} in it; it has {known}")
    failed = [index for index, record in enumerate(records) if errors_of(record)]
    index = failed[0] if failed else 0
    if len(records) > 1:
        what = "the first that failed" if failed else "the first"
        print(
            f"There are {len(records)} launches in the file; this is {records[index].headline()}, {what}. --launch N chooses another."
        )
    return reader.read(index)


def errors_of(record: Any) -> list[replay.RecordedFinding]:
    """The errors that the launch had."""
    return [each for each in replay.findings_of(record) if each.severity == "error"]


def verdict(record: Any, replayed: replay.Replayed) -> list[str]:
    """What is to be said when the launch has ended."""
    if not record.finished:
        return ["The core file was written while the launch stood: there is no recorded end to compare with."]
    if not replayed.differences:
        return ["The launch has ended as it was recorded, to the bit."]
    lines = ["The launch has ended otherwise than it was recorded:"]
    for difference in replayed.differences:
        lines.append(f"  {difference['text']}")
        if difference["what"] == "findings":
            lines += [f"    recorded: {each.text}" for each in replay.findings_of(record)] or [
                "    recorded: none"
            ]
            now = getattr(replayed.exception, "findings", None) or ()
            lines += [f"    now: {each.severity}: {each.kind}: {each.headline()}" for each in now] or [
                "    now: no errors"
            ]
    return lines


def debug(path: str, number: int | None) -> int:
    """Runs the launch; the exit status.

    :raises CoreError: where it cannot be run
    """
    try:
        reader = replay.Reader(path)
        record = chosen(reader, number)
        if record.runs_in_front_end:
            raise CoreError(
                f"{record.headline()} ran in Python mode, where kernels do not stop for this debugger. "
                f"`cudasim replay --trust --pdb {path}` debugs it with pdb"
            )
        if not errors_of(record) and _native.debugger_is_there():
            _native.debugger_stop_at_entry()
        replayed = replay.replay(record)
    except (errors.RecordError, errors.CudaAPIError, ValueError) as error:
        raise CoreError(str(error)) from None
    except (KeyError, TypeError, IndexError, AttributeError) as error:  # in what the record says of findings
        raise CoreError(f"a launch in it is malformed: {error!r}") from None
    sys.stdout.flush()
    if not replayed.same_addresses:
        print("The launch ran at other addresses, because those of the record are taken.")
    print("\n".join(verdict(record, replayed)), flush=True)
    return 1 if replayed.differences and record.finished else 0


def main(arguments: list[str]) -> int:
    """The program."""
    parser = argparse.ArgumentParser(prog="cudasim.debugging.core_file", allow_abbrev=False)
    parser.add_argument("file")
    parser.add_argument("--launch", type=int)
    parsed = parser.parse_args(arguments)
    try:
        return debug(parsed.file, parsed.launch)
    except CoreError as error:
        print(f"cudasim: {parsed.file}: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
