// Where a kernel's results may come out differently on a GPU and in the simulator, by what its code says: for
// explanations of differences.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/findings/finding.h"
#include "simulator/image/kernel_image.h"

namespace cudasim::gpu_backend {

enum class DifferenceCause : std::uint8_t {
    fast_math,     ///< flags that let a compiler change results (LLVM Language Reference, "Fast-Math Flags")
    function,      ///< libdevice's `__nv_fast_*`, and those that the caller names
    instruction,   ///< PTX's `*.approx`, as an intrinsic or in inline assembly
    atomic,        ///< a float sum in memory, whose order is the threads'
    multiply_add,  ///< a product and a sum that the option "fma" fuses (simulator/image/contraction.h)
    clock,      ///< PTX's %clock, %clock64, %clock_hi and %globaltimer, as an intrinsic or in inline assembly
    allocation  ///< the kernel's own malloc(), whose addresses differ
};
/// "fast_math", "function", "instruction", "atomic", "multiply_add", "clock", "allocation".
[[nodiscard]] std::string_view name_of(DifferenceCause cause);

struct DifferencePlace {
    DifferenceCause cause{};
    std::string what;  ///< "fdiv afn arcp", "__nv_fast_sinf", "llvm.nvvm.sin.approx.f", "fadd float", ...
    findings::CallChain location;  ///< empty without debug info
    std::uint32_t count = 1;       ///< instructions there that are the same but for their operands
};

/// The places in a kernel and what it calls, each once, in the order of the code: functions as the image has
/// them, instructions as they stand.
/// @param functions names of libdevice functions that approximate: "__nv_sinf"
/// @throws image::ImageError for an image without such a kernel
[[nodiscard]] std::vector<DifferencePlace> difference_places(const image::KernelImage& image,
                                                             std::string_view kernel,
                                                             std::span<const std::string_view> functions);

}  // namespace cudasim::gpu_backend
