"""The options of cudasim, from Python and from the command line.

Their table is simulator/driver/options.cpp: names, values, defaults, texts. `python -m cudasim.options --table` makes
_option_table.py from it, and `python -m cudasim.options` docs/options.md; environment variables, the arguments of `cudasim run`
and of pytest, and what `cudasim info` shows come from it, too.

    from cudasim import options
    options.get("workers")                       the value in force
    options.set(workers=1)                       from now on
    with options.override(raise_float_division=True): ...

A value comes from, strongest first: options.set/override, the marker of a test (cudasim.pytest_plugin), the command line,
the environment, `[tool.cudasim]` in pyproject.toml, the default.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from cudasim import _option_sources
from cudasim._option_table import ROWS
from cudasim._option_values import (
    NotValid,
    checks,
    choice,
    debugger,
    did_you_mean,
    libdevice,
    libdevice_from,
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
    of_the_device: bool = False  #: a device is made with it
    of_a_launch: bool = False  #: it says how a launch runs: `cudasim replay` takes it

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


def _parser(kind, lowest, highest, accepts):
    """The kinds of simulator/driver/options.h, for texts and for Python's values."""
    if kind == "choice":
        return choice(*accepts.split(", "))
    if kind == "whole_number":
        return whole_number(lowest, highest)
    if kind in ("seconds", "size"):
        return seconds(highest) if kind == "seconds" else size(highest)
    parsers = {"path": path, "devices": entries, "toggle": switch, "checks": checks, "debugger": debugger,
               "libdevice": libdevice}  # fmt: skip
    return parsers[kind]


def _option_of(name, kind, lowest, highest, default, default_from, accepts, explanation, *of_what):
    parse = _parser(kind, lowest, highest, accepts)
    if kind == "devices":
        accepts = f"{', '.join(DEVICES)}, {accepts}"
    from_folder = {"path": path_from, "devices": entries_from, "libdevice": libdevice_from}.get(kind)
    value = default if kind == "devices" else parse(default)
    return Option(name, parse, value, default_from, accepts, explanation, from_folder, *of_what)


TABLE = tuple(_option_of(*row) for row in ROWS)

BY_NAME = {option.name: option for option in TABLE}

_lock = threading.RLock()
#: What was set here, strongest first; each is name → (value, where it comes from).
_layers: dict[str, dict[str, Any]] = {"set": {}, "marker": {}, "command line": {}}
_layers_of_defaults: list[dict[str, tuple[Any, str]]] = []  #: of the blocks of defaults(), the latest last
_other_defaults: dict[str, Any] = {}  #: defaults() in force: name → (value, where it comes from)
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
    if name in _other_defaults:
        return _other_defaults[name]
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


#: Options that a device is made with; they cannot change once it is there, save for
#: markers, for which others are made.
OF_THE_DEVICE = frozenset(option.name for option in TABLE if option.of_the_device)


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


@contextlib.contextmanager
def defaults(where: str, **values: Any) -> Iterator[None]:
    """Other defaults for the length of a `with` block: whatever sets an option is stronger.

    :param where: what `cudasim info` names as the values' source
    """
    layer = {
        name: (_parsed(_option(name), value, where), f"default of {where}") for name, value in values.items()
    }

    with _lock:
        _layers_of_defaults.append(layer)
        _merge_defaults()
    try:
        yield
    finally:  # blocks of other threads, and of tests, may have begun in between
        with _lock:
            _layers_of_defaults[:] = [each for each in _layers_of_defaults if each is not layer]
            _merge_defaults()


def _merge_defaults():
    _other_defaults.clear()
    for layer in _layers_of_defaults:
        _other_defaults.update(layer)
    _changed()


def marked(where: Any, **values: Any) -> Any:
    """Sets options for the length of a `with` block as the marker of a test does: what the test sets is stronger."""
    return _within("marker", where, values)


def add_arguments(parser: Any, without: tuple[str, ...] = ()) -> None:
    """Adds every option to an argparse parser.

    :param without: names of options whose arguments the parser has another use for
    """
    group = parser.add_argument_group("options of the simulator")
    for option in TABLE:
        if option.name in without:
            continue
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
        text = getattr(arguments, "option_" + option.name, None)
        if text is not None:
            set_from_arguments("command line " + option.argument, **{option.name: text})
            os.environ[option.variable] = text


def documentation() -> str:
    """The page docs/options.md."""
    lines = [
        "# Options",
        "",
        "Made from the table in simulator/driver/options.cpp by `python -m cudasim.options > docs/options.md`; do not edit it by "
        "hand.",
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


def table_module() -> str:
    """The file _option_table.py, from the engine's table."""
    from cudasim import _native  # only to print the table

    lines = [
        '"""The table of options. Made from simulator/driver/options.cpp by `python -m cudasim.options --table`; do not edit it by '
        'hand."""',
        "",
        "#: (name, kind, lowest, highest, default, where the default comes from, accepted values, help, whether a",
        "#: device is made with it, whether it says how a launch runs) of each option",
        "ROWS: tuple[tuple[str, str, int, int, str, str, str, str, bool, bool], ...] = (",
    ]
    for row in _native.option_table():
        lines.append("    (")
        lines += [f"        {_literal(value)}," for value in row]
        lines.append("    ),")
    return "\n".join([*lines, ")"]) + "\n"


def _literal(value):
    return json.dumps(value) if isinstance(value, str) else repr(value)


tracebacks.show_package_frames_where(lambda: get("full_traceback"))


if __name__ == "__main__":
    print(table_module() if sys.argv[1:] == ["--table"] else documentation(), end="")
