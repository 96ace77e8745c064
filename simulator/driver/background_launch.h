// Launches that wait for what the host program does next, or a later launch: they go on in the background
// (execution/departure.h), and the call that launches returns, as it does on a GPU.
//
//   if (may_wait_for_others(stream)) {
//       auto [result, left] = run_or_leave(plan, parameters);
//       if (left) StreamWork::of_this_process().go_on(stream, [left] { use(left->finish()); });
//   }
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "simulator/driver/launch_plan.h"
#include "simulator/execution/departure.h"
#include "simulator/streams/timeline.h"

namespace cudasim::driver {

/// One that has left.
class BackgroundLaunch final : public execution::DepartedLaunch {
  public:
    /// While it begins, on the thread that launches.
    explicit BackgroundLaunch(const LaunchPlan& plan);

    /// Runs it to its end, on the calling thread. Called once.
    [[nodiscard]] execution::LaunchResult finish();
    /// It ends soon ("interrupted"). @param when it had to end, for whoever reports it
    void end(const std::string& when);
    /// What end() was told; empty: it came to its end by itself.
    [[nodiscard]] std::string ended_when() const;
    /// Ends those of a device, or all, and waits for that. What is enqueued behind them must be gone.
    /// @param grace how long they may go on before
    /// @return false when one does not end within some seconds
    static bool end_all(std::optional<int> device, const std::string& when, std::chrono::milliseconds grace);

    [[nodiscard]] bool others_may_write() override;
    [[nodiscard]] bool is_to_end() override { return is_to_end_.load(std::memory_order_relaxed); }

  private:
    friend struct Leaving;

    const std::shared_ptr<SimulatedDevice> device_;
    const std::shared_ptr<execution::LoadedImage> loaded_;
    const std::string display_name_;
    std::optional<SimulatedDevice::LaunchScope> scope_;
    std::unique_ptr<execution::LaunchRest> rest_;
    std::atomic<bool> is_to_end_{false};
    std::string ended_when_;  ///< written before it is to end
};

/// Whether anything but its own threads may write what a launch reads, on the only device: host memory that
/// kernels use, other streams. Costs next to nothing.
[[nodiscard]] bool may_wait_for_others(streams::StreamKey stream);

/// One of both.
struct RunOrLeft {
    execution::LaunchResult result;
    std::shared_ptr<BackgroundLaunch> left;
};
/// run(), with the plan's options, for at least a tenth of a second: then a launch of which no block has come
/// to its end all that time leaves, if its threads go round in loops as those do that wait; any after a
/// second.
[[nodiscard]] RunOrLeft run_or_leave(const LaunchPlan& plan, std::span<const std::byte> parameters);

}  // namespace cudasim::driver
