"""<nv/target>: code that depends on where it is compiled for. And what device code calls for dependent launches."""

from __future__ import annotations

import pytest
from cuda_programs import compiled, needs_clang, run

pytestmark = needs_clang

PROGRAM = """
#include <nv/target>
#include <cstdio>
__host__ __device__ int side() {
    NV_IF_TARGET(NV_IS_DEVICE, (int one = 1; return one;), (int two = 1, three = 1; return two + three;))
}
__host__ __device__ int without_else(int x) {
    NV_IF_TARGET(NV_IS_HOST, (x += 10;))
    if (x > 100) NV_IF_ELSE_TARGET(NV_ANY_TARGET, (x = 0;), (x = 1;))
    return x;
}
__host__ __device__ int at_least() {
    NV_DISPATCH_TARGET(NV_PROVIDES_SM_90, (return 90;), NV_PROVIDES_SM_80, (return 80;), NV_PROVIDES_SM_60,
                       (return 60;), NV_IS_HOST, (return 1;))
    return -1;
}
__host__ __device__ int exactly() {
    NV_DISPATCH_TARGET(NV_IS_EXACTLY_SM_75, (return 75;), NV_IS_EXACTLY_SM_80, (return 80;),
                       NV_IS_EXACTLY_SM_90, (return 90;))
    return 0;
}
__host__ __device__ int nested() {
    NV_IF_TARGET(NV_IS_DEVICE, (NV_IF_ELSE_TARGET(NV_PROVIDES_SM_80, (return 3;), (return 4;))), (return 5;))
}
__host__ __device__ void all(int* x) {
    x[0] = side();
    x[1] = without_else(0) + without_else(200);
    x[2] = at_least();
    x[3] = exactly();
    x[4] = nested();
}
__global__ void kernel(int* x) {
    cudaGridDependencySynchronize();
    all(x);
    cudaTriggerProgrammaticLaunchCompletion();
}
int main() {
    int *x, host[5];
    cudaMallocManaged(&x, sizeof host);
    kernel<<<1, 1>>>(x);
    printf("%s", cudaGetErrorName(cudaDeviceSynchronize()));
    all(host);
    for (int each : {x[0], x[1], x[2], x[3], x[4], host[0], host[1], host[2], host[3], host[4]})
        printf(" %d", each);
}
"""


@pytest.mark.parametrize(
    ("architecture", "device"),
    [("sm_75", "1 0 60 75 4"), ("sm_80", "1 0 80 80 3"), ("sm_86", "1 0 80 0 3"), ("sm_90", "1 0 90 90 3")],
)
def test_conditions_and_branches(tmp_path, architecture, device):
    program = compiled(PROGRAM, tmp_path, f"-arch={architecture}")
    assert run(program).stdout == f"cudaSuccess {device} 2 10 1 0 5"
