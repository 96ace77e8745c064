"""The command-line program `cudasim`.

cudasim run [options] script.py args…    runs a script with numba.cuda simulated
cudasim check [options] script.py args…  the same with every check, under several schedules
cudasim info [--json]                    versions, simulated devices, real GPUs, options in force
cudasim ir script.py --kernel NAME       a kernel at one stage of its compilation
cudasim debug script.py args…            stops, steps and looks at kernels' threads
cudasim dap                              the same for editors
cudasim record -o FILE script.py args…   runs a script and keeps its kernel launches in a file
cudasim replay FILE                      runs them again and compares
cudasim show FILE                        what is in the file
cudasim compare script.py args…          runs a script and compares its kernel launches with a real GPU
cudasim diff FILE RESULTS                compares recorded launches with what a GPU made of them elsewhere
cudasim cache info|clear                 the compiled kernels that are kept on disk
cudasim toolkit                          the folder that stands for a CUDA toolkit
cudasim env -- command                   runs make or another command that finds cudasim's nvcc
cudasim nvcc [options] files             compiles CUDA C++

`run` also takes a .cu file (cudasim run app.cu [options of nvcc] -- arguments) and an executable.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from typing import TYPE_CHECKING

import cudasim
from cudasim import check_command, compare_commands, kernel_stages, recording_commands, script_runner
from cudasim._option_values import is_switch_value
from cudasim.cuda_cpp import commands as cuda_cpp_commands
from cudasim.debugger_client import arguments as debugger_arguments
from cudasim.options import TABLE, OptionError

if TYPE_CHECKING:
    from typing import Any


def main(arguments: Any = None) -> Any:
    """The program. Returns the exit status: 2 for wrong usage, 1 for errors found, else the script's own."""
    parser = _parser()
    given = sys.argv[1:] if arguments is None else list(arguments)
    after: list[Any] = []
    if given[:1] == ["ir"] and "--" in given:
        at = given.index("--")
        given, after = given[:at], given[at + 1 :]
    if given[:1] in (["run"], ["check"], ["compare"], ["record"], ["debug"]):
        before, rest = _split_at_script(given[1:], switches=("--gpu",) if given[0] == "record" else ())
        if given[0] == "record":
            try:
                before, rest = recording_commands.record_options_first(before, rest)
            except recording_commands.UsageError as error:
                print(f"cudasim record: {error}", file=sys.stderr)
                return 2
        given[1:] = before + rest
    passed_on: list[Any] = []
    if given[:1] and given[0] in cuda_cpp_commands.PASSED_ON and given[1:2] not in (["-h"], ["--help"]):
        given, passed_on = given[:1], given[1:]
    parsed = parser.parse_args(given)
    parsed.script_arguments, parsed.passed_on = after, passed_on
    if not parsed.runs_script and hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")  # names of files need not be UTF-8
    if parsed.command is None:
        parser.print_help()
        return 2

    try:
        status = parsed.command(parsed)
        if not parsed.runs_script:
            sys.stdout.flush()
        return status
    except OptionError as error:
        print(f"cudasim: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        if parsed.runs_script:  # the script's own business, as in Python
            raise
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # what Python flushes at its end goes there
        return 128 + signal.SIGPIPE  # what a shell says of a program that `| head` ended


def _split_at_script(arguments, switches=()):
    """The arguments of `cudasim run`, `record` or `debug`, those before the script and the rest. Options before it that are on or off
    have values: ["--strict", "a.py"] is ["--strict=1"], ["a.py"].

    :param switches: of the command itself, which have none
    """
    toggles = {option.argument for option in TABLE if option.is_switch}
    valued = {option.argument for option in TABLE if not option.is_switch}
    valued |= {
        *check_command.VALUED,
        *compare_commands.VALUED,
        *recording_commands.RECORD_VALUED,
        *debugger_arguments.VALUED,
    }
    result, rest = [], list(arguments)
    while rest and rest[0].startswith("-") and rest[0] not in ("-", "--") and not rest[0].startswith("-m"):
        name = rest.pop(0)
        if name in toggles:
            name += "=" + (rest.pop(0) if rest and is_switch_value(rest[0]) else "1")
        result.append(name)
        if name in valued and name not in switches and rest:
            result.append(rest.pop(0))
    return result, rest


def _parser():
    parser = argparse.ArgumentParser(
        prog="cudasim", description="Runs, checks and debugs CUDA kernels on a machine without a GPU."
    )
    parser.add_argument("--version", action="version", version=f"cudasim {cudasim.__version__}")
    parser.set_defaults(command=None, runs_script=False)
    commands = parser.add_subparsers(title="commands", metavar="command")

    run = commands.add_parser(
        "run",
        help="run a script with numba.cuda simulated",
        description="Runs a script (or -m module) with numba.cuda simulated. The exit status "
        "is the script's; 1 when kernels had errors.",
    )
    script_runner.add_arguments(run)
    run.set_defaults(command=_run, runs_script=True)

    check_command.add_to(commands)
    info = commands.add_parser("info", help="versions, simulated devices, real GPUs, options in force")
    info.add_argument("--json", action="store_true", help="for programs")
    info.set_defaults(command=_info)

    ir = commands.add_parser(
        "ir",
        help="show a kernel at one stage of its compilation",
        usage="cudasim ir script.py --kernel NAME [--stage STAGE] [--arch sm_NN] [-- arguments]",
        description="Runs a script until the kernel has been compiled and prints the kernel at "
        "one stage. What the script prints goes to standard error.",
    )
    ir.add_argument("script", help="the script that launches the kernel")
    ir.add_argument("--kernel", required=True, metavar="NAME", help="the kernel's Python name")
    ir.add_argument(
        "--stage",
        choices=kernel_stages.STAGES,
        default="nvvm",
        help="typed: after type inference; nvvm: the image; instrumented: with checks, lowered; "
        "ptx: for a GPU (default: nvvm)",
    )
    ir.add_argument("--arch", default=None, metavar="sm_NN", help="architecture for --stage ptx")
    ir.set_defaults(command=_ir)

    debugger_arguments.add_to(commands)
    debugger_arguments.add_adapter_to(commands)
    recording_commands.add_to(commands)
    compare_commands.add_to(commands)
    cuda_cpp_commands.add_to(commands)
    cache = commands.add_parser("cache", help="the compiled kernels that are kept on disk")
    actions = cache.add_subparsers(title="actions", metavar="action", required=True)
    shown = actions.add_parser("info", help="where they are, how many, how many look-ups found theirs")
    shown.add_argument("--json", action="store_true", help="for programs")
    shown.set_defaults(command=_cache_info)
    actions.add_parser("clear", help="remove them all").set_defaults(command=_cache_clear)
    return parser


def _run(parsed):
    script = script_runner.taken_from(parsed)
    if not script:
        print("cudasim run: no script given; write: cudasim run script.py [arguments]", file=sys.stderr)
        return 2
    if cuda_cpp_commands.takes(script):
        return cuda_cpp_commands.run(script)
    status = script_runner.run(script)
    return status or _status_of_findings()


def _status_of_findings():
    """1 when a kernel had errors that the script caught."""
    reporting = sys.modules.get("cudasim.reports.reporting")
    errors = reporting.error_count if reporting is not None else 0
    if not errors:
        return 0
    kinds = "1 error" if errors == 1 else f"{errors} errors"
    print(f"cudasim: the script ended normally, but kernels had {kinds}; exit status 1", file=sys.stderr)
    return 1


def _info(parsed):
    from cudasim import info  # it loads the engine, which other commands do without

    print(info.as_json() if parsed.json else info.as_text(), end="")
    return 0


def _ir(parsed):
    try:
        text = kernel_stages.of_script(
            [parsed.script, *parsed.script_arguments], parsed.kernel, parsed.stage, parsed.arch
        )
    except kernel_stages.KernelNotFoundError as error:
        print(f"cudasim ir: {error}", file=sys.stderr)
        return 1
    print(text, end="" if text.endswith("\n") else "\n")
    return 0


def _cache_info(parsed):
    from cudasim import cache  # it loads the engine, which other commands do without

    state = cache.info()
    if parsed.json:
        print(json.dumps(state, indent=2))
    else:
        for name, text in cache.rows(state):
            print(f"{name:<17} {text}")
    return 0


def _cache_clear(parsed):
    from cudasim import cache  # it loads the engine, which other commands do without

    before = cache.clear()
    if before["problem"]:
        print(f"cudasim cache clear: {before['problem']}", file=sys.stderr)
        return 1
    print(f"removed {before['removed']} compiled kernels, {before['freed']} bytes, from {before['folder']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
