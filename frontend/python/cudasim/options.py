"""Every option of cudasim, in one table. The table is the source of the environment variables, the arguments
of `cudasim run`, what `cudasim info` shows, and docs/options.md (`python -m cudasim.options`).

    from cudasim import options
    options.get("workers")                       the value in force
    options.set(workers=1)                       from now on
    with options.override(raise_float_division=True): ...

A value comes from, strongest first: options.set/override, the marker of a test (cudasim.pytest_plugin), the command line,
the environment, `[tool.cudasim]` in pyproject.toml, the default.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from cudasim import _option_sources
from cudasim._option_values import (
    NotValid,
    choice,
    did_you_mean,
    path,
    path_from,
    seconds,
    shown,
    size,
    switch,
    whole_number,
)
from cudasim.device_profiles import DEVICES, entries, entries_from
from cudasim.reports import tracebacks

_MOST_BYTES = 64 << 40


class Option(NamedTuple):
    """One row of the table."""

    name: str  #: as in Python: options.get(name)
    parse: Callable[[Any], Any]  #: text or value → value; ValueError says what is accepted
    default: Any
    default_from: str  #: where the default comes from
    accepts: str  #: the values, for people
    help: str
    #: (text in a file, the file's folder) → text: where paths begin in that folder
    from_folder: Callable[[str, str], str] | None = None

    @property
    def variable(self) -> str:
        """The environment variable."""
        return "CUDASIM_" + self.name.upper()

    @property
    def is_switch(self) -> bool:
        """Whether it is on or off: `--strict` alone says on."""
        return self.parse is switch

    @property
    def argument(self) -> str:
        """The argument of `cudasim run`."""
        return "--" + self.name.replace("_", "-")


TABLE = (
    Option(
        "mode",
        choice("auto", "native", "python"),
        "auto",
        "design.md section 7",
        "auto, native, python",
        "How kernels run: compiled where they can be, else in CPython; compiled or not at all; all in CPython.",
    ),
    Option(
        "workers",
        whole_number(0, 1024),
        0,
        "rule E7: all cores",
        "a number from 0 to 1024; 0 is one per core",
        "Host threads that blocks are spread over; more than four per core (or eight) have no use and are not started. Schedules are repeatable with 1.",
    ),
    Option(
        "policy",
        choice("forward", "reverse", "random"),
        "forward",
        "rule E6",
        "forward, reverse, random",
        "The order in which threads and blocks get their turn.",
    ),
    Option(
        "seed",
        whole_number(0, 2**64 - 1),
        0,
        "any will do",
        "a number from 0 to 2^64 - 1",
        "With policy random: another seed, another order; the same seed and one worker, the same run.",
    ),
    Option(
        "carrier",
        choice("automatic", "fiber"),
        "automatic",
        "rule E1",
        "automatic, fiber",
        "What carries a simulated thread: coroutines or a loop over threads where they can, or always a fiber each.",
    ),
    Option(
        "time_limit",
        seconds(1e9),
        0.0,
        "no limit, as on a GPU without a display",
        "seconds, at most 1000000000; 0 is none",
        "A launch that runs longer is stopped and reported with where its threads were.",
    ),
    Option(
        "strict",
        switch,
        False,
        "rule C4: hardware lets early exits pass",
        "1, 0",
        "Threads that end while others of their block wait at a barrier are an error, not a warning.",
    ),
    Option(
        "progress",
        switch,
        True,
        "two seconds are longer than one waits without wondering",
        "1, 0",
        "A launch of more than two seconds shows how far it is: a bar on a terminal and in a notebook, else a line a "
        "minute on the standard error output.",
    ),
    Option(
        "max_faults",
        whole_number(1, 10**9),
        1000,
        "simulator/execution/device.h",
        "a number from 1 to 1000000000",
        "A launch ends when this many threads have faulted.",
    ),
    Option(
        "raise_float_division",
        switch,
        False,
        "rule C3: IEEE, as hardware does",
        "1, 0",
        "Float division by zero raises ZeroDivisionError, as debug=True makes a kernel do.",
    ),
    Option(
        "wrap",
        choice("allow", "warn", "error"),
        "allow",
        "Python's and Numba's rule",
        "allow, warn, error",
        "Negative indices of arrays, which count from the end: v[i] = u[i - 1] takes the last element where i is 0. warn "
        "reports each line that has them with the threads, error ends the thread. Literals such as x[-1] are meant and never "
        "reported. debug=True does not change it.",
    ),
    Option(
        "deferred",
        switch,
        False,
        "rule V7: a fault is raised at the launch line",
        "1, 0",
        "Launches, copies and callbacks in streams wait, as they may on a GPU, until the host synchronises; then their "
        "faults are raised, naming the line of the launch.",
    ),
    Option(
        "memory_checks",
        switch,
        True,
        "rule C1",
        "1, 0",
        "Check every access to memory that an index check has not covered already.",
    ),
    Option(
        "fma",
        switch,
        False,
        "rule V5: results the same on every host",
        "1, 0",
        "Fuse multiplications and additions where the kernel's code allows it. PTX is fused unless this is 0, as the GPU's "
        "compiler does.",
    ),
    Option(
        "device",
        entries,
        "h100",
        "the GPU of most data centres",
        ", ".join(DEVICES) + ", the path of a file; several separated by commas",
        "The devices that are simulated, in order of their numbers: name, limits, compute capability. A file, TOML or JSON, "
        "describes another one (docs/devices.md).",
        entries_from,
    ),
    Option(
        "device_memory",
        size(_MOST_BYTES),
        0,
        "the device profile's, at most what the host can give",
        "bytes, or with K, M, G, T, at most 64T; 0 is the profile's",
        "Memory of each simulated device.",
    ),
    Option(
        "cache",
        switch,
        True,
        "compiling takes 10 times as long as loading",
        "1, 0",
        "Keep compiled kernels on disk for the next run of the program.",
    ),
    Option(
        "cache_dir",
        path,
        "",
        "$XDG_CACHE_HOME/cudasim, else ~/.cache/cudasim",
        "a folder",
        "Where compiled kernels are kept. It must belong to you and be writable by nobody else.",
        path_from,
    ),
    Option(
        "cache_size",
        size(_MOST_BYTES),
        256 << 20,
        "some ten thousand kernels",
        "bytes, or with K, M, G, T, at most 64T",
        "The most that compiled kernels may take on disk; those not used for longest go first.",
    ),
    Option(
        "keep_images",
        path,
        "",
        "none",
        "a folder",
        "Every kernel image that is compiled is also written there: what a report of a bug needs.",
        path_from,
    ),
    Option(
        "report_as_simulator",
        switch,
        True,
        "what numba.config says under Numba's simulator",
        "1, 0",
        "What numba.config.ENABLE_CUDASIM reads while the switch is on. Set it to 0 for test suites that "
        "relax their assertions on simulators: what Numba refuses for a GPU is then refused, performance warnings come, and "
        "exceptions name their line as on a GPU. A program that sets numba.config.ENABLE_CUDASIM itself says the same.",
    ),
    Option(
        "full_traceback",
        switch,
        False,
        "tracebacks end at the kernel's lines (rule C2)",
        "1, 0",
        "Keep cudasim's own frames in tracebacks, to debug cudasim itself.",
    ),
)

BY_NAME = {option.name: option for option in TABLE}

_lock = threading.RLock()
#: What was set here, strongest first; each is name → (value, where it comes from).
_layers: dict[str, dict[str, Any]] = {"set": {}, "marker": {}, "command line": {}}
_values: dict[Any, Any] = {}  # name → value, worked out
_names_are_checked = False
generation = 0  #: changes whenever a value does; launch plans remember it


class OptionError(ValueError):
    """An option's name or value is not valid."""


