// What happens on a device, told to whoever wants to know: checks, records, debuggers. Nothing is told per
// access or thread: what has to see those is compiled into the kernel (simulator/jit/instrumentation.h) and
// finds its state through the block (BlockContext::check_states). Kernels that are host code tell their
// accesses to other observers (access_observer.h).
//
//   launch_begins ─► block_begins ─► barrier ... ─► block_ends ─► launch_ends        LaunchOptions::observers
//   allocated, freed, copies                                                         Device::observe()
//
// A launch and a device have any number of observers. They are told of each event one after another, in the
// order in which they were added.
//
// Calls of block_begins, barrier and block_ends for one block come one after another, on the host thread
// of the worker that runs it, for several blocks at the same time where there are several workers.
// Everything else comes on the host thread that made the call of the device. An observer must not throw
// and must not call the device, but for questions about its memory when a launch begins or ends; in a
// launch it must not wait for another block.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "simulator/findings/finding.h"
#include "simulator/jit/abi.h"

namespace cudasim::execution {

using findings::Dim3;

class MemoryCopy;

struct LaunchBegin {
    std::string_view kernel;
    Dim3 grid, block;
    std::uint64_t dynamic_shared_bytes = 0;
    bool host_kernel = false;  ///< C++ or Python code, not a compiled kernel
    /// What it can write, as it is now, where the launch keeps that anyhow (StoppedLaunch::keep_history());
    /// else null.
    std::shared_ptr<const MemoryCopy> memory = nullptr;
};

/// A block from its first thread on. The references are good until block_ends has returned.
struct ObservedBlock {
    std::uint64_t block = 0;  ///< linear index
    Dim3 ctaid;
    std::uint32_t threads = 0;
    std::span<std::byte> shared;  ///< its shared memory, fresh
    /// BlockContext::check_states. Each is null until the block_begins of the observer that sets it
    /// (sets_check_state()) has set it; what other observers, or other calls, assign to it is dropped.
    std::array<void*, 2> check_states{};
};

enum class BlockEnd : std::uint8_t {
    finished,  ///< every thread ended by itself or by a fault
    given_up   ///< the launch or the block stopped while threads waited, ran, or had not started
};

/// allocation, release: no copy, but what a stream does to memory, too. From its allocation on, and until its
/// release, operations may use it (Device::set_accessible()).
enum class CopyKind : std::uint8_t { to_device, from_device, within_device, fill, allocation, release };

struct ObservedCopy {
    CopyKind kind{};
    std::uint64_t target = 0;  ///< device address; of from_device: the host's
    std::uint64_t source = 0;  ///< device address; of to_device: the host's; else 0
    std::uint64_t bytes = 0;
};

/// A barrier for some of the block's threads that is complete (named_barriers.h).
/// Good until its threads go on.
struct CompletedBarrier {
    std::uint32_t number = 0;
    std::uint32_t threads = 0;                ///< for how many it is
    std::span<const std::uint16_t> arrivals;  ///< by thread of the block: how often it has come
    std::span<const std::uint32_t> waiting;   ///< the threads that go on now, in the order in which they came
};

/// What an observer has found in a launch that is over, and what it needs to say so.
class ObserverFindings {
  public:
    ObserverFindings() = default;
    virtual ~ObserverFindings() = default;
    ObserverFindings(const ObserverFindings&) = delete;
    ObserverFindings& operator=(const ObserverFindings&) = delete;

    virtual void add(findings::Finding finding) = 0;
    [[nodiscard]] virtual findings::ThreadCoordinate coordinate(std::uint64_t block,
                                                                std::uint32_t thread) const = 0;
    /// The place of a site of compiled code (jit/site_numbering.h); empty for one that does not exist.
    [[nodiscard]] virtual findings::CallChain place(std::uint32_t site) const = 0;
    /// Of compiled code: its sites have numbers below this. 0 for kernels that are host code.
    [[nodiscard]] virtual std::uint32_t sites() const = 0;
    /// The allocation or variable that contains the address. @param shared the first byte of the shared
    /// memory of the block that it may lie in; 0: in none
    [[nodiscard]] virtual std::optional<findings::MemoryObject> object(std::uint64_t address,
                                                                       std::uint64_t shared) const = 0;
};

class LaunchObserver {
  public:
    virtual ~LaunchObserver() = default;

    /// Configuration and parameters are accepted, and earlier launches of the device have ended.
    virtual void launch_begins(const LaunchBegin& launch) { (void)launch; }
    /// No thread runs any more. What it adds is part of the launch's findings.
    virtual void adds_findings(ObserverFindings& findings) { (void)findings; }
    /// After adds_findings(). @param findings errors first, as LaunchResult has them
    virtual void launch_ends(std::span<const findings::Finding> findings) { (void)findings; }
    /// Which of ObservedBlock::check_states block_begins sets. One observer of a launch may set each:
    /// ObserverList::add() refuses a second one.
    [[nodiscard]] virtual std::optional<jit::CheckState> sets_check_state() const { return std::nullopt; }
    virtual void block_begins(ObservedBlock& block) { (void)block; }
    /// All threads of the block that have not ended have come to a barrier (E3), and go on when this has
    /// returned. At a grid barrier all blocks have come.
    virtual void barrier(const ObservedBlock& block, jit::BarrierKind kind) { (void)block, (void)kind; }
    /// A barrier for some of the block's threads (PTX's bar.sync a, b and its like) is complete: those that
    /// wait there go on when this has returned.
    virtual void named_barrier(const ObservedBlock& block, const CompletedBarrier& barrier) {
        (void)block, (void)barrier;
    }
    /// A barrier of a cluster is complete: threads of these blocks, all that run of the cluster, go on when
    /// this has returned.
    virtual void cluster_barrier(std::span<const ObservedBlock> blocks) { (void)blocks; }
    virtual void block_ends(const ObservedBlock& block, BlockEnd end) { (void)block, (void)end; }

    /// Device memory, also for the variables of an image, and memory of the host that
    /// kernels may use from now on.
    virtual void allocated(std::uint64_t address, std::uint64_t bytes, std::string_view label) {
        (void)address, (void)bytes, (void)label;
    }
    virtual void freed(std::uint64_t address) { (void)address; }
    /// The host copies or fills device memory: the ranges are good, and no byte has been moved yet.
    virtual void copies(const ObservedCopy& copy) { (void)copy; }
};

/// Observers in the order in which they are told. It does not own them. Not to be
/// changed while it tells them.
class ObserverList {
  public:
    /// @throws std::invalid_argument when it is in the list, or when it
    /// sets_check_state() and another one sets the same
    void add(LaunchObserver& observer);
    /// Nothing happens when it is not in the list.
    void remove(LaunchObserver& observer);
    [[nodiscard]] bool empty() const { return observers_.empty(); }

    // As in LaunchObserver.
    void launch_begins(const LaunchBegin& launch) const;
    void adds_findings(ObserverFindings& findings) const;
    void launch_ends(std::span<const findings::Finding> findings) const;
    void block_begins(ObservedBlock& block) const;
    void barrier(const ObservedBlock& block, jit::BarrierKind kind) const;
    void named_barrier(const ObservedBlock& block, const CompletedBarrier& barrier) const;
    void cluster_barrier(std::span<const ObservedBlock> blocks) const;
    void block_ends(const ObservedBlock& block, BlockEnd end) const;
    void allocated(std::uint64_t address, std::uint64_t bytes, std::string_view label) const;
    void freed(std::uint64_t address) const;
    void copies(const ObservedCopy& copy) const;

  private:
    std::vector<LaunchObserver*> observers_;
};

}  // namespace cudasim::execution
