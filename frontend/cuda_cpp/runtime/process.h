// What the CUDA runtime has of a process: its devices and options, and which device a host thread uses.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulator/driver/context.h"
#include "simulator/execution/device.h"

namespace cudasim::cudart {

class Process {
  public:
    /// Makes the devices at the first call, unless the process has them: in a Python process those of
    /// cudasim's package are used.
    [[nodiscard]] static Process& get();

    /// How many devices the program sees. @throws as current()
    [[nodiscard]] int device_count() const;
    /// @throws driver::Error 101 for a device that there is not; and as current()
    [[nodiscard]] std::shared_ptr<driver::Context> device(int ordinal, const char* call) const;
    /// The context of the calling thread's device: device 0's before cudaSetDevice().
    /// @throws driver::Error 100 without devices, 3 in a process that was forked after CUDA was used,
    /// 800 in a callback of a stream
    [[nodiscard]] std::shared_ptr<driver::Context> current() const;
    /// The same. @throws driver::Error with the failure of a context that is not usable any more
    [[nodiscard]] std::shared_ptr<driver::Context> usable(const char* call) const;
    /// cudaSetDevice
    void set_device(int ordinal) const;
    /// Whether this is a program in C or C++, and not a library in another language's process.
    [[nodiscard]] bool has_made_devices() const { return !positions_.empty(); }
    [[nodiscard]] bool has_several_devices() const { return positions_.size() > 1; }
    /// The place of a device among the simulated ones, whichever of them the program sees.
    [[nodiscard]] std::size_t position(int ordinal) const;

    /// Those of the environment (docs/options.md), with what kernels print going to the standard
    /// output.
    [[nodiscard]] const execution::LaunchOptions& launch_options() const { return options_; }

    /// Prints an error that a launch ended with. The process ends with status 1 where it would be 0.
    void report(const findings::Finding& finding, std::span<const image::SourceFile> sources);
    /// Prints a warning about a kernel, once for each kind and place. The exit status stays.
    static void warn(const findings::Finding& finding, std::span<const image::SourceFile> sources);
    /// Something that is reported already: the process ends with status 1 where it would be 0.
    static void note_failure();
    /// An error that does not last, of a launch that has returned: the next call that waits for the
    /// device returns it.
    void note_unnoticed(int code) { unnoticed_ = code; }
    /// @throws driver::Error with it, once
    void raise_unnoticed(const char* call);

  private:
    Process();
    void make_devices();
    static void require_engine(const driver::Context& context);

    execution::LaunchOptions options_;
    std::vector<std::size_t> positions_;   ///< by ordinal; empty where another language made the devices
    std::optional<driver::Error> failed_;  ///< why there are no devices
    std::atomic<int> unnoticed_{0};
};

}  // namespace cudasim::cudart
