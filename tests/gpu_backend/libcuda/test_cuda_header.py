"""types.h and functions.def against NVIDIA's own header, where a CUDA toolkit is: layouts, numbers, signatures."""

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
CHECKS = pathlib.Path(__file__).with_name("cuda_header_checks.cpp")


def toolkit_headers():
    roots = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda", "/usr"]
    for root in filter(None, roots):
        if pathlib.Path(root, "include", "cuda.h").exists():
            return pathlib.Path(root, "include")
    pytest.skip("no cuda.h in $CUDA_HOME, $CUDA_PATH, /usr/local/cuda or /usr")


def compiled(file, headers):
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        pytest.skip("no C++ compiler")
    return subprocess.run(
        [compiler, "-std=c++20", "-fsyntax-only", "-I", ROOT, "-isystem", headers, file],
        capture_output=True,
        text=True,
    )


def test_types_and_functions_are_as_nvidias_header_has_them():
    done = compiled(CHECKS, toolkit_headers())
    assert done.returncode == 0, done.stderr[:5000]


@pytest.mark.parametrize(
    "ours, wrong",
    [
        ("SAME_NUMBER(Limit::stack_size, CU_LIMIT_STACK_SIZE)", "SAME_NUMBER(Limit::stack_size, CU_LIMIT_PRINTF_FIFO_SIZE)"),
        ("SAME_SIZE(Limit, CUlimit)", "SAME_SIZE(Limit, CUdeviceptr)"),
        ("SAME_MEMBER(LaunchConfig, stream, CUlaunchConfig, hStream)", "SAME_MEMBER(LaunchConfig, stream, CUlaunchConfig, attrs)"),
        ("decltype(name##version)", "decltype(::cuInit)"),
    ],
)  # fmt: skip
def test_a_difference_does_not_compile(tmp_path, ours, wrong):
    text = CHECKS.read_text()
    assert ours in text
    changed = tmp_path / CHECKS.name
    changed.write_text(text.replace(ours, wrong))
    done = compiled(changed, toolkit_headers())
    assert done.returncode != 0 and "static assertion failed" in done.stderr
