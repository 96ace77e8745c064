// NVIDIA's libdevice on the simulator: the functions that a kernel calls are those that its PTX is linked
// with, so that both sides compute the same bits. They go the way that a GPU's program goes: bitcode, PTX by
// LLVM's NVPTX back end, and back by frontend/ptx. Where PTX leaves the last bits to the processor
// (`.approx`), the simulator's own functions compute them (approximating_functions.h).
#pragma once

#include <string>

#include "gpu_backend/libdevice.h"
#include "gpu_backend/libdevice_file.h"
#include "simulator/image/kernel_image.h"

namespace cudasim::gpu_backend {

/// The image with the code of every function of the library that it calls linked in, in the place of another
/// library's. float32 functions of kernels with fast maths become the processor's approximations, as in PTX
/// (fast_math.h). Each function is translated once for a process, library and architecture. The same image
/// where it calls none.
/// @param architecture such as "sm_90": some functions ask for it
/// @throws PtxError, image::ImageError
[[nodiscard]] image::KernelImage with_libdevice(const image::KernelImage& image, const LibdeviceFile& library,
                                                const std::string& architecture);

/// The inverse: calls of `__nv_*` again. The same image where nothing is linked in. @throws image::ImageError
[[nodiscard]] image::KernelImage without_libdevice(const image::KernelImage& image);

/// SHA-256 of the library that with_libdevice() has linked into the image, in hex; empty where there is none.
/// @throws image::ImageError
[[nodiscard]] std::string linked_libdevice(const image::KernelImage& image);

/// The PTX that one function is translated from. @throws PtxError
[[nodiscard]] std::string libdevice_ptx(const LibdeviceFile& library, const std::string& function,
                                        Precision precision, const std::string& architecture);

/// How many functions this process has translated.
[[nodiscard]] std::size_t translated_functions();

}  // namespace cudasim::gpu_backend
