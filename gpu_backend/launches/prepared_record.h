// Makes a record one for a GPU, too: adds the kernel as PTX, with the arithmetic that the simulator computed
// with.
#pragma once

#include <string>

#include "simulator/driver/launch_record.h"

namespace cudasim::gpu_launches {

struct PreparationOptions {
    std::string architecture = "sm_75";  ///< the oldest GPU that is to run it
    /// Threads that fail a check end, and report it, as in the simulator (PtxOptions::report_faults).
    bool report_faults = true;
};

/// Sets record.gpu. Multiplications and additions are fused as in the recorded launch. What has been made for
/// the same image, kernel, place and options before is used again.
/// @throws driver::RecordError for kernels in Python mode; image::ImageError
void add_gpu_code(driver::LaunchRecord& record, const PreparationOptions& options);

}  // namespace cudasim::gpu_launches
