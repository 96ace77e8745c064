"""make's targets and the scripts behind them: what a person meets first."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(*command, **environment):
    clean = {
        key: value
        for key, value in os.environ.items()
        if key == "CUDASIM_CACHE_DIR" or ("CUDASIM" not in key and key != "MAKEFLAGS")
    }
    return subprocess.run(
        command, cwd=ROOT, env=clean | environment, capture_output=True, text=True, timeout=300
    )


def test_make_help_lists_the_front_door():
    listed = run("make", "help").stdout
    for target in (
        "demo",
        "test",
        "test-pythons",
        "test-arm",
        "bench",
        "bench-check",
        "test-sanitize",
        "test-threads",
        "wheel",
        "format",
        "clean",
    ):
        assert f"make {target} " in listed


def test_continuous_integration_runs_all_tests():
    assert run("bash", "-n", ".ci/run").returncode == 0
    commands = [line for line in (ROOT / ".ci" / "run").read_text().splitlines() if line.startswith("make ")]
    assert commands == ["make test", "make test-pythons EXCEPT_VENV=1"]


def test_demo_shows_the_picture_and_the_report():
    if not (ROOT / ".venv" / "bin" / "python").exists():
        pytest.skip("scripts/demo.sh runs in .venv, which `make build` makes")
    done = run("scripts/demo.sh")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "600 x 512 pixels blurred" in done.stdout
    assert "IndexError: tid=[8, 0, 0] ctaid=[37, 0, 0]" in done.stdout
    assert (ROOT / "build" / "demo" / "blurred.png").stat().st_size > 10_000


def test_wheel_works_in_a_fresh_environment(tmp_path):
    wheels = list((ROOT / "build" / "wheel").glob("cudasim-*.whl"))
    if not wheels:
        pytest.skip(
            "no wheel in build/wheel: scripts/build.sh makes one where .venv-numba is, as in `make test`"
        )
    done = run("scripts/try_wheel.sh", str(wheels[0]), str(tmp_path / "fresh"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "wheel: works in a fresh virtual environment"


@pytest.fixture
def without_packages(tmp_path):
    """A PATH on which no package is installed and apt only notes what it is asked."""
    tools = tmp_path / "tools"
    tools.mkdir()
    log = tmp_path / "apt.log"

    def tool(name, body):
        path = tools / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    tool("dpkg-query", "exit 1")
    tool("apt-get", f'echo "$@" >> {log}; case "$*" in *install*) exit 9;; esac')
    return tool, log, {"PATH": f"{tools}:{os.environ['PATH']}"}


def test_set_up_prints_the_command_where_it_may_not_install(without_packages):
    tool, log, environment = without_packages
    tool("id", "echo 1000")
    tool("sudo", "exit 1")
    done = run("scripts/set_up.sh", "test", **environment)
    assert done.returncode != 0
    assert "sudo apt-get install --no-install-recommends g++ cmake" in done.stderr
    assert "clang-19" in done.stderr
    assert not log.exists()


def test_set_up_says_what_it_installs_before_it_does(without_packages):
    tool, log, environment = without_packages
    tool("id", "echo 0")
    done = run("scripts/set_up.sh", "build", **environment)
    assert done.returncode != 0  # apt-get fails here
    assert done.stdout.startswith("set-up: apt-get install g++ cmake")
    assert "llvm-19-dev" in log.read_text()


def test_set_up_says_nothing_when_all_is_there():
    if not (ROOT / ".venv" / ".installed").exists():
        pytest.skip("`make build` has not made .venv here")
    done = run("scripts/set_up.sh", "build")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
