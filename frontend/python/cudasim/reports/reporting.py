"""What a launch had to say becomes Python exceptions and warnings (design.md section 5, C2 to C4).

The error of the lowest (block, thread) is raised; one line "also: …" is appended for each other kind of error;
the full reports are the exception's notes; all findings are `exc.findings`. Warnings go through `warnings` with
the kernel's file and line.
"""

from __future__ import annotations

import builtins
import os
import shlex
import sys
from typing import TYPE_CHECKING, NamedTuple

from cudasim import errors
from cudasim._numba_config import poses_as_gpu
from cudasim.findings import from_native, is_consequence, without_repetition
from cudasim.reports import allowed_comments, check_session, collecting
from cudasim.reports.captured_variables import argument_names, values_in_frame
from cudasim.reports.raised_exceptions import NONE
from cudasim.reports.tracebacks import add_note, at_kernel_lines
from cudasim.reports.user_warnings import warn_at, warn_at_users_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

    from cudasim.findings import Finding
    from cudasim.reports.raised_exceptions import RaisedExceptions

#: Error findings of this process, for the exit status of `cudasim run`.
error_count = 0


class FromThread(NamedTuple):
    """What a simulated thread raised, in Python mode: the exception itself, with the kernel's frames.

    tid and ctaid: None when no simulated thread raised it
    """

    exception: BaseException | None = None
    tid: tuple | None = None
    ctaid: tuple | None = None


def deliver(
    report: Any,
    kernel_globals: dict[str, Any],
    write_back: Callable[..., Any],
    exceptions: RaisedExceptions = NONE,
    raised: FromThread = FromThread(),  # noqa: B008 - is not changed
    ends_launch: FromThread = FromThread(),  # noqa: B008
    arguments: dict[str, Any] | None = None,
) -> None:
    """Raises or warns what the report says. Results are written back unless there is an error.

    :param report: None when there is nothing but what ends the launch
    :param write_back: called without arguments when the launch counts as done
    :param exceptions: what compiled code may raise
    :param raised: of the lowest thread that raised; without exception in native mode
    :param ends_launch: what ends the launch: KeyboardInterrupt, a debugger's quitting
    :param arguments: name → value as the launch was given it, for the kernel's frame in tracebacks
    """
    found = [from_native(native) for native in report.findings] if report is not None else []
    error_indices = [index for index, finding in enumerate(found) if finding.severity == "error"]
    interrupted = report.host_exception if report is not None else None
    checks = check_session.session
    if checks is not None and not collecting.collects():
        checks.take(found, report)
        error_indices = [
            index for index in error_indices if found[index].kind not in check_session.AFTER_THE_LAUNCH
        ]
        found_warnings = []  # they are in the session's report
    else:
        found_warnings = [
            finding
            for finding in found
            if finding.severity == "warning" and not is_consequence(finding, found)
        ]
        if found and not collecting.collects():
            error_indices = [index for index in error_indices if not _is_allowed(found[index])]
            found_warnings = [finding for finding in found_warnings if not _is_allowed(finding)]
    if collecting.collects() and interrupted is None and ends_launch.exception is None:
        if all(found[index].kind in check_session.AFTER_THE_LAUNCH for index in error_indices):
            write_back()
        collecting.collect(finding for finding in found if not is_consequence(finding, found))
        return
    failed = bool(error_indices) or interrupted is not None or ends_launch.exception is not None
    if not failed:
        write_back()
    exception = None
    if ends_launch.exception is not None:
        exception = _with_place(ends_launch, found)
    elif failed:
        exception = _exception(
            report, found, error_indices, kernel_globals, exceptions, raised, interrupted, arguments
        )
    if exception is not None and report is not None and report.core and not _in_doctest():
        add_note(exception, f"  core file: {report.core}")
        add_note(exception, f"  open it with: cudasim debug --core {shlex.quote(report.core)}")
    try:
        if report is not None and report.core_problem:
            warn_at_users_line("option", f"core: there is no core file: {report.core_problem}")
        for finding in found_warnings:
            _warn(finding, kernel_globals)
    except Warning:
        # A filter turned the warning into an error; the kernel's own error comes first.
        if exception is None:
            raise
    if exception is not None:
        try:
            raise exception
        finally:
            del exception


def _is_allowed(finding):
    """Whether a comment in the source allows it, and the launch has computed what it computes all the same."""
    lets_go_on = finding.severity == "warning" or finding.kind in check_session.AFTER_THE_LAUNCH
    return lets_go_on and allowed_comments.allows(finding)


def _with_place(ends_launch, found):
    """What ends a launch has the frames of the thread that raised it. Where it is an accident they get a place."""
    exception, tid, ctaid = ends_launch
    exception.findings = found
    if isinstance(exception, KeyboardInterrupt) and tid is not None:
        add_note(exception, f"  at tid={list(tid)} ctaid={list(ctaid)}")
    return exception


