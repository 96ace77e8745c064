// See simulated_form.h.
#include "frontend/cuda_cpp/images/simulated_form.h"

#include "frontend/ptx/inline_assembly.h"

namespace cudasim::cuda_cpp {

image::KernelImage for_simulator(const EmbeddedImage& embedded) {
    return embedded.inline_assembly ? ptx::with_translated_assembly(embedded.image) : embedded.image;
}

}  // namespace cudasim::cuda_cpp
