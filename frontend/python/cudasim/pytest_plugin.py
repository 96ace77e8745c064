"""pytest --cudasim: the tests of a run see cudasim as numba.cuda.

The switch is on before conftest files are loaded, here, in xdist's workers and in processes that tests start. A kernel
fault fails its test as any exception does; its full report is a section of the test's report. Every option of the
simulator is an argument, `--cudasim-policy random --cudasim-seed 7`; ini files may have them in addopts. A test has options
of its own by a marker, `@pytest.mark.cudasim(seed=7)`. With `--cudasim-record DIR` a test that fails leaves a kernel launch behind, for
`cudasim replay`.
`-p no:cudasim` leaves the plug-in out. It imports nothing of the package before it is asked to.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import re
import shlex
import threading
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_PREFIX = "--cudasim"


class _Switch(argparse.Action):
    """`--cudasim-strict` alone says on; what follows it is its value only if it can be one, else a file of tests."""

    def __call__(self, parser, namespace, values, option_string=None):
        from cudasim._option_values import is_switch_value  # every run of pytest loads this module

        if values is not None and not is_switch_value(values):
            others = getattr(namespace, argparse._UNRECOGNIZED_ARGS_ATTR, [])
            setattr(namespace, argparse._UNRECOGNIZED_ARGS_ATTR, [*others, values])
            values = None
        setattr(namespace, self.dest, "1" if values is None else values)


def pytest_addoption(parser: Any) -> None:
    from cudasim import options  # every run of pytest loads this module

    group = parser.getgroup("cudasim", "CUDA kernels on simulated threads (cudasim)")
    group.addoption(_PREFIX, action="store_true", default=False, help="numba.cuda is cudasim in this run")
    group.addoption(
        _PREFIX + "-record",
        dest="cudasim_record",
        metavar="DIR",
        default=None,
        help="a test that fails leaves the kernel launch that failed, or else the last one, as a file in DIR, for "
        "`cudasim replay`; launches run on one worker",
    )
    group.addoption(
        _PREFIX + "-record-gpu",
        dest="cudasim_record_gpu",
        metavar="DIR",
        default=None,
        help="every test leaves its kernel launches as a file in DIR, for cudasim-gpu-run on a machine with a GPU and `cudasim diff`; "
        "launches run on one worker",
    )
    for option in options.TABLE:
        group.addoption(
            _PREFIX + option.argument[1:],
            dest="cudasim_" + option.name,
            metavar="VALUE",
            default=None,
            **({"action": _Switch, "nargs": "?"} if option.is_switch else {}),
            help=f"{option.help} ({option.accepts})".replace("%", "%%"),
        )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: Any) -> None:
    """Switches cudasim on before the first conftest is imported, because that may import numba.cuda."""
    _read_project(early_config)
    _switch_on(early_config.known_args_namespace)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: Any) -> None:
    """Once more: xdist's workers have their arguments from the controller, and may load no conftest."""
    config.addinivalue_line(
        "markers",
        "cudasim(option=value, ...): options of the simulator for the length of the test (docs/options.md), as "
        "policy='random', seed=7, device='a100'",
    )
    config.addinivalue_line(
        "markers",
        "cudasim_expect(kind, line=None): the test's launches have a finding of this kind (docs/findings.md), at this line of "
        "its file; nothing is raised for it, and what else is found fails the test",
    )
    _read_project(config)
    _switch_on(config.option)


def _read_project(config):
    """pyproject.toml is that of the root directory, wherever pytest was started."""
    from cudasim import options  # every run of pytest loads this module

    if getattr(config, "inipath", None) is not None or getattr(config, "rootpath", None) is not None:
        options.use_project_of(str(config.rootpath))


def _destination(name):
    return "cudasim_" + name.replace("-", "_")


