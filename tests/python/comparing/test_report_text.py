"""The report of compared launches as text, and its parts."""

import pickle
import textwrap

import cudasim
import gpu_reports
import numpy as np
import pytest
from cudasim.comparing import report as parts
from cudasim.comparing import report_text


def text_of(*launches):
    return report_text.render(gpu_reports.report(*launches))


def test_a_launch_with_everything():
    assert text_of(gpu_reports.differing_launch()) == textwrap.dedent("""\
        Launch 3: saxpy[(4, 1, 1), (256, 1, 1)] at saxpy.py:12 in main: different
        GPU: NVIDIA H100 (compute capability 9.0, driver 570.86), 0.020 ms by GPU events
          x    int32 (2, 3)     same
          y    float64 (5,)     close      1 of 5 elements differ within the tolerance, at most 4504 ULP
          out  float32 (1024,)  different  2 of 1024 elements mismatched

        Array 'out', float32 (1024,):
          Mismatched elements: 2 / 1024 (0.2%)
          Greatest absolute difference: 8 at index (8,) (simulated 8.0, GPU 0.0; up to 1e-05 allowed)
          Greatest relative difference: 0.06667 at index (7,) (simulated 7.0, GPU 7.5; up to 1.3e-06 allowed)
          Greatest difference in ULP: 1090519040 at index (8,) (simulated 8.0, GPU 0.0)
          1 of the 2 mismatched elements has on the GPU the value from before the launch: a write may be missing there.
          They are:
            index  simulated  GPU  difference  ULP
            (7,)   7.0        7.5  0.5         1048576
              thread (7, 0, 0) block (0, 0, 0) saxpy.py:5 wrote 7.0
              these are some of 58 writes
                read x[7] = 3.5 (saxpy.py:5)
                and read more before
            (8,)   8.0        0.0  8           1090519040
              no thread wrote it on the simulator

        Memory outside of the arrays differs:
          1 byte at 0x2007, array 'out': simulated 00, GPU 2a

        Printed lines differ:
          1 on the simulator only:
            two
          1 on the GPU only:
            three

        Errors on the GPU:
          index 9 of 8 by thread (1, 0, 0) block (2, 0, 0) at saxpy.py:12 in main

        Explanations, the likeliest first:
          1. The GPU fuses a * x + y. (removes 2 of 2 differing elements)
               saxpy.py:5
          2. Two threads write out[7]. (changes 2 of 2 differing elements)
        """)


def test_launches_that_were_not_compared_say_why():
    refused = {
        "number": 0,
        "kernel": "k",
        "status": "refused",
        "message": "k calls a function pointer.\nCall it by name.",
    }
    assert text_of(refused) == "Launch 0: k: refused\nk calls a function pointer.\nCall it by name.\n"
    assert report_text.render(gpu_reports.report()) == "No launch was compared.\n"


def test_several_launches_end_in_a_summary():
    same = gpu_reports.launch(number=1)
    refused = {"number": 2, "kernel": "k", "status": "refused", "message": "why"}
    text = text_of(same, refused, gpu_reports.differing_launch(), {**same, "number": 4})
    assert text.endswith("\n\n4 launches: 2 same, 1 refused, 1 different\n")


def test_no_explanation_is_an_answer():
    assert "Not explained: no experiment changed" in text_of(
        gpu_reports.differing_launch() | {"explanations": []}
    )
    assert "xplain" not in text_of(gpu_reports.differing_launch() | {"explanations": None})


def test_special_values_are_told():
    nan, other_nan = np.float32(np.nan), np.uint32(0xFFC00001).view(np.float32)
    simulated = np.array([nan, 1, nan, 0.0, np.inf], np.float32)
    gpu = np.array([other_nan, nan, 1, -0.0, -np.inf], np.float32)
    text = text_of(gpu_reports.launch(gpu_reports.array("x", simulated, gpu)))
    for note in (
        "1 value is NaN on the simulator only.",
        "1 value is NaN on the GPU only.",
        "1 value is NaN on both sides, with different bits.",
        "1 value is zero with different signs.",
        "2 more elements differ within the tolerance.",
    ):
        assert f"\n  {note}\n" in text
    exact = text_of(gpu_reports.launch(gpu_reports.array("x", simulated[3:4], -simulated[3:4], exact=True)))
    assert "(0,)   0.0        -0.0" in exact


