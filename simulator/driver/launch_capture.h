// Takes what a launch is given and what comes of it into a LaunchRecord.
//
//   LaunchCapture capture(device, record, roots, {});     // memory as it is now
//   auto result = run(plan, parameters, options);         // options.write_output also calls capture.print()
//   LaunchRecord whole = capture.finish(result, true);
//
// Memory is taken as far as the kernel can reach it: from the parameters and the image's global variables, every
// aligned word that is an address in a live allocation leads there, and so on from its content. The sizes and
// places of all other allocations are kept too, so that an access beyond the end of one is reported alike.
//
// Costs one copy of the reachable memory, made while it is searched for addresses, and one pass of hashing
// afterwards.
#pragma once

#include <mutex>
#include <span>
#include <string_view>

#include "simulator/driver/launch_record.h"

namespace cudasim::driver {

struct CaptureOptions {
    bool keep_after = false;  ///< memory after the launch, not only its hash
};

class LaunchCapture {
  public:
    /// @param described everything but memory and outcome
    /// @param globals_base of the loaded image (execution::Device::globals_base); 0: none
    /// @param roots further addresses from which the kernel reaches memory
    /// @throws RecordError when the host has not the memory for a copy
    LaunchCapture(SimulatedDevice& device, LaunchRecord described, std::uint64_t globals_base,
                  std::span<const std::uint64_t> roots, const CaptureOptions& options);

    /// A part of what the kernel prints.
    void print(std::string_view text) { record_.outcome.printed += text; }

    /// @param finished false when the host stopped the launch
    [[nodiscard]] LaunchRecord finish(const execution::LaunchResult& result, bool finished);

  private:
    void take_memory(std::uint64_t globals_base, std::span<const std::uint64_t> roots);

    static std::mutex one_at_a_time_;  ///< so that no other recorded launch changes memory in between
    std::lock_guard<std::mutex> only_;
    SimulatedDevice& device_;
    SimulatedDevice::LaunchScope scope_;
    LaunchRecord record_;
    CaptureOptions options_;
};

}  // namespace cudasim::driver
