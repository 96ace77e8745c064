"""What is said of this machine's real GPUs, with a stand-in for NVIDIA's driver (tests/gpu_backend/libcuda/stand_in)."""

import json
import os
import pathlib
import re

import pytest
from cudasim import _native
from stand_in_driver import STAND_IN

NONE = "GPU: none: "


@pytest.fixture
def stand_in():
    if not STAND_IN.exists():
        pytest.skip("the stand-in driver is not built: run make test")
    return STAND_IN


def info(run, library, told="", **variables):
    """(what `cudasim info --json` says of GPUs, the lines of `cudasim info` that do)"""
    variables = {
        "CUDASIM_LIBCUDA": str(library) if library else None, "CUDASIM_TEST_LIBCUDA": told, "CUDA_VISIBLE_DEVICES": None, **variables,
    }  # fmt: skip
    as_json = run("-m", "cudasim.command_line", "info", "--json", **variables)
    as_text = run("-m", "cudasim.command_line", "info", **variables)
    assert as_json.returncode == as_text.returncode == 0, as_json.stderr + as_text.stderr
    assert as_json.stderr == as_text.stderr == ""
    lines = [line for line in as_text.stdout.splitlines() if re.match(r"GPU|The GPU", line)]
    return json.loads(as_json.stdout)["gpu"], lines


def test_a_gpu_is_one_line(run, stand_in):
    gpu, lines = info(run, stand_in)
    assert lines == [
        f"GPU: Stand-in GPU A, compute capability 9.0, 24.0 GiB, driver 13.0 ({stand_in})",
    ]
    assert gpu == {
        "outcome": "found", "message": "", "library": str(stand_in), "driver": "13.0", "missing_functions": [], "lines": lines,
        "gpus": [
            {"ordinal": 0, "name": "Stand-in GPU A", "compute_capability": [9, 0], "memory": 24 << 30, "virtual_memory": True, "new_enough": True},
        ],
    }  # fmt: skip


def test_two_gpus_are_two_lines(run, stand_in):
    gpu, lines = info(run, stand_in, "devices=2; capabilities=9.0,6.1; missing=cuGetErrorName")
    assert [each["new_enough"] for each in gpu["gpus"]] == [True, False]
    assert [line.partition(", ")[0] for line in lines] == [
        "GPU 0: Stand-in GPU A",
        "GPU 1: Stand-in GPU B",
        "The GPU's driver lacks cuGetErrorName",
    ]
    assert lines[1].endswith(", too old: cudasim needs 7.0") and gpu["missing_functions"] == [
        "cuGetErrorName"
    ]


