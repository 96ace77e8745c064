"""Headers of a CUDA toolkit that cudasim does not have say so."""

import importlib.util
import re
import shutil
import subprocess

import pytest
from cuda_programs import ROOT, TOOLKIT, needs_clang, nvcc

SCRIPT = ROOT / "scripts" / "write_missing_headers.py"


def written():
    specification = importlib.util.spec_from_file_location("write_missing_headers", SCRIPT)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_headers_are_those_of_the_list():
    assert written().out_of_date() == {}


def test_a_header_that_has_been_written_is_left_alone(tmp_path):
    script = written()
    (tmp_path / "include").mkdir()
    (tmp_path / "missing_headers.txt").write_text("# names\n\n[cuBLAS]\ncublas.h\nmine.h\n")
    (tmp_path / "include" / "mine.h").write_text("int x;\n")
    gone = tmp_path / "include" / "gone.h"
    gone.write_text(script.MARK + '\n#error "gone.h"\n')
    assert script.out_of_date(tmp_path) == {
        gone: None,
        tmp_path / "include" / "cublas.h": script.MARK
        + '\n#error "cublas.h is not part of cudasim (yet): cuBLAS"\n',
    }


@needs_clang
@pytest.mark.parametrize("name", ["cublas_v2.h", "thrust/sort.h", "cuda/std/atomic", "cub/cub.cuh"])
def test_nvcc_says_what_is_missing_and_where(tmp_path, name):
    (tmp_path / "program.cu").write_text(f"#include <{name}>\n")
    result = nvcc("-c", "program.cu", cwd=tmp_path)
    assert result.returncode != 0
    assert f"{name} is not part of cudasim (yet): " in result.stderr
    assert "program.cu:1" in result.stderr


ANNOTATED = """
#include <nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <math_constants.h>
#include <cuda_stdint.h>
int main(void) {
    nvtxEventAttributes_t event = {0};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = "step";
    nvtxRangePush("main");
    nvtxRangePushEx(&event);
    nvtxNameCudaStream(0, "stream");
    nvtxRangePop();
    return nvtxRangePop() != NVTX_NO_PUSH_POP_TRACKING || !(CUDART_INF > CUDART_PI) || sizeof(uint32_t) != 4;
}
"""


@pytest.mark.parametrize("compiler", ["gcc -std=c99", "g++ -std=c++11", "g++ -std=c++20"])
def test_annotations_and_constants_for_a_host_compiler(tmp_path, compiler):
    command, standard = compiler.split()
    if shutil.which(command) is None:
        pytest.skip(f"{command} is not on PATH")
    source = tmp_path / ("program.c" if command == "gcc" else "program.cpp")
    source.write_text(ANNOTATED)
    options = ["-Wall", "-Werror", "-isystem", TOOLKIT / "include", "-o", tmp_path / "program"]
    subprocess.run([command, standard, source, *options], check=True, timeout=60)
    subprocess.run([tmp_path / "program"], check=True, timeout=60)


DRIVER = """
#include <cuda.h>
#include <cuda_runtime_api.h>
#if CUDA_VERSION != CUDART_VERSION
#error
#endif
int main(void) {
    CUdeviceptr pointer = 0;
    CUstream stream = 0;
    cudaStream_t same = stream;
    CUresult result = CUDA_ERROR_ILLEGAL_ADDRESS;
#ifdef CALL
    cuInit(0);
#endif
    return pointer != 0 || same != 0 || (int)result != (int)cudaErrorIllegalAddress;
}
"""


@pytest.mark.parametrize("compiler", ["gcc -std=c99", "g++ -std=c++11", "g++ -std=c++20"])
def test_types_and_results_of_the_driver_api(tmp_path, compiler):
    command, standard = compiler.split()
    if shutil.which(command) is None:
        pytest.skip(f"{command} is not on PATH")
    source = tmp_path / ("program.c" if command == "gcc" else "program.cpp")
    source.write_text(DRIVER)
    options = ["-Wall", "-Werror", "-isystem", TOOLKIT / "include", "-o", tmp_path / "program"]
    subprocess.run([command, standard, source, *options], check=True, timeout=60)
    subprocess.run([tmp_path / "program"], check=True, timeout=60)
    called = subprocess.run(
        [command, standard, "-DCALL", source, *options], capture_output=True, text=True, timeout=60
    )
    assert called.returncode != 0
    assert "the driver API is not part of cudasim (yet)" in called.stderr


def test_the_results_are_those_of_the_table():
    table = (ROOT / "simulator" / "findings" / "cuda_results.def").read_text()
    rows = re.findall(r"^RESULT\(\w+,\s*(\w+),\s*(\d+),", table, re.MULTILINE)
    header = (TOOLKIT / "include" / "cuda.h").read_text()
    assert re.findall(r"^ +(CUDA_\w+) = (\d+),?$", header, re.MULTILINE) == rows
    assert len(rows) > 50


@needs_clang
@pytest.mark.parametrize(
    ("call", "what"),
    [
        ("*x = tex2D<float>(object, 1.0f, 2.0f);", "textures"),
        ("tex1Dfetch(x, object, 3);", "textures"),
        ("surf2Dwrite(*x, object, 0, 0);", "surfaces"),
        ("surf3Dread(x, object, 0, 0, 0);", "surfaces"),
    ],
)
def test_nvcc_says_which_functions_are_missing(tmp_path, call, what):
    (tmp_path / "program.cu").write_text(
        f"__global__ void kernel(float* x, unsigned long long object) {{ {call} }}\n"
    )
    result = nvcc("-c", "program.cu", cwd=tmp_path)
    assert result.returncode != 0
    assert f"is unavailable: {what} are not part of cudasim (yet)" in result.stderr
    assert "program.cu:1" in result.stderr
    assert result.stderr.count("error: ") == 1


@needs_clang
def test_nvcc_says_that_kernels_cannot_launch_kernels(tmp_path):
    (tmp_path / "program.cu").write_text(
        "__global__ void child() {}\n__global__ void parent() { child<<<1, 1>>>(); }\n"
    )
    result = nvcc("-rdc=true", "-c", "program.cu", cwd=tmp_path)
    assert result.returncode != 0
    assert "program.cu:2:" in result.stderr
    assert "launches by device code (dynamic parallelism) are not part of cudasim (yet)" in result.stderr
