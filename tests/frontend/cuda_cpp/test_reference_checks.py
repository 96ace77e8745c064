"""Local variables whose addresses go to functions, through references and pointers: they are checked like arrays."""

from __future__ import annotations

import pathlib

import pytest
from frontend.cuda_cpp.cuda_programs import compiled, needs_clang, run

pytestmark = needs_clang

PROGRAM = pathlib.Path(__file__).parent / "programs" / "reference_checks.cu"
KERNELS = ("ranges", "indexed", "member", "joined", "mixed", "copied")


@pytest.fixture(scope="module")
def references(tmp_path_factory):
    return compiled(PROGRAM.read_text(), tmp_path_factory.mktemp("references"))


def line_of(kernel: str) -> int:
    lines = PROGRAM.read_text().splitlines()
    return 1 + next(i for i, line in enumerate(lines) if line.endswith(f"  // {kernel}"))


@pytest.mark.parametrize("variables", [{}, {"CUDASIM_CARRIER": "fiber"}, {"CUDASIM_CHECK": "none"}])
def test_functions_get_references_to_local_variables(references, variables):
    result = run(references, "right", **variables)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [
        "ranges 0 69 31 69 31 0 0 0 0 0 0 0 0",
        "indexed 0 2 2 2 2 2 2 2 2 2 2 2 2",
        "member 0 7 7 7 7 7 7 7 7 7 7 7 7",
        "joined 0 8 4 8 4 8 4 8 4 8 4 8 4",
        "mixed 0 1 2 1 4 1 6 1 8 1 10 1 12",
        "copied 0 0 0 0 0 4 0 4 0 4 0 4 0",
    ]


@pytest.mark.parametrize(
    ("kernel", "function", "thread", "said"),
    [
        ("indexed", "at", 3, "access to local memory outside of the thread's local arrays and parameters"),
        ("member", "member", 6, "access to local memory outside of the thread's local arrays and parameters"),
        (
            "joined",
            "last_of",
            9,
            "access to local memory outside of the thread's local arrays and parameters",
        ),
        ("mixed", "mixed", 8, "read of 4 bytes starting 0 bytes behind the end of global memory 'out "),
        ("copied", "copied", 4, "starting 0 bytes behind the end of global memory 'out "),
    ],
)
def test_what_is_out_of_bounds_behind_a_reference_is_found_where_it_happens(
    references, kernel, function, thread, said
):
    result = run(references, kernel)
    assert said in result.stderr
    assert f"at tid=[{thread}, 0, 0] ctaid=[0, 0, 0] in kernel {kernel}(float*, int)\n" in result.stderr
    place = result.stderr.split("kernel " + kernel, 1)[1].splitlines()[1]
    assert f"program.cu:{line_of(kernel)}:" in place
    assert place.endswith(f", in {function}")
    assert result.stdout.splitlines()[KERNELS.index(kernel)].startswith(f"{kernel} 700 ")
