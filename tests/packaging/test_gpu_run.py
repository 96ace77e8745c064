"""The program cudasim-gpu-run as it is installed and as it goes into wheels: small, and content with an old glibc alone."""

import os
import pathlib
import platform
import re
import shutil
import subprocess

import pytest
from cudasim import _native

ROOT = pathlib.Path(__file__).resolve().parents[2]
INSTALLED = pathlib.Path(_native.__file__).parent / "cudasim-gpu-run"
#: Made by scripts/build_gpu_run.sh, which `make wheel` calls.
FOR_WHEELS = [ROOT / "build" / "gpu-run" / name / "cudasim-gpu-run" for name in ("x86_64", "aarch64")]
#: Of glibc 2.28, in whose place there is one library from 2.34 on.
GLIBC = re.compile(r"lib(c|m|dl|pthread|rt)\.so\.\d|ld-linux-(x86-64|aarch64)\.so\.\d")
MOST_BYTES = 5_000_000


def needs(program):
    """(libraries, symbol versions of glibc) that the dynamic linker looks for"""
    if shutil.which("readelf") is None:
        pytest.skip("readelf is not installed")
    dynamic = subprocess.run(["readelf", "-dW", program], capture_output=True, text=True, check=True).stdout
    versions = subprocess.run(["readelf", "-VW", program], capture_output=True, text=True, check=True).stdout
    wanted = versions[versions.index("Version needs section") :]
    return re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic), set(re.findall(r"Name: (\S+)", wanted))


@pytest.mark.parametrize("program", [INSTALLED, *FOR_WHEELS], ids=["installed", "x86_64", "aarch64"])
def test_it_is_small_and_needs_glibc_alone(program):
    if not program.exists():
        pytest.skip(f"{program} is not built")
    assert program.stat().st_size <= MOST_BYTES
    libraries, versions = needs(program)
    assert libraries and not [name for name in libraries if not GLIBC.fullmatch(name)]
    assert versions and not [name for name in versions if not name.startswith("GLIBC_")]


@pytest.mark.parametrize("program", FOR_WHEELS, ids=["x86_64", "aarch64"])
def test_of_wheels_it_needs_glibc_2_28_at_most(program):
    if not program.exists():
        pytest.skip(f"{program} is not built: scripts/build_gpu_run.sh makes it")
    _, versions = needs(program)
    numbers = [tuple(map(int, name.removeprefix("GLIBC_").split("."))) for name in versions]
    assert max(numbers) <= (2, 28), versions


def runnable():
    return [
        path
        for path in [INSTALLED, *FOR_WHEELS]
        if path.exists() and path.parent.name in ("cudasim", platform.machine())
    ]


@pytest.mark.parametrize("program", runnable(), ids=lambda path: path.parent.name)
def test_it_runs_with_nothing_but_glibc(program, tmp_path):
    """Where a process may change its root, in a folder with glibc's libraries and nothing else: neither Python nor a
    toolkit nor /proc; else with an empty environment."""
    assert subprocess.run([program, "--version"], env={}, capture_output=True).returncode == 0
    if os.geteuid() != 0 or shutil.which("chroot") is None:
        pytest.skip("only root may change the root folder")
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    for library in re.findall(r"(/\S+) \(0x", listed):
        (tmp_path / library[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, tmp_path / library[1:])
    shutil.copy(program, tmp_path / "cudasim-gpu-run")
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "null").touch()

    def run(*arguments):
        return subprocess.run(
            [shutil.which("chroot"), tmp_path, "/cudasim-gpu-run", *arguments],
            env={},
            capture_output=True,
            text=True,
        )

    done = run("--gpus")
    if "Operation not permitted" in done.stderr:
        pytest.skip("this process may not change its root folder")
    assert (done.returncode, done.stderr) == (10, "")
    assert done.stdout.startswith("GPU: none: No CUDA driver was found")
    (tmp_path / "run.cudasim").write_bytes(
        (ROOT / "tests/simulator/records/seeds/launches.bin").read_bytes()[1:]
    )
    done = run("run.cudasim", "-o", "gpu.cudasim")
    assert done.returncode == 10 and "No CUDA driver was found" in done.stderr, done.stderr
    assert not (tmp_path / "gpu.cudasim").exists()