def _switch_on(arguments):
    from cudasim import options, switch  # every run of pytest loads this module

    asked = ((option, getattr(arguments, "cudasim_" + option.name, None)) for option in options.TABLE)
    given = {option: text for option, text in asked if text is not None}
    if getattr(arguments, "cudasim", False):
        try:
            switch.enable()
        except switch.SwitchError as error:
            raise pytest.UsageError(f"--cudasim: {error}") from None
    elif not switch.is_on() and (
        names := ", ".join(
            [_PREFIX + option.argument[1:] for option in given]
            + [
                f"{_PREFIX}-{name}"
                for name in ("record", "record-gpu")
                if getattr(arguments, _destination(name), None)
            ]
        )
    ):
        raise pytest.UsageError(
            f"{names}: the simulator is not on in this run; add --cudasim (or set ENABLE_CUDASIM=1)"
        )
    if folder := getattr(arguments, "cudasim_record_gpu", None):
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            raise pytest.UsageError(f"{_PREFIX}-record-gpu: cannot make {folder}: {error.strerror}") from None
    for option, text in given.items():
        if os.environ.get(option.variable) == text:
            continue
        try:
            options.set_from_arguments(_PREFIX + option.argument[1:], **{option.name: text})
        except options.OptionError as error:
            raise pytest.UsageError(str(error)) from None
        os.environ[option.variable] = text
    if switch.is_on():
        try:
            for name in options.BY_NAME:
                options.get(name)  # a wrong value in the environment is told once, not by each test
        except options.OptionError as error:
            raise pytest.UsageError(str(error)) from None


_wrong_marker: pytest.StashKey[Any] = pytest.StashKey()  # why a test's markers are not valid


def _marked_options(item):
    """The options that the markers of a test name; those next to it win. :raises OptionError: for what is not valid"""
    from cudasim import options  # every run of pytest loads this module

    values: dict[Any, Any] = {}
    for marker in item.iter_markers("cudasim"):
        if marker.args:
            raise options.OptionError(
                "@pytest.mark.cudasim takes options by name: @pytest.mark.cudasim(policy='random', seed=7)"
            )
        values = {**marker.kwargs, **values}
    return values


def _schedules_of(values):
    """Takes what the marker says of schedules from its options. :raises OptionError: for what is no count"""
    from cudasim import options  # every run of pytest loads this module
    from cudasim.reports import schedules

    count = values.pop("schedules", 0)
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise options.OptionError(f"@pytest.mark.cudasim: schedules is a number from 0 on, not {count!r}")
    if count > schedules.MOST:
        raise options.OptionError(
            f"@pytest.mark.cudasim: schedules is a number up to {schedules.MOST}, not {count}"
        )
    return count


#: Of a test: under how many further schedules each launch is repeated.
_schedules: pytest.StashKey[int] = pytest.StashKey()
_launches: pytest.StashKey[_Launches] = pytest.StashKey()  # the _Launches of a test, with --cudasim-record


class _Launches:
    """Chooses which launch of a test is kept: the first with an error, or else the last."""

    def __init__(self):
        self.record, self.failed, self.not_recorded = None, False, None

    def take(self, record):
        from cudasim.recording.replay import findings_of  # every run of pytest loads this module

        if not self.failed:
            self.record, self.not_recorded = record, None
            self.failed = any(finding.severity == "error" for finding in findings_of(record))

    def refuse(self, sentence):
        if not self.failed:
            self.record, self.not_recorded = None, sentence

    def write(self, folder, nodeid):
        """Leaves a file and says so, as (title, text) of a report's section; None where nothing was launched."""
        if self.record is None:
            return self.not_recorded and ("cudasim record", f"not recorded: {self.not_recorded}")
        from cudasim import _native, errors  # every run of pytest loads this module

        path = _file_of(nodeid, folder)
        try:
            os.makedirs(folder, exist_ok=True)
            writer = _native.RecordWriter(path)
            writer.add(self.record)
            writer.close()
        except (OSError, errors.RecordError) as error:
            return "cudasim record", f"not recorded: {error}"
        which = "the launch that failed" if self.failed else "the test's last launch"
        return (
            "cudasim record",
            f"{which}, {self.record.headline()}; run it again with: cudasim replay {shlex.quote(path)}",
        )


