// One launch of the program, with what the process's surroundings ask for besides running it:
//
// * a debugger (option debugger) may stop it;
// * `cudasim record`, `check` and `compare` have it recorded, and the option core has it when it fails;
// * `cudasim check` is told of its findings.
//
//   LaunchRunner& runner = LaunchRunner::of_this_process();
//   LaunchResult result = runner.run(plan, parameters, frames);
//   if (!runner.tells_findings()) ...           // otherwise somebody else reports them
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "frontend/cuda_cpp/runtime/kernels.h"
#include "simulator/driver/launch_plan.h"
#include "simulator/driver/record_file.h"

namespace cudasim::cudart {

class LaunchRunner {
  public:
    /// The first call reads the environment and connects to a debugger; it returns when that has set its
    /// breakpoints. What the environment asks for and cannot be had ends the process with a message.
    [[nodiscard]] static LaunchRunner& of_this_process();

    /// Whether a launch needs anything but to be run. Costs next to nothing.
    [[nodiscard]] bool is_needed() const;
    /// Runs it to its end, on the calling thread. @throws as driver::run()
    /// @param embedded the kernel's image as the program holds it; null: the plan's
    /// @param host_frames the program's line that launches it and its callers, as far as they are known
    [[nodiscard]] execution::LaunchResult run(const driver::LaunchPlan& plan,
                                              std::span<const std::byte> parameters,
                                              const EmbeddedCode* embedded,
                                              const std::function<findings::CallChain()>& host_frames);
    /// Whether findings go to the process that started this one, which reports them.
    [[nodiscard]] bool tells_findings() const;

    /// The program ends: files are complete, the debugger is told.
    void finish();

  private:
    LaunchRunner();
    void connect_debugger();
    [[nodiscard]] bool records(const driver::LaunchPlan& plan);
    void keep(driver::LaunchRecord record);

    std::atomic<std::uint64_t> launches_{0};
    std::mutex mutex_;  ///< guards what follows
    std::unique_ptr<driver::RecordWriter> writer_;
    std::uint64_t most_of_each_ = 0;  ///< launches of a kernel and configuration that are recorded; 0: all
    std::map<std::string, std::uint64_t> recorded_;
    bool has_writer_ = false, keeps_after_ = false;
};

}  // namespace cudasim::cudart
