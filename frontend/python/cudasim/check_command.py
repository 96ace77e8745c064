"""`cudasim check [options] script.py arguments…`: runs a program with every check, repeats its launches under other schedules, and says
what was found. Names of options are those of compute-sanitizer where it has them.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any

from cudasim import check_reports, options, script_runner, suppressions
from cudasim.memory import leaks, unwritten
from cudasim.reports import check_session, schedules
from cudasim.reports.check_session import CheckSession

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import TextIO

    from cudasim.reports.check_session import Found

#: compute-sanitizer's tools, and the checks that they are here.
TOOLS = {"memcheck": "memory,leaks,sync", "racecheck": "races", "initcheck": "init", "synccheck": "sync"}

#: Options that take a value, as the arguments before the script are told from the script's.
VALUED = (
    "--tool", "--kernel-name", "--launch-skip", "--launch-count", "--print-limit", "--error-exitcode", "--log-file", "--suppressions",
    "--gen-suppressions", "--json", "--sarif", "--junit", "--schedules", "--repeats", "--dask",
)  # fmt: skip


#: More schedules are not all named in a report for people; those for programs have them.
_MOST_NAMES = 32


class UsageError(Exception):
    """What was asked for cannot be done; the message says what and why."""


def add_to(commands: Any) -> None:
    """Adds the command to the parser of `cudasim`."""
    parser = commands.add_parser(
        "check",
        help="run a script with every check, under several schedules",
        description="Runs a script (or -m module) with every check, repeats each launch in another order of threads, and reports what was found. "
        "The exit status is 1 when there are errors or warnings, or no launch at all; else the script's.",
    )
    parser.add_argument(
        "--tool", choices=sorted(TOOLS), help="one of compute-sanitizer's tools; by default every check"
    )
    parser.add_argument(
        "--kernel-name", metavar="TEXT", help="kernels whose name contains TEXT, or regex:EXPRESSION"
    )
    parser.add_argument(
        "--launch-skip",
        type=script_runner.count,
        default=0,
        metavar="N",
        help="leave out the first N launches of each kernel",
    )
    parser.add_argument(
        "--launch-count", type=script_runner.count, metavar="N", help="at most N launches of each kernel"
    )
    parser.add_argument(
        "--print-limit",
        type=script_runner.count,
        default=100,
        metavar="N",
        help="print at most N findings (100)",
    )
    parser.add_argument(
        "--error-exitcode",
        type=script_runner.count,
        default=1,
        metavar="N",
        help="exit status when there are findings (1)",
    )
    parser.add_argument(
        "--log-file", metavar="FILE", help="where reports go instead of the standard error output"
    )
    parser.add_argument(
        "--suppressions", metavar="FILE", help="findings that are allowed, one line each with a reason"
    )
    parser.add_argument(
        "--gen-suppressions", metavar="FILE", help="write lines for --suppressions that allow what was found"
    )
    parser.add_argument("--json", metavar="FILE", help="write the findings for programs")
    parser.add_argument("--sarif", metavar="FILE", help="the same as SARIF 2.1.0, for code hosts")
    parser.add_argument("--junit", metavar="FILE", help="the same as JUnit's XML, for build servers")
    parser.add_argument(
        "--schedules", type=script_runner.count, default=1, metavar="N",
        help="repeat each launch N times: in reverse order, in lockstep, then under other policies (1); 0 repeats none",
    )  # fmt: skip
    parser.add_argument(
        "--schedule",
        metavar="TOKEN",
        help="repeat the one launch that a report names, under its schedule, and nothing else",
    )
    parser.add_argument(
        "--track-unused-memory", action="store_true", help="also tell device memory that nobody ever writes"
    )
    parser.add_argument(
        "--repeats", type=script_runner.count, default=10, metavar="N",
        help="launches of each kernel and configuration that are repeated (10)",
    )  # fmt: skip
    parser.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="repeat launches on the workers of a Dask cluster; the scheduler's address (tcp://host:8786)",
    )
    script_runner.add_arguments(parser)
    parser.set_defaults(command=run, runs_script=True)


def run(parsed: argparse.Namespace) -> int:
    """The command. Returns its exit status."""
    try:
        return _run(parsed)
    except (UsageError, suppressions.SuppressionError, schedules.TokenError) as error:
        print(f"cudasim check: {error}", file=sys.stderr)
        return 2


def _run(parsed):
    if parsed.option_check is None:
        parsed.option_check = TOOLS[parsed.tool] if parsed.tool else "all"
    script = script_runner.taken_from(parsed)
    if not script:
        raise UsageError("no script given; write: cudasim check script.py [arguments]")
    allowed = _suppressions(parsed.suppressions)
    only = schedules.parsed(parsed.schedule) if parsed.schedule is not None else None
    files = {
        name: _opened(getattr(parsed, name))
        for name in ("json", "sarif", "junit", "log_file", "gen_suppressions")
    }
    cluster = _cluster(parsed.dask) if parsed.dask is not None else None
    executor = None
    if cluster is not None:
        # With --dask only.
        from cudasim.recording.cluster_schedules import OnCluster

        executor = OnCluster(cluster)
    session = CheckSession(
        schedules.first(parsed.schedules, options.get("policy")),
        parsed.repeats,
        options.get("time_limit") or 60,
        _selection(parsed),
        _own_schedule(),
        only,
        executor,
    )
    check_session.session = session
    try:
        if parsed.track_unused_memory:
            unwritten.track_unused()
        status = script_runner.run(script)
        leaks.report()
        if parsed.track_unused_memory:
            unwritten.report_unused()
    finally:
        check_session.session = None
        if cluster is not None:
            cluster.close()
    sys.stdout.flush()
    if only is not None and (session.wrong_token or only.launch > session.launches):
        reason = session.wrong_token or f"this program has {session.launches} launches"
        raise UsageError(f"{parsed.schedule!r} is a token of another program: {reason}")
    session.finish()
    found, used = _without_allowed(list(session.found.values()), allowed)
    out = files["log_file"] or sys.stderr
    _print(found, session, parsed.print_limit, out)
    for suppression in allowed:
        if suppression not in used:
            print(
                f"cudasim check: {parsed.suppressions}:{suppression.line}: nothing was found that it allows",
                file=out,
            )
    counts = _counts(session, found)
    _write_reports(files, found, counts, session)
    print(_summary(counts), file=out)
    for file in files.values():
        if file:
            file.close()
    malformed = suppressions.malformed_in_source(each.finding for each in session.found.values())
    for message in malformed:
        print(f"cudasim check: {message}", file=sys.stderr)
    if malformed:
        return 2
    if counts["launches"] == 0:
        print("cudasim check: the program launched no kernel, so nothing was checked", file=sys.stderr)
        return status or 1
    if counts["errors"] or counts["warnings"]:
        return parsed.error_exitcode
    if executor is not None and executor.lost:
        print("cudasim check: not every schedule was run, see above", file=sys.stderr)
        return status or 1
    return status


def _cluster(address):
    """The cluster, connected before the program runs. :raises UsageError: where it cannot be used"""
    from cudasim.recording.cluster import Cluster, ClusterError  # with --dask only

    try:
        return Cluster(address)
    except ClusterError as error:
        raise UsageError(str(error)) from None


def _own_schedule():
    """What the program's own schedule is called."""
    policy = options.get("policy")
    return policy if policy in ("forward", "reverse", "lockstep") else f"{policy}-{options.get('seed')}"


