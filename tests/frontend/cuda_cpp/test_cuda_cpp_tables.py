"""docs/cuda_cpp_tables.md says what there is."""

import pathlib
import subprocess
import sys

from cuda_programs import TOOLKIT, needs_clang

pytestmark = needs_clang

ROOT = pathlib.Path(__file__).resolve().parents[3]


def test_the_page_is_up_to_date():
    assert (TOOLKIT / "bin" / "nvcc").exists()
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "cuda_cpp_tables.py"], capture_output=True, text=True, check=True
    )
    page = (ROOT / "docs" / "cuda_cpp_tables.md").read_text()
    assert page == done.stdout, "run: scripts/cuda_cpp_tables.py > docs/cuda_cpp_tables.md"
    assert (
        "`cudaMemcpy`" in page
        and "`--expt-relaxed-constexpr" in page
        and "`cooperative_groups.h`" in page
        and "`fma`" in page
    )
