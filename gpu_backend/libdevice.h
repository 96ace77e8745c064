// CUDA's maths library as bitcode, libdevice.10.bc: linked into kernels on their way to PTX, taken apart into
// its functions for the simulator (simulated_libdevice/), and taken out of images again.
#pragma once

#include <llvm/IR/Module.h>

#include <string>
#include <string_view>
#include <vector>

#include "gpu_backend/libdevice_file.h"
#include "simulator/image/kernel_image.h"

namespace cudasim::gpu_backend {

/// The functions of the library (`__nv_*`) that the module calls and does not define, in order.
[[nodiscard]] std::vector<std::string> libdevice_calls(const llvm::Module& module);

/// Links the functions that the module needs. Square roots and divisions in them are rounded as IEEE 754
/// says, and subnormals are kept: the simulator's arithmetic is the same. @throws PtxError
void link_libdevice(llvm::Module& module, const LibdeviceFile& library);

/// Which code of a function: the library's, or the processor's approximation (fast_math.h).
enum class Precision { full, fast };

/// What a function of the library, named with `__nv_`, is called where the simulator runs the library's code.
/// `__nv_sin` itself stays the simulator's own function, which translated PTX instructions also call.
[[nodiscard]] std::string simulated_name(std::string_view function, Precision precision = Precision::full);

/// One function of the library, prepared as link_libdevice() prepares it, with what it needs, as an image of
/// its own. The function has its simulated_name(); all else is internal. @throws PtxError where there is no
/// such function
[[nodiscard]] image::KernelImage library_function(const LibdeviceFile& library, std::string_view function,
                                                  Precision precision);

/// Notes in a module that functions with a simulated_name() are linked into it, and of which library.
void mark_linked(llvm::Module& module, const LibdeviceFile& library);

/// The hash of that library; empty where nothing is linked in.
[[nodiscard]] std::string linked_library(const llvm::Module& module);

/// Calls of functions that have a simulated_name() become calls of `__nv_*` again, and the code of those
/// functions goes. Nothing happens in a module that is not marked.
void unlink_libdevice(llvm::Module& module);

}  // namespace cudasim::gpu_backend