def _selection(parsed: argparse.Namespace) -> Callable[[str, int], bool]:
    name = parsed.kernel_name
    try:
        expression = re.compile(name[6:] if name.startswith("regex:") else re.escape(name)) if name else None
    except re.error as error:
        raise UsageError(f"--kernel-name {name!r} is no regular expression: {error}") from None
    first = parsed.launch_skip + 1
    end = first + parsed.launch_count if parsed.launch_count is not None else None

    def selects(kernel, number):
        if expression is not None and not expression.search(kernel):
            return False
        return number >= first and (end is None or number < end)

    return selects


def _suppressions(path):
    if path is None:
        return []
    try:
        return suppressions.read(path)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"cannot read the suppressions {path}: {getattr(error, 'strerror', error)}"
        ) from None


def _opened(path):
    """A file to write, opened before the program runs, so that a place that cannot be written is known then; None for none."""
    if path is None:
        return None
    try:
        return open(path, "w", encoding="utf-8")  # noqa: SIM115 - closed at the end
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


def _without_allowed(found, allowed):
    """What is not allowed, and the suppressions that allowed something."""
    rest, used = [], set()
    for each in found:
        by = [suppression for suppression in allowed if suppressions.allows(suppression, each.finding)]
        used.update(by)
        if not by and not suppressions.is_allowed_in_source(each.finding):
            rest.append(each)
    order = {"error": 0, "warning": 1, "note": 2}
    rest.sort(key=lambda each: order[each.finding.severity])
    return rest, used