def _exception(report, found, error_indices, names, exceptions, raised, host_exception, arguments):
    global error_count
    error_count += len(error_indices)
    main_index = error_indices[0] if error_indices else None
    own_frames = False
    if host_exception is not None:
        interrupted = [index for index in error_indices if found[index].kind == "interrupted"]
        main_index = interrupted[0] if interrupted else main_index
        exception = host_exception
    elif _is_of(raised, found[main_index]):
        exception = _with_coordinates(raised.exception, found, main_index, error_indices)
        own_frames = True
    else:
        exception = make_exception(found[main_index], _also(found, main_index, error_indices), exceptions)
    exception.findings = found
    shown = [] if main_index is None else [main_index, *_others(found, main_index, error_indices)]
    if _in_doctest():
        shown = []  # until Python 3.13 it takes the last line of the notes for the message
    for index in shown:
        if index == main_index:
            note = report.note_of(index).rstrip("\n")
        else:
            note = without_repetition(found[index].kind, report.text_of(index)).rstrip("\n")
        if note:
            add_note(exception, note)
    if own_frames:
        return exception
    if main_index is None:
        return at_kernel_lines(exception, (), names)
    finding = found[main_index]
    try:
        return at_kernel_lines(exception, finding.location, names, _variables(finding, arguments or {}))
    finally:
        del exception  # as in at_kernel_lines()


def _variables(finding, given):
    """The arguments and other variables of each function of the call chain, as far as they are known."""
    result = []
    for frame, place in enumerate(finding.location):
        values, names = values_in_frame(finding.variables, frame), argument_names(finding.variables, frame)
        if frame == len(finding.location) - 1 and place.function == finding.kernel:
            names = [*given, *(name for name in names if name not in given)]
            values = {**given, **values}
        arguments = {name: values.pop(name) for name in names}
        result.append((arguments, values))
    return result


def _is_of(raised, finding):
    return raised.exception is not None and (raised.tid, raised.ctaid) == (finding.tid, finding.ctaid)


def _with_coordinates(exception, found, main_index, error_indices):
    """What the thread raised, saying which thread it was; of the engine's class where the finding has one."""
    finding, also = found[main_index], _also(found, main_index, error_indices)
    if finding.kind != "kernel-exception":
        made = make_exception(finding, also)
        if not isinstance(exception, type(made)):
            return made.with_traceback(exception.__traceback__)
    text = _message(finding, also, exception.args[0] if len(exception.args) > 1 else finding.message)
    try:
        exception.args = (text, *exception.args[1:])
    except Exception:  # noqa: BLE001 - the user's class may forbid it
        add_note(exception, finding.coordinates)
    return exception


def _others(found, main_index, error_indices):
    """The first error of each other kind."""
    kinds, others = {found[main_index].kind}, []
    for index in error_indices:
        if found[index].kind not in kinds:
            kinds.add(found[index].kind)
            others.append(index)
    return others


def _also(found, main_index, error_indices):
    return [found[index] for index in _others(found, main_index, error_indices)]


def _where(finding):
    """The thread (design rule C2); where programs take this for a GPU the line besides, as Numba has it there for
    exceptions that kernels raise."""
    place = finding.place
    if finding.kind != "kernel-exception" or place is None or not poses_as_gpu():
        return finding.coordinates
    file = os.path.abspath(place.file)
    return f"In function {place.function!r}, file {file}, line {place.line}, {finding.coordinates}"


def _message(finding, also, said):
    """Thread and what was said, with the other kinds of errors appended."""
    message = f"{_where(finding)}: {said}" if said != "" else _where(finding)
    for other in also:
        message += f"\nalso: {other.exception_type}: {other.headline()}"
        if other.place is not None:
            message += f" ({other.place})"
    return message


def make_exception(finding: Finding, also: list[Any], exceptions: RaisedExceptions = NONE) -> Any:
    """The exception for a finding, with the other kinds of errors appended to its message."""
    first, *rest = exceptions.arguments.get((finding.exception_type, finding.message), (finding.message,))
    message = _message(finding, also, first)
    if finding.exception_type == "MemoryError" and finding.cuda_error_code:
        return errors.KernelMemoryError(message, finding.cuda_error_code)
    if finding.exception_type == "TimeoutError":
        return errors.KernelTimeoutError(message, finding.cuda_error_code)
    if finding.exception_type == "KeyboardInterrupt":
        return KeyboardInterrupt(message)
    if finding.exception_type == "RuntimeError" and finding.kind != "kernel-exception":
        return errors.KernelError(message)
    return _instance(_named_class(finding, exceptions), finding.exception_type, message, *rest)


def _named_class(finding, exceptions):
    """The class that the kernel raised, or the built-in one that stands for a fault."""
    value = exceptions.classes.get(finding.exception_type) if finding.kind == "kernel-exception" else None
    if value is None:
        value = getattr(builtins, finding.exception_type, None)
    return value if isinstance(value, type) and issubclass(value, Exception) else None


def _instance(exception_class, name, message, *rest):
    if exception_class is not None:
        try:
            return exception_class(message, *rest)
        except Exception:  # noqa: BLE001 - the user's class may ask for anything
            pass
    return errors.KernelError(f"{name}: {message}")


def _in_doctest():
    frame: FrameType | None = sys._getframe()
    while frame is not None and not frame.f_code.co_filename.startswith("<doctest "):
        frame = frame.f_back
    return frame is not None


def _warn(finding, kernel_globals):
    message = finding.headline()
    if finding.count > 1:
        threads = "1 thread" if finding.threads == 1 else f"{finding.threads} threads"
        message += f" ({finding.count} times, by {threads})"
    for group in finding.waiting:
        message += f"\n  {group}"
    place = finding.place
    file, line = (
        (place.file, place.line) if place is not None else (kernel_globals.get("__file__", "<kernel>"), 0)
    )
    warn_at(finding.kind, message, file, line, kernel_globals, finding)
