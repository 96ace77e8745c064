// See programs.h; and the functions that the constructors of nvcc's and clang's objects call.
#include "frontend/cuda_cpp/runtime/programs.h"

#include <cuda_runtime_api.h>

#include <cstdio>

#include "frontend/cuda_cpp/images/embedded_image.h"
#include "frontend/cuda_cpp/images/fat_binary.h"
#include "frontend/cuda_cpp/images/simulated_form.h"
#include "frontend/cuda_cpp/runtime/managed_variables.h"
#include "frontend/ptx/reader.h"
#include "simulator/driver/simulated_device.h"

namespace cudasim::cudart {

Programs& Programs::of_this_process() {
    static Programs& programs = *new Programs;
    return programs;
}

std::size_t Programs::add_image(const void* data) {
    const std::lock_guard lock(mutex_);
    images_.push_back({.data = data, .modules = {}, .refused = {}});
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

namespace {

image::KernelImage image_of_nvcc(const void* data, const driver::Context& context) try {
    const execution::DeviceProfile& profile = context.engine()->device.profile();
    const int capability = 10 * profile.compute_capability_major + profile.compute_capability_minor;
    return cuda_cpp::read_fat_binary(cuda_cpp::fat_binary_at(data), static_cast<unsigned>(capability));
} catch (const cuda_cpp::NoPtxError& error) {
    throw driver::Error("", driver::CudaResult{209}, error.what());  // no kernel image for the device
} catch (const cuda_cpp::FatBinaryError& error) {
    throw driver::Error("", driver::CudaResult{200}, error.what());  // invalid kernel image
} catch (const ptx::PtxError& error) {
    throw driver::Error("", driver::CudaResult{218},  // invalid PTX
                        "embedded PTX, line " + std::to_string(error.line) + ": " + error.what());
}

/// What is loaded of the device code that clang or nvcc has put into a program.
image::KernelImage image_at(const void* data, const driver::Context& context) {
    if (cuda_cpp::is_fat_binary(data)) return image_of_nvcc(data, context);
    return cuda_cpp::for_simulator(cuda_cpp::read_embedded_image(data));
}

}  // namespace

std::shared_ptr<driver::Module> Programs::module_of(const std::shared_ptr<driver::Context>& context,
                                                    std::size_t program) {
    Image& image = images_[program];
    auto& module = image.modules[context->id()];
    if (module && module->is_loaded()) return module;
    if (image.refused) throw driver::Error(*image.refused);
    try {
        module = driver::Module::load(context, image_at(image.data, *context));
        ManagedVariables::of_this_process().bind(module);
    } catch (const driver::Error& error) {
        std::fprintf(stderr, "cudasim: %s\n", error.what());  // once: every launch is refused with it
        image.refused.emplace(error);
        throw;
    }
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

execution::AddressRange Programs::variable(const std::shared_ptr<driver::Context>& context,
                                           const void* host_variable) {
    const std::lock_guard lock(mutex_);
    const auto found = variables_.find(host_variable);
    if (found == variables_.end())
        throw driver::Error("cudaGetSymbolAddress", static_cast<driver::CudaResult>(cudaErrorInvalidSymbol),
                            "there is no __device__, __constant__ or __managed__ variable at this address");
    const auto module = module_of(context, found->second.program);
    const auto managed = ManagedVariables::of_this_process().range(host_variable);
    return managed ? *managed : module->global(found->second.name);
}

void Programs::end_of_image(std::size_t program) {
    const std::lock_guard lock(mutex_);
    std::vector<std::pair<std::string, const void*>> variables;
    for (const auto& [address, registered] : variables_)
        if (registered.program == program) variables.emplace_back(registered.name, address);
    if (variables.empty() || !cuda_cpp::is_embedded_image(images_[program].data)) return;
    try {
        ManagedVariables::of_this_process().add(images_[program].data, variables);
    } catch (const image::ImageError&) {
        // main() has not begun: the first use of the image says what is wrong with it.
    }
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
void __cudaRegisterFatBinaryEnd(void** handle) {
    Programs::of_this_process().end_of_image(reinterpret_cast<std::size_t>(handle) - 1);
}
void __cudaUnregisterFatBinary(void**) {}

void __cudaRegisterFunction(void** handle, const char* host_function, char*, const char* name, int, uint3*,
                            uint3*, dim3*, dim3*, int*) {
    Programs::of_this_process().add_kernel(reinterpret_cast<std::size_t>(handle) - 1, host_function, name);
}
void __cudaRegisterVar(void** handle, char* host_variable, char*, const char* name, int, size_t, int, int) {
    Programs::of_this_process().add_variable(reinterpret_cast<std::size_t>(handle) - 1, host_variable, name);
}
}
