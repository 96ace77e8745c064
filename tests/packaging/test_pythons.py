"""More than one CPython: which are found on a machine, what is built for one more, and what is tested on each."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MINOR = f"3.{sys.version_info[1]}"


def find_pythons(folder, path=(), **variables):
    """(exit status, {minor: interpreter}, stderr) of a machine whose only Pythons are in `folder`."""
    environment = {
        "PATH": os.pathsep.join(map(str, path)),
        "PYENV_ROOT": str(folder / "pyenv"),
        "HOME": str(folder),
    }
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "find_pythons.py"],
        env=environment | variables, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    return done.returncode, dict(line.split(maxsplit=1) for line in done.stdout.splitlines()), done.stderr


def interpreter(path, version=None, refuses=""):
    """A program that answers find_pythons.py as a CPython of this version would."""
    path.parent.mkdir(parents=True, exist_ok=True)
    numbers = (version or "3.12.0").replace(".", " ")
    answer = f"echo '{refuses}' >&2; exit 1" if refuses else f"echo {numbers}; echo {path}"
    path.write_text(f"#!/bin/sh\n{answer}\n")
    path.chmod(0o755)
    return path


def test_pythons_on_the_path_and_under_pyenv_are_found_each_minor_once_in_its_newest_patch(tmp_path):
    on_path = interpreter(tmp_path / "bin" / "python3.12", "3.12.3")
    newer = interpreter(tmp_path / "pyenv" / "versions" / "3.12.10" / "bin" / "python3.12", "3.12.10")
    interpreter(tmp_path / "pyenv" / "versions" / "3.12.9" / "bin" / "python3.12", "3.12.9")
    other = interpreter(tmp_path / "pyenv" / "versions" / "3.10.1" / "bin" / "python3.10", "3.10.1")
    interpreter(tmp_path / "pyenv" / "versions" / "3.9.1" / "bin" / "python3.9", "3.9.1")
    status, found, said = find_pythons(tmp_path, [on_path.parent])
    assert (status, found) == (0, {"3.10": str(other), "3.12": str(newer)})
    assert said == "not on this machine: CPython 3.11, 3.13, 3.14\n"


def test_an_interpreter_that_cannot_be_used_says_why_and_a_shim_of_another_version_is_passed_over(tmp_path):
    bare = interpreter(tmp_path / "bin" / "python3.11", refuses="has no headers")
    shim = interpreter(
        tmp_path / "pyenv" / "shims" / "python3.13", refuses="pyenv: python3.13: command not found"
    )
    status, found, said = find_pythons(tmp_path, [bare.parent, shim.parent])
    assert (status, found) == (0, {})
    assert f"{bare} has no headers\n" in said and "shims" not in said


def test_PYTHONS_names_them_by_version_or_path_and_a_wrong_name_is_an_error(tmp_path):
    here = interpreter(tmp_path / "bin" / "python3.12", "3.12.3")
    newer = interpreter(tmp_path / "elsewhere" / "python", "3.19.0")  # an unknown newer one builds, too
    old = interpreter(tmp_path / "elsewhere" / "old", "3.9.18")
    path = [here.parent]
    assert find_pythons(tmp_path, path, PYTHONS=f"3.12, {newer}")[1] == {
        "3.12": str(here),
        "3.19": str(newer),
    }
    for wrong, why in (
        ("3.13", "neither on the path nor under pyenv's folder"),
        (old, "is CPython 3.9: 3.10 is the oldest supported"),
        (tmp_path / "absent", "does not start"),
    ):
        status, found, said = find_pythons(tmp_path, path, PYTHONS=str(wrong))
        assert status == 1 and not found and str(wrong) in said and why in said


def test_this_interpreter_is_one_that_can_be_built_for(tmp_path):
    real = pathlib.Path(sys.executable).resolve()
    if not list(pathlib.Path(sys.base_prefix).glob(f"include/python{MINOR}*/Python.h")):
        pytest.skip("the testing interpreter has no headers")
    assert find_pythons(tmp_path, PYTHONS=sys.executable)[1] == {MINOR: str(real)}


def test_one_more_python_builds_the_extensions_and_nothing_of_the_engine(tmp_path):
    engine = ROOT / "build" / "release"
    if not (engine / "cudasim_engine.cmake").exists():
        pytest.skip("build/release is not there: run make build")
    pytest.importorskip("pybind11")
    configured = subprocess.run(
        ["cmake", "-S", ROOT, "-B", tmp_path, "-G", "Ninja", "-DCUDASIM_BUILD_TESTS=OFF",
         f"-DCUDASIM_ENGINE={engine}", f"-DPython_EXECUTABLE={sys.executable}"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert configured.returncode == 0, configured.stderr
    commands = subprocess.run(
        ["ninja", "-C", tmp_path, "-t", "commands"], capture_output=True, text=True
    ).stdout
    compiled = set(re.findall(r" -c (\S+)", commands))
    folders = {str(pathlib.Path(file).parent.relative_to(ROOT)) for file in compiled}
    assert {"frontend/bindings", "frontend/pyfiber"} <= folders
    engine_folders = ("simulator", "gpu_backend", "frontend/ptx", "frontend/pykernel")
    assert not [folder for folder in folders if folder.startswith(engine_folders)]
    linked = re.findall(r" -o (\S+\.so) .*?(\S*libcudasim\.so)", commands)
    assert {pathlib.Path(extension).name.split(".")[0] for extension, _ in linked} == {"_native", "_pyfiber"}
    assert {library for _, library in linked} == {str(engine / "library" / "libcudasim.so")}
    assert not re.search(r"\.a\b", commands), "an extension links an archive"


def test_the_tests_for_every_python_exist():
    lines = (ROOT / "tests" / "for_every_python.txt").read_text().splitlines()
    named = [line for line in lines if line and not line.startswith("#")]
    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).exists()] == []
    assert {"tests/frontend/pyfiber", "tests/python/python_mode/test_debuggers.py"} <= set(named)
