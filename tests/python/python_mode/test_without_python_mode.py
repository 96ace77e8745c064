"""A CPython that Python mode does not know: everything that can be compiled runs, and one sentence says what is missing."""

import json
import subprocess
import sys

import pytest
from processes import clean_environment

#: Makes the import of cudasim._pyfiber fail as frontend/pyfiber/unknown_interpreter.cpp does.
WITHOUT = """\
import sys

class Refuses:
    def find_spec(self, name, path=None, target=None):
        if name == "cudasim._pyfiber":
            raise ImportError("Python mode is not available on CPython 9.9 (it needs CPython 3.10 to 3.14, with the GIL)")

sys.meta_path.insert(0, Refuses())
"""
KERNEL = """\
import numpy as np
from numba import cuda

@cuda.jit
def invert(x):
    i = cuda.grid(1)
    {line}
    x[i] = 1 / (1 + i)

x = np.zeros(4)
invert[1, 4](x)
invert[1, 4](x)
print("sum", round(x.sum(), 3))
"""
SENTENCE = "Python mode is not available on CPython 9.9"


def run(folder, line, *command, file="script.py", **variables):
    (folder / "sitecustomize.py").write_text(WITHOUT)
    (folder / "script.py").write_text(KERNEL.format(line=line))
    environment = clean_environment(ENABLE_CUDASIM="1", PYTHONPATH=str(folder), **variables)
    return subprocess.run([sys.executable, *command, file], cwd=folder, env=environment, text=True,
                          capture_output=True, timeout=120)  # fmt: skip


def test_kernels_that_need_nothing_of_it_say_nothing(tmp_path):
    done = run(tmp_path, "pass")
    assert (done.returncode, done.stdout, done.stderr) == (0, "sum 2.083\n", "")


def test_a_breakpoint_is_named_once_and_the_kernel_runs_compiled(tmp_path):
    done = run(tmp_path, "if i == 2: breakpoint()")
    assert (done.returncode, done.stdout) == (0, "sum 2.083\n")
    assert done.stderr.count(SENTENCE) == 1 and "breakpoint() in invert() is ignored" in done.stderr
    assert "script.py:7: " in done.stderr


def test_a_construct_that_only_python_mode_runs_is_named(tmp_path):
    done = run(tmp_path, "s = str(i) + str(i)")
    assert done.returncode == 1 and SENTENCE in done.stderr
    assert "str" in done.stderr and 'script.py", line 7' in done.stderr


def test_asking_for_it_is_an_error(tmp_path):
    done = run(tmp_path, "pass", CUDASIM_MODE="python")
    assert done.returncode == 1 and f"CUDASIM_MODE=python: {SENTENCE}" in done.stderr


def test_coverage_runs_kernels_compiled_with_one_warning(tmp_path):
    pytest.importorskip("coverage", reason="coverage is not installed (scripts/set_up.sh test installs it)")
    done = run(tmp_path, "pass", "-m", "coverage", "run")
    assert (done.returncode, done.stdout) == (0, "sum 2.083\n")
    assert done.stderr.count(SENTENCE) == 1 and "do not see the lines of kernels" in done.stderr


TEST = """\
import numpy as np
import script

def test_invert():
    x = np.zeros(4)
    script.invert[1, 4](x)
    assert round(x.sum(), 3) == 2.083
"""


def test_pytest_cov_runs_kernels_compiled_with_one_warning(tmp_path):
    pytest.importorskip(
        "pytest_cov", reason="pytest-cov is not installed (scripts/set_up.sh test installs it)"
    )
    (tmp_path / "test_script.py").write_text(TEST)
    done = run(tmp_path, "pass", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--cov=script", "--cov-report=json:report.json",
               file="test_script.py")  # fmt: skip
    assert done.returncode == 0 and "1 passed, 1 warning" in done.stdout
    assert done.stdout.count(SENTENCE) == 1 and "do not see the lines of kernels" in done.stdout
    report = json.loads((tmp_path / "report.json").read_text())["files"]["script.py"]
    assert report["missing_lines"] == [6, 7, 8]
