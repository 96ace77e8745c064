"""Kernels that wait for what the host does after the launch, or for work of another stream: they go on in the
background, and the launch returns."""

from __future__ import annotations

import pathlib
import signal
import subprocess
import sys

import pytest
from frontend.cuda_cpp.cuda_programs import compiled, environment, needs_clang

pytestmark = needs_clang

PROGRAM = pathlib.Path(__file__).parent / "programs" / "background_launches.cu"
SECONDS = 100  # a hang; each case takes less than one


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled(PROGRAM.read_text(), tmp_path_factory.mktemp("background"), "-std=c++20")


def run(program: pathlib.Path, case: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, case], env=environment(**variables), capture_output=True, text=True, timeout=SECONDS
    )


def said(program: pathlib.Path, case: str, **variables: str) -> str:
    result = run(program, case, **variables)
    assert (result.returncode, result.stderr) == (0, ""), result
    return result.stdout


FLAGS = ["volatile", "atomic", "asleep", "counting", "managed", "variable", "registered"]


@pytest.mark.parametrize("case", FLAGS)
def test_the_host_sets_a_flag_after_the_launch(program, case):
    assert said(program, case) == (
        "launch cudaSuccess query cudaErrorNotReady answer 0\nsynchronize cudaSuccess query cudaSuccess answer 8\n"
    )


@pytest.mark.parametrize("workers", ["1", "2", "5"])
def test_blocks_whose_threads_wait_at_barriers_for_the_one_that_looks(program, workers):
    assert said(program, "blocks", CUDASIM_WORKERS=workers) == (
        "launch cudaSuccess query cudaErrorNotReady answer 0\nsynchronize cudaSuccess query cudaSuccess answer 480\n"
    )


@pytest.mark.parametrize("options", [{}, {"CUDASIM_POLICY": "random"}, {"CUDASIM_POLICY": "lockstep"}])
def test_a_kernel_serves_a_mailbox_until_it_is_told_to_quit(program, options):
    assert said(program, "mailbox", **options) == "1 4 9 16 25 cudaErrorNotReady cudaSuccess\n"


def test_another_host_thread_sets_the_flag_while_this_one_waits_for_the_device(program):
    assert said(program, "thread") == "cudaSuccess 4\n"


def test_a_kernel_in_another_stream_sets_the_flag(program):
    assert said(program, "streams") == "cudaSuccess cudaSuccess 42\n"


@pytest.mark.parametrize(("case", "answer"), [("copy", 6), ("fill", 0x01010102), ("plain copy", 8)])
def test_a_copy_or_a_fill_in_another_stream_sets_the_flag(program, case, answer):
    assert said(program, case) == f"cudaSuccess {answer}\n"


def test_what_is_enqueued_behind_it_waits_and_then_runs_by_itself(program):
    assert said(program, "order") == (
        "cudaSuccess cudaErrorNotReady cudaErrorNotReady 0\ncudaSuccess cudaSuccess\ntook its time\n"
    )


def test_a_callback_sets_the_flag_and_another_one_waits_for_the_kernel(program):
    assert said(program, "callback") == "3 cudaSuccess\n"


def test_several_wait_beside_each_other(program):
    assert said(program, "many") == "192 192 192 192 cudaSuccess\n"


def test_memory_is_freed_and_allocated_meanwhile(program):
    assert said(program, "freed") == "cudaSuccess\n"


def test_an_error_is_told_by_the_call_that_synchronises_and_lasts(program):
    result = run(program, "fault")
    assert result.stdout == (
        "launch cudaSuccess\nsynchronize cudaErrorIllegalAddress\nagain cudaErrorIllegalAddress\n"
        "malloc cudaErrorIllegalAddress\n"
    )
    assert result.stderr.count("error: out-of-bounds-global") == 1
    assert "in kernel wait_then_fault(int*, int*)" in result.stderr
    assert result.returncode == 1


def test_a_kernel_that_still_waits_when_the_program_ends_is_ended_and_told(program):
    result = run(program, "exit")
    assert result.stdout == "launched\n"
    assert result.returncode == 1
    assert "no thread can ever go on" in result.stderr or "still ran when the program ended" in result.stderr
    assert "in kernel wait_volatile(int*, int*)" in result.stderr
    assert "background_launches.cu" in result.stderr or "program.cu" in result.stderr


def test_a_kernel_that_counts_while_it_waits_is_ended_by_a_reset(program):
    result = run(program, "reset")
    assert result.stdout == "reset cudaSuccess\n4\n"
    assert result.returncode == 1
    assert "the kernel, launched at program.cu:" in result.stderr
    assert "still ran when its device was reset: " in result.stderr
    assert "in kernel wait_counting(int*, int*)" in result.stderr


def test_a_wait_that_nobody_can_end_is_a_livelock(program):
    result = run(program, "livelock")
    assert result.stdout == "launched\nsynchronize cudaErrorLaunchTimeout\n"  # a GPU would wait for ever
    assert "error: livelock: no thread can ever go on" in result.stderr
    assert result.returncode == 1


def test_the_time_limit_ends_a_kernel_in_the_background(program):
    result = run(program, "limited", CUDASIM_TIME_LIMIT="3")
    assert result.stdout == "query cudaErrorNotReady\nsynchronize cudaErrorLaunchTimeout\n"
    assert "error: time-limit: the launch ran longer than the time limit of 3 seconds" in result.stderr
    assert result.returncode == 1


def test_the_time_limit_ends_threads_that_meet_at_a_barrier_for_ever(program):
    result = run(program, "barriers", CUDASIM_TIME_LIMIT="0.5")
    assert "error: time-limit" in result.stderr
    assert "in kernel wait_in_blocks(int*, int*)" in result.stderr
    assert result.returncode == 1


FLAG = """
__global__ void wait(volatile int* flag) { while (*flag == 0) {} }
int main() {
    int *flag, *on_device;
    cudaHostAlloc(&flag, 4, cudaHostAllocMapped);
    *flag = 0;
    cudaHostGetDevicePointer(&on_device, flag, 0);
    wait<<<1, 1>>>(on_device);
    *(volatile int*)flag = 1;
    return cudaDeviceSynchronize();
}
"""


def test_a_command_that_waits_for_every_launch_says_why_it_stands_still(tmp_path):
    program = compiled(FLAG, tmp_path)
    assert run(program, "").returncode == 0
    checked = subprocess.Popen(
        [sys.executable, "-m", "cudasim", "check", "--schedules", "0", program],
        cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with checked:
        told = checked.stderr.readline()
        checked.send_signal(signal.SIGINT)
        rest = checked.stderr.read()
    assert (
        told.startswith("cudasim: wait(int volatile*), launched at ")
        and "program.cu:8, has run for 5" in told
    )
    assert "it waits for ever: with this command every launch is waited for" in told
    assert "1 launch of 1 kernel" in rest and checked.returncode != 0
