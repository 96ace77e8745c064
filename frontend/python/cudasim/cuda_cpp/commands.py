"""`cudasim toolkit`, `cudasim env`, `cudasim nvcc`; and `cudasim run` for .cu files and executables."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from cudasim import native_programs, options
from cudasim.cuda_cpp import builds, executables, toolkit
from cudasim.reports import supervised_program

if TYPE_CHECKING:
    import argparse


def add_to(commands: Any) -> None:
    """Adds the commands to the parser of `cudasim`."""
    shown = commands.add_parser(
        "toolkit",
        help="the folder that stands for a CUDA toolkit",
        description="Prints the folder with bin/nvcc, include and lib64 that build systems take for a CUDA toolkit.",
    )
    shown.set_defaults(command=_toolkit)
    within = commands.add_parser(
        "env",
        help="run a command, such as make, that finds cudasim's nvcc",
        usage="cudasim env [-- command [arguments]]",
        description="Runs a command in which PATH, CUDA_HOME, CUDA_PATH, CUDACXX and CUDAToolkit_ROOT name cudasim's toolkit, for "
        'makefiles and CMake. Without a command it prints the variables for a shell: eval "$(cudasim env)".',
    )
    within.set_defaults(command=_env)
    compiler = commands.add_parser(
        "nvcc",
        help="compile CUDA C++; see cudasim nvcc --help",
        usage="cudasim nvcc [options] files",
        description="Compiles CUDA C++ for the simulator. Options are those of NVIDIA's nvcc.",
        add_help=False,
    )
    compiler.set_defaults(command=_nvcc)


#: What a program is told by its environment (launch_runner.cpp and memory_findings.cpp in
#: frontend/cuda_cpp/runtime): the files of its journal and its records, how many launches of a kernel and
#: configuration it records, whether records hold memory after the launch, and whether memory that nobody
#: writes is told.
JOURNAL, RECORD = "CUDASIM_PROGRAM_JOURNAL", "CUDASIM_PROGRAM_RECORD"
RECORD_MOST, RECORD_AFTER = "CUDASIM_PROGRAM_RECORD_MOST", "CUDASIM_PROGRAM_RECORD_AFTER"
TRACK_UNUSED = "CUDASIM_PROGRAM_TRACK_UNUSED"

#: The commands whose arguments are another program's.
PASSED_ON = ("env", "nvcc")


def _toolkit(parsed: argparse.Namespace) -> int:
    print(toolkit.folder())
    return 0


def _env(parsed: argparse.Namespace) -> int:
    command = parsed.passed_on[1:] if parsed.passed_on[:1] == ["--"] else parsed.passed_on
    values = toolkit.variables(os.environ)
    if not command:
        for name, value in values.items():
            print(f"export {name}={shlex.quote(value)}")
        return 0
    _become(command[0], command, {**os.environ, **values})


def _nvcc(parsed: argparse.Namespace) -> int:
    _become(toolkit.nvcc(), ["nvcc", *parsed.passed_on], os.environ)


def takes(script: Sequence[str]) -> bool:
    """Whether what `cudasim run` is given is a program in CUDA C++: a source that nvcc compiles, or an executable."""
    return bool(script) and (builds.is_source(script[0]) or native_programs.is_program(script[0]))


class NoProgramError(Exception):
    """There is nothing to run. The message says why; it is empty where the compiler has said it."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def run(arguments: Sequence[str]) -> int:
    """Becomes the program: [executable, arguments…], or [source.cu, options of nvcc…, "--", arguments…].

    :returns: the exit status, where there is no program
    """
    try:
        program, rest = program_of(arguments)
    except NoProgramError as error:
        if str(error):
            builds.note(str(error))
        return error.status
    _become(program, [_name_of(arguments), *rest], environment())


def status_of(arguments: Sequence[str], program: str, rest: Sequence[str], variables: dict[str, str]) -> int:
    """Runs the program to its end in a process of its own; its exit status, or the negative number of the signal that ended it.

    :param arguments: as for run()
    :param program: with `rest`, what program_of() returned
    :param variables: added to its environment
    """
    child = supervised_program.begin()
    if child is None:
        _become(program, [_name_of(arguments), *rest], {**environment(), **variables})
    return child.wait()


def _name_of(arguments):
    """What the program is told as its own name."""
    return os.path.splitext(arguments[0])[0] if builds.is_source(arguments[0]) else arguments[0]


def program_of(arguments: Sequence[str]) -> tuple[str, list[str]]:
    """The executable, compiled where it is a source, and its arguments. :raises NoProgramError:"""
    if not builds.is_source(arguments[0]):
        if executables.has_a_runtime_of_its_own(arguments[0]):
            raise NoProgramError(
                f"{arguments[0]} has NVIDIA's runtime linked in and would not use the simulator: "
                "link it again with `nvcc -cudart shared`, or with cudasim's nvcc",
                2,
            )
        return os.path.abspath(arguments[0]), list(arguments[1:])
    at = arguments.index("--") if "--" in arguments else len(arguments)
    try:
        return builds.built(arguments[:at]), list(arguments[at + 1 :])
    except builds.BuildError as error:
        raise NoProgramError(str(error), error.status) from None
    except toolkit.NoToolkitError as error:
        raise NoProgramError(str(error), 2) from None


def environment() -> dict[str, str]:
    """That of a program in CUDA C++: it finds libcudart.so, and the options that are in force are its own."""
    given = {
        option.variable: _text(options.get(option.name))
        for option in options.TABLE
        if options.is_given(option.name)
    }
    libraries = {"LD_LIBRARY_PATH": toolkit.variables(os.environ)["LD_LIBRARY_PATH"]}
    return {**os.environ, **given, **libraries}


def _text(value):
    if isinstance(value, bool):
        return str(int(value))
    return "" if value is None else str(value)


def _become(path: str, arguments: Sequence[str], variables: Any) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvpe(path, list(arguments), dict(variables))
    except OSError as error:
        builds.note(f"{path}: {error.strerror}")
        sys.stderr.flush()
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)
