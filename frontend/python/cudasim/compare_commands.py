"""`cudasim compare` and `cudasim diff`: their arguments and what they print."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from cudasim import errors, options, script_runner
from cudasim.cuda_cpp import commands as cuda_cpp_commands
from cudasim.recording_commands import LAUNCHES, fail

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Options that take a value, as the arguments before the script are told from the script's.
VALUED = ("--rtol", "--atol", "--ulp", "--json", "--html", "--kernel", "--launch")


def add_to(commands: Any) -> None:
    """Adds both to the program's commands.

    :param commands: what ArgumentParser.add_subparsers() gave
    """
    compare = commands.add_parser(
        "compare",
        help="run a script and compare its kernel launches with a real GPU",
        usage="cudasim compare [options] script.py [arguments]; for the options see cudasim compare --help",
        description="Runs a script (or -m module) with numba.cuda simulated. Every kernel launch also runs on this machine's GPU, in "
        "a process of its own, and what both leave in memory is compared. The script goes on with the simulator's results. The exit "
        "status is 1 when a launch differs, or none was compared; 10 without a driver, 11 with a broken one, 12 without a GPU, 13 where "
        "it is too old; else the script's.",
        allow_abbrev=False,
    )
    _add_tolerances(compare)
    compare.add_argument("--kernel", metavar="NAME", help="only launches of this kernel")
    compare.add_argument("--launch", metavar="N", help=f"only {LAUNCHES}")
    compare.add_argument(
        "--also-faulting",
        action="store_true",
        help="also launches in which the simulator finds an error, which the GPU may not survive",
    )
    script_runner.add_arguments(compare, without=("gpu",))
    compare.set_defaults(command=_compare, runs_script=True)

    diff = commands.add_parser(
        "diff",
        help="compare recorded launches with what a GPU made of them elsewhere",
        description="Compares launches that `cudasim record --gpu` has recorded with the results that cudasim-gpu-run has brought from a "
        "machine with a GPU. The exit status is 0 when nothing is different, 1 when something is, 2 when the files do not belong together.",
        allow_abbrev=False,
    )
    diff.add_argument("record", help="what `cudasim record --gpu` wrote")
    diff.add_argument("results", help="what cudasim-gpu-run wrote")
    diff.add_argument("--launch", metavar="N", help=LAUNCHES)
    _add_tolerances(diff)
    diff.set_defaults(command=_diff)


def _add_tolerances(parser: argparse.ArgumentParser) -> None:
    for name, explanation in (
        ("rtol", "greatest relative difference of floats"),
        ("atol", "greatest absolute difference of floats"),
        ("ulp", "greatest difference of floats in units in the last place"),
    ):
        parser.add_argument(f"--{name}", type=_tolerance, metavar="NUMBER", help=explanation)
    parser.add_argument("--exact", action="store_true", help="only the same values are no difference")
    parser.add_argument("--json", metavar="FILE", help="write the report for programs (docs/gpu.md)")
    parser.add_argument("--html", metavar="FILE", help="write the report as one HTML page")


def _tolerance(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no finite number from 0 on")
    return value


def _compare(parsed: argparse.Namespace) -> int:
    from cudasim.comparing.arrays import tolerances_of  # other commands need no engine
    from cudasim.comparing.processes import Comparisons
    from cudasim.comparing.report import report_of
    from cudasim.recording.recorder import why_nothing
    from cudasim.streams import stream_work

    script = script_runner.taken_from(parsed)
    if not script:
        return fail("compare", "no script given; write: cudasim compare script.py [arguments]")
    try:
        comparison = Comparisons(
            tolerances_of(parsed.rtol, parsed.atol, parsed.ulp, parsed.exact),
            parsed.kernel,
            parsed.launch,
            parsed.also_faulting,
        )
    except ValueError as error:
        return fail("compare", error)
    if (problem := _not_writable(parsed)) is not None:
        return fail("compare", problem)
    options.set(gpu="off")  # the command compares
    try:
        if cuda_cpp_commands.takes(script):
            from cudasim.cuda_cpp import recorded_program

            with comparison.in_force():
                status = recorded_program.run(script, comparison.own.recorder, keep_after=True)
        else:
            with comparison.in_force():
                status = script_runner.run(script)
                stream_work.finish()
    except cuda_cpp_commands.NoProgramError as error:
        return fail("compare", error) if str(error) else error.status
    except errors.NoGpuError as error:
        print(f"cudasim compare: {error}", file=sys.stderr)
        return error.exit_status
    if status not in (0, 1) and not comparison.launches:
        return status
    report = report_of(comparison.launches)
    problem = _write(report, parsed, sys.stderr)
    if problem is not None:
        return fail("compare", problem)
    if not comparison.launches and (reason := why_nothing(parsed.kernel, comparison.own.recorder)):
        print(f"cudasim compare: {reason}", file=sys.stderr)
    return status if status not in (0, 1) else _status(report) or status


def _diff(parsed: argparse.Namespace) -> int:
    from cudasim.comparing.arrays import tolerances_of  # other commands need no engine
    from cudasim.comparing.files import diff_files
    from cudasim.recording.recorder import Selection

    if (problem := _not_writable(parsed)) is not None:
        return fail("diff", problem)
    try:
        selection = Selection(None, parsed.launch)
        report, is_whole = diff_files(
            parsed.record,
            parsed.results,
            tolerances_of(parsed.rtol, parsed.atol, parsed.ulp, parsed.exact),
            selection,
        )
    except ValueError as error:  # RecordError, too
        return fail("diff", error)
    problem = _write(report, parsed, sys.stdout)
    if problem is not None:
        return fail("diff", problem)
    if not is_whole:
        print(
            f"cudasim diff: {parsed.results} is not complete: cudasim-gpu-run was ended early, or the file was cut",
            file=sys.stderr,
        )
        return 1
    return _status(report)


def _not_writable(parsed: argparse.Namespace) -> str | None:
    """Why a file that is asked for cannot be written, before the program runs; None: both can. What they hold stays."""
    if parsed.json is not None and parsed.json == parsed.html:
        return f"--json and --html name the same file, {parsed.json}"
    for name in ("json", "html"):
        path = getattr(parsed, name)
        if path is None:
            continue
        setattr(parsed, name, os.path.abspath(path))  # the script may go to another folder
        is_new = not os.path.lexists(path)
        try:
            with open(path, "a", encoding="utf-8"):
                pass
            if is_new:
                os.unlink(path)
        except OSError as error:
            return f"cannot write {path}: {error.strerror}"
    return None


def _write(report: Mapping[str, Any], parsed: argparse.Namespace, stream: Any) -> str | None:
    """Prints the report and writes the files that are asked for. Returns what went wrong."""
    from cudasim.comparing import report_html, report_text  # other commands need no engine

    stream.write(report_text.render(report))
    try:
        if parsed.json is not None:
            with open(parsed.json, "w", encoding="utf-8") as file:
                json.dump(report, file, indent=1)
                file.write("\n")
        if parsed.html is not None:
            with open(parsed.html, "w", encoding="utf-8") as file:
                file.write(report_html.render(report))
    except OSError as error:
        return f"cannot write {error.filename}: {error.strerror}"
    return None


def _status(report: Mapping[str, Any]) -> int:
    """1 where a launch is different, or none was compared."""
    launches = report["launches"]
    compared = [launch for launch in launches if "verdict" in launch]
    return 1 if not compared or any(launch["verdict"] == "different" for launch in compared) else 0
