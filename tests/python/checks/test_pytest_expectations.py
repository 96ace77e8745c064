"""`@pytest.mark.cudasim_expect`, and findings of checks as failures of tests."""

import textwrap

TESTS = """
    import numpy as np
    import pytest
    from numba import cuda

    @cuda.jit
    def add_to_one(x):
        x[0] += 1

    @cuda.jit
    def clean(x):
        x[cuda.threadIdx.x] += 1

    @pytest.mark.cudasim_expect("data-race", line=7)
    def test_expected():
        add_to_one[1, 32](np.zeros(32, np.int32))

    @pytest.mark.cudasim_expect("data-race", line=12)
    def test_at_another_line():
        add_to_one[1, 32](np.zeros(32, np.int32))

    @pytest.mark.cudasim_expect("data-race")
    def test_missing():
        clean[1, 32](np.zeros(32, np.int32))

    @pytest.mark.cudasim_expect("deadlock")
    def test_another_kind():
        add_to_one[1, 32](np.zeros(32, np.int32))

    def test_not_expected():
        add_to_one[1, 32](np.zeros(32, np.int32))

    @pytest.mark.cudasim(check="memory")
    def test_not_checked():
        add_to_one[1, 32](np.zeros(32, np.int32))

    @cuda.jit(debug=True, opt=False)
    def asserts(x):
        assert x[0] == 1

    def test_without_text():
        asserts[1, 1](np.zeros(32, np.int32))

    @pytest.mark.cudasim_expect("data-race", column=3)
    def test_wrong_marker():
        clean[1, 32](np.zeros(32, np.int32))
"""


def test_expected_findings_pass_and_others_fail(run):
    (run.folder / "test_kernels.py").write_text(textwrap.dedent(TESTS).lstrip("\n"))
    done = run(
        "-m",
        "pytest",
        "--cudasim",
        "--cudasim-check=all",
        "-q",
        "-p",
        "no:cacheprovider",
        "test_kernels.py",
        "-rA",
    )
    for name in ("expected", "not_checked"):
        assert f"PASSED test_kernels.py::test_{name}\n" in done.stdout, done.stdout
    for name in ("at_another_line", "missing", "another_kind", "not_expected", "wrong_marker"):
        assert f"FAILED test_kernels.py::test_{name}" in done.stdout, done.stdout
    assert "error: kernel-exception: tid=[0, 0, 0] ctaid=[0, 0, 0]: AssertionError\n" in done.stdout
    assert "expected, but not found: data-race at line 12" in done.stdout
    assert (
        "expected, but not found: deadlock" in done.stdout and "not expected: error: data-race" in done.stdout
    )
    assert "write it as @pytest.mark.cudasim_expect" in done.stdout
