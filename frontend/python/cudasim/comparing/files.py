"""Recorded launches beside what a GPU made of them on another machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cudasim import _native, errors
from cudasim.comparing import report as reports
from cudasim.comparing.arrays import Tolerance
from cudasim.comparing.session import compare_outcome, not_compared, why_not
from cudasim.recording.replay import Reader

if TYPE_CHECKING:
    from cudasim.recording.recorder import Selection


def diff_files(
    record_path: str, result_path: str, tolerances: Mapping[str, Tolerance], selection: Selection
) -> tuple[dict[str, Any], bool]:
    """The report of two files, as report_schema.json describes it, and whether cudasim-gpu-run came to the end of its file.

    :param record_path: what `cudasim record --gpu` wrote
    :param result_path: what cudasim-gpu-run wrote
    :raises errors.RecordError: where one is not readable, or they do not belong together
    :raises ValueError: for tolerances of arrays that a launch does not have
    """
    records, results = _opened(Reader, record_path), _opened(_native.GpuResultFile, result_path)
    by_number = {records.read(index, False).number: index for index in range(len(records))}
    launches = []
    for index in range(results.results):
        result = results.result(index)
        if not selection.first <= result.number <= selection.last:
            continue
        if result.number not in by_number:
            raise errors.RecordError(
                f"{result_path} has results of launch {result.number}, which is not in {record_path}: they do not belong together"
            )
        record = records.read(by_number[result.number])
        launches.append(compare_outcome(record, results.outcome(index, record), tolerances))
    done = {launch["number"] for launch in launches}
    for number, index in by_number.items():
        if number in done or not selection.first <= number <= selection.last:
            continue
        record = records.read(index, False)
        reason = why_not(record) or f"{result_path} has no result of it"
        launches.append(not_compared(record, reason))
    if not launches:
        raise errors.RecordError(f"{record_path} has no launches with these numbers")
    launches.sort(key=lambda launch: launch["number"])
    return reports.report_of(launches), results.finished


def _opened(kind, path):
    try:
        return kind(path)
    except errors.RecordError as error:
        raise errors.RecordError(str(error) if path in str(error) else f"{path}: {error}") from None
