"""Races between streams of programs in CUDA C++: kernels and copies that nothing orders."""

import pytest
from cuda_programs import compiled, needs_clang, run

pytestmark = needs_clang

PROGRAM = """
#include <cstdio>
#include <cstdlib>
__global__ void put(int* x, int v) { x[threadIdx.x] = v; }
int main(int, char** arguments) {
    const int which = std::atoi(arguments[1]);
    int *x, *y, *host;
    cudaMalloc(&x, 128);
    cudaMallocHost(&host, 128);
    cudaMemset(x, 0, 128);
    cudaStream_t one, two, blocking;
    cudaEvent_t event;
    cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
    cudaStreamCreate(&blocking);
    cudaEventCreate(&event);
    put<<<1, 32, 0, one>>>(x, 1);  // first
    switch (which) {
        case 0: break;
        case 1: put<<<1, 32, 0, two>>>(x, 2); break;  // 1
        case 2: cudaMemcpyAsync(host, x, 128, cudaMemcpyDeviceToHost, two); break;  // 2
        case 3: cudaMemsetAsync(x, 3, 128, two); break;  // 3
        case 4: put<<<1, 32>>>(x, 4); break;  // 4
        case 5: cudaFreeAsync(x, two); break;  // 5
        case 6: cudaMallocAsync(&y, 128, two); put<<<1, 32, 0, one>>>(y, 1); break;  // 6
        case 10: put<<<1, 32, 0, one>>>(x, 2); break;
        case 11:
            cudaEventRecord(event, one);
            cudaStreamWaitEvent(two, event, 0);
            put<<<1, 32, 0, two>>>(x, 2);
            break;
        case 12: cudaStreamSynchronize(one); put<<<1, 32, 0, two>>>(x, 2); break;
        case 13: cudaDeviceSynchronize(); cudaMemcpyAsync(host, x, 128, cudaMemcpyDeviceToHost, two); break;
        case 14: cudaStreamSynchronize(one); put<<<1, 32, 0, blocking>>>(x, 2); put<<<1, 32>>>(x, 3); break;
        case 15: while (cudaStreamQuery(one) == cudaErrorNotReady) {} put<<<1, 32, 0, two>>>(x, 2); break;
        case 16: cudaEventRecord(event, one); cudaEventSynchronize(event); put<<<1, 32, 0, two>>>(x, 2); break;
        case 18:
            cudaMallocAsync(&y, 128, two);
            put<<<1, 32, 0, two>>>(y, 1);
            cudaEventRecord(event, two);
            cudaStreamWaitEvent(one, event, 0);
            put<<<1, 32, 0, one>>>(y, 1);
            cudaFreeAsync(y, one);
            break;
        case 19: cudaStreamSynchronize(one); cudaFreeAsync(x, two); break;
        case 20: cudaMallocAsync(&y, 128, two); cudaStreamSynchronize(two); put<<<1, 32, 0, one>>>(y, 1); break;
        case 17: cudaMemcpyAsync(host, x, 128, cudaMemcpyDeviceToHost, one); put<<<1, 32, 0, one>>>(x, 2); break;
    }
    cudaDeviceSynchronize();
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled(PROGRAM, tmp_path_factory.mktemp("stream_races"))


def line_of(mark):
    (line,) = (number for number, text in enumerate(PROGRAM.splitlines(), 1) if text.endswith(f"// {mark}"))
    return line


@pytest.mark.parametrize("which", [1, 2, 3, 4])
def test_what_nothing_orders_is_a_race_with_both_lines(program, which):
    done = run(program, str(which), CUDASIM_CHECK="races")
    report = done.stderr
    assert done.returncode == 1 and report.count("data-race") == 1, report
    assert "global memory 'x (cudaMalloc at program.cu:" in report, report
    assert f"in kernel put(int*, int), launched at program.cu:{line_of('first')}" in report, report
    if which in (2, 3):
        assert f"program.cu:{line_of(which)}" in report, report


@pytest.mark.parametrize("which, what", [(5, "asynchronous free"), (6, "asynchronous allocation")])
def test_memory_is_used_between_its_allocation_and_its_free(program, which, what):
    done = run(program, str(which), CUDASIM_CHECK="races")
    report = done.stderr
    assert done.returncode == 1 and report.count("data-race") == 1, report
    assert what in report and "in kernel put(int*, int)" in report, report
    assert f"program.cu:{line_of(which)}" in report, report


@pytest.mark.parametrize("which", [0, *range(10, 21)])
def test_what_streams_events_and_the_host_order_is_none(program, which):
    done = run(program, str(which), CUDASIM_CHECK="races")
    assert (done.returncode, done.stderr) == (0, "")


def test_without_the_check_nothing_is_told(program):
    done = run(program, "1")
    assert (done.returncode, done.stderr) == (0, "")
