// Host memory that the driver knows: page-locked (pinned), mapped and managed. The one place to ask
// whether host code looks at memory that copies or kernels may still be working on. Addresses are
// the same for host and kernels.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "simulator/driver/context.h"

namespace cudasim::driver {

/// pinned: copied to and from; mapped, managed: kernels use it, too.
enum class HostMemory { pinned, mapped, managed };

struct HostRange {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    HostMemory kind = HostMemory::pinned;
    bool registered = false;           ///< it is somebody else's memory, page-locked for a while
    std::shared_ptr<Context> context;  ///< that was current when it was made
};

/// Ranges do not overlap. Every function may be called from any thread.
class HostRanges {
  public:
    [[nodiscard]] static HostRanges& of_this_process();

    /// False, and nothing added, when it would overlap one that is there.
    [[nodiscard]] bool add(const HostRange& range);
    /// Takes away the range that starts at the address, if there is one that is accepted.
    [[nodiscard]] std::optional<HostRange> take(std::uint64_t address,
                                                const std::function<bool(const HostRange&)>& accepted);
    [[nodiscard]] std::optional<HostRange> starting_at(std::uint64_t address) const;
    /// The range that contains the address.
    [[nodiscard]] std::optional<HostRange> find(std::uint64_t address) const;
    /// Costs next to nothing.
    [[nodiscard]] bool empty() const { return count_.load(std::memory_order_relaxed) == 0; }
    /// Whether any is registered memory.
    [[nodiscard]] bool any_registered() const;
    /// Whether any shares a byte with these.
    [[nodiscard]] bool overlap(std::uint64_t address, std::uint64_t bytes) const;

  private:
    [[nodiscard]] bool overlap_locked(std::uint64_t address, std::uint64_t bytes) const;

    mutable std::mutex mutex_;
    std::map<std::uint64_t, HostRange> ranges_;  ///< by address
    std::atomic<std::size_t> count_{0};          ///< written with the lock, read without
};

}  // namespace cudasim::driver
