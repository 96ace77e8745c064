// See programs.h; and the functions that the constructors of nvcc's and clang's objects call.
#include "frontend/cuda_cpp/runtime/programs.h"

#include <cuda_runtime_api.h>

#include "frontend/cuda_cpp/images/embedded_image.h"

namespace cudasim::cudart {

Programs& Programs::of_this_process() {
    static Programs& programs = *new Programs;
    return programs;
}

std::size_t Programs::add_image(const void* data) {
    const std::lock_guard lock(mutex_);
    images_.push_back({.data = data, .modules = {}});
    return images_.size() - 1;
}

void Programs::add_kernel(std::size_t program, const void* host_function, std::string name) {
    const std::lock_guard lock(mutex_);
    kernels_[host_function] = {program, std::move(name)};
}

void Programs::add_variable(std::size_t program, const void* host_variable, std::string name) {
    const std::lock_guard lock(mutex_);
    variables_[host_variable] = {program, std::move(name)};
}

std::shared_ptr<driver::Module> Programs::module_of(const std::shared_ptr<driver::Context>& context,
                                                    std::size_t program) {
    Image& image = images_[program];
    auto& module = image.modules[context->id()];
    if (!module || !module->is_loaded())
        module = driver::Module::load(context, cuda_cpp::read_embedded_image(image.data).image);
    return module;
}

driver::Function Programs::kernel(const std::shared_ptr<driver::Context>& context,
                                  const void* host_function) {
    const std::lock_guard lock(mutex_);
    const auto found = kernels_.find(host_function);
    if (found == kernels_.end())
        throw driver::Error("cudaLaunchKernel", static_cast<driver::CudaResult>(98), "no kernel");
    return module_of(context, found->second.program)->function(found->second.name);
}

}  // namespace cudasim::cudart

using cudasim::cudart::Programs;

namespace {

/// What .nvFatBinSegment holds.
struct FatBinaryWrapper {
    int magic, version;
    const void* data;
    void* file_name_or_fatbins;
};

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
    const auto program = Programs::of_this_process().add_image(static_cast<FatBinaryWrapper*>(wrapper)->data);
    return reinterpret_cast<void**>(program + 1);
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}

void __cudaRegisterFunction(void** handle, const char* host_function, char*, const char* name, int, uint3*,
                            uint3*, dim3*, dim3*, int*) {
    Programs::of_this_process().add_kernel(reinterpret_cast<std::size_t>(handle) - 1, host_function, name);
}
void __cudaRegisterVar(void** handle, char* host_variable, char*, const char* name, int, size_t, int, int) {
    Programs::of_this_process().add_variable(reinterpret_cast<std::size_t>(handle) - 1, host_variable, name);
}
}
