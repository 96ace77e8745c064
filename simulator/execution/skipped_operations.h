// Warp operations that were completed without lanes of their mask which had left them out and gone on
// (simulator/jit/skipped_operations.h): each thread counts how often it comes to code behind such an
// operation. A lane that has ended and has come there more often than one that executes the operation did
// not execute it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "simulator/jit/compiler.h"

namespace cudasim::execution {

struct SkippedOperation {
    std::uint32_t thread = 0;  ///< of the block: the lowest lane that executed it
    std::uint32_t site = 0, mask = 0;
    std::uint32_t lanes = 0;  ///< those that left it out
};

/// Of one block.
class SkippedOperations {
  public:
    /// @param kernel null for a host kernel
    void start(const jit::CompiledKernel* kernel, std::uint32_t threads);
    /// Hook `passes`.
    void pass(std::uint32_t thread, std::uint32_t operation) { ++passes_[operation * threads_ + thread]; }

    /// A warp operation is complete. Tells of each one once.
    /// @param first the warp's first thread
    /// @param here the lanes that execute it, one at least; site_of(lane) says where
    /// @param over lanes of the mask that have ended or never existed
    template <typename SiteOf>
    void complete(std::uint32_t first, std::uint32_t mask, std::uint32_t here, std::uint32_t over,
                  const SiteOf& site_of) {
        if (over != 0 && !sites_.empty()) [[unlikely]] {
            for (std::uint32_t lane = 0; here != 0; ++lane, here >>= 1)
                if ((here & 1) != 0 && find(first, mask, lane, over, site_of(lane))) return;
        }
    }

    [[nodiscard]] bool any() const { return found_.has_value(); }
    /// The one that complete() has found last.
    [[nodiscard]] SkippedOperation take();

  private:
    bool find(std::uint32_t first, std::uint32_t mask, std::uint32_t lane, std::uint32_t over,
              std::uint32_t site);

    std::span<const std::uint32_t> sites_;
    std::uint32_t threads_ = 0;
    std::vector<std::uint32_t> passes_;  ///< by operation, then thread
    std::vector<bool> told_;             ///< by operation
    std::optional<SkippedOperation> found_;
};

}  // namespace cudasim::execution
