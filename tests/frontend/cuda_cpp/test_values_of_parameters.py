"""What is known of the values of parameters that are structs, where uninitialised values are looked for."""

from cuda_programs import compiled, needs_clang, run

pytestmark = needs_clang

PROGRAM = """
struct Table {
    int values[8];
    int sum;
    __host__ __device__ const int& at(int i) const { return values[i]; }
};
__device__ __noinline__ int use(Table table, int i) { return table.at(i) + table.sum; }
__global__ void fill(int* out, Table given, int count) {
    Table own;
    for (int i = 0; i < count; ++i) own.values[i] = i;
    own.sum = given.at(3);
    if (use(own, threadIdx.x % 8) + use(given, 2) > 0) out[threadIdx.x] = given.sum;
}
template <typename Function>
__global__ void call(Function function) {
    function(threadIdx.x);
}
int main(int count, char**) {
    int* out;
    cudaMalloc(&out, 32 * sizeof(int));
    Table given = {{1, 2, 3, 4}, 10};
    fill<<<1, 32>>>(out, given, count == 1 ? 8 : 7);
    call<<<1, 32>>>([=] __device__(int i) { out[i] += given.at(i % 8); });
    return cudaDeviceSynchronize();
}
"""


def test_structs_and_lambdas_bring_their_values_and_what_they_lack(tmp_path):
    program = compiled(PROGRAM, tmp_path, "-std=c++17", "--extended-lambda")
    clean = run(program, CUDASIM_CHECK="init")
    assert (clean.returncode, clean.stderr) == (0, "")
    found = run(program, "one value less", CUDASIM_CHECK="init").stderr
    assert "uninitialised-value" in found
    assert "tid=[7, 0, 0]" in found
    assert "in use" in found
