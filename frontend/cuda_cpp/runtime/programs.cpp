// See programs.h; and the functions that the constructors of nvcc's and clang's objects call.
#include "frontend/cuda_cpp/runtime/programs.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "frontend/cuda_cpp/images/embedded_image.h"
#include "frontend/cuda_cpp/images/fat_binary.h"
#include "frontend/cuda_cpp/images/simulated_form.h"
#include "frontend/cuda_cpp/runtime/calls.h"
#include "frontend/cuda_cpp/runtime/launches.h"
#include "frontend/cuda_cpp/runtime/managed_variables.h"
#include "frontend/cuda_cpp/runtime/process.h"
#include "frontend/ptx/reader.h"
#include "simulator/driver/simulated_device.h"
#include "simulator/image/linking.h"

namespace cudasim::cudart {
namespace {

/// The executable or shared library that holds the address.
const void* library_of(const void* address) {
    Dl_info info{};
    return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

image::KernelImage image_of_nvcc(const void* data, const void* const* files, const driver::Context& context) {
    const execution::DeviceProfile& profile = context.engine()->device.profile();
    const int capability = 10 * profile.compute_capability_major + profile.compute_capability_minor;
    if (files == nullptr)
        return cuda_cpp::read_fat_binary(cuda_cpp::fat_binary_at(data), static_cast<unsigned>(capability));
    std::size_t count = 0;
    while (files[count] != nullptr) ++count;
    return cuda_cpp::read_linked_fat_binaries({files, count}, static_cast<unsigned>(capability));
}

/// Calls read(); what is wrong with the image becomes the driver's error.
template <typename Read>
auto with_errors_of_images(Read&& read) {
    const auto refuse = [](int code, const std::string& reason) {
        return driver::Error("", static_cast<driver::CudaResult>(code), reason);
    };
    try {
        return read();
    } catch (const cuda_cpp::NoPtxError& error) {
        throw refuse(cudaErrorNoKernelImageForDevice, error.what());
    } catch (const ptx::PtxError& error) {
        throw refuse(cudaErrorInvalidPtx,
                     "embedded PTX, line " + std::to_string(error.line) + ": " + error.what());
    } catch (const image::LinkError& error) {
        throw refuse(cudaErrorInvalidKernelImage, error.what());
    } catch (const image::ImageError& error) {
        throw refuse(cudaErrorInvalidKernelImage, error.what());
    } catch (const execution::CudaError& error) {
        throw refuse(static_cast<int>(error.code), error.what());
    }
}

}  // namespace

Programs& Programs::of_this_process() {
    static Programs& programs = *new Programs;
    return programs;
}

std::size_t Programs::add_image(const void* data, const void* const* files) {
    const std::lock_guard lock(mutex_);
    images_.push_back(
        {.data = data, .files = files, .library = library_of(data), .on_devices = {}, .refused = {}});
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

void Programs::end_of_image(std::size_t program) {
    const std::lock_guard lock(mutex_);
    std::vector<std::pair<std::string, const void*>> variables;
    for (const auto& [address, registered] : variables_)
        if (registered.program == program) variables.emplace_back(registered.name, address);
    if (variables.empty() || !cuda_cpp::is_embedded_image(images_[program].data)) return;
    try {
        ManagedVariables::of_this_process().add(program, images_[program].data, variables);
    } catch (const image::ImageError&) {
        // main() has not begun: the first use of the image says what is wrong with it.
    }
}

void Programs::load_managed(std::size_t program) noexcept {
    (void)call("__cudaInitModule", [&] {
        const auto context = Process::get().usable("__cudaInitModule");
        const std::lock_guard lock(mutex_);
        if (program < images_.size() && images_[program].data != nullptr) (void)on_device(context, program);
    });
}

void Programs::remove_image(std::size_t program) {
    std::map<std::uint64_t, std::shared_ptr<OnDevice>> unloaded;
    {
        const std::lock_guard lock(mutex_);
        if (program >= images_.size() || images_[program].data == nullptr) return;
        std::erase_if(kernels_, [&](const auto& each) { return each.second.program == program; });
        std::erase_if(variables_, [&](const auto& each) {
            if (each.second.program != program) return false;
            ManagedVariables::of_this_process().remove(each.first);
            return true;
        });
        images_[program].data = nullptr;
        images_[program].on_devices.swap(unloaded);
        generation_.fetch_add(1, std::memory_order_release);
    }
    forget_launches();
    // Images that were linked together are unloaded with the last of them.
    for (const auto& [context, image] : unloaded)
        if (image.use_count() == 1) (void)image->module->unload();
}

void Programs::forget_device(const driver::Context& context) {
    std::vector<std::shared_ptr<OnDevice>> forgotten;  // let go of without the lock
    {
        const std::lock_guard lock(mutex_);
        for (Image& image : images_)
            if (auto node = image.on_devices.extract(context.id()))
                forgotten.push_back(std::move(node.mapped()));
        generation_.fetch_add(1, std::memory_order_release);
    }
    forget_launches();
}

/// A device has one set of variables for each image, and a program one for each of its fat binaries, even if
/// libraries hold the same code: then all but one get an image of their own.
image::KernelImage Programs::unlike_others(const image::KernelImage& code, std::uint64_t context) const {
    std::set<std::string> hashes;
    for (const Image& other : images_) {
        const auto loaded = other.on_devices.find(context);
        if (loaded != other.on_devices.end() && loaded->second && loaded->second->module->is_loaded())
            hashes.insert(loaded->second->module->image().hash());
    }
    image::KernelImage own = code;
    for (unsigned number = 1; hashes.contains(own.hash()); ++number)
        own = cuda_cpp::as_another_image(code, number);
    return own;
}

/// All relocatable images of a library are linked together, those of other libraries stay apart: as nvcc does
/// when it makes the executable or the shared library.
std::shared_ptr<Programs::OnDevice> Programs::load(const std::shared_ptr<driver::Context>& context,
                                                   std::size_t program) {
    const Image& image = images_[program];
    auto loaded = std::make_shared<OnDevice>();
    const auto as_module = [&](const image::KernelImage& code, const std::set<std::size_t>& programs) {
        loaded->limits = cuda_cpp::declared_limits(code);
        loaded->module = driver::Module::load(context, unlike_others(code, context->id()));
        ManagedVariables::of_this_process().bind(loaded->module, programs);
        for (const auto& source : code.sources()) source_paths_.insert(source.path);
    };
    with_errors_of_images([&] {
        if (cuda_cpp::is_fat_binary(image.data)) {
            const auto code = image_of_nvcc(image.data, image.files, *context);
            ManagedVariables::of_this_process().initialise(program, code);
            return as_module(code, {program});
        }
        const auto embedded = cuda_cpp::read_embedded_image(image.data);
        if (!embedded.relocatable) {
            if (embedded.inline_assembly)
                loaded->embedded = std::make_shared<EmbeddedCode>(std::vector{embedded.image});
            return as_module(cuda_cpp::for_simulator(embedded), {program});
        }
        std::vector<image::KernelImage> parts, embedded_parts;
        bool has_assembly = false;
        std::set<std::size_t> together;
        for (std::size_t i = 0; i < images_.size(); ++i) {
            const Image& other = images_[i];
            if (other.data == nullptr || other.library != image.library ||
                !cuda_cpp::is_embedded_image(other.data))
                continue;
            const auto part = cuda_cpp::read_embedded_image(other.data);
            if (!part.relocatable) continue;
            parts.push_back(cuda_cpp::for_simulator(part));
            embedded_parts.push_back(part.image);
            has_assembly |= part.inline_assembly;
            together.insert(i);
        }
        if (has_assembly) loaded->embedded = std::make_shared<EmbeddedCode>(std::move(embedded_parts));
        as_module(parts.size() == 1 ? parts.front() : image::linked(parts), together);
        for (const std::size_t each : together) images_[each].on_devices[context->id()] = loaded;
    });
    return loaded;
}

Programs::OnDevice& Programs::on_device(const std::shared_ptr<driver::Context>& context,
                                        std::size_t program) {
    Image& image = images_[program];
    auto& loaded = image.on_devices[context->id()];
    if (loaded && loaded->module->is_loaded()) return *loaded;
    if (image.refused) throw driver::Error(*image.refused);
    try {
        auto made = load(context, program);
        images_[program].on_devices[context->id()] = std::move(made);
    } catch (const driver::Error& error) {
        std::fprintf(stderr, "cudasim: %s\n", error.what());  // once: every launch is refused with it
        images_[program].refused.emplace(error);
        throw;
    }
    generation_.fetch_add(1, std::memory_order_release);
    return *images_[program].on_devices[context->id()];
}

const Registered& Programs::registered_kernel(const void* host_function, const char* call) const {
    const auto found = kernels_.find(host_function);
    if (found == kernels_.end())
        fail(call, host_function == nullptr ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidResourceHandle,
             "no __global__ function of this program has this address");
    return found->second;
}

std::shared_ptr<PreparedKernel> Programs::kernel(const std::shared_ptr<driver::Context>& context,
                                                 const void* host_function, const char* call) {
    const std::lock_guard lock(mutex_);
    const Registered& registered = registered_kernel(host_function, call);
    OnDevice& image = on_device(context, registered.program);
    auto& prepared = image.kernels[registered.name];
    if (!prepared) {
        const auto threads = image.limits.most_threads.find(registered.name);
        const auto blocks = image.limits.clusters.find(registered.name);
        std::optional<execution::Dim3> cluster;
        if (blocks != image.limits.clusters.end())
            cluster = {blocks->second[0], blocks->second[1], blocks->second[2]};
        prepared = std::make_shared<PreparedKernel>(
            image.module->function(registered.name), Process::get().launch_options(),
            threads == image.limits.most_threads.end() ? 0 : threads->second, cluster,
            image.limits.constant_bytes, image.embedded);
    }
    return prepared;
}

const std::string& Programs::kernel_name(const void* host_function, const char* call) {
    const std::lock_guard lock(mutex_);
    return registered_kernel(host_function, call).name;
}

std::string Programs::path_of_source(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(
        source_paths_, [&](const std::string& path) { return path == name || path.ends_with("/" + name); });
    return found == source_paths_.end() ? name : *found;
}

execution::AddressRange Programs::variable(const std::shared_ptr<driver::Context>& context,
                                           const void* host_variable) {
    const std::lock_guard lock(mutex_);
    const auto found = variables_.find(host_variable);
    if (found == variables_.end())
        fail("cudaGetSymbolAddress", cudaErrorInvalidSymbol,
             "there is no __device__, __constant__ or __managed__ variable at this address");
    const OnDevice& image = on_device(context, found->second.program);
    const auto managed = ManagedVariables::of_this_process().range(host_variable);
    return managed ? *managed : image.module->global(found->second.name);
}

}  // namespace cudasim::cudart

using cudasim::cudart::ManagedVariables;
using cudasim::cudart::Programs;

namespace {

/// What .nvFatBinSegment holds.
struct FatBinaryWrapper {
    int magic, version;
    const void* data;
    void*
        file_name_or_fatbins;  ///< version 1: a name; 2, of what nvcc -rdc=true linked: a list of files' data
};

/// Handles of images are their numbers, from 1.
std::size_t program_of(void** handle) {
    return reinterpret_cast<std::size_t>(handle) - 1;
}

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
    const auto& given = *static_cast<const FatBinaryWrapper*>(wrapper);
    const auto* files =
        given.version == 2 ? static_cast<const void* const*>(given.file_name_or_fatbins) : nullptr;
    const auto program = Programs::of_this_process().add_image(given.data, files);
    return reinterpret_cast<void**>(program + 1);
}
void __cudaRegisterFatBinaryEnd(void** handle) {
    Programs::of_this_process().end_of_image(program_of(handle));
}
void __cudaUnregisterFatBinary(void** handle) {
    Programs::of_this_process().remove_image(program_of(handle));
}

void __cudaRegisterFunction(void** handle, const char* host_function, char*, const char* name, int, uint3*,
                            uint3*, dim3*, dim3*, int*) {
    Programs::of_this_process().add_kernel(program_of(handle), host_function, name);
}
void __cudaRegisterVar(void** handle, char* host_variable, char*, const char* name, int, size_t, int, int) {
    Programs::of_this_process().add_variable(program_of(handle), host_variable, name);
}
void __cudaRegisterManagedVar(void** handle, void** pointer, char*, const char* name, int, size_t bytes, int,
                              int) {
    const auto program = program_of(handle);
    if (const void* const memory =
            ManagedVariables::of_this_process().add_pointer(program, pointer, name, bytes))
        Programs::of_this_process().add_variable(program, memory, name);
}
/// Host code of NVIDIA's nvcc calls it before it uses a managed variable for the first time. Nonzero: it may.
char __cudaInitModule(void** handle) {
    Programs::of_this_process().load_managed(program_of(handle));
    return 1;
}
void __cudaRegisterHostVar(void**, const char*, char*, size_t) {}
void __cudaRegisterUnifiedTable(void**, void*) {}
}
