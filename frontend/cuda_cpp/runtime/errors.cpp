// Page "Error Handling" of the CUDA Runtime API.
#include <cuda_runtime_api.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <new>
#include <utility>

#include "frontend/cuda_cpp/runtime/calls.h"
#include "frontend/cuda_cpp/runtime/process.h"
#include "frontend/cuda_cpp/runtime/unchecked_launches.h"
#include "simulator/driver/error.h"
#include "simulator/driver/host_language.h"
#include "simulator/driver/stream_work.h"

namespace cudasim::cudart {
namespace {

thread_local cudaError_t last_error = cudaSuccess;

struct ErrorText {
    cudaError_t code;
    const char* name;
    const char* text;  ///< empty: the driver's
};
constexpr ErrorText error_texts[] = {
#define RUNTIME_ERROR(name, text) {name, #name, text},
#include "frontend/cuda_cpp/runtime/errors.def"
#undef RUNTIME_ERROR
};

const ErrorText* text_of(cudaError_t error) {
    for (const auto& each : error_texts)
        if (each.code == error) return &each;
    return nullptr;
}

}  // namespace

cudaError_t noted(cudaError_t result) {
    // "Not ready" is an answer: cudaGetLastError() does not tell it.
    if (result != cudaSuccess && result != cudaErrorNotReady) last_error = result;
    return result;
}

cudaError_t caught(const char* call) noexcept try { throw; } catch (const driver::Error& error) {
    return noted(static_cast<cudaError_t>(error.code));
} catch (const execution::CudaError& error) {
    return noted(static_cast<cudaError_t>(error.code));
} catch (const std::bad_alloc&) {
    return noted(cudaErrorMemoryAllocation);
} catch (const std::exception& error) {
    if (driver::HostLanguage::of_this_process() != nullptr) {
        // An exception of that language, of work that it or this library has enqueued: it is told there.
        driver::StreamWork::of_this_process().tell_later();
        return noted(cudaErrorLaunchFailure);
    }
    std::fprintf(stderr, "cudasim: %s: %s\n", call, error.what());
    return noted(cudaErrorUnknown);
}

void fail(const char* call, cudaError_t code, const std::string& reason) {
    throw driver::Error(call, static_cast<driver::CudaResult>(code), reason);
}

bool is_memory(const void* pointer) {
    constexpr std::uintptr_t lowest = 0x10000;  // Linux maps nothing below (vm.mmap_min_addr)
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    if (address < lowest) return false;
    static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    unsigned char resident = 0;
    return mincore(reinterpret_cast<void*>(address / page * page), 1, &resident) == 0 || errno != ENOMEM;
}

void require_argument(const char* call, const void* pointer, const char* what) {
    if (pointer == nullptr) fail(call, cudaErrorInvalidValue, std::string(what) + " is a null pointer");
    if (!is_memory(pointer))
        fail(call, cudaErrorInvalidValue, std::string(what) + " is no address of memory");
}

void require_optional(const char* call, const void* pointer, const char* what) {
    if (pointer != nullptr) require_argument(call, pointer, what);
}

}  // namespace cudasim::cudart

using namespace cudasim::cudart;

extern "C" {

/// Also an error that lasts is told once by this call; every other call tells it again.
cudaError_t cudaGetLastError() {
    note_errors_asked();
    return std::exchange(last_error, cudaSuccess);
}

cudaError_t cudaPeekAtLastError() {
    note_errors_asked();
    return last_error;
}

const char* cudaGetErrorName(cudaError_t error) {
    const auto* known = text_of(error);
    return known ? known->name : "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
    const auto* known = text_of(error);
    if (known == nullptr) return "unrecognized error code";
    if (*known->text != '\0') return known->text;
    return cudasim::findings::info(static_cast<cudasim::findings::CudaResult>(error)).text.data();
}
}
