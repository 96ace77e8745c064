"""pytest --cudasim: the tests of a run see cudasim as numba.cuda.

The switch is on before conftest files are loaded, here, in xdist's workers and in processes that tests start. A kernel
fault fails its test as any exception does; its full report is a section of the test's report. Every option of the
simulator is an argument, `--cudasim-policy random --cudasim-seed 7`; ini files may have them in addopts.
`-p no:cudasim` leaves the plug-in out. It imports nothing of the package before it is asked to.
"""

import os

import pytest

_PREFIX = "--cudasim"


def pytest_addoption(parser):
    from cudasim import options

    group = parser.getgroup("cudasim", "CUDA kernels on simulated threads (cudasim)")
    group.addoption(_PREFIX, action="store_true", default=False, help="numba.cuda is cudasim in this run")
    for option in options.TABLE:
        group.addoption(
            _PREFIX + option.argument[1:],
            dest="cudasim_" + option.name,
            metavar="VALUE",
            default=None,
            help=f"{option.help} ({option.accepts})".replace("%", "%%"),
        )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config):
    """Before the first conftest is imported: that may import numba.cuda."""
    _switch_on(early_config.known_args_namespace)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    """Once more: xdist's workers have their arguments from the controller, and may load no conftest."""
    _switch_on(config.option)


def _switch_on(arguments):
    from cudasim import options, switch

    given = {option: getattr(arguments, "cudasim_" + option.name, None) for option in options.TABLE}
    given = {option: text for option, text in given.items() if text is not None}
    if getattr(arguments, "cudasim", False):
        try:
            switch.enable()
        except switch.SwitchError as error:
            raise pytest.UsageError(f"--cudasim: {error}") from None
    elif given and not switch.is_on():
        names = ", ".join(_PREFIX + option.argument[1:] for option in given)
        raise pytest.UsageError(f"{names}: the simulator is not on in this run; add --cudasim (or set ENABLE_CUDASIM=1)")
    for option, text in given.items():
        if os.environ.get(option.variable) == text:
            continue
        try:
            options.set(_PREFIX + option.argument[1:], **{option.name: text})
        except options.OptionError as error:
            raise pytest.UsageError(str(error)) from None
        os.environ[option.variable] = text


def pytest_report_header(config):
    from cudasim import __version__, options, switch

    if not switch.is_on():
        return None
    chosen = [f"{name}={options.get(name)}" for name in ("device", "policy", "seed", "mode")]
    return f"cudasim: {__version__}, {', '.join(chosen)}"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
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
    where = f"{finding.coordinates}: " if finding.coordinates else ""
    lines = [f"{finding.severity}: {finding.kind}: {where}{finding.message}"]
    lines += [f"  at {place.file}:{place.line} in {place.function or finding.kernel}" for place in finding.location]
    if (finding.threads or 0) > 1:
        lines.append(f"  {finding.count} times, in {finding.threads} threads")
    if finding.object is not None:
        lines.append(f"  {finding.object}")
    lines += [f"  {group}" for group in finding.waiting or ()]
    if finding.reproduce:
        lines.append(f"  to reproduce: {finding.reproduce}")
    return "\n".join(lines)
