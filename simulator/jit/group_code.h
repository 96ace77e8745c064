// What the engine knows of code for groups of threads (thread_groups.h).
#pragma once

#include <cstdint>

namespace cudasim::jit {

class CompiledKernel;

/// So many threads, neighbours in x, a group takes through a kernel together. A cache line of float64: with
/// the rows that docs/development.md tells of, 8 took a tenth of the time of one.
inline constexpr std::uint32_t threads_per_group = 8;

/// Whether this is code of the kernel that runs threads together: those from the context's on.
[[nodiscard]] bool runs_groups_at(const CompiledKernel& kernel, std::uintptr_t program_counter);

}  // namespace cudasim::jit
