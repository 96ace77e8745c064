"""`cudasim check [options] script.py arguments…`: runs a program with every check, repeats its launches under other schedules, and says
what was found. Names of options are those of compute-sanitizer where it has them.

The program runs in a child process. This one writes the reports when the child has ended, whichever way it did.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from typing import TYPE_CHECKING, Any

from cudasim import _option_values, check_reports, options, script_runner, suppressions, switch
from cudasim.cuda_cpp import commands as cuda_cpp_commands
from cudasim.memory import leaks, unwritten
from cudasim.reports import allowed_comments, check_session, schedules, supervised_program
from cudasim.reports.check_journal import Journal
from cudasim.reports.check_record import THE_PROGRAM, Record, Refused
from cudasim.reports.check_session import CheckSession
from cudasim.reports.child_processes import signal_name
from cudasim.reports.repetitions import InChildren

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import TextIO

    from cudasim.reports.check_record import Found

#: compute-sanitizer's tools, and the checks that they are here.
TOOLS = {"memcheck": "memory,leaks,sync", "racecheck": "races", "initcheck": "init", "synccheck": "sync"}

#: Options that take a value, as the arguments before the script are told from the script's.
VALUED = (
    "--tool", "--kernel-name", "--launch-skip", "--launch-count", "--print-limit", "--error-exitcode", "--log-file", "--suppressions",
    "--gen-suppressions", "--json", "--sarif", "--junit", "--schedules", "--repeats", "--dask",
)  # fmt: skip

#: Options that name a file to write.
_OUTPUTS = ("json", "sarif", "junit", "log_file", "gen_suppressions")

#: More schedules are not all named in a report for people; those for programs have them.
_MOST_NAMES = 32


class UsageError(Exception):
    """What was asked for cannot be done; the message says what and why."""


def add_to(commands: Any) -> None:
    """Adds the command to the parser of `cudasim`."""
    parser = commands.add_parser(
        "check",
        usage="cudasim check [options] script.py [arguments]; for the options see cudasim check --help",
        help="run a script with every check, under several schedules",
        description="Runs a script (or -m module) with every check, repeats each launch in another order of threads, and reports what was found. "
        "The exit status is 1 when there are errors or warnings, or no launch is selected; else the script's.",
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
        type=_exit_status,
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
        "--schedules", type=script_runner.schedule_count, default=1, metavar="N",
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


def _exit_status(text):
    return script_runner.count(text, 255)


def run(parsed: argparse.Namespace) -> int:
    """The command. Returns its exit status, in the process of the program the program's own."""
    try:
        return _run(parsed)
    except (
        UsageError,
        script_runner.ScriptError,
        switch.SwitchError,
        suppressions.SuppressionError,
        schedules.TokenError,
    ) as error:
        print(f"cudasim check: {error}", file=sys.stderr)
        return 2


def _run(parsed):
    _set_checks(parsed)
    script = script_runner.taken_from(parsed)
    if not script:
        raise UsageError("no script given; write: cudasim check script.py [arguments]")
    if parsed.track_unused_memory and "init" not in options.get("check"):
        raise UsageError(
            f"--track-unused-memory needs the check init, and {_what_says_checks(parsed)} leaves it out"
        )
    script_runner.require(script)
    allowed = _suppressions(parsed.suppressions)
    only = schedules.parsed(parsed.schedule) if parsed.schedule is not None else None
    selects = _selection(parsed)
    folder = os.getcwd()
    _refuse_equal_files(parsed, script)
    files = {name: _opened(getattr(parsed, name)) for name in _OUTPUTS}
    if cuda_cpp_commands.takes(script):
        if parsed.dask is not None:
            raise UsageError(
                "--dask repeats launches while a script waits; those of a program in CUDA C++ are repeated when it has ended: "
                "cudasim record -o run.cudasim, then cudasim replay run.cudasim --schedules N --dask ADDRESS"
            )
        record, status = _run_cuda_cpp(parsed, script, only, selects)
        return _report(parsed, record, status, allowed, only, files, folder)
    journal = Journal()
    program = supervised_program.begin()
    if program is None:
        for file in files.values():
            if file:
                file.close()
        return _run_program(parsed, script, journal, only, selects)
    status = program.wait()
    record = Record(_own_schedule())
    for process, entry in journal.entries():
        record.add(process, entry)
    journal.close()
    if record.refused is not None:
        raise UsageError(record.refused)
    return _report(parsed, record, status, allowed, only, files, folder)


