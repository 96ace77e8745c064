"""Runs a user's script or module as __main__ with the switch on, as `python script.py` would run it."""

from __future__ import annotations

import os
import runpy
import sys
import types
from typing import TYPE_CHECKING

from cudasim import options, switch
from cudasim._option_values import shown
from cudasim.reports import schedules
from cudasim.reports.tracebacks import without_package_frames

if TYPE_CHECKING:
    import argparse
    from typing import Any


class ScriptError(Exception):
    """The script cannot be run at all."""


def add_arguments(parser: argparse.ArgumentParser, without: tuple[str, ...] = ()) -> None:
    """Adds every option, and a script or `-m module` with its arguments.

    :param without: names of options that the command has another use for
    """
    from argparse import REMAINDER  # `python -m cudasim script.py` needs no argparse

    options.add_arguments(parser, without)
    parser.add_argument(
        "-m",
        dest="module",
        nargs=REMAINDER,
        metavar="module [arguments]",
        help="run a module instead of a script",
    )
    parser.add_argument("script", nargs=REMAINDER, metavar="script.py [arguments]")


def count(text: str, most: int | None = None) -> int:
    """The number that an argument of a command is: a `type` for argparse.

    :param most: the largest that is valid; None: the largest that the machine has
    :raises argparse.ArgumentTypeError: where it is none, negative, or too large
    """
    from argparse import ArgumentTypeError  # as in add_arguments()

    highest = most if most is not None else 2**63 - 1
    if not (text.isascii() and text.isdecimal()) or len(text) > 4000 or int(text) > highest:
        numbers = "from 0 on" if most is None else f"from 0 to {most}"
        raise ArgumentTypeError(f"{shown(text)} is not valid; it takes a number {numbers}")
    return int(text)


def schedule_count(text: str) -> int:
    """How many schedules an argument asks for: a `type` for argparse, as count()."""
    return count(text, schedules.MOST)


def require(arguments: list[str]) -> None:
    """Turns the switch on and looks whether there is a script, for commands that do something else before run().

    :raises ScriptError: when the script cannot be read
    :raises SwitchError: when the switch cannot be turned on
    """
    if arguments[0] != "-m":
        path = arguments[0]
        try:
            # A pipe can be opened once only.
            if not os.path.exists(path) or os.path.isfile(path) or os.path.isdir(path):
                open(path, "rb").close()
        except OSError as error:
            raise _unreadable(path, error) from None
    switch.enable()


def taken_from(parsed: argparse.Namespace) -> list[str]:
    """What run() takes of such arguments, empty where there is no script. The options are in force.

    :raises options.OptionError: also for wrong values in the environment, before the script starts
    """
    options.take_arguments(parsed)
    script = given_in(parsed)
    if script:
        for name in options.BY_NAME:
            options.get(name)
    return script


def given_in(parsed: argparse.Namespace) -> list[str]:
    """The same, without a look at the options."""
    if parsed.module:
        return ["-m", *parsed.module]
    return parsed.script[1:] if parsed.script[:1] == ["--"] else parsed.script


def run(arguments: Any, enable: bool = True) -> Any:
    """Runs [script, arguments…] or ["-m", module, arguments…] to its end; returns the exit status.

    What the script raises is shown as Python shows it, without frames of this package.
    """
    try:
        if enable:
            switch.enable()
        execute(arguments)
    except SystemExit as exit_request:
        return _status(exit_request.code)
    except (switch.SwitchError, ScriptError) as error:
        print(f"cudasim: {error}", file=sys.stderr)
        return 2
    except BaseException as error:  # noqa: B902 - shown as the interpreter shows what nobody catches
        _show(error)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def execute(arguments: Any) -> None:
    """Runs the script or module in this process; its exceptions pass through."""
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        sys.path[0:0] = [os.getcwd()] if sys.path[:1] not in ([""], [os.getcwd()]) else []
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return
    path = arguments[0]
    sys.argv = list(arguments)
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        raise _unreadable(path, error) from None
    # Python puts the script's folder first, where `-m cudasim` or the program have put the current one.
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    main = types.ModuleType("__main__")
    main.__file__ = path
    vars(main)["__builtins__"] = __builtins__
    sys.modules["__main__"] = main
    exec(compile(source, path, "exec"), main.__dict__)  # noqa: S102 - that is what running a script is


def _unreadable(path, error):
    return ScriptError(f"cannot read the script {path}: {error.strerror}")


def _status(code):
    if code is None:
        return 0
    if isinstance(code, int):
        return code
    print(code, file=sys.stderr)
    return 1


def _show(error):
    traceback = _without_launcher(error.__traceback__)
    error.__traceback__ = traceback
    sys.excepthook(type(error), error, traceback)


def _without_launcher(traceback):
    """Drops runpy's and our own frames in front of the script's."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename in (
        __file__,
        runpy.__file__,
        "<frozen runpy>",
    ):
        traceback = traceback.tb_next
    return without_package_frames(traceback)
