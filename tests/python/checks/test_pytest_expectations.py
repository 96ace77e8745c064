"""`@pytest.mark.cudasim_expect`, and findings of checks as failures of tests."""

import re
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


THREADS = """
    import threading

    import numpy as np
    import pytest
    from numba import cuda

    @cuda.jit
    def add_to_one(x):
        x[0] += 1

    @cuda.jit
    def allowed(x):
        x[0] += 1  # cudasim: allow data-race: any of them will do

    @cuda.jit
    def faults(x):
        x[64] = 1  # cudasim: allow out-of-bounds-index: but it is a fault all the same

    def launch(kernel=add_to_one):
        kernel[1, 32](np.zeros(32, np.int32))

    def in_thread():
        thread = threading.Thread(target=launch)
        thread.start()
        thread.join()

    def test_thread():
        in_thread()

    @pytest.mark.cudasim_expect("data-race", line=9)
    def test_expected_of_thread():
        in_thread()

    @pytest.mark.cudasim_expect("equal-writes")
    def test_not_expected_of_thread():
        in_thread()

    @pytest.mark.cudasim(schedules=1)
    def test_thread_with_schedules():
        in_thread()

    def test_caught_in_thread():
        def work():
            with pytest.raises(RuntimeError):
                launch()
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    def test_allowed():
        launch(allowed)

    @pytest.mark.cudasim(schedules=1)
    def test_allowed_with_schedules():
        launch(allowed)

    @pytest.mark.cudasim_expect("data-race", line=9)
    def test_allowed_beside_expected():
        launch()
        launch(allowed)

    @pytest.mark.cudasim_expect("data-race", line=13)
    def test_allowed_and_expected():
        launch(allowed)

    def test_fault():
        launch(faults)

    @pytest.mark.cudasim_expect("data-rase")
    def test_unknown_kind():
        launch()
"""


def test_findings_of_threads_and_comments_that_allow_some(run):
    (run.folder / "test_kernels.py").write_text(textwrap.dedent(THREADS).lstrip("\n"))
    done = run(
        "-m", "pytest", "--cudasim", "--cudasim-check=all", "-q", "-p", "no:cacheprovider", "test_kernels.py"
    )
    failed = ("thread", "not_expected_of_thread", "thread_with_schedules", "fault", "unknown_kind")
    names = set(re.findall(r"^FAILED test_kernels.py::test_(\w+)", done.stdout, re.M))
    assert names == set(failed), done.stdout
    assert "there is no kind of finding 'data-rase'. Did you mean 'data-race'?" in done.stdout
    assert re.search(
        r"not expected: error: data-race: tid=.*: write of x\[0\].*\n"
        r"  at \S*test_kernels.py:9 in add_to_one\n"
        r"  object: x, 128 bytes of global memory at 0x\w+; the access is at byte 0\n"
        r"  \w+ by tid=.*, at \S*test_kernels.py:9\n"
        r"  write by tid=.*, value \d+, at \S*test_kernels.py:9\n",
        done.stdout,
    ), done.stdout
    assert "MemoryObject(" not in done.stdout and "data-race: data race" not in done.stdout


def test_a_comment_allows_a_finding_without_cudasim_check_too(run):
    code = """
        import numpy as np
        from numba import cuda

        @cuda.jit
        def racy(x):
            x[0] += 1

        x = np.zeros(4, np.int32)
        racy[1, 4](x)
        cuda.device_array(4).copy_to_host()
        print("done", x[0] > 0)
        """
    allowed = code.replace("+= 1", "+= 1  # cudasim: allow data-race: any of them will do").replace(
        "host()", "host()  # cudasim: allow uninitialised-copy: to touch it"
    )
    for options in ([], ["--mode=python"]):
        done = run("-m", "cudasim", "run", "--check=all", *options, run.write(allowed).name)
        assert (done.returncode, done.stdout) == (0, "done True\n")
        assert "UninitialisedCopyWarning" not in done.stderr
    assert "data race" in run("-m", "cudasim", "run", "--check=all", run.write(code).name).stderr
