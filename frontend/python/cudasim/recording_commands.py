"""`cudasim record`, `cudasim replay` and `cudasim show`: their arguments and what they print."""

from __future__ import annotations

import argparse
import glob
import os
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from cudasim import errors, options, script_runner
from cudasim.cuda_cpp import commands as cuda_cpp_commands

if TYPE_CHECKING:
    from cudasim.recording.shares import ReplayedLaunch

#: Options of `cudasim replay`.
_LAUNCH_OPTIONS = [option for option in options.TABLE if option.of_a_launch]
#: What arguments that choose launches take.
LAUNCHES = "a launch by its number, as 3, or several: 3..5, 3.., ..5"
#: Options of `cudasim record` itself that have a value, and the one that has none.
RECORD_VALUED = {
    "-o": "--output", "--output": "--output", "--kernel": "--kernel", "--launch": "--launch", "--arch": "--arch",
}  # fmt: skip
_RECORD_SWITCHES = {"--after": "--after", "--gpu": "--gpu", "--real": "--real"}


class UsageError(ValueError):
    """Arguments that cannot be understood. The message says which."""


def record_options_first(options: list[str], rest: list[str]) -> tuple[list[str], list[str]]:
    """The arguments of `cudasim record`, its own options and the rest, where these may stand behind the script.

    Where no -o stands before the script, `-o`, `--kernel`, `--launch` and `--after` directly behind it are the program's. They end at the
    first other argument or at `--`, which is dropped. Where -o stands before the script, all that is behind it is the script's.

    :param options: the arguments before the script, with their values
    :param rest: the script, or -m and a module, and what is behind it
    :raises UsageError: where one option is given twice
    """
    before = {name.partition("=")[0] for name in options}
    if not rest or rest[0] == "--" or any(name.startswith("-o") or name == "--output" for name in before):
        return options, rest
    script, behind = (rest[:2], rest[2:]) if rest[0] == "-m" else (rest[:1], rest[1:])
    known = RECORD_VALUED | _RECORD_SWITCHES
    given = {known[name] for name in before if name in known}
    taken: list[str] = []
    while behind:
        name, equals, _ = behind[0].partition("=")
        if name not in known or (equals and not (name in RECORD_VALUED and name.startswith("--"))):
            break
        if known[name] in given:
            raise UsageError(
                f"{name} is given twice; arguments of the script that look like options of `cudasim record` stand behind --"
            )
        count = 2 if name in RECORD_VALUED and not equals else 1
        if len(behind) < count:
            raise UsageError(f"{name} has no value")
        given.add(known[name])
        taken += behind[:count]
        behind = behind[count:]
    if taken and behind[:1] == ["--"]:
        behind = behind[1:]
    return options + taken, script + behind


