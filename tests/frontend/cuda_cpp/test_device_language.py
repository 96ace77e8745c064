"""The language of device code: what programs write in it without including anything of CUDA's."""

import pathlib

import pytest
from cuda_programs import compiled, needs_clang, nvcc, output_of, run

pytestmark = needs_clang

PROGRAM = pathlib.Path(__file__).parent / "programs" / "language.cu"

PRINTED = "-1 2 3 4 4 c text  1.50 2.5 1.000000e+10 ff FF 10 0x10 42  | 0042 % -3 1099511627776\nend\n"


@pytest.mark.parametrize("option", ["-std=c++14", "-std=c++20"])
def test_parts_of_the_language(tmp_path, option):
    assert output_of(PROGRAM.read_text(), tmp_path, option) == PRINTED


HEAP = """
#include <cstdio>
#include <nvfunctional>
#define TRUE(...) if (!(__VA_ARGS__)) printf("line %d: %s\\n", __LINE__, #__VA_ARGS__);
struct Base {
    __device__ virtual int value() const = 0;
    __device__ virtual ~Base() {}
};
struct Derived : Base {
    int* gone;
    __device__ explicit Derived(int* g) : gone(g) {}
    __device__ ~Derived() override { ++*gone; }
    __device__ int value() const override { return 7; }
};
struct Node {
    int value;
    Node* next;
};
__global__ void kernel() {
    int gone = 0;
    Base* const object = new Derived(&gone);
    TRUE(object->value() == 7)
    delete object;
    TRUE(gone == 1)
    Node* list = nullptr;
    for (int i = 0; i < 5; ++i) list = new Node{i, list};
    int total = 0;
    while (list) {
        Node* const next = list->next;
        total = total * 10 + list->value;
        delete list;
        list = next;
    }
    TRUE(total == 43210)
    int* const numbers = new int[100]();
    TRUE(numbers[99] == 0)
    delete[] numbers;
    char* const bytes = (char*)malloc(threadIdx.x + 1);
    bytes[threadIdx.x] = 'a';
    TRUE(bytes[threadIdx.x] == 'a')
    free(bytes);
    free(nullptr);
    nvstd::function<int(int)> add = [total](int x) { return x + total; };
    const nvstd::function<int(int)> copy = add;
    add = nullptr;
    TRUE(copy(1) == 43211 && !add && copy != nullptr)
}
int main() {
    kernel<<<1, 4>>>();
    cudaDeviceSynchronize();
    const int factor = 3;
    nvstd::function<int(int)> f = [factor](int x) { return x * factor; };
    TRUE(f(4) == 12)
    puts("end");
}
"""


def test_objects_on_the_heap(tmp_path):
    assert output_of(HEAP, tmp_path) == "end\n"


# What a program of a single header compiles, in each version of C++ that nvcc takes.
EVERYTHING = """
__global__ void kernel(float* f, double* d, int* i, unsigned long long* u, float4* v) {
    extern __shared__ float tile[];
    tile[threadIdx.x] = __ldg(f) + sinf(f[1]) + __expf(f[2]) + rsqrtf(f[3]) + fmaf(f[0], f[1], f[2]);
    __syncthreads();
    *d = pow(*d, 2) + tile[0] + max(*f, 1.0f) + __fma_rn(1.0, 2.0, 3.0) + norm3d(1.0, 2.0, 3.0);
    *i = __shfl_down_sync(0xffffffff, *i, 1) + __popc(*i) + atomicAdd(i, 1) + min(*i, 3) + __vadd4(1, 2);
    *u = atomicMax(u, 3ULL) + clock64() + __nv_atomic_fetch_add(u, 1ULL, __NV_ATOMIC_RELAXED);
    *v = make_float4(1, 2, 3, __ldcg(v).w);
    printf("%d\\n", *i);
    assert(*i != 0);
}
int main() {
    return max(1, 2) + int(rsqrtf(4.0f) + normcdf(0.0) + sinpi(1.0) + abs(-2.5f) + __vimax3_s32(1, 2, 3));
}
"""