def _session(parsed, only, selects, executor, journal=None):
    return CheckSession(
        schedules.first(parsed.schedules, options.get("policy")),
        parsed.repeats,
        options.get("time_limit") or 60,
        selects,
        _own_schedule(),
        only,
        executor,
        journal,
    )


def _run_cuda_cpp(parsed, script, only, selects):
    """A program in CUDA C++, and the repetitions of its launches. Returns the Record and the program's status."""
    from cudasim.cuda_cpp import (
        checked_program,
    )  # it loads the engine, which the command does without otherwise

    try:
        path, arguments = cuda_cpp_commands.program_of(script)
    except cuda_cpp_commands.NoProgramError as error:
        raise UsageError(str(error) or f"{script[0]} was not compiled") from None
    schedule_count = 1 if only is not None else parsed.schedules
    program_files = checked_program.ProgramFiles(
        parsed.repeats if schedule_count else 0, only is not None, parsed.track_unused_memory
    )
    try:
        status = cuda_cpp_commands.status_of(script, path, arguments, program_files.variables())
        executor = checked_program.executor_of(program_files)
        session = _session(parsed, only, selects, executor)
        session.record.early_ends = "_exit() or exec*()"
        session.record.has_ended = checked_program.pass_through(session, program_files, executor)
        return session.record, status
    finally:
        program_files.close()


def _run_program(parsed, script, journal, only, selects):
    """The program, in the process that is its own. Returns its status, also in processes that it forks."""
    try:
        cluster = _cluster(parsed.dask) if parsed.dask is not None else None
    except UsageError as error:
        journal.append((THE_PROGRAM, Refused(str(error))))
        return 2
    executor: Any = None
    if cluster is not None:
        # With --dask only.
        from cudasim.recording.cluster_schedules import OnCluster

        executor = OnCluster(cluster)
    session = check_session.session = _session(parsed, only, selects, executor, journal)
    if parsed.track_unused_memory:
        unwritten.track_unused()
    status = script_runner.run(script)
    if session.is_forked:
        return status
    leaks.report()
    if parsed.track_unused_memory:
        unwritten.report_unused()
    if cluster is not None:
        session.lose(executor.lost)
        session.executor = InChildren()
        cluster.close()
    session.end_program()
    return status


def _report(parsed, record, ended, allowed, only, files, folder):
    """Prints and writes what was found. Returns the exit status.

    :param ended: the status of the program, or the negative number of the signal that ended it
    """
    status = ended if ended >= 0 else 128 - ended
    if only is not None and not record.is_meant and record.has_ended:
        reason = record.wrong_token or f"this program has {_number_of(record.launches, 'launch')}"
        raise UsageError(f"{parsed.schedule!r} is a token of another program: {reason}")
    record.finish()
    findings = [each.finding for each in record.found.values()]
    found, used = _without_allowed(list(record.found.values()), allowed)
    out = files["log_file"] or sys.stderr
    schedule_count = 1
    if only is not None:
        schedule_count += 1
    elif parsed.repeats:
        schedule_count += parsed.schedules
    problems = _impossible_checks(found)
    counts = _counts(record, found, schedule_count)
    with _told(problems, parsed.log_file):
        _print(found, record, parsed.print_limit, out)
        for suppression in allowed:
            if suppression not in used:
                print(
                    f"cudasim check: {parsed.suppressions}:{suppression.line}: nothing was found that it allows",
                    file=out,
                )
        if record.has_ended and not problems and _checks_everything(parsed):
            for message in allowed_comments.unused(record.files, findings):
                print(f"cudasim check: {message}", file=out)
        print(_summary(counts), file=out, flush=True)
    _write_reports(parsed, files, found, counts, record, folder, problems)
    if not record.has_ended:
        print(f"cudasim check: {_early_end(record, ended)}", file=sys.stderr)
    problems += allowed_comments.malformed(findings)
    for message in problems:
        print(f"cudasim check: {message}", file=sys.stderr)
    if problems:
        return 2
    nothing = _why_nothing(counts, only)
    if nothing:
        print(f"cudasim check: {nothing}, so nothing was checked", file=sys.stderr)
        return status or 1
    if counts["errors"] or counts["warnings"]:
        return parsed.error_exitcode
    if record.lost:
        print("cudasim check: not every schedule was run, see above", file=sys.stderr)
        return status or 1
    return status


