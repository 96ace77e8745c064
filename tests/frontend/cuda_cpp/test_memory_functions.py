"""Memory of the CUDA runtime API in C++ programs."""

from __future__ import annotations

import pathlib

from cuda_programs import compiled, needs_clang, nvcc, run

PROGRAMS = pathlib.Path(__file__).with_name("programs")


@needs_clang
def test_memory_functions_do_what_their_reference_says(tmp_path: pathlib.Path) -> None:
    result = run(compiled((PROGRAMS / "memory.cu").read_text(), tmp_path))
    assert result.stdout == "done\n"
    assert result.returncode == 0


FIRST_FILE = """
#include <cstdio>
extern __managed__ int shared_count;
extern __device__ __managed__ double values[2];
static __managed__ int mine = 4;
void use_others();
__global__ void use() { shared_count += 1; values[1] = 3.5; mine *= 2; }
int main() {
    std::printf("%d %g %d\\n", shared_count, values[0], mine);
    use<<<1, 1>>>();
    cudaDeviceSynchronize();
    use_others();
    std::printf("%d %g %d\\n", shared_count, values[1], mine);
}
"""
SECOND_FILE = """
__managed__ int shared_count = 41;
__device__ __managed__ double values[2] = {1.5, 2.5};
static __managed__ int mine = 7;  // host code does not use it
__global__ void use_mine() { mine *= 2; shared_count += mine; }
void use_others() { use_mine<<<1, 1>>>(); cudaDeviceSynchronize(); }
"""


@needs_clang
def test_managed_variables_are_shared_by_files_and_by_host_and_device(tmp_path: pathlib.Path) -> None:
    (tmp_path / "first.cu").write_text(FIRST_FILE)
    (tmp_path / "second.cu").write_text(SECOND_FILE)
    built = nvcc("-rdc=true", "first.cu", "second.cu", "-o", "program", cwd=tmp_path)
    assert built.returncode == 0, built.stderr
    result = run(tmp_path / "program")
    assert result.stdout == "41 1.5 4\n56 3.5 8\n"
    assert result.returncode == 0


@needs_clang
def test_the_same_holds_for_the_default_stream_of_each_thread(tmp_path: pathlib.Path) -> None:
    source = (PROGRAMS / "memory.cu").read_text()
    result = run(compiled(source, tmp_path, "--default-stream=per-thread", "-O2"))
    assert result.stdout == "done\n"
