"""Cooperative groups: programs/groups.cu compares every collective with what the host computes."""

import pathlib

import pytest
from cuda_programs import compiled, needs_clang, nvcc, output_of, run

pytestmark = needs_clang

PROGRAMS = pathlib.Path(__file__).parent / "programs"

# The oldest standard and architecture, which has no match operations.
EARLY = """
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_pipeline.h>
#include <cstdio>
using namespace cooperative_groups;
__device__ int total(const thread_group& group, int* place, int value) {
    for (int i = group.size() / 2; i > 0; i /= 2) {
        place[group.thread_rank()] = value;
        group.sync();
        if (group.thread_rank() < i) value += place[group.thread_rank() + i];
        group.sync();
    }
    return value;
}
__global__ void sums(int* out) {
    __shared__ int room[64];
    thread_block block = this_thread_block();
    const int of_block = total(block, room, block.thread_rank());
    thread_group quarter = tiled_partition(block, 16);
    const int of_quarter = total(quarter, room + block.thread_rank() / 16 * 16, block.thread_rank());
    thread_block_tile<4> four = tiled_partition<4>(block);
    const int of_four = reduce(four, int(block.thread_rank()), plus<int>());
    thread_block_tile<64> all = tiled_partition<64>(block);
    thread_block_tile<1> one = this_thread();
    if (block.thread_rank() == 0)
        printf("%d %d %d %d %d\\n", of_block, of_quarter, of_four, all.size(), one.size());
    out[block.thread_rank()] = exclusive_scan(all, 1);
    if (out[block.thread_rank()] != int(block.thread_rank())) printf("wrong\\n");
}
int main() {
    int* out;
    cudaMalloc(&out, 64 * sizeof(int));
    sums<<<1, dim3(4, 4, 4)>>>(out);
    return cudaDeviceSynchronize();
}
"""

# Threads of a tile of two warps do not wait for each other.
RACE = """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void reverse(int* out, bool waits) {
    __shared__ int values[128];
    auto tile = cg::tiled_partition<64>(cg::this_thread_block());
    values[threadIdx.x] = threadIdx.x;
    if (waits) tile.sync();
    out[threadIdx.x] = values[threadIdx.x ^ 63];
}
int main(int count, char**) {
    int* out;
    cudaMalloc(&out, 128 * sizeof(int));
    reverse<<<1, 128>>>(out, count == 1);
    return cudaDeviceSynchronize();
}
"""

WITHOUT_MEANING = """
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
struct Large { char bytes[36]; };
__global__ void kernel(int* out) {
    auto block = cg::this_thread_block();
#if CASE == 0
    auto tile = cg::tiled_partition<24>(block);
#elif CASE == 1
    auto tile = cg::tiled_partition<64>(cg::tiled_partition<32>(block));
#else
    cg::tiled_partition<8>(block).shfl(Large(), 0);
#endif
}
int main() {}
"""


@pytest.mark.parametrize("architecture", ["sm_75", "sm_80"])  # without instructions that reduce, and with
def test_every_collective_gives_what_the_host_computes(tmp_path, architecture):
    source = (PROGRAMS / "groups.cu").read_text()
    assert output_of(source, tmp_path, "-std=c++17", f"-arch={architecture}") == "all right\n"


def test_groups_compile_as_cpp11_for_an_early_architecture(tmp_path):
    output = output_of(EARLY, tmp_path, "-std=c++11", "-arch=sm_60")
    assert output == f"{64 * 63 // 2} {16 * 15 // 2} 6 64 1\n"


def test_the_barrier_of_a_tile_of_several_warps_orders_its_threads(tmp_path):
    program = compiled(RACE, tmp_path)
    clean = run(program, CUDASIM_CHECK="memory,races,sync,init")
    assert (clean.returncode, clean.stderr) == (0, "")
    assert "data-race" in run(program, "without", CUDASIM_CHECK="all").stderr


def test_what_groups_cannot_do_is_an_error_of_the_compiler(tmp_path):
    (tmp_path / "wrong.cu").write_text(WITHOUT_MEANING)
    for case, message in enumerate(
        ["a power of 2, from 1 to 1024", "cannot be larger than the tile", "values of 32 bytes at most"]
    ):
        result = nvcc("-c", f"-DCASE={case}", "wrong.cu", cwd=tmp_path)
        assert result.returncode != 0
        assert message in result.stderr
