// See not_done.def. The functions take no notice of their arguments, whatever those are.
#include <driver_types.h>

#include <atomic>
#include <cstdio>

#include "frontend/cuda_cpp/runtime/calls.h"

namespace {

cudaError_t not_done(const char* name, std::atomic<bool>& told) {
    if (!told.exchange(true)) std::fprintf(stderr, "cudasim: %s is not simulated yet\n", name);
    return cudasim::cudart::noted(cudaErrorNotSupported);
}

}  // namespace

#define NOT_DONE(name)                            \
    extern "C" [[gnu::weak]] cudaError_t name() { \
        static std::atomic<bool> told{false};     \
        return not_done(#name, told);             \
    }
#include "frontend/cuda_cpp/runtime/not_done.def"
#undef NOT_DONE
