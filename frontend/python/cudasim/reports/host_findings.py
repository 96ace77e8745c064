"""What is found outside of launches: copies of memory that nobody wrote, memory that is never freed, calls that failed.

Such findings are warnings at a line of the host's program. `cudasim.check()` has them in its list, `cudasim check` in its report.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim import errors
from cudasim.findings import Finding, RacingAccess, SourceLocation
from cudasim.reports import allowed_comments, collecting
from cudasim.reports.tracebacks import add_note
from cudasim.reports.user_warnings import programs_frame, warn_at

if TYPE_CHECKING:
    from typing import Any


#: Stands for a line of the host's program that is not known.
NOWHERE = SourceLocation("", "", 0, 0)


def users_place() -> tuple[SourceLocation, dict[str, Any]]:
    """The innermost line of the calling thread that is the program's own, and the globals of its module."""
    frame = programs_frame()
    place = SourceLocation(frame.f_code.co_filename, frame.f_code.co_name, frame.f_lineno or 0, 0)
    return place, frame.f_globals


def host_finding(
    kind: str,
    message: str,
    place: SourceLocation,
    severity: str = "warning",
    kernel: str = "",
    accesses: tuple[RacingAccess, ...] = (),
    count: int = 1,
) -> Finding:
    """A Finding about a line of the host's program, of no thread.

    :param count: how often it happened there
    """
    return Finding(
        kind=kind,
        severity=severity,
        message=message,
        exception_type="RuntimeError",
        cuda_error_code=0,
        kernel=kernel,
        tid=(),
        ctaid=(),
        coordinates="",
        location=(place,) if place != NOWHERE else (),
        count=count,
        threads=1,
        object=None,
        waiting=(),
        accesses=accesses,
        variables=(),
        reproduce="",
    )


def argument_error(kind: str, message: str, code: int) -> errors.KernelMemoryError:
    """The exception for an argument that refers to memory which the kernel cannot use. It has its finding.

    :param kind: its stable name in finding_kinds.def
    :param code: of CUDA's error
    """
    finding = host_finding(kind, message, users_place()[0], severity="error")
    error = errors.KernelMemoryError(message, code)
    error.findings = [finding._replace(exception_type="MemoryError", cuda_error_code=code)]
    return error


def are_gathered() -> bool:
    """Whether findings go into a list or a report, and none is a warning of Python's."""
    from cudasim.reports import check_session  # as in report()

    return collecting.collects() or check_session.session is not None


def fail(found: list[tuple[Finding, str]]) -> None:
    """Tells errors of the host to whoever collects findings; else the first is raised.

    :param found: each with its report for people
    :raises KernelError: where nobody collects findings
    """
    from cudasim.reports import check_session  # as in report()

    session = check_session.session
    if collecting.collects():
        collecting.collect([finding for finding, _ in found])
    elif session is not None:
        for finding, text in found:
            session.take_host(finding, text)
    elif found := [each for each in found if not allowed_comments.allows(each[0])]:
        error = errors.KernelError("\nalso: ".join(finding.headline() for finding, _ in found))
        error.findings = [finding for finding, _ in found]
        for _, text in found:
            add_note(error, text.partition("\n")[2].rstrip("\n"))  # the message has the first line
        raise error


def report(
    kind: str,
    message: str,
    place: SourceLocation | None = None,
    names: dict[str, Any] | None = None,
    count: int = 1,
) -> None:
    """Tells a finding to whoever collects findings; else it is a warning.

    :param kind: its stable name in finding_kinds.def, of severity warning
    :param place: where, with the globals of that module; None: users_place()
    :param count: how often it happened there
    """
    if place is None:
        place, names = users_place()
    from cudasim.reports import check_session  # it makes findings of the host, too

    session = check_session.session
    finding = host_finding(kind, message, place, count=count)
    if not collecting.collects() and session is None:
        if not allowed_comments.allows(finding):
            warn_at(kind, message, place.file, place.line, names)
    elif collecting.collects():
        collecting.collect([finding])
    elif session is not None:
        at = f"  at {place}\n" if place != NOWHERE else ""
        session.take_host(finding, f"warning: {kind}: {message}\n{at}")