def add_to(commands: Any) -> None:
    """Adds the three to the program's commands.

    :param commands: what ArgumentParser.add_subparsers() gave
    """
    record = commands.add_parser(
        "record",
        help="run a script and keep its kernel launches in a file",
        usage="cudasim record [options] -o run.cudasim script.py [arguments]\n"
        "       cudasim record [options] script.py -o run.cudasim [--kernel NAME] [--launch N] [--after] [[--] arguments]",
        description="Runs a script (or -m module) with numba.cuda simulated and writes its kernel launches to a file: "
        "code, arguments, memory, options, and what came of them. `cudasim replay` runs them again. With -o before the "
        "script, everything behind the script is the script's. Without, -o, --kernel, --launch and --after may stand directly "
        "behind it; the script's arguments begin with the first other one, or behind --. Options of the simulator stand before "
        "the script.",
        allow_abbrev=False,  # record_options_first() knows whole names
    )
    record.add_argument("-o", "--output", metavar="FILE", help="the file, as run.cudasim")
    record.add_argument(
        "--kernel", metavar="NAME", help="only launches of this kernel, by its name in the source"
    )
    record.add_argument(
        "--launch", metavar="N", help=f"only {LAUNCHES}; they count from 1, those of --kernel if given"
    )
    record.add_argument(
        "--after", action="store_true", help="keep memory after each launch, too, not only its hash"
    )
    record.add_argument(
        "--gpu",
        action="store_true",
        help="keep what cudasim-gpu-run needs to repeat the launches on a real GPU: the kernels as PTX, and memory after each launch "
        "(docs/gpu.md)",
    )
    record.add_argument(
        "--arch",
        metavar="sm_NN",
        help="with --gpu or --real: the oldest GPU that is to run them (sm_75); kernels whose instructions are newer are for a newer one",
    )
    record.add_argument(
        "--real",
        action="store_true",
        help="run the script on this machine's GPU, with the real numba.cuda, and keep what the GPU computed, too, in a second file "
        "(run.gpu.cudasim for run.cudasim), which cudasim diff compares with the launches (docs/recording.md)",
    )
    script_runner.add_arguments(record, without=("gpu",))
    record.set_defaults(command=_record, runs_script=True)

    replay = commands.add_parser(
        "replay",
        help="run recorded launches again and compare",
        description="Runs recorded launches again, each on memory as it was, and says what differs from the record. Options "
        "change how they run. The exit status is 0 when everything is the same to the bit, 1 when something differs, 2 when a "
        "launch could not be run.",
    )
    replay.add_argument("file", help="what `cudasim record` wrote")
    replay.add_argument("--launch", metavar="N", help=LAUNCHES)
    replay.add_argument(
        "--trust", action="store_true", help="run Python code of the record (kernels of Python mode)"
    )
    replay.add_argument(
        "--pdb", action="store_true", help="stop in the first line of a kernel of Python mode, in pdb"
    )
    replay.add_argument(
        "--schedules", type=script_runner.schedule_count, default=0, metavar="N",
        help="run each launch under N orders of threads instead: in reverse, in lockstep, then under other policies",
    )  # fmt: skip
    replay.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="with --schedules: run them on the workers of a Dask cluster; the scheduler's address",
    )
    for option in _LAUNCH_OPTIONS:
        replay.add_argument(option.argument, dest=option.name, metavar="VALUE", default=None, help=f"{option.help} ({option.accepts})".replace("%", "%%"),
                            **({"nargs": "?", "const": "1"} if option.is_switch else {}))  # fmt: skip
    replay.set_defaults(command=_replay)

    show = commands.add_parser("show", help="what is in a file of recorded launches")
    show.add_argument("file", help="what `cudasim record` wrote")
    show.add_argument("--launch", metavar="N", help=LAUNCHES)
    show.add_argument("--sources", action="store_true", help="the sources of the kernels, too")
    show.add_argument("--json", action="store_true", help="for programs")
    show.set_defaults(command=_show)


def fail(command: str, message: object) -> int:
    """Says what is wrong with the arguments of a command; returns its exit status."""
    print(f"cudasim {command}: {message}", file=sys.stderr)
    return 2


def _architecture(parsed: argparse.Namespace) -> str | None:
    """The oldest GPU that records are for; None where they are for none. :raises ValueError: for --arch without --gpu"""
    if parsed.arch is not None and not (parsed.gpu or parsed.real):
        raise ValueError("--arch says for which GPUs --gpu and --real record, and there is neither")
    return (parsed.arch or "sm_75") if parsed.gpu or parsed.real else None


def _record(parsed: argparse.Namespace) -> int:
    from cudasim.recording.recorder import RecordFile, why_nothing  # other commands need no engine

    script = script_runner.taken_from(parsed)
    if not script:
        return fail("record", "no script given; write: cudasim record -o run.cudasim script.py [arguments]")
    if parsed.output is None:
        return fail("record", "no file given; write -o FILE before the script or directly behind it")
    if parsed.real and cuda_cpp_commands.takes(script):
        return fail("record", "--real is for scripts of numba.cuda; for a program in CUDA C++ write --gpu")
    if parsed.real:
        return _record_real(parsed, script)
    try:
        file = RecordFile(parsed.output, parsed.kernel, parsed.launch, parsed.after, _architecture(parsed))
        file.open()
    except ValueError as error:
        return fail("record", error)
    began = os.stat(file.path).st_mtime
    if cuda_cpp_commands.takes(script):
        from cudasim.cuda_cpp import recorded_program

        try:
            status = recorded_program.run(script, file.recorder, parsed.after or parsed.gpu)
        except cuda_cpp_commands.NoProgramError as error:
            return fail("record", error) if str(error) else error.status
    else:
        with file.in_force():
            status = script_runner.run(script)
    recorder, refused = file.recorder, file.refused
    try:
        file.close()
    except errors.RecordError as error:
        return fail("record", error)
    _summary(
        parsed, refused, recorder.recorded, recorder.seen, parsed.output, why_nothing(parsed.kernel, recorder)
    )
    others = glob.glob(_escaped(file.of_process("*")))
    for other in sorted(path for path in others if os.stat(path).st_mtime >= began):
        print(
            f"cudasim record: a process that the script started left {os.path.relpath(other)}",
            file=sys.stderr,
        )
    if recorder.seen and not recorder.recorded:
        return status or 1
    return status


