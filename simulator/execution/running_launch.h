// From the turn of a launch on its device to its result (device.cpp makes it; WorkerPool runs its blocks).
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "simulator/execution/departure.h"
#include "simulator/execution/launch_turns.h"
#include "simulator/execution/worker_pool.h"

namespace cudasim::execution {

/// What a device has for its launches: the turns that they take, and host threads for each that runs.
struct LaunchPlaces {
    LaunchTurns turns;
    std::unique_ptr<WorkerPool> pool;  ///< of the launch whose turn it is; null: one that has left has it

    /// For a launch that leaves. The next one takes one that has come back, or a new one.
    [[nodiscard]] std::unique_ptr<WorkerPool> take_pool() { return std::move(pool); }
    void bring_back(std::unique_ptr<WorkerPool> used);
    [[nodiscard]] WorkerPool& pool_in_use();

  private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<WorkerPool>> idle_;
};

/// A launch before it runs, on its caller's stack unless it may leave that.
class NewLaunch {
  public:
    NewLaunch() : apart_(Departure::offered() != nullptr ? std::make_unique<Launch>() : nullptr) {
        if (!apart_) here_.emplace();
    }
    [[nodiscard]] Launch& operator*() { return apart_ ? *apart_ : *here_; }
    [[nodiscard]] bool may_leave() const { return apart_ != nullptr; }
    [[nodiscard]] std::unique_ptr<Launch> take() { return std::move(apart_); }

  private:
    std::unique_ptr<Launch> apart_;
    std::optional<Launch> here_;
};

/// Runs it to its end, or until it leaves (departure.h): then the result is empty.
/// @param launch knows what it runs, and the device's profile and memory
[[nodiscard]] LaunchResult run_launch(LaunchPlaces& places, NewLaunch& made);

/// Blocks that may be on the device at a time: its occupancy, and as many guarded stacks as a process can
/// have.
[[nodiscard]] unsigned resident_blocks(const DeviceProfile& profile, const Launch& launch);

}  // namespace cudasim::execution
