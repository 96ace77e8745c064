"""malloc, free, new and delete of kernels (CUDA C++ Programming Guide, "Dynamic Global Memory Allocation and
Operations")."""

from __future__ import annotations

import pytest
from cuda_programs import compiled, needs_clang, output_of, run

pytestmark = needs_clang

CLEAN = r"""
#include <cstdio>
struct Node { int value; Node* next; };
__device__ Node* lists[64];
__device__ double* table;

__global__ void build(int length) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    Node* head = nullptr;
    for (int k = 0; k < length; ++k) {
        Node* node = static_cast<Node*>(malloc(sizeof(Node)));
        if (node == nullptr) { printf("no memory\n"); return; }
        node->value = i + k;
        node->next = head;
        head = node;
    }
    lists[i] = head;
    if (i == 0) table = new double[100];
}
// Another launch, other threads: allocations last.
__global__ void sum(int* sums) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, other = 63 - i;
    int result = 0;
    while (Node* node = lists[other]) {
        result += node->value;
        lists[other] = node->next;
        free(node);
    }
    sums[other] = result;
    table[i] = result;
}
__global__ void last() { delete[] table; free(nullptr); }
__global__ void too_much(unsigned long long* facts) {
    facts[0] = malloc(9 << 20) == nullptr;  // cudaLimitMallocHeapSize is 8 MB
    void* large = malloc(5 << 20);
    facts[1] = large != nullptr;
    facts[2] = malloc(5 << 20) == nullptr;
    free(large);
    large = malloc(5 << 20);  // what was freed can be had again
    facts[3] = large != nullptr;
    free(large);
    void* small = malloc(3);
    facts[4] = reinterpret_cast<unsigned long long>(small) % 16;
    free(small);
}
// A coroutine that allocates between its barriers.
__global__ void across_barriers(int* out) {
    __shared__ int* shared;
    if (threadIdx.x == 0) shared = static_cast<int*>(malloc(blockDim.x * sizeof(int)));
    __syncthreads();
    shared[threadIdx.x] = threadIdx.x * 3;
    __syncthreads();
    out[threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) free(shared);
}

int main() {
    int* sums;
    cudaMalloc(&sums, 64 * sizeof(int));
    build<<<2, 32>>>(10);
    sum<<<4, 16>>>(sums);
    last<<<1, 1>>>();
    int host[64];
    cudaMemcpy(host, sums, sizeof host, cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int i = 0; i < 64; ++i) wrong += host[i] != 10 * i + 45;
    std::printf("wrong sums: %d\n", wrong);
    unsigned long long *facts, told[5];
    cudaMalloc(&facts, sizeof told);
    too_much<<<1, 1>>>(facts);
    cudaMemcpy(told, facts, sizeof told, cudaMemcpyDeviceToHost);
    for (auto each : told) std::printf("%llu ", each);
    cudaDeviceSetLimit(cudaLimitMallocHeapSize, 32 << 20);
    too_much<<<1, 1>>>(facts);
    cudaMemcpy(told, facts, sizeof told, cudaMemcpyDeviceToHost);
    std::printf("%llu %llu", told[0], told[2]);
    across_barriers<<<1, 64>>>(sums);
    cudaMemcpy(host, sums, sizeof host, cudaMemcpyDeviceToHost);
    wrong = 0;
    for (int i = 0; i < 64; ++i) wrong += host[i] != (63 - i) * 3;
    std::printf("\nwrong values: %d\n", wrong);
}
"""


def test_allocations_last_until_they_are_freed_within_the_heaps_limit(tmp_path):
    assert output_of(CLEAN, tmp_path) == "wrong sums: 0\n1 1 1 1 0 0 0\nwrong values: 0\n"


BUGS = r"""
#include <cstdio>
#include <cstdlib>
__device__ int* kept;
__global__ void bug(int which, int* of_host) {
    if (threadIdx.x != 5) return;
    int* p = static_cast<int*>(malloc(10 * sizeof(int)));  // allocated here
    if (which == 0) p[10] = 1;                             // behind the end
    if (which == 1) { free(p); p[2] = 1; }                 // use after free
    if (which == 2) { free(p); free(p); }                  // double free
    if (which == 3) free(p + 1);                           // inside
    if (which == 4) free(of_host);                         // of the host
    if (which == 5) { int* q = new int[4]; q[4] = 1; }     // new
    kept = p;
}
__global__ void late() { kept[-1] = 0; }  // before the start

int main(int, char** arguments) {
    const int which = std::atoi(arguments[1]);
    int* device;
    cudaMalloc(&device, 4);
    bug<<<1, 32>>>(which, device);
    if (which == 6) late<<<1, 1>>>();
    int* address = nullptr;
    if (which == 7) {
        int** copied;
        cudaMalloc(&copied, sizeof *copied);
        extern __global__ void tell(int** out);
        tell<<<1, 1>>>(copied);
        cudaMemcpy(&address, copied, sizeof address, cudaMemcpyDeviceToHost);
        int first;
        std::printf("%d ", (int)cudaMemcpy(&first, address, sizeof first, cudaMemcpyDeviceToHost));
        std::printf("%d\n", (int)cudaFree(address));
        return 0;
    }
    std::printf("%d\n", (int)cudaDeviceSynchronize());
}
__global__ void tell(int** out) { *out = kept; }
"""


def line_of(text: str) -> int:
    return next(i for i, line in enumerate(BUGS.splitlines(), 1) if text in line)


@pytest.fixture(scope="module")
def bugs(tmp_path_factory):
    return compiled(BUGS, tmp_path_factory.mktemp("heap"), name="bugs")


@pytest.mark.parametrize(
    ("which", "kind", "place", "code", "names_allocation"),
    [
        (0, "out-of-bounds-global", "behind the end", 700, True),
        (1, "use-after-free", "use after free", 700, True),
        (2, "invalid-free", "double free", 719, False),
        (3, "invalid-free", "// inside", 719, False),
        (4, "invalid-free", "of the host", 719, False),
        (5, "out-of-bounds-global", "new int[4]", 700, False),
        (6, "out-of-bounds-global", "before the start", 700, True),
    ],
)
def test_bugs_in_memory_of_the_heap_are_found(bugs, which, kind, place, code, names_allocation):
    result = run(bugs, str(which))
    assert result.stdout == f"{code}\n", result.stderr
    assert f"bugs.cu:{line_of(place)}" in result.stderr
    assert kind in result.stderr
    assert (f"malloc() at bugs.cu:{line_of('allocated here')}" in result.stderr) == names_allocation
    assert "[5, 0, 0]" in result.stderr or which == 6
    assert result.returncode == 1


def test_an_allocation_of_new_is_named_by_its_line(bugs):
    assert f"malloc() at bugs.cu:{line_of('new int[4]')}" in run(bugs, "5").stderr


def test_calls_of_the_host_cannot_use_memory_of_the_heap(bugs):
    assert run(bugs, "7").stdout == "1 1\n"
