// Everything the workers of one launch share.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>

#include "simulator/execution/device.h"
#include "simulator/execution/finding_collector.h"
#include "simulator/execution/grid_barrier.h"
#include "simulator/execution/printed_output.h"
#include "simulator/execution/random_order.h"

namespace cudasim::memory {
class Arena;
}

namespace cudasim::execution {

enum class Stop : std::uint8_t {
    none,
    interrupted,
    time_limit,
    livelock,
    deadlock,
    out_of_memory,
    goes_back  ///< to an earlier point, from which it goes on (StoppedLaunch::run_again())
};

class BlockRun;
class StoppedLaunch;
struct DeviceMemory;

/// The coordinates of the index-th block of a grid, or thread of a block, x first.
[[nodiscard]] inline Dim3 unlinear(std::uint64_t index, const Dim3& extent) {
    return {static_cast<std::uint32_t>(index % extent.x),
            static_cast<std::uint32_t>(index / extent.x % extent.y),
            static_cast<std::uint32_t>(index / extent.x / extent.y)};
}
/// The index of these coordinates.
[[nodiscard]] inline std::uint64_t linear(const Dim3& at, const Dim3& extent) {
    return at.x + std::uint64_t{extent.x} * (at.y + std::uint64_t{extent.y} * at.z);
}

using Clock = std::chrono::steady_clock;

/// LaunchOptions::poll_host is called this often.
constexpr auto host_poll_interval = std::chrono::milliseconds(50);

/// Why a launch could not go on: the memory that was there when some was not.
struct Shortage {
    findings::ThreadCoordinate thread{};  ///< that was to get some
    std::uint64_t stacks = 0;             ///< that its worker had made for this and earlier launches
    std::string there;                    ///< memory::describe_host_memory()
};

struct Launch {
    Launch();
    ~Launch();

    // What runs.
    std::shared_ptr<const jit::CompiledKernel> kernel;  ///< null for a host kernel
    HostKernel* host_kernel = nullptr;                  ///< null for a compiled one
    jit::EntryFunction entry = nullptr;
    std::string kernel_name;
    LaunchConfiguration configuration;
    std::span<const std::byte> parameters;
    LaunchOptions options;
    const DeviceProfile* profile = nullptr;
    std::uint64_t globals_base = 0;
    std::uint64_t shared_bytes = 0;     ///< static + padding + dynamic
    std::uint64_t shared_layout = 0;    ///< equal for launches whose shared memory has the same shadow
    std::uint32_t resident_blocks = 1;  ///< that one worker may hold at a time (occupancy / workers)
    bool cooperative = false;   ///< its blocks may meet at grid barriers; of host kernels nobody knows before
    bool all_resident = false;  ///< a cooperative launch whose blocks all fit on the device at once
    GridBarrier grid;
    std::uint64_t blocks_per_worker = 0;           ///< a fair share
    std::uint64_t blocks_at_a_time = 1;            ///< that start together, on one worker: those of a cluster
    std::span<const std::uint32_t> barrier_place;  ///< site → lowest site at the same source place

    std::vector<std::atomic<std::uint64_t>>
        early_exit_block;  ///< by place: lowest block reported for C4; bit 63: by a note

    // Used to name the object of a memory fault.
    const memory::Arena* arena = nullptr;
    std::mutex* arena_mutex = nullptr;
    DeviceMemory* memory = nullptr;  ///< with the heap of malloc()
    std::uint32_t number = 0;        ///< PTX's %gridid: the launch's in this process, from 1

    // Other workers (worker_pool.h, livelock.cpp).
    std::function<void()> wake_helpers;  ///< empty: worker 0 runs alone
    bool helpers_woken = false;
    std::atomic<unsigned> helpers{0};  ///< running this launch now
    std::mutex orphans_mutex;
    std::vector<std::unique_ptr<BlockRun>>
        orphans;                      ///< blocks handed over to worker 0: spinning ones, or at a grid barrier
    std::atomic<bool> gather{false};  ///< worker 0 wants the others' blocks that wait at a grid barrier, too

    Shortage shortage;  ///< of the first that stopped the launch for it

    std::unique_ptr<StoppedLaunch> stops;  ///< null unless LaunchOptions::stop_handler is there
    bool can_stop = false;                 ///< `stops` is there, and the launch runs code with stops
    /// Puts the kernel's code with stops in the place of its usual code. Empty: it has that code, or has no
    /// stops. @throws what compiling throws
    std::function<void()> take_code_with_stops;

    std::unique_ptr<PrintedOutput> output;  ///< null when the kernel does not print

    // Progress.
    std::uint64_t block_count = 0;
    std::atomic<std::uint64_t> next_block{0};
    /// Turns, which have not come yet, of blocks that a stop's handler has started (StoppedLaunch::
    /// start_block()). A launch with stops has one worker.
    std::set<std::uint64_t> started_before;
    std::atomic<std::uint64_t> blocks_run{0};
    std::atomic<Stop> stop{Stop::none};
    std::optional<findings::WaitingGroup>
        stopped_by;  ///< the host kernel's thread that was interrupted; of worker 0
    /// The limit of faults is reached: no block starts any more. Those that run go on to their end, so that
    /// the lowest fault is found whatever the number of workers (E7).
    std::atomic<bool> no_new_blocks{false};
    Clock::time_point start, deadline;
    bool has_deadline = false;
    FindingCollector findings;