def _summary(
    parsed: argparse.Namespace,
    refused: list[str],
    recorded: int,
    seen: int,
    where: str,
    why_nothing: str | None = None,
) -> None:
    """What was recorded, on standard error.

    :param refused: a sentence for each launch that could not be
    :param where: the files
    """
    for sentence in refused[:10]:
        print(f"cudasim record: not recorded: {sentence}", file=sys.stderr)
    if len(refused) > 10:
        print(f"cudasim record: and {len(refused) - 10} more were not recorded", file=sys.stderr)
    what = "launches" if parsed.kernel is None else f"launches of {parsed.kernel}"
    print(f"cudasim record: {recorded} of {seen} {what} are in {where}", file=sys.stderr)
    if why_nothing is not None:
        print(f"cudasim record: {why_nothing}", file=sys.stderr)


def _record_real(parsed: argparse.Namespace, script: list[str]) -> int:
    """cudasim record --real"""
    from cudasim import switch  # other commands need no engine
    from cudasim.recording.real_cuda import NumbaCuda, RealCudaError
    from cudasim.recording.real_recorder import RealRecordFile
    from cudasim.recording.recorder import Selection, require_architecture

    if parsed.gpu:
        return fail(
            "record",
            "--real records what a GPU computes here, --gpu what one is to compute elsewhere: leave one out",
        )
    if options.get("mode") == "python":
        return fail("record", "--real compares with compiled kernels; leave --mode python out")
    if switch.is_on():
        return fail(
            "record",
            "--real needs the real numba.cuda, and ENABLE_CUDASIM or NUMBA_ENABLE_CUDASIM replaces it; unset them",
        )
    try:
        selection = Selection(parsed.kernel, parsed.launch)
        architecture = _architecture(parsed) or ""
        require_architecture(architecture)
        real = NumbaCuda()
        file = RealRecordFile(parsed.output, selection, architecture)
        file.open()
    except (ValueError, RealCudaError) as error:
        return fail("record", error)
    with file.in_force(), real.launches_go_to(file.take):
        status = script_runner.run(script, enable=False)
    try:
        file.close()
    except errors.RecordError as error:
        return fail("record", error)
    results = os.path.join(os.path.dirname(parsed.output), os.path.basename(file.result_path))
    _summary(
        parsed,
        file.refused,
        file.recorded,
        file.seen,
        f"{parsed.output}, what the GPU made of them in {results}",
    )
    return status or (1 if file.seen and not file.recorded else 0)


def _escaped(pattern: str) -> str:
    """The pattern with the last asterisk as the only one."""
    before, _, after = pattern.rpartition("*")
    return glob.escape(before) + "[0-9]*" + glob.escape(after)


def _opened(parsed: argparse.Namespace) -> Any:
    """(Reader, positions of the launches that are asked for) :raises ValueError: where there are none"""
    from cudasim.recording.recorder import Selection  # other commands need no engine
    from cudasim.recording.replay import Reader

    selection = Selection(None, parsed.launch)
    reader = Reader(parsed.file)
    if parsed.launch is None:
        return reader, list(range(len(reader)))
    positions = reader.numbered(selection.first, selection.last)
    if not positions:
        known = ", ".join(str(reader.read(k, False).number) for k in range(min(len(reader), 20)))
        raise ValueError(f"{parsed.file} has no launch {parsed.launch}; it has: {known or 'none'}")
    return reader, positions


def _show(parsed: argparse.Namespace) -> int:
    from cudasim.recording import show  # other commands need no engine

    try:
        reader, positions = _opened(parsed)
        text = (
            show.as_json(reader, positions)
            if parsed.json
            else show.as_text(reader, positions, parsed.sources)
        )
    except ValueError as error:
        return fail("show", error)
    except (KeyError, TypeError, IndexError, AttributeError) as error:  # in what the record says of findings
        return fail("show", f"a launch in {parsed.file} is malformed: {error!r}")
    print(text, end="")
    return 0


