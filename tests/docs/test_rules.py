"""The rule book: every rule that code, tests or documents cite is defined in docs/design.md, and every rule there is cited."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULE_BOOK = ROOT / "docs" / "design.md"
SUFFIXES = {".cpp", ".h", ".def", ".py", ".pyi", ".md", ".txt", ".sh", ".cmake", ".in"}
#: Documents beside the folders.
AT_THE_TOP = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")]
#: A letter and a number that are not part of a longer name, of a literal or of an escape sequence.
CITATION = re.compile(r"(?<![\w\\\"'<>|+=.:-])[ECV]\d{1,2}b?(?![\w\"'|*\]])")
#: The same form with another meaning: a C standard, a name in a test.
NO_RULES = {"C99", "C64"}


def texts():
    """(path, text) of every file that may cite rules."""
    for folder in (
        "simulator",
        "frontend",
        "gpu_backend",
        "library",
        "debugger",
        "tests",
        "bench",
        "examples",
        "docs",
        "scripts",
        "cmake",
    ):
        for path in sorted((ROOT / folder).rglob("*")):
            if (
                path.suffix in SUFFIXES
                and path.is_file()
                and path not in (RULE_BOOK, pathlib.Path(__file__).resolve())
            ):
                yield path, path.read_text()
    for path in AT_THE_TOP:
        yield path, path.read_text()


def defined(text):
    return re.findall(r"^\*\*([ECV]\d{1,2}b?)\. ", text, re.MULTILINE)


def without_reason(text):
    """The rules whose text, up to the next rule or heading, has no sentence that begins with `Reason:`."""
    rules = re.findall(r"^\*\*([ECV]\d{1,2}b?)\. (.*?)(?=^\*\*|^#|\Z)", text, re.MULTILINE | re.DOTALL)
    return [rule for rule, body in rules if not re.search(r"\bReason: \w", body)]


def cited():
    """rule → the files that cite it; "C1 to C3" cites C2 as well."""
    found = {}
    for path, text in texts():
        rules = set(CITATION.findall(text)) - NO_RULES
        for letter, first, last in re.findall(r"\b([ECV])(\d{1,2})(?: to |–)[ECV](\d{1,2})\b", text):
            rules |= {f"{letter}{number}" for number in range(int(first), int(last) + 1)}
        for rule in rules:
            found.setdefault(rule, []).append(str(path.relative_to(ROOT)))
    return found


def test_a_rule_is_defined_once():
    rules = defined(RULE_BOOK.read_text())
    assert len(rules) == len(set(rules)) and len(rules) >= 25


def test_a_rule_has_a_reason():
    assert without_reason("**E1. A.** B.\n\n**E2. C.** D. Reason: e.\n## 2\nReason: f.\n**V1. G**\n") == [
        "E1",
        "V1",
    ]
    assert not without_reason(RULE_BOOK.read_text())


def test_every_rule_that_is_cited_is_defined():
    rules = set(defined(RULE_BOOK.read_text()))
    assert not {rule: files for rule, files in cited().items() if rule not in rules}


def test_every_rule_that_is_defined_is_cited():
    assert not set(defined(RULE_BOOK.read_text())) - set(cited())


@pytest.mark.parametrize(
    "document", sorted((ROOT / "docs").glob("*.md")) + AT_THE_TOP, ids=lambda path: path.name
)
def test_a_document_refers_to_nothing_outside_of_the_repository(document):
    text = re.sub(r"^```.*?^```|`[^`]*`", "", document.read_text(), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" not in target and not target.startswith("#"):
            assert (document.parent / target.partition("#")[0]).resolve().is_relative_to(ROOT), target


def test_sections_of_the_rule_book_that_are_cited_exist():
    sections = set(re.findall(r"^## (\d+)\.", RULE_BOOK.read_text(), re.MULTILINE))
    for path, text in texts():
        for number in re.findall(r"design\.md,? section (\d+)", text):
            assert number in sections, f"{path}: section {number}"