@pytest.mark.parametrize(
    "told, outcome, words",
    [
        ("missing=all", "broken-driver", ["is not a CUDA driver: it has no cuInit"]),
        ("missing=cuMemMap", "broken-driver", ["(13.0) lacks cuMemMap, which cudasim needs"]),
        ("cuInit=999", "broken-driver", ["cuInit of the CUDA driver", "CUDA_ERROR_UNKNOWN (999)", "nvidia-smi"]),
        ("cuInit=3", "broken-driver", ["CUDA_ERROR_NOT_INITIALIZED (3)"]),
        ("cuInit=100", "no-device", ["(13.0) finds no GPU"]),
        ("devices=0", "no-device", ["(13.0) finds no GPU"]),
        ("version=10020", "too-old", ["it has CUDA 10.2, and cudasim needs 11.8"]),
        ("capabilities=6.1", "too-old", ["compute capability 6.1, and cudasim needs 7.0"]),
        ("crash=cuInit", "broken-driver", ["ended the process that asked it, by SIGSEGV"]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(run, stand_in, told, outcome, words):
    gpu, lines = info(run, stand_in, told)
    assert gpu["outcome"] == outcome and gpu["gpus"] == []
    assert lines == [NONE + gpu["message"]]
    for word in words:
        assert word in gpu["message"]


def test_hidden_devices_are_named(run, stand_in):
    gpu, _ = info(run, stand_in, "cuInit=100", CUDA_VISIBLE_DEVICES="7")
    assert "CUDA_VISIBLE_DEVICES is '7'" in gpu["message"]


def test_hidden_simulated_devices_are_named_too(run):
    done = run("-m", "cudasim.command_line", "info", CUDA_VISIBLE_DEVICES="7")
    assert done.returncode == 0, done.stderr
    assert (
        "\nno device\n  Error at driver init: " in done.stdout and "CUDASIM_DEVICE=h100,h100" in done.stdout
    )
    done = run("-m", "cudasim.command_line", "info", "--json", CUDA_VISIBLE_DEVICES="7")
    everything = json.loads(done.stdout)
    assert everything["devices"] == [] and "CUDA_VISIBLE_DEVICES='7'" in everything["no_devices"]


def test_a_file_that_is_not_there(run, tmp_path, stand_in):
    gpu, _ = info(run, tmp_path / "absent.so", LD_LIBRARY_PATH=str(stand_in.parent))
    assert gpu["outcome"] == "no-driver"
    assert f"CUDASIM_LIBCUDA names {tmp_path / 'absent.so'}, which does not exist" in gpu["message"]


def test_a_file_that_is_no_library(run, tmp_path):
    (tmp_path / "text.so").write_text("no library\n")
    gpu, _ = info(run, tmp_path / "text.so")
    assert gpu["outcome"] == "broken-driver" and str(tmp_path / "text.so") in gpu["message"]


def test_a_library_of_something_else(run):
    gpu, _ = info(run, pathlib.Path(_native.__file__).parent / "libcudasim.so")
    assert gpu["outcome"] == "broken-driver" and "it has no cuInit" in gpu["message"]


def test_the_dynamic_linker_finds_it(run, stand_in):
    gpu, _ = info(run, None, LD_LIBRARY_PATH=str(stand_in.parent))
    assert gpu["outcome"] == "found" and gpu["library"] == str(stand_in)


def test_without_a_variable_the_machine_decides(run):
    gpu, lines = info(run, None)
    assert gpu["outcome"] in ("found", "no-driver", "broken-driver", "no-device", "too-old") and lines
    if gpu["outcome"] == "no-driver":
        assert (
            "neither the dynamic linker nor any of the folders" in gpu["message"]
            and "/usr/lib/wsl/lib" in gpu["message"]
        )


def test_the_project_may_name_it(run, stand_in):
    run.write(f"[tool.cudasim]\nlibcuda = {str(stand_in)!r}\n", "pyproject.toml")
    assert info(run, None)[0]["library"] == str(stand_in)


def test_a_driver_that_hangs_is_given_up(run, stand_in):
    done = run.script(
        "from cudasim.device import real_gpu; print(real_gpu.query(3)['lines'])",
        CUDASIM_LIBCUDA=str(stand_in),
        CUDASIM_TEST_LIBCUDA="hang=cuInit",
    )
    assert "does not answer within 3 seconds" in done.stdout, done.stderr


def test_modules_of_the_working_directory_do_not_matter(run, stand_in):
    run.write("raise SystemExit('the wrong one')", "json.py")
    done = run(
        "-c",
        f"import sys; sys.path[:1] = []; sys.path.append({os.path.dirname(os.path.dirname(_native.__file__))!r}); "
        "from cudasim.device import real_gpu; print(real_gpu.query()['outcome'])",
        CUDASIM_LIBCUDA=str(stand_in),
    )
    assert done.stdout == "found\n", done.stderr


MAPS = """
import pathlib
import numpy as np
from numba import cuda

@cuda.jit
def twice(x):
    x[cuda.threadIdx.x] *= 2

x = np.arange(32)
twice[1, 32](x)
assert x[31] == 62
QUERY
maps = pathlib.Path("/proc/self/maps").read_text()
print("libcudasim.so" in maps, "libcuda.so" in maps)
"""


@pytest.mark.parametrize(
    "asked", ["", "from cudasim.device import real_gpu; assert real_gpu.query()['gpus']"]
)
def test_a_program_has_no_driver_in_its_process(run, stand_in, asked):
    done = run.script(
        MAPS.replace("QUERY", asked),
        ENABLE_CUDASIM="1",
        CUDASIM_LIBCUDA=str(stand_in),
        LD_LIBRARY_PATH=str(stand_in.parent),
    )
    assert done.stdout == "True False\n", done.stderr


def test_the_driver_is_in_the_process_that_asks(run, stand_in):
    """What the test before looks for is there when it should be."""
    done = run(
        "-c",
        "import pathlib; from cudasim import _native; _native.real_gpus(); print('libcuda.so' in pathlib.Path('/proc/self/maps').read_text())",
        CUDASIM_LIBCUDA=str(stand_in),
    )
    assert done.stdout == "True\n", done.stderr
