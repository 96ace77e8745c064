"""Clusters of thread blocks: programs/clusters.cu checks by itself what holds on every GPU that has them, also on a real one."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

import pytest
from cuda_programs import compiled, environment, needs_clang, run

pytestmark = needs_clang

PROGRAM = (pathlib.Path(__file__).parent / "programs" / "clusters.cu").read_text()

# What goes wrong: the first argument says what.
WRONG = """
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
namespace cg = cooperative_groups;

__device__ void arrive() { asm volatile("barrier.cluster.arrive;" ::: "memory"); }
__device__ void wait() { asm volatile("barrier.cluster.wait;" ::: "memory"); }

__global__ void __cluster_dims__(2, 1, 1) kernel(int what, int* out) {
    __shared__ int tile[16];
    cg::cluster_group cluster = cg::this_cluster();
    const int rank = cluster.block_rank();
    tile[threadIdx.x % 16] = rank;
    cluster.sync();
    int* theirs = cluster.map_shared_rank(tile, 1 - rank);
    if (what == 0 && rank == 1) out[0] = theirs[16];
    if (what == 1) {
        if (rank == 1) return;
        while (*reinterpret_cast<volatile int*>(&theirs[3]) == 1) {
        }
    }
    if (what == 2) out[0] = *cluster.map_shared_rank(tile, 2);
    if (what == 3) arrive(), arrive();
    if (what == 4) wait();
    if (what == 5 && rank == 1) {
        if (threadIdx.x < 32) __syncthreads();
    }
    if (what == 6 && rank == 1 && threadIdx.x >= 32) return;
    if (what == 7) out[0] = *cluster.map_shared_rank(out, 1);
    if (what != 3 && what != 4) cluster.sync();
}