def _file_of(nodeid, folder):
    """The file of records of a test: its name, with a hash where others may have the same characters in names of files."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", nodeid).strip("-")
    _, _, parameters = nodeid.partition("[")
    if len(name) > 180 or re.search(r"[^A-Za-z0-9_.-]|-", parameters.rstrip("]")):
        name = f"{name[-170:]}-{hashlib.sha256(nodeid.encode()).hexdigest()[:8]}"
    return os.path.join(folder, name + ".cudasim")


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: Any) -> Iterator[None]:
    """The options of markers are in force from the set-up of a test's fixtures to the end of its teardown."""
    folder = item.config.getoption("cudasim_record", None)
    marked = item.get_closest_marker("cudasim") is not None
    folder_for_gpu = item.config.getoption("cudasim_record_gpu", None)
    if not marked and folder is None and folder_for_gpu is None:
        yield
        return
    from cudasim import options, switch  # every run of pytest loads this module

    with contextlib.ExitStack() as restored:
        if folder is not None and switch.is_on():
            from cudasim.recording.recorder import Recorder

            launches = item.stash[_launches] = _Launches()
            restored.enter_context(Recorder(launches.take, refused=launches.refuse).in_force())
        if folder_for_gpu is not None and switch.is_on():
            from cudasim.recording.recorder import RecordFile

            file = RecordFile(_file_of(item.nodeid, folder_for_gpu), None, None, True, "sm_75")
            restored.callback(file.close)
            restored.enter_context(file.in_force())
        try:
            values = _marked_options(item)
            item.stash[_schedules] = _schedules_of(values)
            restored.enter_context(options.marked("@pytest.mark.cudasim", **values))
            if switch.is_on():
                restored.enter_context(_in_environment(values))
                if not options.OF_THE_DEVICE.isdisjoint(values):
                    from cudasim.driver.device_selection import other_devices

                    restored.enter_context(other_devices())
        except options.OptionError as error:
            item.stash[_wrong_marker] = str(error)
        yield


@contextlib.contextmanager
def _in_environment(values):
    """Sets the variables of options, for processes that the test starts."""
    from cudasim import options  # every run of pytest loads this module

    variables = [options.BY_NAME[name].variable for name in values]
    before = {variable: os.environ.get(variable) for variable in variables}
    for name, variable in zip(values, variables):
        value = options.get(name)
        os.environ[variable] = str(int(value) if isinstance(value, bool) else value)
    try:
        yield
    finally:
        for variable, text in before.items():
            if text is None:
                os.environ.pop(variable, None)
            else:
                os.environ[variable] = text


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: Any) -> None:
    wrong = item.stash.get(_wrong_marker, None)
    if wrong is not None:
        pytest.fail(wrong, pytrace=False)


@pytest.hookimpl(hookwrapper=True, trylast=True)  # inside of what pytest does with exceptions of threads
def pytest_runtest_call(item: Any) -> Iterator[None]:
    """Tests that expect findings collect them; the others' are raised. Tests with schedules have them from all of these."""
    markers = list(item.iter_markers("cudasim_expect"))
    _check_markers(markers)
    if item.stash.get(_schedules, 0):
        yield from _under_schedules(item, markers)
        return
    from cudasim import options, switch  # every run of pytest loads this module

    if not markers:
        with _errors_of_threads() if switch.is_on() else contextlib.nullcontext() as raised:
            outcome: Any = yield
        if outcome.excinfo is None and raised:
            outcome.force_exception(raised[0])
        return
    from cudasim.reports.collecting import check_all_threads  # every run of pytest loads this module

    with check_all_threads(options.get("check")) as found:
        outcome = yield
    if outcome.excinfo is None:
        _compare(markers, found, outcome)


def _check_markers(markers):
    """Fails the test where a marker says nothing that can be found."""
    if not markers:
        return
    from cudasim.reports import allowed_comments  # every run of pytest loads this module

    for marker in markers:
        if len(marker.args) != 1 or not set(marker.kwargs) <= {"line"}:
            pytest.fail('write it as @pytest.mark.cudasim_expect("data-race", line=12)', pytrace=False)
        if marker.args[0] not in allowed_comments.kinds():
            pytest.fail(
                f"@pytest.mark.cudasim_expect: {allowed_comments.unknown_kind(marker.args[0])}", pytrace=False
            )


@contextlib.contextmanager
def _errors_of_threads():
    """Gives a list, which gets what kernels raise in other threads of the test where nobody catches it."""
    raised, before = [], threading.excepthook

    def note(arguments):
        if _with_findings(arguments.exc_value):
            raised.append(arguments.exc_value)
        before(arguments)

    threading.excepthook = note
    try:
        yield raised
    finally:
        if threading.excepthook is note:
            threading.excepthook = before