def test_values_that_read_the_same_are_shown_with_their_bits():
    record = np.zeros(1, "V3")
    other = np.frombuffer(b"\1\0\0", "V3")
    text = text_of(gpu_reports.launch(gpu_reports.array("x", record, other)))
    assert "(0,)   00 00 00   01 00 00" in text
    simulated, gpu = np.array([b"a\0b"], "S3"), np.array([b"a"], "S3")
    assert r"b'a\x00b'" in text_of(gpu_reports.launch(gpu_reports.array("x", simulated, gpu)))


def with_block(shape, rows, columns):
    simulated = np.zeros(shape, np.int32)
    gpu = simulated.copy()
    gpu[..., rows, columns] = 1
    return gpu_reports.launch(gpu_reports.array("x", simulated, gpu))


def map_of(text):
    lines = [line.strip() for line in text.splitlines()]
    return [line[1:-1] for line in lines if line.startswith("|")]


def test_a_map_shows_where_mismatches_are_together():
    text = text_of(with_block((4, 16), slice(1, 3), slice(4, 8)))
    assert "  Where they are (a character stands for 1 element, '@' for a mismatched one):\n    +-" in text
    assert map_of(text) == [" " * 16, "    @@@@" + " " * 8, "    @@@@" + " " * 8, " " * 16]


def test_cells_of_a_map_are_shaded_by_how_much_of_them_is_mismatched():
    text = text_of(with_block((32, 128), slice(0, 3), slice(0, 6)))
    assert "a character stands for 2 by 2 elements, '@' for 4 mismatched ones" in text
    assert map_of(text)[:3] == ["@@@" + " " * 61, "+++" + " " * 61, " " * 64]


@pytest.mark.parametrize(
    "rows, columns",
    [(slice(None), slice(None)), (slice(1, 2), slice(3, 4))],
    ids=["everywhere", "one element"],
)
def test_there_is_no_map_where_it_would_tell_nothing(rows, columns):
    assert not map_of(text_of(with_block((32, 128), rows, columns)))


def test_stripes_are_seen_and_scattered_mismatches_are_not():
    assert map_of(text_of(with_block((8, 32), slice(None), slice(0, None, 2))))
    random = np.random.default_rng(1)
    for share in (0.02, 0.2, 0.5, 0.9):
        scattered = (random.random((100, 640)) < share).astype(np.int32)
        made = gpu_reports.launch(gpu_reports.array("x", np.zeros_like(scattered), scattered))
        assert not map_of(text_of(made)), share


def test_a_small_array_has_no_map():
    assert not map_of(text_of(with_block((2, 7), slice(0, 1), slice(0, 4))))


def test_text_of_others_does_not_reach_the_terminal():
    made = gpu_reports.differing_launch(kernel="k\x1b[2J", message="a\nb\x07")
    text = text_of(made)
    assert not set(text) & {"\x1b", "\x07"}
    assert "k\\x1b[2J" in text
    assert "\na\nb\\x07\n" in text


def test_accesses_are_added_by_address():
    made = gpu_reports.differing_launch()
    write = {"thread": [0, 0, 0], "block": [1, 0, 0], "value": "0", "atomic": True}
    parts.add_accesses(made, {0x2007: {"writes": [write]}, 0x1: {"writes": [write]}})
    assert made["outside"][0]["writes"] == [write]
    assert "thread (0, 0, 0) block (1, 0, 0) left, by an atomic operation, 0" in text_of(made)
    parts.add_accesses(made, {0x2007: {"writes": [write]}})
    assert len(made["outside"][0]["writes"]) == 2


def test_the_verdict_of_a_report_is_the_worst_of_its_launches():
    assert parts.verdict_of(gpu_reports.report()) == "same"
    assert (
        parts.verdict_of(gpu_reports.report(gpu_reports.launch(), gpu_reports.differing_launch()))
        == "different"
    )


def test_a_difference_is_an_assertion_error_with_the_report():
    made = gpu_reports.report(gpu_reports.differing_launch())
    with pytest.raises(AssertionError) as caught:
        raise cudasim.GpuDifference(report_text.render(made), made)
    assert str(caught.value).startswith("Launch 3: saxpy")
    assert caught.value.report is made
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.report) == (str(caught.value), made)