int main(int, char** arguments) {
    int* out;
    cudaMalloc(&out, 64);
    kernel<<<4, 64>>>(std::atoi(arguments[1]), out);
    printf("%s", cudaGetErrorName(cudaDeviceSynchronize()));
}
"""

MESSAGES = [
    "read of 4 bytes starting 0 bytes behind the end of shared memory 'tile' of 64 bytes of block 0, rank 0 "
    "in the cluster",
    "read of 4 bytes at offset 12 of shared memory 'tile' of 64 bytes of block 1, rank 1 in the cluster: that block has ended",
    "there is no block of rank 2 in a cluster of 2 blocks",
    "the barrier of the cluster: the thread has arrived at it before, and has not waited since",
    "the barrier of the cluster: the thread waits without having arrived at it",
    "threads wait at the barrier of their cluster for others that never come",
    "32 threads of 128 ended without reaching the cluster barrier at which 96 threads wait",
    "the address that is to be mapped to another block of the cluster lies in no shared memory of the cluster",
]

# The first argument says which barrier is missing; 0: none.
RACE = """
#include <cooperative_groups.h>
#include <cstdlib>
namespace cg = cooperative_groups;
__global__ void __cluster_dims__(2, 1, 1) exchange(int* out, int missing) {
    __shared__ int tile[32], given[32];
    cg::cluster_group cluster = cg::this_cluster();
    const unsigned t = threadIdx.x, other = 1 - cluster.block_rank();
    given[t] = 0;  // first line
    if (missing != 1) cluster.sync();
    cluster.map_shared_rank(given, other)[t] = blockIdx.x;  // second line
    tile[t] = t + blockIdx.x;
    if (missing != 2) cluster.sync(); else __syncthreads();
    out[blockIdx.x * 32 + t] = cluster.map_shared_rank(tile, other)[t] + given[t];  // third line
    if (missing != 3) cluster.sync();
    if (missing == 3) return;
    tile[t] = 0;
    __syncthreads();
    if (tile[31 - t] != 0) out[0] = -1;
}
int main(int, char** arguments) {
    int* out;
    cudaMalloc(&out, 64 * 32 * 4);
    exchange<<<64, 32>>>(out, std::atoi(arguments[1]));
    return cudaDeviceSynchronize();
}
"""
LINE_OF = {
    number: next(i for i, line in enumerate(RACE.splitlines(), 1) if f"// {word} line" in line)
    for number, word in enumerate(("first", "second", "third"), 1)
}

REFUSED = """
#include <cooperative_groups.h>
#include <cstdio>
template <int X> __global__ void __cluster_dims__(X, 1, 1) declared(int* x) { *x = 1; }
__global__ void plain(int* x) { *x = 1; }
int main() {
    int* x;
    cudaMalloc(&x, 4);
    declared<2><<<3, 1>>>(x);
    printf("%d ", cudaGetLastError());
    declared<16><<<16, 1>>>(x);
    printf("%d ", cudaGetLastError());
    cudaLaunchConfig_t configuration = {};
    cudaLaunchAttribute attribute = {};
    configuration.gridDim = 32, configuration.blockDim = 1;
    configuration.attrs = &attribute, configuration.numAttrs = 1;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    for (unsigned blocks : {0, 1, 4, 16, 32}) {
        attribute.val.clusterDim.x = blocks;
        printf("%d ", cudaLaunchKernelEx(&configuration, plain, x));
    }
    cudaFuncSetAttribute(plain, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    attribute.val.clusterDim.x = 16;
    printf("%d ", cudaLaunchKernelEx(&configuration, plain, x));
    printf("%d ", cudaLaunchKernelEx(&configuration, declared<2>, x));
    printf("%d ", cudaFuncSetAttribute(declared<2>, cudaFuncAttributeRequiredClusterWidth, 4));
    printf("%d", cudaDeviceSynchronize());
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled(PROGRAM, tmp_path_factory.mktemp("clusters"), "-std=c++17", "-arch=sm_90")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"CUDASIM_WORKERS": "4"},
        {"CUDASIM_POLICY": "reverse"},
        {"CUDASIM_POLICY": "random", "CUDASIM_SEED": "3"},
        {"CUDASIM_CARRIER": "fiber"},
    ],
    ids=lambda options: "-".join(options.values()) or "usual",
)
def test_what_holds_on_every_gpu(program, options):
    result = run(program, **options)
    assert "all checks passed" in result.stdout, result.stdout + result.stderr
    assert result.returncode == 0


@pytest.mark.parametrize("check", ["init", "races"])
def test_the_same_under_checks(program, check):
    result = run(program, CUDASIM_CHECK=check)
    assert "all checks passed" in result.stdout, result.stdout + result.stderr
    assert "data-race" not in result.stderr and "uninitialised" not in result.stderr


@pytest.mark.parametrize(("what", "message"), list(enumerate(MESSAGES)))
def test_what_is_wrong_with_a_cluster_is_said(wrong, what, message):
    result = run(wrong, str(what), CUDASIM_STRICT="1")
    assert message in " ".join(result.stderr.split()), result.stderr
    assert (result.stdout == "cudaSuccess") == (what in (3, 4, 6))


@pytest.fixture(scope="module")
def wrong(tmp_path_factory):
    return compiled(WRONG, tmp_path_factory.mktemp("wrong"), "-arch=sm_90")


@pytest.fixture(scope="module")
def race(tmp_path_factory):
    return compiled(RACE, tmp_path_factory.mktemp("race"), "-arch=sm_90")


@pytest.mark.parametrize("policy", ["forward", "reverse", "lockstep"])
def test_barriers_of_a_cluster_order_its_blocks(race, policy):
    result = run(race, "0", CUDASIM_CHECK="init,races", CUDASIM_POLICY=policy)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("policy", ["forward", "reverse"])
