"""CUDA C++ programs of tests: compiled by the nvcc of the build tree, and run.

A compilation takes a second: tests put many checks into one program and let it print what it finds.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
TOOLKIT = pathlib.Path(os.environ.get("CUDASIM_TEST_TOOLKIT", ROOT / "build/release/library/toolkit"))
NVCC = TOOLKIT / "bin" / "nvcc"

needs_clang = pytest.mark.skipif(shutil.which("clang++-19") is None, reason="clang++-19 is not on PATH")


def environment(**variables: str) -> dict[str, str]:
    """The tests' own environment, without an installed toolkit in reach."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CUDA_", "CUDASIM_", "NVCC_"))
    }
    kept["CUDASIM_CACHE_DIR"] = os.environ.get("CUDASIM_CACHE_DIR", "")
    kept["PATH"] = os.pathsep.join(
        part for part in kept["PATH"].split(os.pathsep) if not os.access(os.path.join(part, "nvcc"), os.X_OK)
    )
    return kept | variables


def nvcc(*arguments: object, cwd: pathlib.Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs nvcc, whatever comes of it."""
    return subprocess.run(
        [NVCC, *map(str, arguments)],
        cwd=cwd,
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=300,
    )


def compiled(source: str, folder: pathlib.Path, *options: str, name: str = "program") -> pathlib.Path:
    """The executable that nvcc makes of the text of a .cu file in the folder."""
    (folder / f"{name}.cu").write_text(source)
    result = nvcc("-o", name, f"{name}.cu", *options, cwd=folder)
    assert result.returncode == 0, result.stderr
    return folder / name


def run(program: pathlib.Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a program, whatever comes of it. Variables are environment variables."""
    return subprocess.run(
        [program, *arguments],
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=300,
        cwd=program.parent,
    )


def output_of(source: str, folder: pathlib.Path, *options: str, **variables: str) -> str:
    """What the program of this .cu text prints; it must end well and print nothing on the standard error output."""
    result = run(compiled(source, folder, *options), **variables)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stderr == "", result.stderr
    return result.stdout