def _print(found: list[Found], session: CheckSession, limit: int, out: TextIO) -> None:
    for each in found[:limit]:
        print(each.text, end="", file=out)
        if each.launch:
            order = f", order of threads: {_listed(each.schedules)}" if each.schedules else ""
            print(f"  in launch {each.launch} of the program{order}", file=out)
        if each.finding.kind == "data-race":
            _print_outcome(session, each.launch, out)
        if each.launch in session.identities:
            token = schedules.token(each.launch, each.schedules[0], session.identities[each.launch])
            print(f"  repeat it: cudasim check --schedule {token}", file=out)
        print(file=out)
    if len(found) > limit:
        print(
            f"cudasim check: {len(found) - limit} further findings are not printed (--print-limit)", file=out
        )


def _listed(names):
    """Names of schedules, of which there may be thousands."""
    if len(names) <= _MOST_NAMES:
        return ", ".join(names)
    shown = _MOST_NAMES // 2
    return f"{', '.join(names[:shown])} and {len(names) - shown} more"


def _print_outcome(session, launch, out):
    """Whether the results depend on the order."""
    outcome = session.outcomes.get(launch)
    if outcome is None:
        return
    if outcome.differences:
        schedule, (element, value, own) = outcome.differences[0]
        print(f"  results differ: {element} is {own} under {session.own}, {value} under {schedule}", file=out)
    else:
        print(f"  results are the same under {_listed((*outcome.compared, session.own))}", file=out)


def _counts(session, found):
    severities = [each.finding.severity for each in found]
    return {
        "launches": session.launches,
        "kernels": len(session.kernels),
        "schedules": 1 + len(session.schedules if session.only is None else [session.only]),
        "runs": session.runs,
        "errors": severities.count("error"),
        "warnings": severities.count("warning"),
        "notes": severities.count("note"),
    }


def _summary(counts):
    def of(name):
        one = "launch" if name == "launches" else name[:-1]
        return f"{counts[name]} {one if counts[name] == 1 else name}"

    findings = counts["errors"] + counts["warnings"] + counts["notes"]
    kinds = f" ({of('errors')}, {of('warnings')}, {of('notes')})" if findings else ""
    total = f"{findings} finding{'' if findings == 1 else 's'}{kinds}"
    return f"cudasim check: {of('launches')} of {of('kernels')} under {of('schedules')}: {total}"


def _write_reports(files, found, counts, session):
    texts = {
        "json": lambda: check_reports.as_json(found, counts),
        "sarif": lambda: check_reports.as_sarif(found, os.getcwd()),
        "junit": lambda: check_reports.as_junit(found, session.kernels),
        "gen_suppressions": lambda: "".join(
            suppressions.line_for(each.finding) + "say why\n"
            for each in found
            if each.finding.severity != "note"
        ),
    }
    for name, text in texts.items():
        if files[name]:
            files[name].write(text())