@pytest.mark.parametrize("missing", [1, 2])
def test_without_a_barrier_both_lines_race(race, missing, policy):
    said = run(race, str(missing), CUDASIM_CHECK="races", CUDASIM_POLICY=policy).stderr
    first = said.partition("\n\n")[0]
    assert "data-race" in first and "that of the grid and of their cluster" not in first, said
    variable, lines = (
        (r"given", {LINE_OF[1], LINE_OF[2]}) if missing == 1 else (r"tile|given", {LINE_OF[2], LINE_OF[3]})
    )
    assert re.search(rf"data race: (read|write) of ({variable})\[\d+\] in shared memory", first), said
    assert " of ctaid=[" in first.partition(", and ")[0]
    assert {int(line) for line in re.findall(r"program\.cu:(\d+)", first)} <= {*lines, LINE_OF[2] + 1}, said


@pytest.mark.parametrize("policy", ["forward", "reverse"])
def test_an_access_to_a_block_that_may_have_ended_is_found(race, policy):
    said = run(race, "3", CUDASIM_CHECK="races", CUDASIM_POLICY=policy).stderr
    found = re.search(
        r"data race: read of tile\[(\d+)\] in shared memory of ctaid=\[(\d+), 0, 0\]; nothing orders the end of that block behind it",
        " ".join(said.split()),
    )
    assert found, said
    assert f"program.cu:{LINE_OF[3]}" in said
    plain = run(race, "3", CUDASIM_POLICY=policy).stderr
    assert "that block has ended" in " ".join(plain.split()), plain


@pytest.mark.parametrize("options", [[], ["-rdc=true"]])
def test_clusters_that_cannot_be_are_refused(tmp_path, options):
    result = run(compiled(REFUSED, tmp_path, "-arch=sm_90", *options))
    assert result.stdout == "912 912 912 0 0 912 912 0 912 1 0"
    said = re.findall(r"\(cudaErrorInvalidClusterSize\): (.*)", result.stderr)
    assert len(said) == 6
    assert "clusters of (2, 1, 1) blocks do not divide a grid of (3, 1, 1)" in said[0]
    assert "cudaFuncAttributeNonPortableClusterSizeAllowed, 1" in said[1]


def test_a_device_before_compute_capability_9_has_none(tmp_path):
    result = run(compiled(REFUSED, tmp_path, "-arch=sm_80"), CUDASIM_DEVICE="a100")
    assert result.stdout.startswith("801 801 801 801 801 801")
    assert "clusters of blocks come with compute capability 9.0" in result.stderr


SUMS = """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void __cluster_dims__(4, 1, 1) sums(int* out) {
    __shared__ int given[32];
    cg::cluster_group cluster = cg::this_cluster();
    given[threadIdx.x] = blockIdx.x * 100 + threadIdx.x;
    cluster.sync();
    int sum = 0;
    for (unsigned rank = 0; rank < cluster.num_blocks(); ++rank)
        sum += cluster.map_shared_rank(given, rank)[threadIdx.x];
    cluster.sync();
    out[blockIdx.x * 32 + threadIdx.x] = sum;
}
int main() {
    int* out;
    cudaMalloc(&out, 1024);
    sums<<<8, 32>>>(out);
    return cudaDeviceSynchronize();
}
"""


def cudasim(program, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "cudasim", *arguments],
        cwd=program.parent, env=environment(), capture_output=True, text=True, timeout=300,
    )  # fmt: skip


@pytest.fixture(scope="module")
def sums(tmp_path_factory):
    return compiled(SUMS, tmp_path_factory.mktemp("sums"), "-arch=sm_90")


def test_schedules_keep_the_clusters_of_a_launch(sums):
    result = cudasim(sums, "check", "--schedules", "6", "./program")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "1 launch of 1 kernel under 7 schedules: 0 findings" in result.stdout + result.stderr


def test_records_keep_the_clusters_of_a_launch(sums):
    assert cudasim(sums, "record", "-o", "record", "./program").returncode == 0
    result = cudasim(sums, "replay", "record")
    assert "reproduced to the bit" in result.stdout, result.stdout + result.stderr
    result = cudasim(sums, "replay", "--schedules", "4", "record")
    assert result.returncode == 0, result.stdout + result.stderr
