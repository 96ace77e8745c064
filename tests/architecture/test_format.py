"""Every source is formatted as `make format` does it, and ruff finds nothing."""

import importlib.metadata
import pathlib
import re
import subprocess
import sysconfig

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = ["frontend/python", "tests", "bench", "examples", "scripts"]


def tool(package, *arguments):
    """Runs a program of the version that scripts/set_up.sh names; another one formats otherwise.

    Fails without it: a test that is skipped where the tool is missing says nothing about the sources.
    """
    wanted = re.search(rf"{package}==([\d.]+)", (ROOT / "scripts" / "set_up.sh").read_text()).group(1)
    try:
        found = importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        found = "not installed"
    assert found == wanted, f"{package} is {found}; scripts/set_up.sh test installs {wanted}"
    program = pathlib.Path(sysconfig.get_path("scripts")) / package
    return subprocess.run([program, *arguments], cwd=ROOT, capture_output=True, text=True)


@pytest.mark.parametrize("found", [None, "0.0.1"])
def test_a_missing_tool_and_another_version_fail(monkeypatch, found):
    def version(package):
        if found is None:
            raise importlib.metadata.PackageNotFoundError(package)
        return found

    monkeypatch.setattr(importlib.metadata, "version", version)
    with pytest.raises(AssertionError, match="scripts/set_up.sh test installs"):
        tool("ruff", "--version")


def test_python_is_formatted():
    done = tool("ruff", "format", "--check", *PYTHON)
    assert done.returncode == 0, done.stdout + done.stderr


def test_ruff_finds_nothing():
    done = tool("ruff", "check", "--output-format", "concise", *PYTHON)
    assert done.returncode == 0, done.stdout + done.stderr


def test_cpp_is_formatted():
    folders = ("simulator", "frontend", "gpu_backend", "library", "tests")
    files = [
        str(path)
        for top in folders
        for suffix in ("cpp", "h")
        for path in sorted((ROOT / top).rglob(f"*.{suffix}"))
    ]
    done = tool("clang-format", "--dry-run", "-Werror", *files)
    assert done.returncode == 0, done.stderr[:3000]