def _parsed(option, text, where):
    try:
        return option.parse(text)
    except NotValid as refusal:
        reason = f". {refusal} The option {option.name} takes {option.accepts}"
    except (ValueError, TypeError, OverflowError):
        reason = f"; {option.name} takes {option.accepts}"
    raise tracebacks.without_package_frames_if_uncaught(
        OptionError(f"{where}: {shown(text)} is not valid{reason}")
    ) from None


def _option(name):
    try:
        return BY_NAME[name]
    except KeyError:
        raise OptionError(
            f"there is no option {shown(name)}.{did_you_mean(name, BY_NAME)} Options are: {', '.join(BY_NAME)}"
        ) from None


def value_and_source(name: str) -> tuple[Any, ...]:
    """The value in force and where it comes from, for people."""
    option = _option(name)
    for layer in _layers.values():
        if name in layer:
            return layer[name]
    text = os.environ.get(option.variable, "")
    if text != "":
        where = f"environment variable {option.variable}"
        return _parsed(option, text, where), where
    project = _project()
    if name in project:
        return project[name]
    return option.default, f"default ({option.default_from})"


def get(name: str) -> Any:
    """The value in force. The environment and pyproject.toml are read at the first use."""
    try:
        return _values[name]
    except KeyError:
        with _lock:
            _check_names()
            _values[name] = value_and_source(name)[0]
            return _values[name]


def is_given(name: str) -> bool:
    """Whether anybody has set the option: here, in the environment or in pyproject.toml."""
    variable = _option(name).variable
    return (
        any(name in layer for layer in _layers.values())
        or os.environ.get(variable, "") != ""
        or name in _project()
    )


def _check_names():
    global _names_are_checked
    if not _names_are_checked:
        _names_are_checked = True
        _option_sources.warn_of_unknown_variables([option.variable for option in TABLE])


def _project():
    """name → (value, where it comes from), of the pyproject.toml that is in force."""
    return _option_sources.project_values(_from_project)


def _from_project(name, value, folder, where):
    """A value of pyproject.toml, in whose folder its paths begin."""
    option = _option(name)
    if option.from_folder is not None and isinstance(value, str):
        value = option.from_folder(value, folder)
    return _parsed(option, value, f"{where}, {name}")