def _impossible_checks(found):
    """What could not be checked although it was asked for: one sentence each. Takes these out of the findings."""
    off = [each for each in found if each.finding.kind == "init-checks-off"]
    found[:] = [each for each in found if each not in off]
    others = ",".join(each for each in options.get("check").split(",") if each != "init")
    hint = f"raise the limit, or leave init out: --check {others}"
    return [f"{each.finding.message}; {hint}" for each in off[:1]]


def _why_nothing(counts, only):
    """Why no launch was checked, or None."""
    if counts["launches"] == 0:
        return "the program launched no kernel"
    if counts["selected"] == 0 and only is not None:
        return "the program has not come to the launch that the token names, or it was not selected"
    if counts["selected"] == 0:
        launches = _number_of(counts["launches"], "launch")
        return f"none of the program's {launches} was selected (--kernel-name, --launch-skip, --launch-count)"
    return None


def _early_end(record, ended):
    """What is not known where the program has not ended as Python programs end."""
    if ended < 0:
        running = [f"launch {number}, of {kernel}" for (_, number), kernel in record.running.items()]
        where = f" in {running[0]}" if running else ""
        how = f"the program was ended by {signal_name(-ended)}{where}"
    else:
        how = f"the program ended by {record.early_ends}, with status {ended}"
    looked_for = "leaks" in options.get("check").split(",")
    return f"{how}; memory that is never given back was not looked for" if looked_for else how


def _default_checks(parsed):
    """What is checked unless the command says: everything. Programs in CUDA C++ often leave their memory to the end of
    the process, so that leaks are told where they are asked for, as compute-sanitizer does."""
    every = _option_values.checks("all").split(",")
    is_program = cuda_cpp_commands.takes(script_runner.given_in(parsed))
    return [each for each in every if not is_program or each != "leaks"]


def _set_checks(parsed):
    """The option check, as the arguments of the command say it."""
    options.get("check")  # a wrong value in the environment is told, even if it does not count
    if parsed.tool and parsed.option_check is not None:
        raise UsageError("--tool and --check both say what is checked; give one of them")
    if parsed.option_check is None:
        parsed.option_check = TOOLS[parsed.tool] if parsed.tool else ",".join(_default_checks(parsed))
    if parsed.option_check.strip() == "none":
        raise UsageError("--check none leaves nothing to check; leave it out, or use `cudasim run`")


def _what_says_checks(parsed):
    return f"--tool {parsed.tool}" if parsed.tool else f"--check {parsed.option_check}"


def _refuse_equal_files(parsed, script):
    """:raises UsageError: where a file to write is another one of them, or one that is read"""
    taken = {}
    if script[0] != "-m":
        taken[_identity_of(script[0])] = "is the script itself"
    if parsed.suppressions is not None:
        taken[_identity_of(parsed.suppressions)] = "is that of --suppressions"
    for name in _OUTPUTS:
        path = getattr(parsed, name)
        if path is None or (os.path.exists(path) and not os.path.isfile(path)):
            continue  # to a terminal or a pipe several may write
        option = "--" + name.replace("_", "-")
        other = taken.setdefault(_identity_of(path), f"is that of {option}")
        if other != f"is that of {option}":
            raise UsageError(f"the file of {option} {path} {other}; give it another name")


