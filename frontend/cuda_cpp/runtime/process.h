// What the CUDA runtime has of a process: its devices and options, and which device a host thread uses.
#pragma once

#include <memory>

#include "simulator/driver/context.h"
#include "simulator/execution/device.h"

namespace cudasim::cudart {

class Process {
  public:
    /// Makes the devices at the first call, unless the process has them: in a Python process those of
    /// cudasim's package are used.
    [[nodiscard]] static Process& get();

    /// The context of the calling thread's device: device 0's before cudaSetDevice().
    [[nodiscard]] std::shared_ptr<driver::Context> current() const;

    /// Those of the environment (docs/options.md), with what kernels print going to the standard output.
    [[nodiscard]] const execution::LaunchOptions& launch_options() const { return options_; }

    /// Prints an error that a launch ended with. The process ends with status 1 where it would be 0.
    void report(const findings::Finding& finding, std::span<const image::SourceFile> sources);

  private:
    Process();
    execution::LaunchOptions options_;
};

}  // namespace cudasim::cudart
