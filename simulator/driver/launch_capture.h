// Takes what a launch is given and what comes of it into a LaunchRecord.
//
//   LaunchCapture capture(device, described, image, roots, {});
//   options.observers.add(capture);                       // options.write_output also calls capture.print()
//   auto result = run(plan, parameters, options);         // memory is taken as the launch begins and ends
//   LaunchRecord whole = capture.finish(result, true);
//
// Memory is taken as far as the kernel can reach it: from the parameters and the image's global
// variables, every aligned word that is an address in a live allocation leads there, and so on from
// its content. The sizes and places of all other allocations are kept too, so that an access beyond
// the end of one is reported alike.
//
// The observer is told of the begin and the end of a launch while no other launch of the device runs, so what
// lies between the two copies is this launch's doing; frees wait for its end.
//
// Costs one copy of the reachable memory, made while it is searched for addresses, and one pass of hashing
// afterwards. A launch under a debugger keeps a copy of its own (LaunchBegin::memory): that one is used, and
// is searched only when somebody wants the record.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/driver/launch_record.h"

namespace cudasim::driver {

struct CaptureOptions {
    bool keep_after = false;       ///< memory after the launch, not only its hash
    bool only_failures = false;    ///< a launch without an error leaves no record, and is not hashed
    std::uint64_t most_bytes = 0;  ///< of memory that the kernel can reach; 0: any
};

/// For one launch.
class LaunchCapture final : public execution::LaunchObserver {
  public:
    /// @param described everything but memory and outcome
    /// @param image whose variables the kernel reaches; null: a kernel of host code.
    /// It must live as long as this
    /// @param roots further addresses from which the kernel reaches memory
    LaunchCapture(SimulatedDevice& device, LaunchRecord described, const execution::LoadedImage* image,
                  std::vector<std::uint64_t> roots, const CaptureOptions& options);

    void launch_begins(const execution::LaunchBegin& launch) override;
    void launch_ends(std::span<const findings::Finding> findings) override;

    /// Whether there is anything to finish: false where the launch has had no error and only_failures holds.
    [[nodiscard]] bool wanted() const { return !options_.only_failures || failed_; }

    /// The launch as it was before it began, while it runs; its outcome is empty and not finished.
    /// @throws RecordError when the host had not the memory for a copy
    [[nodiscard]] LaunchRecord before_launch();

    /// A part of what the kernel prints.
    void print(std::string_view text) { record_.outcome.printed += text; }

    /// After the launch. @param finished false when the host stopped it
    /// @throws RecordError when the host had not the memory for a copy, or the launch never began
    [[nodiscard]] LaunchRecord finish(const execution::LaunchResult& result, bool finished);

  private:
    void list_memory();
    void take_memory();
    void take_results();
    void forget_memory();
    template <typename Step>
    void attempt(Step&& step);

    SimulatedDevice& device_;
    LaunchRecord record_;
    const execution::LoadedImage* image_;
    std::vector<std::uint64_t> roots_;
    CaptureOptions options_;
    std::shared_ptr<const execution::MemoryCopy> copy_;  ///< of the launch's own; null: there is none
    bool began_ = false, failed_ = false;
    bool is_taken_ = false;    ///< the contents are in the record
    bool handed_out_ = false;  ///< a record has its copies, which nobody may overwrite
    std::string error_;        ///< why there is no record
};

}  // namespace cudasim::driver
