#!/usr/bin/env python3
"""Prints docs/cuda_cpp_tables.md: what of CUDA C++ there is, from the sources that say so.

    scripts/cuda_cpp_tables.py > docs/cuda_cpp_tables.md

Needs a build in build/release. tests/frontend/cuda_cpp/test_cuda_cpp_tables.py compares the page with it.
"""

from __future__ import annotations

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
TOOLKIT = ROOT / "build" / "release" / "library" / "toolkit"
CUDA_CPP = ROOT / "frontend" / "cuda_cpp"


def functions() -> tuple[list[str], list[str]]:
    """Names of the runtime API: those that are done, and those that are not."""
    library = TOOLKIT / "lib64" / "libcudart.so.13"
    text = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout
    names = {
        line.split()[2].partition("@")[0] for line in text.splitlines() if " T " in line or " W " in line
    }
    public = {
        name
        for name in names
        if not name.startswith("__") and not name.endswith(("_ptsz", "_ptds", "_v2", "_v3"))
    }
    not_done = set(
        re.findall(r"^NOT_DONE\((\w+)\)", (CUDA_CPP / "runtime" / "not_done.def").read_text(), re.MULTILINE)
    )
    weak = {line.split()[2].partition("@")[0] for line in text.splitlines() if " W " in line}
    missing = {name for name in not_done & public if name in weak}
    return sorted(public - missing), sorted(public & missing)


def headers() -> tuple[list[str], dict[str, list[str]]]:
    """Headers that there are, and by library those that say that they are not."""
    folder = CUDA_CPP / "include"
    there: list[str] = []
    missing: dict[str, list[str]] = {}
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        name = str(path.relative_to(folder))
        if name.startswith("cudasim/"):
            continue
        match = re.search(r'#error "\S+ is not part of cudasim \(yet\): ([^"]+)"', path.read_text())
        if match is None:
            there.append(name)
        else:
            missing.setdefault(match[1], []).append(name)
    return there, missing


def instructions() -> list[str]:
    """Names of PTX instructions that frontend/ptx has a row for."""
    names: set[str] = set()
    for path in (ROOT / "frontend" / "ptx").glob("*.cpp"):
        names |= set(re.findall(r'\{"([a-z][a-z0-9_.]*)",\s*translate_\w+', path.read_text()))
    return sorted(names)


def listed(names: list[str]) -> str:
    """The names as code, on lines of moderate length."""
    lines, line = [], ""
    for name in (f"`{name}`" for name in names):
        if len(line) + len(name) > 118:
            lines.append(line.rstrip())
            line = ""
        line += name + " "
    return "\n".join([*lines, line.rstrip()])


def page() -> str:
    """The whole page."""
    done, not_done = functions()
    there, missing = headers()
    options = subprocess.run(
        [TOOLKIT / "bin" / "nvcc", "--help-markdown"], capture_output=True, text=True, check=True
    ).stdout
    rows = "\n".join(
        f"| {library} | {listed(names)} |".replace("\n", " ") for library, names in sorted(missing.items())
    )
    return f"""# CUDA C++: functions, headers, options, instructions

Made by `scripts/cuda_cpp_tables.py`; do not edit it by hand. [cuda_cpp.md](cuda_cpp.md) tells how programs are built and run.

## Functions of the runtime API

Every function of the CUDA Runtime API links. Done are {len(done)}:

{listed(done)}

These {len(not_done)} return `cudaErrorNotSupported` and say their name on the standard error output once:

{listed(not_done)}

## Headers

{listed(there)}

These names are taken, so that no other toolkit's are found; including one is an error that says what it belongs to:

| library | headers |
|---|---|
{rows}

## Options of nvcc

{options}
## Instructions of PTX

In inline assembly, and in what NVIDIA's nvcc has compiled:

{listed(instructions())}
"""


if __name__ == "__main__":
    print(page(), end="")
