// What a launch takes of the host's memory for its threads, and what is said when that is not there.
//
// Memory that is touched and not there ends the process (Linux's out-of-memory killer), so the host is asked
// before: for what the launch needs in any case before it starts, and for each further stack when a thread is
// to get one.
#pragma once

#include <cstdint>
#include <string>

#include "simulator/findings/finding.h"

namespace cudasim::execution {

struct Launch;

/// Bytes.
struct ThreadMemory {
    std::uint64_t address = 0;  ///< address space
    std::uint64_t touched = 0;  ///< of it, as far as is known
};

/// What each thread with a stack of its own needs.
struct StackNeed : ThreadMemory {
    bool guarded = false;
};
[[nodiscard]] StackNeed stack_need(const Launch& launch);
/// Below it there is no room for another call of a recursive function on a stack that begins at `low`.
[[nodiscard]] std::uintptr_t stack_limit(const Launch& launch, std::uintptr_t low);

/// Address space that threads leave to everything else of the process, reports among it.
inline constexpr std::uint64_t address_reserve = 64 << 20;

/// Whether it is worth asking the host for memory first.
[[nodiscard]] bool needs_much_memory(const Launch& launch, unsigned workers);
/// The number of workers, up to `workers`, for whose threads there is memory; 0 when there is not enough for
/// one.
/// @param held that the launch's stacks take already
[[nodiscard]] unsigned workers_with_memory(const Launch& launch, unsigned workers, const ThreadMemory& held);

/// @throws CudaError 2 where the address space is limited and less of it is left than compiling may need:
/// LLVM's locks and tables do not outlive an allocation that fails
void require_memory_to_compile();

/// Why there is no memory for one more block besides those that are on the device; empty: there is.
[[nodiscard]] std::string shortage_for_block(const Launch& launch);

/// The finding for a launch that was never started, or had to stop (Launch::shortage).
[[nodiscard]] findings::Finding describe_shortage(const Launch& launch);

}  // namespace cudasim::execution
