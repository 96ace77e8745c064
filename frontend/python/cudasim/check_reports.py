"""Findings of `cudasim check` in the forms that other programs read: JSON, SARIF 2.1.0 and JUnit's XML."""

from __future__ import annotations

import json
import os
import re
import urllib.parse
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import cudasim

if TYPE_CHECKING:
    from cudasim.findings import Finding
    from cudasim.reports.check_session import Found

_SARIF_LEVELS = {"error": "error", "warning": "warning", "note": "note"}
_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def as_json(found: list[Found], counts: dict[str, int]) -> str:
    """{"counts": …, "findings": [{kind, severity, message, kernel, tid, ctaid, location, accesses, …}]}"""
    findings = [
        {**_as_data(each.finding), "schedules": each.schedules, "launch": each.launch} for each in found
    ]
    return json.dumps({"counts": counts, "findings": findings}, indent=2) + "\n"


def _as_data(finding: Finding) -> dict[str, Any]:
    data = finding._asdict()
    del data["variables"]
    data["location"] = [place._asdict() for place in finding.location]
    data["waiting"] = [str(group) for group in finding.waiting]
    data["object"] = finding.object._asdict() if finding.object is not None else None
    data["accesses"] = [
        {**access._asdict(), "location": [place._asdict() for place in access.location]}
        for access in finding.accesses
    ]
    return data


def as_sarif(found: list[Found], folder: str) -> str:
    """A SARIF log (OASIS SARIF 2.1.0), as code hosts show it beside the lines of a change.

    :param folder: of the sources: files below it get paths relative to it
    """
    kinds = sorted({each.finding.kind for each in found})
    results = []
    for each in found:
        finding = each.finding
        result: dict[str, Any] = {
            "ruleId": finding.kind,
            "ruleIndex": kinds.index(finding.kind),
            "level": _SARIF_LEVELS[finding.severity],
            "message": {"text": f"{finding.headline()}{_context(each)}"},
        }
        if finding.place is not None:
            result["locations"] = [_sarif_location(finding.place, folder)]
        if finding.accesses:
            result["relatedLocations"] = [
                {
                    **_sarif_location(access.place, folder),
                    "message": {
                        "text": f"{access.what} by {access.coordinates}"
                        if access.coordinates
                        else access.what
                    },
                }
                for access in finding.accesses
                if access.place is not None
            ]
        results.append(result)
    driver = {
        "name": "cudasim",
        "version": cudasim.__version__,
        "rules": [{"id": kind, "name": kind} for kind in kinds],
    }
    log = {
        "$schema": _SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return json.dumps(log, indent=2) + "\n"


def _context(found):
    """The kernel and the schedules under which it was found, in brackets; nothing for findings of no kernel."""
    kernel = [f"kernel {found.finding.kernel}"] if found.finding.kernel else []
    known = ", ".join([*kernel, *found.schedules])
    return f" ({known})" if known else ""


def _uri(path, folder):
    """As a reference relative to the folder, where the file lies below it."""
    inside = os.path.relpath(path, folder)
    outside = inside.split(os.sep)[0] == os.pardir
    quoted = urllib.parse.quote(os.fsencode(path if outside else inside))
    return f"file://{quoted}" if outside else quoted


def _sarif_location(place: Any, folder: str) -> dict[str, Any]:
    region = {"startLine": max(1, place.line)}
    if place.column:
        region["startColumn"] = place.column
    uri = _uri(os.path.abspath(place.file), folder)
    return {
        "physicalLocation": {"artifactLocation": {"uri": uri}, "region": region},
        "logicalLocations": [{"name": place.function, "kind": "function"}],
    }


#: What XML 1.0 has no way to write.
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _for_xml(text):
    """The text, with escapes as Python writes them for characters that XML forbids."""
    return _NOT_IN_XML.sub(lambda match: ascii(match[0])[1:-1], text)


def as_junit(found: list[Found], kernels: dict[str, int]) -> str:
    """One test case for each kernel that was launched, and one for findings of no kernel; errors and warnings are failures."""
    failures = [each for each in found if each.finding.severity != "note"]
    cases: dict[str, list[Found]] = {name: [] for name in kernels}
    of_program: list[Found] = []
    for each in failures:
        cases.get(each.finding.kernel, of_program).append(each)
    named = [("cudasim", name, of_kernel) for name, of_kernel in cases.items()]
    if of_program:
        named.append(("cudasim.program", "outside of kernels", of_program))
    suite = ElementTree.Element(
        "testsuite", name="cudasim check", tests=str(len(named)), failures=str(len(failures))
    )
    for group, name, failed in named:
        case = ElementTree.SubElement(suite, "testcase", classname=group, name=_for_xml(name))
        for each in failed:
            failure = ElementTree.SubElement(
                case, "failure", type=each.finding.kind, message=_for_xml(each.finding.headline())
            )
            failure.text = _for_xml(each.text)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
