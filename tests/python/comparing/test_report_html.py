"""The report of compared launches as an HTML page."""

import html.parser
import re

import gpu_reports
import numpy as np
from cudasim.comparing import report_html

#: Elements without an end.
VOID = {"meta", "br", "link", "img", "input"}


class Page(html.parser.HTMLParser):
    """Its elements, with whether each is closed where it should be."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.texts = [], [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    def all(self, name):
        return [attributes for tag, attributes in self.elements if tag == name]

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.texts))


def page_of(*launches):
    return Page(report_html.render(gpu_reports.report(*launches)))


def test_a_page_needs_nothing_else():
    page = page_of(gpu_reports.differing_launch())
    assert not [
        tag for tag, _ in page.elements if tag in {"script", "link", "img", "iframe", "object", "form"}
    ]
    assert not [
        (tag, name, value)
        for tag, attributes in page.elements
        for name, value in attributes.items()
        if name.startswith("on") or name == "src" or (name == "href" and not value.startswith("#"))
    ]
    (policy,) = [meta for meta in page.all("meta") if "http-equiv" in meta]
    assert policy["content"] == "default-src 'none'; style-src 'unsafe-inline'"
    assert "url(" not in page.text and "@import" not in page.text
    assert "prefers-color-scheme: dark" in page.text


def test_everything_in_the_report_is_on_the_page():
    text = page_of(gpu_reports.differing_launch()).text
    for part in (
        "saxpy.py:12 in main", "NVIDIA H100 (compute capability 9.0, driver 570.86), 0.020 ms by GPU events",
        "Mismatched elements: 2 / 1024 (0.2%)", "0x40e00000", "1090519040", "up to 1.3e-06 allowed",
        "thread (7, 0, 0) block (0, 0, 0) saxpy.py:5 wrote 7.0", "read x[7] = 3.5", "no thread", "0x2007", "2a", "two", "three",
        "index 9 of 8", "The GPU fuses a * x + y.", "removes 2 of 2 differing elements", "a write may be missing there",
    ):  # fmt: skip
        assert part in text, part
    assert text.index("The GPU fuses") < text.index("Two threads write")


def test_launches_are_linked_from_a_list():
    same = gpu_reports.launch(number=1)
    page = page_of(same, same, gpu_reports.differing_launch())
    targets = [link["href"] for link in page.all("a")]
    assert targets == ["#launch-1", "#launch-2", "#launch-3"]
    assert [section["id"] for section in page.all("section")] == [target[1:] for target in targets]


def test_tables_are_accessible():
    page = page_of(gpu_reports.differing_launch())
    assert len(page.all("table")) == len(page.all("caption")) >= 5
    assert all(head.get("scope") in {"col", "row"} for head in page.all("th"))
    (html_element,) = page.all("html")
    assert html_element["lang"] == "en"


def test_texts_are_escaped():
    evil = "<script>alert(1)</script>\"'&\ud800"
    simulated = np.array(["<b>"], "U3")
    launch = gpu_reports.launch(
        gpu_reports.array("<i>", simulated, np.array(["&lt"], "U3")), printed=("<p>\n", "</p>\n"), kernel=evil
    )
    launch["message"] = launch["where"]["file"] = evil
    page = Page(report_html.render({"version": 1, "cudasim": evil, "launches": [launch]}))
    assert not page.all("script") and not page.all("i") and not page.all("b")
    assert "<script>alert(1)</script>\"'&\\ud800" in page.text
    report_html.render({"version": 1, "cudasim": evil, "launches": [launch]}).encode()


def test_the_map_is_a_picture_with_words():
    simulated = np.zeros((32, 128), np.int32)
    gpu = simulated.copy()
    gpu[:3, :6] = 1
    page = page_of(gpu_reports.launch(gpu_reports.array("x", simulated, gpu)))
    (picture,) = page.all("svg")
    assert picture["role"] == "img"
    assert picture["aria-label"] == "Map of mismatched elements of array x, 16 by 64 cells"
    cells = page.all("rect")
    assert len(cells) == 6
    assert [cell["fill-opacity"] for cell in cells] == ["1.00"] * 3 + ["0.57"] * 3
    assert "rows 2–3, columns 0–1: 2 mismatched" in page.text


def test_reports_without_launches_and_arrays_are_pages():
    assert "No launch was compared." in page_of().text
    refused = {"number": 0, "kernel": "k", "status": "refused", "message": "because"}
    page = page_of(refused)
    assert "because" in page.text and not page.all("table")
    empty = np.zeros(0, np.float32)
    assert page_of(gpu_reports.launch(gpu_reports.array("x", empty, empty))).all("table")