def _replay(parsed: argparse.Namespace) -> int:
    from cudasim.recording import replay  # other commands need no engine
    from cudasim.recording.under_schedules import summary_of

    try:
        reader, positions = _opened(parsed)
        changed = _changed_options(parsed)
    except ValueError as error:
        return fail("replay", error)
    if parsed.dask is not None and parsed.schedules <= 0:
        return fail("replay", "--dask needs --schedules N: one launch as it was recorded runs here")
    if not reader.finished:
        print(f"cudasim replay: the recording of {parsed.file} was not finished", file=sys.stderr)
    if parsed.schedules > 0:
        return _replay_under_schedules(parsed, reader, positions, changed)
    differing = not_run = 0
    debugger = _in_pdb if parsed.pdb else None
    for position in positions:
        try:
            record = reader.read(position)
            result = replay.replay(record, changed, parsed.trust, debugger)
        except replay.NotTrusted as error:
            not_run = fail("replay", error)
            continue
        except (errors.RecordError, errors.CudaAPIError, ValueError) as error:
            return fail("replay", error)
        if result.exception is not None:
            print(replay.text_of(result.exception), end="", file=sys.stderr)
        sys.stdout.flush()
        differing += bool(result.differences)
        print("\n".join(_verdict(record, summary_of(result), changed)), flush=True)
        if isinstance(result.exception, KeyboardInterrupt):
            return 130
        del result
    if not positions:
        print(f"{parsed.file} has no launches")
    return not_run or (1 if differing else 0)


def _replay_under_schedules(parsed, reader, positions, changed):
    """The first schedule that shows each kind of difference, and how many do. The exit status as _replay()'s."""
    from cudasim.recording.cluster import Cluster, ClusterError  # only with --schedules
    from cudasim.recording.shares import Replayed

    status = 0
    wanted = Replayed(changed, parsed.trust)
    try:
        with Cluster(parsed.dask) if parsed.dask is not None else nullcontext() as cluster:
            for position in positions:
                record = reader.read(position)
                status = max(status, _replay_one(record, parsed.schedules, wanted, cluster))
    except ClusterError as error:
        return fail("replay", error)
    except KeyboardInterrupt:
        return 130
    return status


def _replay_one(record, count, wanted, cluster):
    from cudasim.recording import recorder, under_schedules  # other commands need no engine
    from cudasim.reports import schedules

    chosen = schedules.first(count, "")
    if cluster is None:
        results = map(under_schedules.RecordedLaunch(record, wanted).under, chosen)
    else:
        results = iter(cluster.run(recorder.file_of(record), [each.name for each in chosen], wanted))
    status = differing = 0
    shown: set[tuple[str, ...]] = set()
    for schedule, (name, result, how) in zip(chosen, results):
        if result is None:
            status = fail("replay", f"{record.headline()}: the launch under {name} {how}")
            continue
        if result.refused:
            return fail("replay", result.refused)
        if not result.differences:
            continue
        differing += 1
        what = tuple(sorted(str(difference["what"]) for difference in result.differences))
        if what not in shown:
            shown.add(what)
            print("\n".join(_verdict(record, result, schedule.options)), flush=True)
    print(f"{record.headline()}: {differing} of {count} schedules differ from the record", flush=True)
    return max(status, int(differing > 0))


def _changed_options(parsed: argparse.Namespace) -> dict[str, Any]:
    changed = {}
    for option in _LAUNCH_OPTIONS:
        text = getattr(parsed, option.name)
        if text is None:
            continue
        try:
            changed[option.name] = option.parse(text)
        except (ValueError, TypeError, OverflowError):
            raise ValueError(f"{option.argument} is {text!r}, but has to be {option.accepts}") from None
    return changed


def _verdict(record: Any, result: ReplayedLaunch, changed: dict[str, Any]) -> list[str]:
    from cudasim.recording.replay import findings_of  # other commands need no engine

    moved = "" if result.same_addresses else ", at other addresses, because those of the record are taken"
    if not result.differences:
        return [f"{record.headline()}: reproduced to the bit{moved}"]
    options_text = ", ".join(f"{name}={value}" for name, value in changed.items())
    lines = [
        f"{record.headline()}: differs from the record{' with ' + options_text if changed else ''}{moved}"
    ]
    for difference in result.differences:
        lines.append(f"  {difference['text']}")
        if difference["what"] == "findings":
            lines += [f"    recorded: {each.text}" for each in findings_of(record)] or ["    recorded: none"]
            lines += [f"    now: {text}" for text in result.findings] or ["    now: no errors"]
    return lines


def _in_pdb(function: Any, launch: Any) -> None:
    """Calls the launch in pdb, which stops where the kernel begins."""
    import dis  # only with --pdb
    import pdb

    debugger = pdb.Pdb(nosigint=True)
    first = min(
        line
        for _, line in dis.findlinestarts(function.__code__)
        if line is not None and line > function.__code__.co_firstlineno
    )
    debugger.set_break(function.__code__.co_filename, first, temporary=True)
    debugger.reset()
    debugger.botframe = sys._getframe()
    debugger._wait_for_mainpyfile = False
    debugger.stopframe, debugger.stoplineno = debugger.botframe, -1
    sys.settrace(debugger.trace_dispatch)
    try:
        launch()
    finally:
        sys.settrace(None)
