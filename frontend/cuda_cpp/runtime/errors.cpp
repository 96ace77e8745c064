// Page "Error Handling" of the CUDA Runtime API.
#include <cuda_runtime_api.h>

#include <cstdio>

#include "frontend/cuda_cpp/runtime/calls.h"
#include "simulator/driver/error.h"
#include "simulator/jit/compiler.h"

namespace cudasim::cudart {
namespace {

thread_local cudaError_t last_error = cudaSuccess;

}  // namespace

cudaError_t noted(cudaError_t result) {
    if (result != cudaSuccess) last_error = result;
    return result;
}

cudaError_t caught(const char* call) try { throw; } catch (const driver::Error& error) {
    return noted(static_cast<cudaError_t>(error.code));
} catch (const std::exception& error) {
    std::fprintf(stderr, "cudasim: %s: %s\n", call, error.what());
    return noted(cudaErrorUnknown);
}

}  // namespace cudasim::cudart

using namespace cudasim::cudart;

extern "C" {

cudaError_t cudaGetLastError() {
    const cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}

const char* cudaGetErrorString(cudaError_t error) {
    return error == cudaSuccess ? "no error" : "unrecognized error code";
}
}
