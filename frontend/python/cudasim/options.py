"""Every option of cudasim, in one table. From it are made: the environment variables, the arguments of
`cudasim run`, what `cudasim info` shows, and docs/options.md (`python -m cudasim.options`).

    from cudasim import options
    options.get("workers")                       the value in force
    options.set(workers=1)                       from now on
    with options.override(raise_float_division=True): ...

A value comes from, strongest first: options.set/override, the command line, the environment, the default.
"""

import contextlib
import os
import sys
import threading
from typing import Any, Callable, NamedTuple

_SIZE_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_TRUE = frozenset(("1", "true", "yes", "on"))
_FALSE = frozenset(("0", "false", "no", "off", ""))


def _whole_number(text):
    value = int(text)
    if value < 0:
        raise ValueError("a number of 0 or more")
    return value


def _seconds(text):
    value = float(text)
    if not 0 <= value < float("inf"):
        raise ValueError("a number of seconds, 0 or more")
    return value


def _switch(text):
    if isinstance(text, (bool, int)):
        return bool(text)
    lowered = str(text).strip().lower()
    if lowered in _TRUE:
        return True
    if lowered in _FALSE:
        return False
    raise ValueError("1 or 0")


def _size(text):
    if isinstance(text, int):
        return _whole_number(text)
    lowered = str(text).strip().lower().replace("ib", "").replace("b", "")
    unit = lowered[-1:] if lowered[-1:] in _SIZE_UNITS else ""
    return _whole_number(float(lowered[: len(lowered) - len(unit)]) * _SIZE_UNITS[unit])


def _path(text):
    text = os.fspath(text)
    if not isinstance(text, str) or "\0" in text:
        raise ValueError("a path")
    return text


def _choice(*values):
    def parse(text):
        if text not in values:
            raise ValueError("one of " + ", ".join(values))
        return text

    parse.choices = values
    return parse


#: Keys of simulator/execution/device_profile.cpp; a test compares them.
DEVICES = ("h100", "a10", "rtx2080ti")


def _devices(text):
    """Keys separated by commas, in the form of the table: "H100, RTX 2080 Ti" is "h100,rtx2080ti"."""
    keys = ["".join(filter(str.isalnum, key)).lower() for key in text.split(",")]
    if not all(key in DEVICES for key in keys):
        raise ValueError
    return ",".join(keys)


class Option(NamedTuple):
    """One row of the table."""

    name: str  #: as in Python: options.get(name)
    parse: Callable[[Any], Any]  #: text or value → value; ValueError says what is accepted
    default: Any
    default_from: str  #: where the default comes from
    accepts: str  #: the values, for people
    help: str

    @property
    def variable(self):
        """The environment variable."""
        return "CUDASIM_" + self.name.upper()

    @property
    def argument(self):
        """The argument of `cudasim run`."""
        return "--" + self.name.replace("_", "-")


TABLE = (
    Option(
        "mode",
        _choice("auto", "native", "python"),
        "auto",
        "design.md section 7",
        "auto, native, python",
        "How kernels run: compiled where they can be, else in CPython; compiled or not at all; all in CPython.",
    ),
    Option(
        "workers",
        _whole_number,
        0,
        "rule E7: all cores",
        "a number; 0 is one per core",
        "Host threads that blocks are spread over. Schedules are repeatable with 1.",
    ),
    Option(
        "policy",
        _choice("forward", "reverse", "random"),
        "forward",
        "rule E6",
        "forward, reverse, random",
        "The order in which threads and blocks get their turn.",
    ),
    Option(
        "seed",
        _whole_number,
        0,
        "any will do",
        "a number",
        "With policy random: another seed, another order; the same seed and one worker, the same run.",
    ),
    Option(
        "carrier",
        _choice("automatic", "fiber"),
        "automatic",
        "rule E1",
        "automatic, fiber",
        "What carries a simulated thread: coroutines or a loop over threads where they can, or always a fiber each.",
    ),
    Option(
        "time_limit",
        _seconds,
        0.0,
        "no limit, as on a GPU without a display",
        "seconds; 0 is none",
        "A launch that runs longer is stopped and reported with where its threads were.",
    ),
    Option(
        "strict",
        _switch,
        False,
        "rule C4: hardware lets early exits pass",
        "1, 0",
        "Threads that end while others of their block wait at a barrier are an error, not a warning.",
    ),
    Option(
        "progress",
        _switch,
        True,
        "two seconds are longer than one waits without wondering",
        "1, 0",
        "A launch of more than two seconds shows how far it is: a bar on a terminal and in a notebook, else a line a "
        "minute on the standard error output.",
    ),
    Option(
        "max_faults",
        _whole_number,
        1000,
        "simulator/execution/device.h",
        "a number",
        "A launch ends when this many threads have faulted.",
    ),
    Option(
        "raise_float_division",
        _switch,
        False,
        "rule C3: IEEE, as hardware does",
        "1, 0",
        "Float division by zero raises ZeroDivisionError, as debug=True makes a kernel do.",
    ),
    Option(
        "deferred",
        _switch,
        False,
        "rule V7: a fault is raised at the launch line",
        "1, 0",
        "Launches, copies and callbacks in streams wait, as they may on a GPU, until the host synchronises; then their "
        "faults are raised, naming the line of the launch.",
    ),
    Option(
        "memory_checks",
        _switch,
        True,
        "rule C1",
        "1, 0",
        "Check every access to memory that an index check has not covered already.",
    ),
    Option(
        "fma",
        _switch,
        False,
        "rule V5: results the same on every host",
        "1, 0",
        "Fuse multiplications and additions where the kernel's code allows it. PTX is fused unless this is 0, as the GPU's "
        "compiler does.",
    ),
    Option(
        "device",
        _devices,
        "h100",
        "the GPU of most data centres",
        ", ".join(DEVICES) + "; several separated by commas",
        "The devices that are simulated, in order of their numbers: name, limits, compute capability.",
    ),
    Option(
        "device_memory",
        _size,
        0,
        "the device profile's, at most what the host can give",
        "bytes, or with K, M, G, T; 0 is the profile's",
        "Memory of each simulated device.",
    ),
    Option(
        "cache",
        _switch,
        True,
        "compiling takes 10 times as long as loading",
        "1, 0",
        "Keep compiled kernels on disk for the next run of the program.",
    ),
    Option(
        "cache_dir",
        _path,
        "",
        "$XDG_CACHE_HOME/cudasim, else ~/.cache/cudasim",
        "a folder",
        "Where compiled kernels are kept. It must belong to you and be writable by nobody else.",
    ),
    Option(
        "cache_size",
        _size,
        256 << 20,
        "some ten thousand kernels",
        "bytes, or with K, M, G, T",
        "The most that compiled kernels may take on disk; those not used for longest go first.",
    ),
    Option(
        "keep_images",
        _path,
        "",
        "none",
        "a folder",
        "Every kernel image that is compiled is also written there: what a report of a bug needs.",
    ),
    Option(
        "report_as_simulator",
        _switch,
        True,
        "what numba.config says under Numba's simulator",
        "1, 0",
        "What numba.config.ENABLE_CUDASIM reads while the switch is on. Set it to 0 for test suites that "
        "relax their assertions on simulators: what Numba refuses for a GPU is then refused, performance warnings come, and "
        "exceptions name their line as on a GPU. A program that sets numba.config.ENABLE_CUDASIM itself says the same.",
    ),
    Option(
        "full_traceback",
        _switch,
        False,
        "tracebacks end at the kernel's lines (rule C2)",
        "1, 0",
        "Keep cudasim's own frames in tracebacks, to debug cudasim itself.",
    ),
)

