"""What the runtime returns after a kernel that fails, in a forked process, and while the program ends."""

from __future__ import annotations

import pathlib

import pytest
from frontend.cuda_cpp.cuda_programs import compiled, needs_clang, run

pytestmark = needs_clang

PROGRAM = pathlib.Path(__file__).parent / "programs" / "runtime_faults.cu"


@pytest.fixture(scope="module")
def faults(tmp_path_factory):
    return compiled(PROGRAM.read_text(), tmp_path_factory.mktemp("faults"))


def values(output: str) -> dict[str, int]:
    return {name: int(value) for name, _, value in (line.rpartition(" ") for line in output.splitlines())}


@pytest.mark.parametrize(
    ("fault", "code", "said"),
    [
        ("null", 700, "write_to(int*)"),
        ("wild", 700, "write_to(int*)"),
        ("misaligned", 716, "misaligned(char*)"),
        ("recursion", 700, "in depth_of"),
        ("trap", 719, "trap()"),
        ("livelock", 702, "wait_for(int volatile*)"),
        ("deadlock", 702, "wait_for_others()"),
    ],
)
def test_an_error_of_a_kernel_lasts_until_the_device_is_reset(faults, fault, code, said):
    result = run(faults, fault)
    assert values(result.stdout) == {
        "launch": 0,
        "synchronize": code,
        "callback": -1,  # it could not be added
        "last": code,
        "last again": 0,
        "malloc": code,
        "stream": code,
        "query": code,
        "next launch": code,
        "get device": 0,
        "count": 0,
        "reset": 0,
        "last after reset": code,  # of the launch
        "launch after reset": 0,
    }
    assert said in result.stderr
    assert result.stderr.count("error") >= 1
    assert result.returncode == 1  # where main() returned 0


def test_an_error_that_a_gpu_does_not_notice_is_reported_only(faults):
    result = run(faults, "division")
    assert values(result.stdout) == {"launch": 0, "synchronize": 0}
    assert "divide(int*, int)" in result.stderr
    assert result.returncode == 1


def test_a_process_that_is_forked_after_cuda_was_used_cannot_use_it(faults):
    result = run(faults, "fork")
    assert values(result.stdout) == {
        "parent": 0,
        "count in child": 3,
        "malloc in child": 3,
        "launch in child": 3,
        "status of child": 0,
        "parent after": 0,
    }
    assert result.returncode == 0


def test_a_process_that_is_forked_before_can(faults):
    result = run(faults, "fork first")
    assert values(result.stdout) == {"child": 0}, result.stderr


def test_destructors_of_static_objects_can_use_it(faults):
    result = run(faults, "destructor")
    assert values(result.stdout) == {"destructor": 0}
    assert result.returncode == 0, result.stderr
