"""Memory of the CUDA runtime API in C++ programs."""

from __future__ import annotations

import pathlib

from cuda_programs import compiled, needs_clang, run

PROGRAMS = pathlib.Path(__file__).with_name("programs")


@needs_clang
def test_memory_functions_do_what_their_reference_says(tmp_path: pathlib.Path) -> None:
    result = run(compiled((PROGRAMS / "memory.cu").read_text(), tmp_path))
    assert result.stdout == "done\n"
    assert result.returncode == 0
