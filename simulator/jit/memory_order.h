// What an access or a fence orders, for all that speak of it: no LLVM here (synchronisation.h finds it in
// code).
#pragma once

#include <cstdint>

namespace cudasim::jit {

/// From weak to strong, as C++ and PTX name it. PTX's and NVVM's `membar` and CUDA's __threadfence() are
/// sequential.
enum class MemoryOrder : std::uint8_t { plain, relaxed, acquire, release, acquire_release, sequential };

}  // namespace cudasim::jit
