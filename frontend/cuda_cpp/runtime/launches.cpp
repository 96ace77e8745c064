// Page "Execution Control" of the CUDA Runtime API, and what compilers make of kernel<<<...>>>(...).
#include <cuda_runtime_api.h>

#include <cstring>
#include <vector>

#include "frontend/cuda_cpp/runtime/calls.h"
#include "frontend/cuda_cpp/runtime/launch_runner.h"
#include "frontend/cuda_cpp/runtime/process.h"
#include "frontend/cuda_cpp/runtime/programs.h"
#include "simulator/driver/event.h"
#include "simulator/driver/launch.h"
#include "simulator/driver/stream_work.h"

using namespace cudasim;
using namespace cudasim::cudart;

namespace {

struct PushedConfiguration {
    dim3 grid, block;
    size_t shared_bytes = 0;
    cudaStream_t stream = nullptr;
};
thread_local std::vector<PushedConfiguration> pushed;

}  // namespace

extern "C" {

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, CUstream_st* stream) {
    pushed.push_back({grid, block, shared_bytes, stream});
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream) {
    if (pushed.empty()) return cudaErrorInvalidValue;
    const auto& last = pushed.back();
    *grid = last.grid, *block = last.block, *shared_bytes = last.shared_bytes;
    *static_cast<cudaStream_t*>(stream) = last.stream;
    pushed.pop_back();
    return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                             size_t shared_bytes, cudaStream_t stream) {
    return call("cudaLaunchKernel", [&] {
        Process& process = Process::get();
        const auto current = process.current();
        const driver::Function kernel = Programs::of_this_process().kernel(current, function);
        std::vector<std::byte> parameters;
        for (std::size_t i = 0; i < kernel.parameters().size(); ++i) {
            const auto& parameter = kernel.parameters()[i];
            parameters.resize(parameter.offset + parameter.size);
            std::memcpy(parameters.data() + parameter.offset, arguments[i], parameter.size);
        }
        const auto key = driver::stream_key(current->device(), reinterpret_cast<std::uint64_t>(stream));
        const driver::KernelLaunch launch{.grid = {grid.x, grid.y, grid.z},
                                          .block = {block.x, block.y, block.z},
                                          .shared_bytes = shared_bytes,
                                          .stream = key};
        auto plan = kernel.plan(driver::checked_configuration(kernel, launch), process.launch_options());
        driver::StreamWork::of_this_process().submit(
            key,
            [current, plan = std::move(plan), parameters = std::move(parameters)] {
                LaunchRunner& runner = LaunchRunner::of_this_process();
                const auto result = runner.is_needed()
                                        ? runner.run(plan, parameters, [] { return findings::CallChain{}; })
                                        : driver::run(plan, parameters, plan.options);
                const auto* error = result.error();
                if (error == nullptr) return;
                if (!runner.tells_findings()) Process::get().report(*error, plan.image.sources());
                const int noticed = findings::info(error->kind).cuda_error_code;
                if (noticed != 0) current->fail(static_cast<driver::CudaResult>(noticed));
            },
            {});
    });
}
}
