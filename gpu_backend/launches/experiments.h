// A recorded launch run again on the simulator with one thing changed: the experiments behind explanations
// (explanation.h).
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gpu_backend/launches/differing_elements.h"
#include "simulator/driver/replay.h"
#include "simulator/driver/trace.h"
#include "simulator/image/kernel_image.h"

namespace cudasim::gpu_launches {

/// What an experiment changes.
struct Variation {
    execution::LaunchOptions options;
    std::optional<image::KernelImage> image = std::nullopt;  ///< in place of the record's
    bool zeroes_shared_memory = false;                       ///< which starts as poison otherwise
};

/// What came of it.
struct Repetition {
    Results results;
    std::vector<findings::Finding> findings;  ///< at recorded addresses
};

struct LaboratoryLimits {
    double seconds = 30;  ///< for all experiments together
    /// Called about every 50 ms; true ends the experiments.
    std::function<bool()> stop = {};
};

/// Repeats one launch. Every repetition has a simulated device of its own, so that none sees another's
/// memory.
class Laboratory {
  public:
    /// Arrays, globals and parameters are those of the record.
    Laboratory(const driver::LaunchRecord& record, LaboratoryLimits limits);

    /// The record's options for one worker, with memory checks, since code of unknown origin may write
    /// anywhere, and without those that cost more.
    [[nodiscard]] const execution::LaunchOptions& usual_options() const { return usual_; }
    [[nodiscard]] const image::KernelImage& image() const { return image_; }

    /// nullopt where the launch does not come to its end: there is no time left, the host stops it, or it
    /// cannot be repeated (why_not()).
    [[nodiscard]] std::optional<Repetition> run(const Variation& variation);
    /// The same for the record's PTX, read by frontend/ptx. @param record has GPU code
    [[nodiscard]] std::optional<Repetition> run_ptx();
    /// Who wrote places of memory. nullopt as run().
    [[nodiscard]] std::optional<std::vector<checks::TracedElement>> trace(
        std::span<const execution::AddressRange> places);

    /// From now on a repetition may take twenty times as long as the last one.
    void take_as_usual_time() { usual_seconds_ = last_seconds_; }

    /// Whether there is no time for a further experiment.
    [[nodiscard]] bool is_over() const;
    [[nodiscard]] bool is_stopped() const { return stopped_; }
    [[nodiscard]] double seconds_left() const;
    /// Why the last repetition gave nothing.
    [[nodiscard]] const std::string& why_not() const { return why_not_; }

  private:
    /// @param launch (options) → result
    template <typename Launch>
    [[nodiscard]] std::optional<Repetition> repeat(const execution::LaunchOptions& options, Launch launch);
    [[nodiscard]] execution::LaunchOptions limited(const execution::LaunchOptions& options,
                                                   std::string& printed);
    [[nodiscard]] MemoryAfter memory_of(driver::SimulatedDevice& device,
                                        const driver::Restored& restored) const;
    [[nodiscard]] bool wants_to_stop();

    const driver::LaunchRecord& record_;
    const LaboratoryLimits limits_;
    const std::chrono::steady_clock::time_point begin_;
    image::KernelImage image_;
    execution::LaunchOptions usual_;
    std::optional<double> usual_seconds_;
    double last_seconds_ = 0;
    bool stopped_ = false;
    std::string why_not_;
};

}  // namespace cudasim::gpu_launches