@pytest.mark.parametrize("option", ["-std=c++11", "-std=c++14", "-std=c++17", "-std=c++20", "-use_fast_math"])
def test_it_compiles_in_every_version_of_the_language_without_a_warning(tmp_path, option):
    (tmp_path / "program.cu").write_text(EVERYTHING)
    result = nvcc("-c", "program.cu", option, "-Xcompiler", "-Wall,-Wextra", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")


SHARED_ADDRESSES = """
#include <cstdio>
struct View {
    const int* numbers;
    char name[8];
    const float* row;
    int rows;
};
struct Pair { View views[2]; int* place; };
__device__ int total(const View& view) { return view.numbers[3] + (int)view.row[1] + view.rows + view.name[1]; }
__global__ void kernel(int* out) {
    __shared__ int numbers[64];
    __shared__ float rows[2][32];
    extern __shared__ int dynamic[];
    numbers[threadIdx.x] = threadIdx.x, numbers[32 + threadIdx.x] = 100 + threadIdx.x;
    rows[0][threadIdx.x] = threadIdx.x, rows[1][threadIdx.x] = 10 * threadIdx.x;
    dynamic[threadIdx.x] = 1000;
    __syncthreads();
    float* buffers[2] = {rows[0], rows[1]};
    for (int i = 0; i < 3; ++i) {
        int* parts[3] = {numbers, numbers + 32, dynamic};
        parts[i] += threadIdx.x;
        out[threadIdx.x * 3 + i] = *parts[i] + (int)buffers[i & 1][threadIdx.x];
    }
    const Pair pair = {{{numbers, "ab", rows[1], 2}, {numbers + 32, "cd", rows[0], 4}}, out + 96};
    if (threadIdx.x == 31) pair.place[0] = total(pair.views[0]), pair.place[1] = total(pair.views[1]);
    View view = {numbers, "xyz", rows[1], 3};
    if (threadIdx.x == 30) out[98] = total(view);
}
int main() {
    int *device, host[99];
    cudaMalloc(&device, sizeof host);
    kernel<<<1, 32, 32 * sizeof(int)>>>(device);
    cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 32; ++i)
        if (host[3 * i] != 2 * i || host[3 * i + 1] != 100 + 11 * i || host[3 * i + 2] != 1000 + i) printf("%d\\n", i);
    printf("%d %d %d\\n", host[96], host[97], host[98]);
}
"""


def test_local_variables_that_are_initialised_with_addresses_of_shared_ones(tmp_path):
    # 3 + 10 + 2 + 'b'; 103 + 1 + 4 + 'd'; 3 + 10 + 3 + 'y'
    assert output_of(SHARED_ADDRESSES, tmp_path) == "113 208 137\n"


ALIGNED_PARAMETERS = """
#include <cstdlib>
struct alignas(64) Wide { double items[8]; };
__global__ void sum(char first, Wide wide, double* out) {
    double total = 0;
    for (int i = 0; i < 8; i++) total += wide.items[i];
    out[threadIdx.x] = total + (reinterpret_cast<unsigned long>(&wide) % 64);
}
__global__ void change(char first, Wide wide, double* out) {
    wide.items[threadIdx.x] += 1;
    out[threadIdx.x] = wide.items[threadIdx.x] + wide.items[7];
}
int main() {
    double* out;
    cudaMallocManaged(&out, 4 * sizeof *out);
    const Wide wide{{1, 2, 3, 4, 5, 6, 7, 8}};
    for (int i = 0; i < 40; i++) {
        if (!std::malloc(16 + 16 * (i % 5))) return 3;  // so that the launches' own memory moves on
        sum<<<1, 4>>>('a', wide, out);
        if (cudaDeviceSynchronize() || out[3] != 36) return 1;
        change<<<1, 4>>>('a', wide, out);
        if (cudaDeviceSynchronize() || out[3] != 13) return 2;
    }
}
"""


@pytest.mark.parametrize("option", ["-O3", "-G"])
def test_parameters_may_have_any_alignment(tmp_path, option):
    result = run(compiled(ALIGNED_PARAMETERS, tmp_path, option))
    assert (result.returncode, result.stderr) == (0, "")
