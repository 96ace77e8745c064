"""cuda_bf16.h: every number through every function, on host and device, compared with exact arithmetic."""

from __future__ import annotations

import pytest
from cuda_programs import NVCC, compiled, needs_clang, output_of, run
from exact_rounding import BFLOAT
from short_float_checks import check_all, read_results
from test_half_headers import DEVICE_ONLY, PROGRAMS

pytestmark = [needs_clang, pytest.mark.skipif(not NVCC.exists(), reason="no toolkit in the build tree")]


def test_all_bfloats(tmp_path):
    source = (PROGRAMS / "short_floats.cu").read_text()
    result = run(compiled(source, tmp_path, "-DBFLOAT"), "results")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    check_all(read_results(tmp_path / "results"), BFLOAT)


def test_bfloat_shuffles_atomics_and_memory(tmp_path):
    source = (
        DEVICE_ONLY.replace("cuda_fp16", "cuda_bf16").replace("FP16", "BF16").replace("2half2", "2bfloat162")
    )
    source = source.replace(
        "#include <cstdio>", "#include <cstdio>\n#define half nv_bfloat16\n#define half2 nv_bfloat162"
    )
    assert output_of(source, tmp_path, "-std=c++17") == "32 64 -128\n66 4 10 10\ninf 3.38953e+38 1\n"
