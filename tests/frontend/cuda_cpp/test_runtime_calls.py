"""Calls of the CUDA runtime API: devices, errors, streams, events, functions, launches."""

from __future__ import annotations

import pathlib

import pytest
from frontend.cuda_cpp.cuda_programs import compiled, needs_clang, run

pytestmark = needs_clang

PROGRAMS = pathlib.Path(__file__).parent / "programs"


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    return compiled((PROGRAMS / "runtime_calls.cu").read_text(), tmp_path_factory.mktemp("calls"))


@pytest.mark.parametrize("part", ["devices", "streams", "functions", "launches"])
def test_calls_return_what_cuda_returns(calls, part):
    result = run(calls, part)
    assert f"{part}: 0 failures" in result.stdout, result.stdout + result.stderr
    assert result.returncode == 0


def test_each_thread_has_its_last_error(calls):
    result = run(calls, "errors")
    assert "errors: 0 failures" in result.stdout, result.stdout + result.stderr
    assert result.stderr == "cudasim: cudaGraphCreate is not simulated yet\n"


def test_a_launch_that_cannot_be_fails_at_once_and_says_why(calls):
    result = run(calls, "refused")
    assert "refused: 0 failures" in result.stdout, result.stdout + result.stderr
    assert result.returncode == 0
    lines = result.stderr.splitlines()
    assert len(lines) == len(set(lines))  # each reason once
    assert all(line.startswith("cudasim: ") and "is not launched" in line for line in lines), lines
    assert any("__launch_bounds__(128)" in line for line in lines)
    assert any(
        "cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize" in line for line in lines
    )


def test_devices_are_those_of_the_environment(calls):
    result = run(calls, "devices", CUDASIM_DEVICE="h100,h100")
    assert "2 devices" in result.stdout and "0 failures" in result.stdout, result.stdout + result.stderr
    result = run(calls, "devices", CUDASIM_DEVICE="h100,h100,h100", CUDA_VISIBLE_DEVICES="2")
    assert "1 devices" in result.stdout and "0 failures" in result.stdout, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("variables", "code", "said"),
    [
        ({"CUDA_VISIBLE_DEVICES": ""}, "cudaErrorNoDevice", ""),
        ({"CUDASIM_DEVICE": "no_such_gpu"}, "cudaErrorInitializationError", "CUDASIM_DEVICE=no_such_gpu"),
        ({"CUDASIM_DEVICE": "mine.toml"}, "cudaErrorInitializationError", "from Python only"),
        ({"CUDASIM_WORKERS": "many"}, "cudaErrorInitializationError", "CUDASIM_WORKERS"),
    ],
)
def test_without_devices_every_call_fails(calls, variables, code, said):
    result = run(calls, "devices", **variables)
    assert result.returncode == 1
    assert f"cudaGetDevice(&device) returned {code}" in result.stdout
    assert said in result.stderr
