// The kernel of a recorded launch as a GPU gets it.
#pragma once

#include <string_view>
#include <vector>

#include "gpu_backend/ptx.h"
#include "simulator/image/kernel_image.h"
#include "simulator/records/gpu_launch.h"

namespace cudasim::gpu_backend {

/// What cannot be made PTX has a GpuCode::refusal, which says why.
/// @param options with `globals_base`, where the launch has global variables
/// @throws image::ImageError
[[nodiscard]] records::GpuCode gpu_code_of(const image::KernelImage& image, std::string_view kernel,
                                           const PtxOptions& options);

/// The places at which threads can fail, of code with PtxOptions::report_faults. @throws records::RecordError
[[nodiscard]] std::vector<FaultSite> fault_sites_of(const records::GpuCode& code);

}  // namespace cudasim::gpu_backend
