"""Every source is formatted as `make format` does it, and ruff finds nothing."""

import importlib.metadata
import pathlib
import re
import subprocess
import sys
import sysconfig

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = ["frontend/python", "tests", "bench", "examples", "scripts"]


def tool(package, *arguments):
    """Runs a program of the version that scripts/set_up.sh names; another one formats otherwise.

    Fails without it: a test that is skipped where the tool is missing says nothing about the sources. On further
    Pythons (scripts/test_pythons.sh), which have no such tools, it is skipped.
    """
    if pathlib.Path(sys.prefix).name.startswith(".venv-"):
        pytest.skip("`make test` checks this on its own Python")
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


#: Columns of a line. The formatters keep code within it and leave comments as they are.
LONGEST_LINE = 110
CPP = ("simulator", "debugger", "frontend", "gpu_backend", "library", "tests")


def long_comments(path):
    """Lines of a file, which hold a comment alone, that are too long."""
    mark = "#" if path.suffix == ".py" else "//"
    lines = path.read_text().splitlines()
    return [
        number
        for number, line in enumerate(lines, 1)
        if len(line) > LONGEST_LINE and line.lstrip().startswith(mark)
    ]


def test_comments_are_within_the_limit(tmp_path):
    (tmp_path / "a.h").write_text("// " + "x" * 107 + "\n/// " + "x" * 107 + "\nint y;  // " + "x" * 110)
    assert long_comments(tmp_path / "a.h") == [2]
    (tmp_path / "a.py").write_text("    # " + "x" * 105 + "\n#" + "x" * 109)
    assert long_comments(tmp_path / "a.py") == [1]
    wrong = [
        f"{path.relative_to(ROOT)}:{number}"
        for folders, suffixes in ((CPP, ("cpp", "h", "def")), (PYTHON, ("py",)))
        for folder in folders
        for suffix in suffixes
        for path in sorted((ROOT / folder).rglob(f"*.{suffix}"))
        for number in long_comments(path)
    ]
    assert not wrong, "\n".join(wrong)


def test_cpp_is_formatted():
    files = [
        str(path)
        for top in CPP
        for suffix in ("cpp", "h")
        for path in sorted((ROOT / top).rglob(f"*.{suffix}"))
    ]
    done = tool("clang-format", "--dry-run", "-Werror", *files)
    assert done.returncode == 0, done.stderr[:3000]
