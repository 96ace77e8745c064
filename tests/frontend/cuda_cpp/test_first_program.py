"""The way of a .cu file, from nvcc to what its kernels print and return."""

from cuda_programs import compiled, needs_clang, output_of, run

pytestmark = needs_clang

ADD = """
#include <cstdio>
#include <vector>
__global__ void add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + sqrtf(b[i]);
    if (i == 3) printf("thread %d has %f\\n", i, c[i]);
}
int main() {
    const int n = 1000;
    std::vector<float> a(n, 1), b(n, 4), c(n);
    float *da, *db, *dc;
    cudaMalloc(&da, n * sizeof(float));
    cudaMalloc(&db, n * sizeof(float));
    cudaMalloc((void**)&dc, n * sizeof(float));
    cudaMemcpy(da, a.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(db, b.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    add<<<(n + 255) / 256, 256>>>(da, db, dc, n);
    cudaMemcpy(c.data(), dc, n * sizeof(float), cudaMemcpyDeviceToHost);
    for (float x : c)
        if (x != 3) return 1;
    puts("all right");
}
"""

DIVIDE = """
__global__ void divide(int* a, int n) {
    a[threadIdx.x] = 100 / (threadIdx.x - 7 + n);
}
int main() {
    int* a;
    cudaMalloc(&a, 32 * sizeof(int));
    divide<<<2, 32>>>(a, 0);
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 3;
}
"""


def test_a_program_computes_and_prints(tmp_path):
    assert output_of(ADD, tmp_path) == "thread 3 has 3.000000\nall right\n"


def test_a_division_by_zero_is_reported_with_thread_block_and_line(tmp_path):
    result = run(compiled(DIVIDE, tmp_path))
    assert "error: integer-division" in result.stderr
    assert "tid=[7, 0, 0] ctaid=[0, 0, 0]" in result.stderr
    assert "program.cu:3:" in result.stderr
    assert "a[threadIdx.x] = 100 / (threadIdx.x - 7 + n);" in result.stderr
    assert result.returncode == 1
