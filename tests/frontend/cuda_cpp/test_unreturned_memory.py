"""What a program in CUDA C++ has never given back, and what nobody has written: `cudasim check`, and the option check by itself."""

import json
import os
import subprocess
import sys

import pytest
from cuda_programs import compiled, environment, needs_clang, run

pytestmark = needs_clang

#: Memory of every kind that is never given back; beside it what is, and what the runtime holds itself.
LOST = """
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
struct Node { int value; Node* next; };
__device__ int counter;
__managed__ int shared_counter;
__constant__ int limit = 3;
__global__ void grow(int* out) {
    Node* node = new Node;
    node->value = threadIdx.x;
    out[threadIdx.x] = node->value;
    if (threadIdx.x % 2) { delete node; return; }
    free(malloc(16));
    atomicAdd(&counter, limit);
}
int main(int argc, char** argv) {
    const char* how = argc > 1 ? argv[1] : "";
    float *d_lost, *d_pitched, *page_locked, *from_pool, *managed, *first, *second, *chain[3];
    int* kept;
    cudaArray_t array;
    size_t pitch;
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaMalloc(&d_lost, 4096);
    cudaMalloc((void**)&kept, 128);
    cudaMallocPitch(&d_pitched, &pitch, 100, 10);
    cudaMallocHost(&page_locked, 64);
    cudaMallocManaged(&managed, 512);
    cudaMallocAsync(&from_pool, 256, stream);
    cudaMalloc(&first, 8); cudaMalloc(&second, 24);
    for (auto& each : chain) cudaMalloc(&each, 32);
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaMallocArray(&array, &format, 4, 4);
    cudaMemset(d_lost, 0, 4096);
    cudaMemset(first, 0, 8);
    shared_counter = 1;
    grow<<<1, 4>>>(kept);
    cudaDeviceSynchronize();
    cudaFree(kept);
    if (*how == 'r') cudaDeviceReset();
    if (*how == 'f') {
        cudaFree(d_lost), cudaFree(d_pitched), cudaFreeHost(page_locked), cudaFree(managed), cudaFreeAsync(from_pool, stream);
        cudaFree(first), cudaFree(second), cudaFreeArray(array);
        for (auto* each : chain) cudaFree(each);
    }
    if (*how == '_') _exit(0);
    puts("end");
}
"""

