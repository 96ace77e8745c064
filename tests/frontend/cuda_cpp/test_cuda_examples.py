"""Programs of examples/cuda: the clean ones end well and say so; those with a bug are convicted of it."""

from __future__ import annotations

import pathlib

import pytest
from cuda_programs import ROOT, needs_clang, nvcc, run

pytestmark = needs_clang

EXAMPLES = ROOT / "examples" / "cuda"
CLEAN = sorted(path.stem for path in EXAMPLES.glob("*.cu") if not path.stem.startswith("bug_"))

# What is found, and what the report says besides.
BUGS = {
    "bug_division_by_zero": (
        "integer-division",
        ["tid=[15, 0, 0] ctaid=[1, 0, 0]", "sums[group] / counts[group]"],
    ),
    "bug_missing_barrier": (
        "data-race",
        ["values[threadIdx.x] = reversed[threadIdx.x];", "reversed[127 - threadIdx.x]"],
    ),
    "bug_shared_out_of_bounds": (
        "out-of-bounds-shared",
        ["tid=[0, 0, 0] ctaid=[0, 0, 0]", "reversed[blockDim.x - threadIdx.x]"],
    ),
}


def built(name: str, folder: pathlib.Path) -> pathlib.Path:
    result = nvcc("-o", folder / name, EXAMPLES / f"{name}.cu", cwd=folder)
    assert (result.returncode, result.stderr) == (0, "")
    return folder / name


@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_example_ends_well_under_all_checks(tmp_path, name):
    result = run(built(name, tmp_path), CUDASIM_CHECK="all")
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"{name}: " in result.stdout
    assert "error:" not in result.stderr
    assert "warning:" not in result.stderr


@pytest.mark.parametrize("name", BUGS)
def test_the_bug_of_an_example_is_found_at_its_line(tmp_path, name):
    kind, texts = BUGS[name]
    program = built(name, tmp_path)
    result = run(program, **({"CUDASIM_CHECK": "races"} if kind == "data-race" else {}))
    assert result.returncode != 0
    assert f"error: {kind}" in result.stderr
    assert f"{name}.cu:" in result.stderr
    for text in texts:
        assert text in result.stderr


def test_no_example_is_left_out():
    assert {path.stem for path in EXAMPLES.glob("bug_*.cu")} == set(BUGS)
    assert len(CLEAN) >= 6
