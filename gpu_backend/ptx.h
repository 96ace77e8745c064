// KernelImage → PTX through LLVM's NVPTX back end: the same kernel that the simulator runs, for a real GPU.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "gpu_backend/fault_slots.h"
#include "simulator/image/kernel_image.h"

namespace cudasim::gpu_backend {

enum class DebugInfo {
    none,
    lines,  ///< .loc directives
    full,   ///< and DWARF sections, for debuggers
};

/// CUDA C++ Programming Guide, "Launch Bounds" and "Maximum Number of Registers per Thread"; 0: not said.
struct LaunchBounds {
    unsigned max_threads = 0;         ///< per block
    unsigned min_blocks = 0;          ///< per multiprocessor
    unsigned max_cluster_blocks = 0;  ///< from sm_90 on
    unsigned max_registers = 0;       ///< per thread
};

struct PtxOptions {
    std::string architecture = "sm_75";  ///< the oldest that CUDA 13's ptxas accepts
    bool fma_contraction = false;        ///< fuse where the IR carries `contract` (V5); the same as in jit
    bool link_libdevice = true;          ///< with CUDA's maths library, where one is found at run time
    /// Whether a kernel that calls functions of the library is refused where it cannot be linked with them.
    bool require_libdevice = false;
    std::filesystem::path libdevice;  ///< the library; empty: the one that find_libdevice() finds
    bool optimise = true;
    DebugInfo debug_info = DebugInfo::full;
    LaunchBounds bounds;
    /// Where the image's global variables begin, for PTX that contains their addresses (placed_globals.h);
    /// else they are variables of the module.
    std::optional<std::uint64_t> globals_base;
    /// Pointers to functions have the values that they have on the simulator (function_handles.h), so that
    /// memory with such pointers can be given to the GPU; else they are addresses of its code.
    bool function_handles = false;
    /// A thread at which a declared check (simulator/image/checks.def) or an integer division fails reports
    /// that in `__cudasim_faults` (fault_slots.h) and ends, as in the simulator; the rest of the grid runs
    /// on. Without the option checks are replaced as their table says.
    bool report_faults = false;
    bool raise_float_division = false;  ///< with report_faults: as the simulator's option of this name
    bool raise_negative_index = false;  ///< with report_faults: as the simulator's option wrap=error
};

/// What to_ptx() makes, with what belongs to it.
struct Ptx {
    std::string text;
    std::vector<FaultSite> fault_sites;  ///< one for each slot of `__cudasim_faults`
};

/// The user's error: what was asked for cannot be turned into PTX.
struct PtxError : std::runtime_error {
    enum class Code {
        unknown_kernel,
        unknown_architecture,
        unsupported_code,
        no_such_instruction,  ///< the architecture lacks one that the kernel needs, or the back end failed
        libdevice
    };
    PtxError(Code code, const std::string& message) : std::runtime_error(message), code(code) {}
    Code code;
};

/// PTX with one entry, `ptx_name(kernel)`: a kernel, or a device function that is visible outside of its
/// module. Declared checks (simulator/image/checks.def) are replaced as their table says. Calls of `__nv_*`
/// stay external where no libdevice is found, unless `require_libdevice` is set; then the error names them
/// and the command that installs it. What simulated_libdevice/ has linked into the image goes: the library
/// itself is linked.
/// @throws PtxError, image::ImageError
[[nodiscard]] std::string to_ptx(const image::KernelImage& image, std::string_view kernel,
                                 const PtxOptions& options = {});

/// The same, with the places at which its threads can fail: empty without PtxOptions::report_faults.
[[nodiscard]] Ptx to_ptx_with_sites(const image::KernelImage& image, std::string_view kernel,
                                    const PtxOptions& options = {});

/// The image's NVVM IR as text, with as much debug information as is asked for. @throws image::ImageError
[[nodiscard]] std::string nvvm_ir(const image::KernelImage& image, DebugInfo debug_info);

/// The name of a kernel's entry: characters that PTX does not allow in an identifier (PTX ISA, section
/// "Identifiers") become `_`.
[[nodiscard]] std::string ptx_name(std::string_view kernel);

}  // namespace cudasim::gpu_backend
