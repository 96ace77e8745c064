// Which memory of a device has been written, and what kernels used of the rest.
//
//   InitObserver init(memory_base);   // one for each device, for as long as the device lives
//   device.observe(init);
//   options.compile.instrumentations.add(init_checks());
//   options.observers.add(init);
//   options.access_observers.add(init);   // kernels of Python mode tell their accesses themselves
//   options.value_observer = &init;       // and where they use what they have loaded
//
// Until a launch looks for uninitialised values for the first time, allocations are noted and nothing more. A
// launch that does not look for them may write anywhere: what was allocated before it counts as written.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/checks/address_ranges.h"
#include "simulator/checks/host_memory_states.h"
#include "simulator/checks/init_hooks.h"
#include "simulator/checks/init_shadow.h"
#include "simulator/execution/access_observer.h"
#include "simulator/execution/observer.h"
#include "simulator/execution/value_observer.h"

namespace cudasim::checks {

class InitObserver final : public execution::LaunchObserver,
                           public execution::AccessObserver,
                           public execution::ValueObserver {
  public:
    /// @param memory_base where the device's arena begins
    explicit InitObserver(std::uint64_t memory_base) : memory_base_(memory_base) {}

    /// A launch that does not look begins.
    void launch_unchecked();
    /// The host, or another process, may write the allocation from now on without telling anybody.
    void shared_with_others(std::uint64_t address);

    /// Elements of an array of which a byte was never written.
    struct Unwritten {
        std::uint64_t elements = 0;  ///< how many
        std::uint64_t first = 0;     ///< its index in the range
    };
    /// @param holes which bytes of an element do not count, because nobody writes them; empty: none
    [[nodiscard]] Unwritten unwritten(std::uint64_t address, std::uint64_t bytes, std::uint64_t element_bytes,
                                      const std::vector<bool>& holes);

    /// Memory that nobody has written since it was allocated.
    struct Unused {
        std::string label;  ///< as the allocation has it
        std::uint64_t bytes = 0;
    };
    /// From now on unused memory is noted when it is freed.
    void track_unused();
    /// What was noted, and what there is now.
    [[nodiscard]] std::vector<Unused> unused();

    void launch_begins(const execution::LaunchBegin& launch) override;
    void adds_findings(execution::ObserverFindings& findings) override;
    [[nodiscard]] std::optional<jit::CheckState> sets_check_state() const override { return jit::init_state; }
    void block_begins(execution::ObservedBlock& block) override;
    void allocated(std::uint64_t address, std::uint64_t bytes, std::string_view label) override;
    void freed(std::uint64_t address) override;
    void copies(const execution::ObservedCopy& copy) override;

    /// What a kernel of Python mode writes is written, whatever its state; store_states() says so afterwards.
    void access(execution::ThreadHandle& thread, const execution::ObservedAccess& access) override;
    void memory(execution::ThreadHandle& thread, const execution::ObservedMemory& memory) override;
    void memory_ends(const execution::ObservedMemory& memory) override;
    bool load_states(std::uint64_t address, std::span<std::byte> unwritten) override;
    void store_states(std::uint64_t address, std::span<const std::byte> unwritten) override;
    void used(execution::ThreadHandle& thread, ValueUse use, const ValueOrigin& origin) override;

    /// A thread uses what nobody wrote. On the thread's own stack; allocates nothing.
    void used(std::uint64_t block, std::uint32_t thread, std::uint64_t shared, std::uint32_t site,
              ValueUse use, const ValueOrigin& origin);

    /// What compiled code has: hooks find their observer by it.
    struct State : InitWindow {
        InitObserver* observer = nullptr;
        InitShadow* shadow_of_window = nullptr;
    };

  private:
    /// Uses at one place of the source.
    struct Place {
        std::uint32_t site = 0;
        bool used = false;
        ValueUse use{};
        std::uint32_t thread = 0;  ///< with block: the lowest one
        std::uint64_t block = 0, shared = 0, count = 0;
        ValueOrigin origin;
    };
    struct Allocation {
        std::uint64_t bytes = 0;
        std::string label = {};
        // Before the shadow is there.
        bool written = false;        ///< all of it
        AddressRanges ranges = {};   ///< what is written where not all is
        std::uint64_t launches = 0;  ///< unchecked launches before it
    };

    static std::string text_of_use(const Place& place, const std::optional<findings::MemoryObject>& object);
    /// Before the shadow is there: what a copy writes. With the lock.
    void note_copy(const execution::ObservedCopy& copy);
    /// Makes the shadow, and brings it up to date. With the lock.
    void look();
    /// Where the states of memory are that lies in the window or in one array of the host's; else null. With
    /// the lock.
    [[nodiscard]] std::byte* states_at(std::uint64_t address, std::uint64_t bytes);
    [[nodiscard]] bool is_unused(std::uint64_t address, const Allocation& allocation) const;
    [[nodiscard]] bool is_stale(std::uint64_t address);
    [[nodiscard]] Allocation* allocation_at(std::uint64_t address);

    const std::uint64_t memory_base_;
    std::mutex mutex_;
    std::map<std::uint64_t, Allocation> allocations_;  ///< by address
    bool tracks_unused_ = false;
    std::vector<Unused> unused_;  ///< freed
    std::uint64_t launches_unchecked_ = 0, launches_known_ = 0;
    std::unique_ptr<InitShadow> shadow_;
    HostMemoryStates host_memory_;  ///< of the launch that runs, if it is one of Python mode
    State state_;
    std::atomic_flag places_lock_ = ATOMIC_FLAG_INIT;
    std::vector<Place> places_;  ///< a hash table: by site
    std::uint64_t places_used_ = 0;
};

}  // namespace cudasim::checks
