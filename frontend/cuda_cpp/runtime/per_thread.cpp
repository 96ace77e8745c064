// See per_thread.def. The functions have the types of those that they call, so they are made from these: each
// is an indirect function (GNU C, attribute ifunc), which the loader resolves to an instance of the template.
#include <cuda_runtime_api.h>

namespace {

template <typename Argument>
Argument of_thread(Argument argument) {
    return argument;
}
cudaStream_t of_thread(cudaStream_t stream) {
    return stream == nullptr ? cudaStreamPerThread : stream;
}

template <typename Function>
struct Typed;
template <typename... Arguments>
struct Typed<cudaError_t(Arguments...)> {
    template <cudaError_t (*function)(Arguments...)>
    static cudaError_t call(Arguments... arguments) {
        return function(of_thread(arguments)...);
    }
};

}  // namespace

#define PER_THREAD(name, suffix)                                                     \
    extern "C" {                                                                     \
    static decltype(&name) cudasim_resolve_##name() {                                \
        return &Typed<decltype(name)>::call<&name>;                                  \
    }                                                                                \
    decltype(name) name##_##suffix __attribute__((ifunc("cudasim_resolve_" #name))); \
    }
#include "frontend/cuda_cpp/runtime/per_thread.def"
#undef PER_THREAD
