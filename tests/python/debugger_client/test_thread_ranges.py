"""Ranges and coordinates as they are typed (cudasim.debugger_client.ranges)."""

import pytest
from cudasim.debugger_client import ranges
from cudasim.debugger_client.errors import CommandError


@pytest.mark.parametrize(
    "text, taken",
    [
        ("3", ("3", "")),
        ("0..31 if x", ("0..31", "if x")),
        ("(40, 2, 0) block 1", ("(40,2,0)", "block 1")),
        ("(40)", ("(40)", "")),
        ("* if x", ("*", "if x")),
        ("[0..3, 8, (1,2)] rest", ("[0..3,8,(1,2)]", "rest")),
        ("0..3, 8 rest", ("0..3,8", "rest")),
        ("  0 .. 3", ("0..3", "")),
    ],
)
def test_a_range_is_taken_from_the_beginning(text, taken):
    assert ranges.take_range(text) == taken


@pytest.mark.parametrize(
    "text", ["", "x", "-1", "3x", "1..", "(1,2,3,4)", "[1", "..3", "3..1", "(1,2", "1,", "0x10"]
)
def test_what_is_no_range_is_refused(text):
    with pytest.raises(CommandError):
        ranges.take_range(text)


def test_the_refusal_names_the_word():
    with pytest.raises(CommandError, match='"x7" is no range'):
        ranges.take_range("x7 if y")
    with pytest.raises(CommandError, match="5..2 runs backwards"):
        ranges.take_range("[1,5..2]")


@pytest.mark.parametrize(
    "text, one, rest",
    [("3", 3, ""), ("(3)", 3, ""), ("(3,1)", [3, 1, 0], ""), ("(3, 1, 2) thread 4", [3, 1, 2], "thread 4"), ("3,1,0", [3, 1, 0], ""),
     ("5 thread 1", 5, "thread 1")],
)  # fmt: skip
def test_one_thread_is_an_index_or_coordinates(text, one, rest):
    assert ranges.take_one(text) == (one, rest)


def test_linear_indices_run_along_x_first():
    extent = [4, 3, 2]
    every = [ranges.coordinates_of(index, extent) for index in range(24)]
    assert (
        every[1] == [1, 0, 0] and every[4] == [0, 1, 0] and every[12] == [0, 0, 1] and every[23] == [3, 2, 1]
    )
    assert [ranges.linear(one, extent) for one in every] == list(range(24))


def test_ranges_are_expanded_within_the_block():
    assert ranges.expanded("0..3,8,2", [10, 1, 1]) == [0, 1, 2, 3, 8]
    assert ranges.expanded("7..20", [10, 1, 1]) == [7, 8, 9]
    assert ranges.expanded("*", [2, 2, 1]) == [0, 1, 2, 3]
    assert ranges.expanded("[(1,1),(9,9,9)]", [2, 2, 1]) == [3]


def test_a_thread_is_looked_for_without_expanding():
    assert ranges.contains("0..999999999", 5, [1, 1, 1]) and not ranges.contains("0..3,8", 5, [10, 1, 1])
    assert ranges.contains("(1,1)", 3, [2, 2, 1]) and not ranges.contains("(1,1)", 2, [2, 2, 1])
    assert ranges.contains("*", 7, [1, 1, 1])


def test_indices_become_ranges():
    assert ranges.as_ranges([0, 1, 2, 3, 8, 10, 11]) == "0..3,8,10..11"
    assert ranges.as_ranges([]) == ""