#: Of LOST, as "bytes what", in any order.
OF_DEVICE = {
    "4096 bytes of d_lost (cudaMalloc at program.cu:25)",
    "5120 bytes of d_pitched (cudaMallocPitch at program.cu:27)",
    "256 bytes of from_pool (cudaMallocAsync at program.cu:30)",
    "8 bytes of first (cudaMalloc at program.cu:31)",
    "24 bytes of second (cudaMalloc at program.cu:31)",
    "96 bytes of 3 allocations of each (cudaMalloc at program.cu:32)",
    "2048 bytes of array (cudaMallocArray at program.cu:34)",
    "32 bytes of 2 allocations of malloc() at program.cu:10",
}
OF_HOST = {
    "64 bytes of page_locked (cudaMallocHost at program.cu:28)",
    "512 bytes of managed (cudaMallocManaged at program.cu:29)",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("lost")
    (path / "cache").mkdir(mode=0o700)
    compiled(LOST, path)
    return path


def told(text, kind="memory-leak", end=" are never given back"):
    begin = f"warning: {kind}: "
    return [
        line[len(begin) :].partition(end)[0]
        for line in text.splitlines()
        if line.startswith(begin) and end in line
    ]


def test_each_allocation_is_told_by_its_variable_and_line(folder):
    result = run(folder / "program", CUDASIM_CHECK="leaks")
    assert (result.returncode, result.stdout) == (0, "end\n")
    found = told(result.stderr)
    assert sorted(found) == sorted(OF_DEVICE | OF_HOST)
    assert "never given back; cudaFreeHost() does" in result.stderr
    assert "never given back; free() in a kernel does" in result.stderr
    assert f"  {folder}/program.cu:25, in main\n    25 |     cudaMalloc(&d_lost, 4096);\n" in result.stderr
    assert f"  {folder}/program.cu:10\n    10 |     Node* node = new Node;\n" in result.stderr
    assert "tid=" not in result.stderr


def test_the_check_is_one_word_of_a_list(folder):
    found = told(run(folder / "program", CUDASIM_CHECK="memory,\tleaks ").stderr)
    assert sorted(found) == sorted(OF_DEVICE | OF_HOST)


def test_nothing_is_told_unasked_and_nothing_that_was_freed(folder):
    assert run(folder / "program").stderr == ""
    heap = {each for each in OF_DEVICE if "malloc() at" in each}
    assert set(told(run(folder / "program", "f", CUDASIM_CHECK="leaks").stderr)) == heap


def test_a_reset_frees_what_was_lost_and_host_memory_lives_on(folder):
    result = run(folder / "program", "r", CUDASIM_CHECK="leaks")
    found = told(result.stderr)
    assert sorted(found) == sorted(OF_DEVICE | OF_HOST)
    assert set(found[: len(OF_DEVICE)]) == OF_DEVICE  # at the reset


def test_a_program_that_can_free_nothing_any_more_has_lost_nothing(tmp_path):
    program = compiled(
        "__global__ void wrong(int* p) { p[3] = 1; }\\n"
        "int main() { int* p; cudaMalloc(&p, 4); wrong<<<1, 1>>>(p); cudaDeviceSynchronize(); cudaFree(p); }".replace(
            "\\n", "\n"
        ),
        tmp_path,
    )
    result = run(program, CUDASIM_CHECK="memory,leaks")
    assert "out-of-bounds" in result.stderr and "memory-leak" not in result.stderr


def check(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "cudasim", "check", *arguments], cwd=folder, env=environment(CUDASIM_CACHE_DIR=str(folder / "cache")),
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip


def test_check_reports_leaks_as_it_does_for_scripts(folder):
    result = check(
        folder,
        "--tool",
        "memcheck",
        "--schedules",
        "0",
        "--json",
        "found.json",
        "--sarif",
        "found.sarif",
        "./program",
    )
    assert result.returncode == 1
    assert sorted(told(result.stderr)) == sorted(OF_DEVICE | OF_HOST)
    findings = json.loads((folder / "found.json").read_text())["findings"]
    lost = next(each for each in findings if "d_lost" in each["message"])
    assert (lost["kind"], lost["severity"], lost["tid"], lost["coordinates"]) == (
        "memory-leak",
        "warning",
        [],
        "",
    )
    assert lost["location"][0] == {
        "file": f"{folder}/program.cu",
        "function": "main",
        "line": 25,
        "column": 0,
    }
    assert next(each for each in findings if "each" in each["message"])["count"] == 3
    locations = [
        each["locations"][0]["physicalLocation"]
        for each in json.loads((folder / "found.sarif").read_text())["runs"][0]["results"]
    ]
    assert {each["artifactLocation"]["uri"] for each in locations} == {"program.cu"}


def test_check_without_leaks_says_nothing_of_them(folder):
    for what in (["--tool", "racecheck"], ["--check", "memory"], []):
        result = check(folder, *what, "--schedules", "0", "./program")
        assert result.returncode == 0 and "memory-leak" not in result.stderr, result.stderr
    result = check(folder, "--check", "all", "--schedules", "0", "./program")
    assert result.returncode == 1 and "memory-leak" in result.stderr


def test_check_says_where_leaks_were_not_looked_for(folder):
    result = check(folder, "--check", "all", "--schedules", "0", "./program", "_")
    assert "memory-leak" not in result.stderr
    assert (
        "the program ended by _exit() or exec*(), with status 0; memory that is never given back was not looked for"
        in result.stderr
    )


def test_memory_that_nobody_writes(folder):
    result = check(
        folder, "--tool", "initcheck", "--track-unused-memory", "--schedules", "0", "./program", "f"
    )
    assert result.returncode == 1
    unused = {
        each for each in OF_DEVICE if not any(name in each for name in ("d_lost", "first", "malloc() at"))
    }
    unused.add("32 bytes of 2 allocations of malloc() at program.cu:14")
    assert set(told(result.stderr, "unused-allocation", " are allocated and never written")) == unused
    assert (
        "unused-allocation"
        not in check(folder, "--tool", "initcheck", "--schedules", "0", "./program", "f").stderr
    )


def test_check_refuses_a_cluster_with_the_way_to_one(folder):
    result = check(folder, "--dask", "tcp://nowhere:1", "./program")
    assert result.returncode == 2
    assert "cudasim replay run.cudasim --schedules N --dask ADDRESS" in result.stderr


def test_check_of_a_program_without_cuda_and_of_one_that_may_not_be_executed(folder):
    result = check(folder, "/bin/true")
    assert result.returncode == 1
    assert result.stderr.count("cudasim check:") == 2 and "the program launched no kernel" in result.stderr
    plain = folder / "plain"
    plain.write_bytes((folder / "program").read_bytes())
    os.chmod(plain, 0o644)
    assert "plain: Permission denied" in check(folder, "./plain").stderr