def _identity_of(path):
    """Equal for two names of one file."""
    try:
        status = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    return status.st_dev, status.st_ino


def _cluster(address):
    """The cluster, connected before the program runs. :raises UsageError: where it cannot be used"""
    from cudasim.recording.cluster import Cluster, ClusterError  # with --dask only

    try:
        return Cluster(address)
    except ClusterError as error:
        raise UsageError(str(error)) from None


def _checks_everything(parsed):
    """Whether every launch is looked at, with all checks: only then nothing was found where there is no finding."""
    return (
        set(_default_checks(parsed)) <= set(options.get("check").split(","))
        and parsed.kernel_name is None
        and parsed.schedule is None
        and not parsed.launch_skip
        and parsed.launch_count is None
    )


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
        if not by and not allowed_comments.allows(each.finding):
            rest.append(each)
    order = {"error": 0, "warning": 1, "note": 2}
    rest.sort(key=lambda each: order[each.finding.severity])
    return rest, used


def _print(found: list[Found], record: Record, limit: int, out: TextIO) -> None:
    for each in found[:limit]:
        print(each.text, end="", file=out)
        key = each.process, each.launch
        if each.launch:
            order = f", order of threads: {_listed(each.schedules)}" if each.schedules else ""
            whose = f"process {each.process} that the program forked" if each.process else "the program"
            print(f"  in launch {each.launch} of {whose}{order}", file=out)
        if each.finding.kind == "data-race":
            _print_outcome(record, key, out)
        if key in record.identities:
            token = schedules.token(each.launch, each.schedules[0], record.identities[key])
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


def _print_outcome(record, key, out):
    """Whether the results depend on the order."""
    outcome = record.outcomes.get(key)
    if outcome is None:
        return
    if outcome.differences:
        schedule, (element, value, own) = outcome.differences[0]
        print(f"  results differ: {element} is {own} under {record.own}, {value} under {schedule}", file=out)
    else:
        print(f"  results are the same under {_listed((*outcome.compared, record.own))}", file=out)


def _counts(record, found, schedule_count):
    severities = [each.finding.severity for each in found]
    return {
        "launches": record.launches,
        "selected": record.selected,
        "kernels": len(record.kernels),
        "schedules": schedule_count,
        "runs": record.runs,
        "errors": severities.count("error"),
        "warnings": severities.count("warning"),
        "notes": severities.count("note"),
    }


def _number_of(count, one):
    """ "1 launch", "2 launches"."""
    many = "launches" if one == "launch" else one + "s"
    return f"{count} {one if count == 1 else many}"


def _summary(counts):
    findings = counts["errors"] + counts["warnings"] + counts["notes"]
    kinds = ", ".join(_number_of(counts[one + "s"], one) for one in ("error", "warning", "note"))
    selected = "" if counts["selected"] == counts["launches"] else f"{counts['selected']} of "
    return (
        f"cudasim check: {selected}{_number_of(counts['launches'], 'launch')} of "
        f"{_number_of(counts['kernels'], 'kernel')} under {_number_of(counts['schedules'], 'schedule')}: "
        f"{_number_of(findings, 'finding')}" + (f" ({kinds})" if findings else "")
    )


@contextlib.contextmanager
def _told(problems, path):
    """Adds a sentence to the problems where the file cannot be written."""
    try:
        yield
    except OSError as error:
        problems.append(f"cannot write {path or 'the standard error output'}: {error.strerror}")


def _write_reports(parsed, files, found, counts, record, folder, problems):
    texts = {
        "json": lambda: check_reports.as_json(found, counts),
        "sarif": lambda: check_reports.as_sarif(found, folder),
        "junit": lambda: check_reports.as_junit(found, record.kernels),
        "gen_suppressions": lambda: "".join(
            suppressions.line_for(each.finding) + "say why\n"
            for each in found
            if each.finding.severity != "note"
        ),
    }
    for name, text in texts.items():
        if files[name]:
            with _told(problems, getattr(parsed, name)):
                files[name].write(text())
    for name, file in files.items():
        if file:
            with _told(problems, getattr(parsed, name)):
                file.close()
