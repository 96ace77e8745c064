"""Text that is not PTX, or PTX that is wrong, is refused with a line; it never ends the process."""

import random
import re

import pytest
from cudasim import _native
from test_calls_and_branches import CHOOSE, PROTOTYPE
from test_linking import SUM, TWICE

RUNS = 1500
TOKEN = re.compile(r"[%$.\w]+|[^\s\w]")


def spoiled(text, choose):
    """The text with one to three tokens dropped, doubled, exchanged or replaced, or cut off."""
    for _ in range(choose.randint(1, 3)):
        places = list(TOKEN.finditer(text))
        one, other = choose.choice(places), choose.choice(places)
        new = choose.choice(
            [
                "",
                one[0] * 2,
                other[0],
                "0",
                "-1",
                "0xFFFFFFFFFFFFFFFF",
                "%",
                "{",
                "}",
                ".b8",
                ".pred",
                ";",
                one[0] + " " + other[0],
            ]
        )
        text = text[: one.start()] + new + text[one.end() :]
    return text[: choose.randrange(len(text))] if choose.random() < 0.1 else text


@pytest.mark.parametrize("seed", range(4))
def test_spoiled_text_is_refused_or_read(seed):
    choose = random.Random(seed)
    refused = 0
    for _ in range(RUNS // 4):
        text = spoiled(choose.choice([SUM, TWICE, CHOOSE.replace("%FORM%", PROTOTYPE)]), choose)
        try:
            _native.read_ptx(text, "spoiled.ptx")
        except _native.PtxError as error:
            refused += 1
            assert error.args[1] >= 0
    assert refused > RUNS // 16


@pytest.mark.parametrize("text", ["", "\0", "}", ".func f", ".visible", ".func (", "@", "\x00\xff", ".version 8.0 .target sm_75", ".global .b8 x[99999999999999999999];",
                                  ".file 99999999 \"x\"", ".func f() { .reg .b32 %r<4>; mov.u32 %r1, {{{{; }"])  # fmt: skip
def test_what_is_no_ptx(text):
    try:
        _native.read_ptx(text, "x.ptx")
    except _native.PtxError as error:
        assert error.args[0]


def test_wrong_types_of_registers_are_errors():
    with pytest.raises(_native.PtxError, match="is not a predicate"):
        _native.read_ptx(".func f() {\n.reg .b32 %r;\n@%r ret;\n}", "x.ptx")
    with pytest.raises(_native.PtxError, match="is there twice"):
        _native.read_ptx(".func f() {\nL: ret;\nL: ret;\n}", "x.ptx")
    with pytest.raises(_native.PtxError, match="needs a prototype"):
        _native.read_ptx(".func f() {\n.reg .b64 %rd;\ncall %rd, ();\n}", "x.ptx")
