// The scopes of CUDA's memory model, for all that speak of them: no LLVM here (sync_scopes.h has LLVM's names
// for them).
#pragma once

#include <cstdint>

namespace cudasim::image {

/// The threads among which an operation orders memory (PTX ISA, "Scope"), each containing the one before it.
/// A launch without clusters has one block in each cluster.
enum class Scope : std::uint8_t { thread, block, cluster, device, system };

}  // namespace cudasim::image