    [[nodiscard]] bool stopped() const { return stop.load(std::memory_order_relaxed) != Stop::none; }
    /// False when it was to stop already; the first reason stands.
    bool request_stop(Stop reason) {
        Stop expected = Stop::none;
        return stop.compare_exchange_strong(expected, reason);
    }
    /// An allocation failed: the launch ends with a finding that says so.
    void run_out_of_memory(const findings::ThreadCoordinate& thread, std::uint64_t stacks) noexcept;
    /// How many blocks were started before the next one, which block_of() names; the turns behind it are
    /// taken, too, where several start at a time. False when all have been.
    [[nodiscard]] bool take_turn(std::uint64_t& turn) {
        if (no_new_blocks.load(std::memory_order_relaxed)) return false;
        do turn = next_block.fetch_add(blocks_at_a_time, std::memory_order_relaxed);
        while (!started_before.empty() && forget_started(turn));
        return turn < block_count;
    }
    /// The block whose turn it is. @param turn below block_count
    [[nodiscard]] std::uint64_t block_of(std::uint64_t turn) const {
        return blocks_at_a_time == 1 ? at_turn(turn, block_count) : block_of_clusters(turn);
    }
    /// The turn of a block of the grid.
    [[nodiscard]] std::uint64_t turn_of(std::uint64_t block) const {
        return blocks_at_a_time == 1 ? turn_at(block, block_count) : turn_of_clusters(block);
    }
    /// In its turn or before.
    [[nodiscard]] bool was_started(std::uint64_t block) const {
        const std::uint64_t turn = turn_of(block);
        return turn < next_block.load(std::memory_order_relaxed) || started_before.contains(turn);
    }
    /// Blocks wait for worker 0, so it needs those that they may wait for, too.
    void gather_for_orphans() {
        std::lock_guard lock(orphans_mutex);
        if (!orphans.empty()) gather.store(true, std::memory_order_relaxed);
    }
    /// None starts any more; how many have not.
    [[nodiscard]] std::uint64_t give_up_blocks() {
        const std::uint64_t next = next_block.exchange(block_count, std::memory_order_relaxed);
        const std::uint64_t left = next < block_count ? block_count - next - started_before.size() : 0;
        started_before.clear();
        return left;
    }
    /// Serves the host: signals, progress, its wish to stop. Called on the launching thread.
    void poll_host(Clock::time_point now) {
        if (!options.poll_host) return;
        const double seconds = std::chrono::duration<double>(now - start).count();
        if (options.poll_host({blocks_run.load(std::memory_order_relaxed), block_count, seconds}))
            request_stop(Stop::interrupted);
    }
    /// Whether a round of turns that leaves stacks and memory as they were proves a livelock: nobody else can
    /// change what the threads see. Asked when it seems that they only spin.
    [[nodiscard]] bool shows_its_state() const {
        const std::lock_guard lock(*arena_mutex);
        if (arena->has_memory_of_host()) return false;
        return host_kernel ? host_kernel->keeps_state_on_device() : !kernel->reads_clock;
    }
    [[nodiscard]] bool blocks_left() const {
        return !no_new_blocks.load(std::memory_order_relaxed) &&
               next_block.load(std::memory_order_relaxed) + started_before.size() < block_count;
    }
    [[nodiscard]] findings::CallChain location(std::uint32_t site) const {
        if (host_kernel) return host_kernel->location(site);
        return kernel && site < kernel->sites.size() ? kernel->sites[site] : findings::CallChain{};
    }

  private:
    /// Which of `count` things has this turn.
    [[nodiscard]] std::uint64_t at_turn(std::uint64_t turn, std::uint64_t count) const {
        switch (options.order()) {
            case Policy::forward:
                break;
            case Policy::reverse:
                return count - 1 - turn;
            default:
                return RandomOrder(options.seed, count)(turn);
        }
        return turn;
    }
    /// The turn of one of them.
    [[nodiscard]] std::uint64_t turn_at(std::uint64_t index, std::uint64_t count) const {
        switch (options.order()) {
            case Policy::forward:
                break;
            case Policy::reverse:
                return count - 1 - index;
            default:
                return RandomOrder(options.seed, count).index_of(index);
        }
        return index;
    }
    // Clusters have their turns one after another (cluster.cpp).
    [[nodiscard]] std::uint64_t block_of_clusters(std::uint64_t turn) const;
    [[nodiscard]] std::uint64_t turn_of_clusters(std::uint64_t block) const;
    /// Whether those whose turn this is were started before it.
    [[nodiscard]] bool forget_started(std::uint64_t turn) {
        bool any = false;
        for (std::uint64_t i = 0; i < blocks_at_a_time; ++i) any |= started_before.erase(turn + i) != 0;
        return any;
    }
};

/// The entry of host kernels (host_kernel.cpp).
void run_host_threads(jit::ThreadContext* context);

}  // namespace cudasim::execution