def _under_schedules(item, markers):
    """Launches are repeated in child processes, under other schedules, and their findings count as well."""
    from cudasim import options  # every run of pytest loads this module
    from cudasim.reports import check_session, schedules

    own = options.get("policy")
    session = check_session.CheckSession(schedules.first(item.stash[_schedules], own), own=own)
    before, check_session.session = check_session.session, session
    try:
        with options.override():  # launches that are prepared already know no session
            outcome: Any = yield
    finally:
        check_session.session = before
    session.finish()
    if outcome.excinfo is None:
        _compare(
            markers,
            [each.finding for each in session.found.values()],
            outcome,
            {id(each.finding): f"  under {', '.join(each.schedules)}" for each in session.found.values()},
        )


def _compare(markers, found, outcome, additions=None):
    """Fails the test where what was found is not what the markers expect."""
    from cudasim.reports import allowed_comments  # every run of pytest loads this module

    missing = [marker for marker in markers if not any(_is_expected(marker, finding) for finding in found)]
    others = [
        finding
        for finding in found
        if finding.severity != "note"
        and not any(_is_expected(marker, finding) for marker in markers)
        and not allowed_comments.allows(finding)
    ]
    said = [
        f"expected, but not found: {marker.args[0]}"
        + (f" at line {marker.kwargs['line']}" if marker.kwargs.get("line") else "")
        for marker in missing
    ]
    said += [
        "\n".join(
            [
                ("not expected: " if markers else "") + _described(finding),
                *filter(None, [(additions or {}).get(id(finding))]),
            ]
        )
        for finding in others
    ]
    if said:
        outcome.force_exception(pytest.fail.Exception("\n".join(said), pytrace=False))


def _is_expected(marker, finding):
    line = marker.kwargs.get("line")
    places = [access.place for access in finding.accesses] + [finding.place]
    return finding.kind == marker.args[0] and (
        line is None or any(place is not None and place.line == line for place in places)
    )


def pytest_report_header(config: Any) -> str | None:
    from cudasim import __version__, options, switch  # every run of pytest loads this module

    if not switch.is_on():
        return None
    chosen = [f"{name}={options.get(name)}" for name in ("device", "policy", "seed", "mode")]
    return f"cudasim: {__version__}, {', '.join(chosen)}"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Iterator[None]:
    outcome: Any = yield
    launches = item.stash.get(_launches, None)
    if launches is not None and outcome.get_result().failed:
        section = launches.write(item.config.getoption("cudasim_record"), item.nodeid)
        if section:
            outcome.get_result().sections.append(section)
    exceptions = [] if call.excinfo is None else _with_findings(call.excinfo.value)
    if exceptions:
        text = "\n\n".join(_described(finding) for exception in exceptions for finding in exception.findings)
        outcome.get_result().sections.append(("cudasim findings", text))


def _with_findings(exception):
    """The exception, and those that it came from, as far as kernels had findings for them."""
    found, seen = [], set()
    while exception is not None and id(exception) not in seen:
        seen.add(id(exception))
        if getattr(exception, "findings", None):
            found.append(exception)
        exception = exception.__cause__ or exception.__context__
    return found


def _described(finding):
    from cudasim.findings import without_repetition  # every run of pytest loads this module

    where = f"{finding.coordinates}: " if finding.coordinates else ""
    said = without_repetition(finding.kind, f"{finding.kind}: {finding.message or finding.exception_type}")
    lines = [f"{finding.severity}: {finding.kind}: {where}{said[len(finding.kind) + 2 :]}"]
    for place in finding.location:
        function = place.function or finding.kernel
        lines.append(f"  at {place.file}:{place.line}" + (f" in {function}" if function else ""))
    if (finding.threads or 0) > 1:
        lines.append(f"  {finding.count} times, in {finding.threads} threads")
    if finding.object is not None:
        lines.append(f"  object: {finding.object}")
    lines += [f"  {group}" for group in (*finding.accesses, *finding.waiting)]
    if finding.reproduce:
        lines.append(f"  to reproduce: {finding.reproduce}")
    return "\n".join(lines)
