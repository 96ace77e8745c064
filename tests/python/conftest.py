"""What the tests of the Python package share: scripts run as a user runs them, in an interpreter of their own."""

import os
import pathlib
import subprocess
import sys
import textwrap

import pytest
from processes import clean_environment

PACKAGE_PARENT = pathlib.Path(__import__("cudasim").__file__).resolve().parents[1]


class Runner:
    """Runs Python code in a subprocess; `python` may be an interpreter that has numba."""

    def __init__(self, folder, python=sys.executable, python_path=None):
        self.folder, self.python, self.python_path = folder, python, python_path

    def write(self, code, name="script.py"):
        path = self.folder / name
        path.write_text(textwrap.dedent(code))
        return path

    def __call__(self, *arguments, timeout=120, input=None, **variables):
        environment = clean_environment(PYTHONPATH=self.python_path, **variables)
        return subprocess.run(
            [self.python, *map(str, arguments)],
            env=environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=timeout,
            input=input,
        )

    def script(self, code, *arguments, **variables):
        """Writes the code to script.py and runs it."""
        return self(self.write(code), *arguments, **variables)


@pytest.fixture
def run(tmp_path):
    """Scripts in this interpreter (without numba)."""
    if _imports("numba", sys.executable):
        pytest.skip("numba is installed in the testing interpreter")
    return Runner(tmp_path)


@pytest.fixture
def run_here(tmp_path):
    """Scripts in this interpreter, whether it has numba or not."""
    return Runner(tmp_path)


@pytest.fixture
def run_with_numba(tmp_path):
    """Scripts in an interpreter that has numba and numba-cuda: $CUDASIM_TEST_NUMBA_PYTHON."""
    python = os.environ.get("CUDASIM_TEST_NUMBA_PYTHON", "")
    if not python or not os.path.exists(python):
        pytest.skip("CUDASIM_TEST_NUMBA_PYTHON names no interpreter with numba installed")
    if not _imports("numba", python):
        pytest.skip(f"{python} has no numba")
    runner = Runner(tmp_path, python)
    if not _imports("cudasim", python):
        # cudasim is not installed there. The package of this interpreter is used, and its .pth file lies in a
        # folder that site.py reads.
        runner = _borrowing_runner(tmp_path, python)
    return runner


def _imports(module, python):
    return (
        subprocess.run(
            [python, "-c", f"import {module}"], env=clean_environment(), cwd="/", capture_output=True
        ).returncode
        == 0
    )


def _borrowing_runner(tmp_path, python):
    (tmp_path / "hooks").mkdir()
    hook = tmp_path / "hooks" / "sitecustomize.py"
    hook.write_text("import _cudasim_switch\n")
    return Runner(tmp_path, python, f"{hook.parent}{os.pathsep}{_native_parent(tmp_path)}")


def _native_parent(tmp_path):
    """A folder from which the other interpreter imports cudasim with its compiled part."""
    import _cudasim_switch
    from cudasim import _native, _pyfiber

    folder = tmp_path / "borrowed"
    folder.mkdir()
    (folder / "cudasim").mkdir()
    for entry in (PACKAGE_PARENT / "cudasim").iterdir():
        if entry.suffix != ".so":
            (folder / "cudasim" / entry.name).symlink_to(entry)
    for extension in (_native, _pyfiber):
        (folder / "cudasim" / os.path.basename(extension.__file__)).symlink_to(extension.__file__)
    (folder / "_cudasim_switch.py").symlink_to(_cudasim_switch.__file__)
    return folder


@pytest.fixture(params=["without numba", "with numba and numba-cuda"])
def any_run(request):
    """Scripts in both interpreters, one after the other."""
    return request.getfixturevalue("run" if request.param == "without numba" else "run_with_numba")
