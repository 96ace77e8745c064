"""What is said of mistakes in the host code of C++ programs: by line, and with the line that allocated the memory."""

from __future__ import annotations

import pathlib
import re
import signal
import subprocess
import sys

import pytest
from cuda_programs import compiled, environment, needs_clang, run

SOURCE = (pathlib.Path(__file__).with_name("programs") / "host_errors.cu").read_text()

pytestmark = needs_clang


def line(remark: str) -> int:
    """The one that ends in this remark."""
    [number] = [n for n, text in enumerate(SOURCE.splitlines(), 1) if text.endswith("// " + remark)]
    return number


@pytest.fixture(scope="module", params=["-O0", "-O2"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return compiled(SOURCE, tmp_path_factory.mktemp("host_errors"), request.param, name="main")


def outcome(program: pathlib.Path, what: int) -> subprocess.CompletedProcess[str]:
    return run(program, str(what))


@pytest.mark.parametrize(("what", "label"), [(0, "d_values"), (1, "buffer")])
def test_reports_name_memory_by_the_line_that_allocated_it(
    program: pathlib.Path, what: int, label: str
) -> None:
    result = outcome(program, what)
    name = {"d_values": "d_values", "buffer": "data"}[label]
    place = f"object: {name} (cudaMalloc at main.cu:{line('allocates ' + label)}), 40 bytes of global memory"
    assert place in result.stderr
    assert "in kernel fill(int*, int)" in result.stderr
    assert result.returncode == 1


@pytest.mark.parametrize(
    ("what", "access", "remark"),
    [(2, "reads", "reads"), (3, "writes", "writes"), (6, "writes", "in a thread")],
)
def test_host_code_that_touches_device_memory_is_a_fault_with_its_line(
    program: pathlib.Path, what: int, access: str, remark: str
) -> None:
    result = outcome(program, what)
    assert result.returncode == -signal.SIGSEGV
    assert f"host-access: host code {access} device memory at 0x" in result.stderr
    assert f"main.cu:{line(remark)}" in result.stderr
    assert f"d_values (cudaMalloc at main.cu:{line('allocates d_values')}), 40 bytes" in result.stderr
    assert "cudaMallocManaged" in result.stderr


def test_the_callers_of_such_code_are_named(program: pathlib.Path) -> None:
    text = outcome(program, 2).stderr
    assert f"main.cu:{line('calls sum')}, in main" in text


def test_a_library_function_that_touches_device_memory_is_reported_where_it_is_called(
    program: pathlib.Path,
) -> None:
    result = outcome(program, 5)
    assert result.returncode == -signal.SIGSEGV
    assert f"main.cu:{line('clears')}, in main" in result.stderr


def test_memory_that_was_freed_is_said_to_be(program: pathlib.Path) -> None:
    result = outcome(program, 4)
    assert result.returncode == -signal.SIGSEGV
    assert "object, which was freed: d_values" in result.stderr


BEHIND = """
int main() {
    int *first, *second;
    cudaMallocManaged(&first, 4096);
    cudaMallocManaged(&second, 100 * sizeof(int));
    for (int i = 0; i < 100000; ++i) second[i] = i;
}
"""


def test_memory_behind_that_of_the_program_is_named(tmp_path: pathlib.Path) -> None:
    result = run(compiled(BEHIND, tmp_path, "-g"))
    assert result.returncode == -signal.SIGSEGV
    assert re.search(
        r"object: second \(cudaMallocManaged at program.cu:5\), 400 bytes of global memory at 0x\w+; "
        r"the access is \d+ bytes past its end",
        result.stderr,
    )
    assert "copy it" not in result.stderr  # which is no advice for it


def test_other_faults_take_their_course(program: pathlib.Path) -> None:
    result = outcome(program, 12)
    assert result.returncode == -signal.SIGSEGV
    assert "host-access" not in result.stderr


@pytest.mark.parametrize(
    ("what", "kernel", "remark"),
    [(7, "fill(int*, int)", "launches too many"), (8, "void fill_all<int>(int*)", "launches none")],
)
def test_a_failed_launch_that_nobody_asked_about_is_reported_at_the_end(
    program: pathlib.Path, what: int, kernel: str, remark: str
) -> None:
    result = outcome(program, what)
    assert f"cudasim: {kernel} is not launched at main.cu:{line(remark)} (cudaError" in result.stderr
    assert f"the launch at main.cu:{line(remark)} failed, and the program never asked" in result.stderr
    assert result.stdout == "end\n"
    assert result.returncode == 1


def test_a_failed_launch_that_the_program_notices_is_its_own_business(program: pathlib.Path) -> None:
    result = outcome(program, 9)
    assert "never asked" not in result.stderr
    assert result.stdout == "noticed\nend\n"
    assert result.returncode == 0


def test_mistaken_calls_are_reported_once_for_each_place(program: pathlib.Path) -> None:
    result = outcome(program, 10)
    for call, remark, reason in [
        ("cudaMemcpy", "too long", "44 bytes is not inside one device allocation"),
        ("cudaMemcpy", "wrong direction", "the direction is wrong: the target is device memory"),
        ("cudaFree", "frees twice", "double free"),
        ("cudaFree", "frees a stack", "not the start of a device allocation"),
        ("cudaFree", "frees inside", "not the start of a device allocation"),
    ]:
        [said] = [each for each in result.stderr.splitlines() if f"main.cu:{line(remark)}," in each]
        assert said.startswith(f"cudasim: {call} at main.cu:{line(remark)}, in main: ")
        assert reason in said
    assert len(result.stderr.splitlines()) == 5
    assert result.returncode == 0


def test_mistaken_calls_are_findings_of_a_check(program: pathlib.Path) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "cudasim", "check", "--schedules", "0", program, "10", "launches"],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=300,
    )
    assert result.returncode == 1
    assert result.stderr.count("warning: failed-call: a call of the CUDA runtime failed: cuda") == 5
    assert "failed: cudaFree: double free" in result.stderr
    assert f"main.cu:{line('frees twice')}" in result.stderr


def test_page_locked_and_managed_memory_is_for_both(program: pathlib.Path) -> None:
    result = outcome(program, 11)
    assert result.stderr == ""
    assert result.stdout == "2\nend\n"
    assert result.returncode == 0