def use_project_of(folder: Any) -> None:
    """The pyproject.toml in this folder, or the nearest above it, gives options from now on."""
    with _lock:
        _option_sources.begin_at(folder)
        _changed()


def _changed():
    global generation
    _values.clear()
    generation += 1


#: Options that a device is made with; they cannot change once it is there, save for markers, for which others are made.
OF_THE_DEVICE = frozenset(("device", "device_memory"))


def _check_device_options(values):
    device_module = sys.modules.get("cudasim.device.device")
    if device_module is None or not device_module.are_made():
        return
    for name in sorted(OF_THE_DEVICE):
        if (
            name in values
            and values[name] is not None
            and _parsed(BY_NAME[name], values[name], name) != get(name)
        ):
            raise OptionError(
                f"option {name} cannot change any more: the device has been made; set it (or "
                f"{BY_NAME[name].variable}) before the first array or launch"
            )


def _set_in(layer, where, values):
    """All of the values, or none where one is not valid."""
    with _lock:
        parsed = {
            name: None if value is None else (_parsed(_option(name), value, where), where)
            for name, value in values.items()
        }
        for name in parsed:
            _option(name)
        if layer != "marker":
            _check_device_options(values)
        for name, entry in parsed.items():
            if entry is None:
                _layers[layer].pop(name, None)
            else:
                _layers[layer][name] = entry
        _changed()


def set(**values: Any) -> None:  # noqa: A001 - the word for it
    """Sets options from now on; None goes back to what else says it: the command line, the environment, the default.

    :raises OptionError: for a name or a value that is not valid; then none is set
    """
    _set_in("set", "cudasim.options.set", values)


def set_from_arguments(where: Any, **values: Any) -> None:
    """Sets options as arguments of a command line do.

    :param where: what `cudasim info` names as the values' source
    """
    _set_in("command line", where, values)


@contextlib.contextmanager
def _within(layer, where, values):
    with _lock:
        before = {name: _layers[layer].get(_option(name).name) for name in values}
    _set_in(layer, where, values)
    try:
        yield
    finally:
        with _lock:
            for name, entry in before.items():
                _layers[layer].pop(name, None)
                if entry is not None:
                    _layers[layer][name] = entry
            _changed()


def override(**values: Any) -> Any:
    """Sets options for the length of a `with` block."""
    return _within("set", "cudasim.options.override", values)


def marked(where: Any, **values: Any) -> Any:
    """Sets options for the length of a `with` block as the marker of a test does: what the test sets is stronger."""
    return _within("marker", where, values)


def add_arguments(parser: Any) -> None:
    """Adds every option to an argparse parser."""
    group = parser.add_argument_group("options of the simulator")
    for option in TABLE:
        group.add_argument(
            option.argument,
            dest="option_" + option.name,
            metavar="VALUE",
            default=None,
            help=f"{option.help} ({option.accepts})".replace("%", "%%"),
        )


def take_arguments(arguments: Any) -> None:
    """Puts what add_arguments parsed into force, here and (through the environment) in child processes."""
    for option in TABLE:
        text = getattr(arguments, "option_" + option.name)
        if text is not None:
            set_from_arguments("command line " + option.argument, **{option.name: text})
            os.environ[option.variable] = text


def documentation() -> str:
    """The page docs/options.md."""
    lines = [
        "# Options",
        "",
        "Made from the table in frontend/python/cudasim/options.py by `python -m cudasim.options > "
        "docs/options.md`; do not edit it by hand.",
        "",
        "A value comes from, strongest first:",
        "",
        "1. `cudasim.options.set` or `override`",
        "2. the marker of a test, `@pytest.mark.cudasim(seed=7)` ([testing.md](testing.md))",
        "3. the arguments of `cudasim run`, or of `pytest --cudasim`: `--cudasim-seed 7`",
        "4. the environment",
        "5. `[tool.cudasim]` in the `pyproject.toml` of the working directory or the nearest folder above it; for tests, of "
        "pytest's root directory: `seed = 7`. It is read once. Paths in it begin in its folder.",
        "6. the default",
        "",
        "`cudasim info` shows the values in force and where each comes from. A `CUDASIM_*` variable that is not an option is "
        "reported once, as a warning; so are options in the environment of a program that imports the real `numba.cuda`, "
        "because the switch `ENABLE_CUDASIM=1` is missing.",
        "",
        "| option | `cudasim run` | environment | values | default | comes from |",
        "|---|---|---|---|---|---|",
    ]
    for option in TABLE:
        default = int(option.default) if isinstance(option.default, bool) else option.default
        lines.append(
            f"| {option.name} | `{option.argument}` | `{option.variable}` | {option.accepts} | "
            f"{default} | {option.default_from} |"
        )
    lines.append("")
    lines += [f"- **{option.name}**: {option.help}" for option in TABLE]
    return "\n".join(lines) + "\n"


tracebacks.show_package_frames_where(lambda: get("full_traceback"))


if __name__ == "__main__":
    print(documentation(), end="")
