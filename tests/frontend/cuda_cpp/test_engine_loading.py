"""Loading of images: a kernel is read without the others of its image."""

from __future__ import annotations

from cuda_programs import compiled, needs_clang, output_of, run

pytestmark = needs_clang

KERNELS = 45

#: Kernels with a function each, and function pointers through memory: one kernel stores what another calls.
LARGE = "\n".join(
    [
        "#include <chrono>",
        "#include <cstdio>",
        "typedef int (*Function)(int);",
        "__device__ Function chosen;",
        "__device__ int counted = 5;",
        "__device__ int times_two(int x) { return 2 * x; }",
        "__device__ __noinline__ int times_three(int x) { return 3 * x; }",
        "__global__ void choose(int which) { chosen = which == 2 ? times_two : times_three; }",
        "__global__ void call(int* out) { *out = chosen(counted++); }",
        *(
            f"template <int k> __device__ float helper{i}(float x) {{ for (int j = 0; j < k; ++j) "
            f"x = x * {i}.5f + sinf(x); return x; }}\n"
            f"__global__ void kernel{i}(float* out, int n) {{ int i = blockIdx.x * blockDim.x + threadIdx.x;"
            f" if (i < n) out[i] = helper{i}<{i + 3}>(out[i]) + {i}; }}"
            for i in range(KERNELS)
        ),
        "static double now() { return std::chrono::duration<double>("
        "std::chrono::steady_clock::now().time_since_epoch()).count(); }",
        "int main() {",
        "    int* out; float* values; int host;",
        "    cudaMalloc(&out, sizeof host); cudaMalloc(&values, 4 * 64);",
        "    choose<<<1, 1>>>(3); call<<<1, 1>>>(out);",
        '    cudaMemcpy(&host, out, 4, cudaMemcpyDeviceToHost); std::printf("%d ", host);',
        "    choose<<<1, 1>>>(2); call<<<1, 1>>>(out);",
        '    cudaMemcpy(&host, out, 4, cudaMemcpyDeviceToHost); std::printf("%d\\n", host);',
        "    double start = now();",
        *(f"    kernel{i}<<<1, 64>>>(values, 64);" for i in range(KERNELS)),
        "    if (cudaDeviceSynchronize() != cudaSuccess) return 1;",
        '    std::printf("%f\\n", now() - start);',
        "}",
    ]
)


def test_function_pointers_mean_the_same_in_kernels_that_are_read_apart(tmp_path):
    answer = output_of(LARGE, tmp_path, CUDASIM_CACHE="0").splitlines()
    assert answer[0] == "15 12"


#: 1 + 2^-12 squared is 1 + 2^-11 + 2^-24: a product that is rounded by itself keeps no 2^-24.
FUSED = r"""
#include <cstdio>
__global__ void fuse(float* out, float a, float c) { *out = a * a + c; }
int main() {
    float *out, host;
    cudaMalloc(&out, sizeof host);
    fuse<<<1, 1>>>(out, 1 + 0x1p-12f, -(1 + 0x1p-11f));
    cudaMemcpy(&host, out, sizeof host, cudaMemcpyDeviceToHost);
    std::printf("%a\n", host);
}
"""


def test_multiplications_and_additions_are_fused_unless_the_compiler_or_the_user_says_no(tmp_path):
    program = compiled(FUSED, tmp_path)
    assert run(program).stdout == "0x1p-24\n"
    assert run(program, CUDASIM_FMA="0").stdout == "0x0p+0\n"
    assert output_of(FUSED, tmp_path, "-fmad=false") == "0x0p+0\n"