BY_NAME = {option.name: option for option in TABLE}

_lock = threading.RLock()
_set = {}  # name → (value, where it comes from)
_values = {}  # name → value, worked out
generation = 0  #: changes whenever a value does; launch plans remember it


class OptionError(ValueError):
    """An option's name or value is not valid."""


def _parsed(option, text, where):
    try:
        return option.parse(text)
    except (ValueError, TypeError, OverflowError):
        raise OptionError(f"{where}: {text!r} is not valid; {option.name} takes {option.accepts}") from None


def _option(name):
    try:
        return BY_NAME[name]
    except KeyError:
        raise OptionError(f"there is no option {name!r}; options are: {', '.join(BY_NAME)}") from None


def value_and_source(name):
    """The value in force and where it comes from, for people."""
    option = _option(name)
    if name in _set:
        return _set[name]
    text = os.environ.get(option.variable, "")
    if text != "":
        where = f"environment variable {option.variable}"
        return _parsed(option, text, where), where
    return option.default, f"default ({option.default_from})"


def get(name):
    """The value in force. The environment is read at the first use."""
    try:
        return _values[name]
    except KeyError:
        with _lock:
            _values[name] = value_and_source(name)[0]
            return _values[name]


def is_given(name):
    """Whether anybody has set the option, here or in the environment."""
    return name in _set or os.environ.get(_option(name).variable, "") != ""


def _changed():
    global generation
    _values.clear()
    generation += 1


#: Options that a device is made with; they cannot change once it is there.
_OF_THE_DEVICE = ("device", "device_memory")


def _check_device_options(values):
    device_module = sys.modules.get("cudasim.cuda.device")
    if device_module is None or not device_module.are_made():
        return
    for name in _OF_THE_DEVICE:
        if (
            name in values
            and values[name] is not None
            and _parsed(BY_NAME[name], values[name], name) != get(name)
        ):
            raise OptionError(
                f"option {name} cannot change any more: the device has been made; set it (or "
                f"{BY_NAME[name].variable}) before the first array or launch"
            )


def set(where="cudasim.options.set", **values):  # noqa: A001 - the word for it
    """Sets options from now on; None goes back to environment or default.

    :param where: what `cudasim info` names as the value's source
    """
    with _lock:
        _check_device_options(values)
        for name, value in values.items():
            option = _option(name)
            if value is None:
                _set.pop(name, None)
            else:
                _set[name] = (_parsed(option, value, where), where)
        _changed()


@contextlib.contextmanager
def override(**values):
    """Sets options for the length of a `with` block."""
    with _lock:
        before = {name: _set.get(_option(name).name) for name in values}
    set("cudasim.options.override", **values)
    try:
        yield
    finally:
        with _lock:
            for name, entry in before.items():
                _set.pop(name, None)
                if entry is not None:
                    _set[name] = entry
            _changed()


def add_arguments(parser):
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


def take_arguments(arguments):
    """Puts what add_arguments parsed into force, here and (through the environment) in child processes."""
    for option in TABLE:
        text = getattr(arguments, "option_" + option.name)
        if text is not None:
            set("command line " + option.argument, **{option.name: text})
            os.environ[option.variable] = text


def documentation():
    """The page docs/options.md."""
    lines = [
        "# Options",
        "",
        "Made from the table in frontend/python/cudasim/options.py by `python -m cudasim.options > "
        "docs/options.md`; do not edit it by hand.",
        "",
        "A value comes from, strongest first: `cudasim.options.set` or `override`, the arguments of "
        "`cudasim run`, the environment, the default. `cudasim info` shows the values in force.",
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


if __name__ == "__main__":
    print(documentation(), end="")
