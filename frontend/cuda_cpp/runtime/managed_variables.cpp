// See managed_variables.h.
#include "frontend/cuda_cpp/runtime/managed_variables.h"

#include <algorithm>
#include <cstring>

#include "frontend/cuda_cpp/images/embedded_image.h"
#include "frontend/cuda_cpp/images/managed_variables.h"
#include "frontend/cuda_cpp/runtime/kernels.h"
#include "simulator/driver/host_ranges.h"
#include "simulator/image/source_names.h"

namespace cudasim::cudart {
ManagedVariables& ManagedVariables::of_this_process() {
    static ManagedVariables& only = *new ManagedVariables;
    return only;
}

void ManagedVariables::add(std::size_t program, const void* embedded,
                           const std::vector<std::pair<std::string, const void*>>& variables) {
    // Every program comes here before main(). An image without managed variables is not read for them.
    const std::string mark = cuda_cpp::managed_pointer_name("");
    const auto bytes = cuda_cpp::bytes_of_embedded_image(embedded);
    if (memmem(bytes.data(), bytes.size(), mark.data(), mark.size()) == nullptr) return;
    const auto image = cuda_cpp::read_embedded_image(embedded).image;
    const std::lock_guard lock(mutex_);
    for (const auto& managed : cuda_cpp::managed_variables(image)) {
        const auto found =
            std::ranges::find(variables, managed.name, &std::pair<std::string, const void*>::first);
        if (found == variables.end()) continue;
        std::memcpy(const_cast<void*>(found->second), managed.value.data(), managed.value.size());
        variables_[found->second] = {.program = program, .name = managed.name, .bytes = managed.value.size()};
    }
}

const void* ManagedVariables::add_pointer(std::size_t program, void** pointer, std::string name,
                                          std::size_t bytes) {
    // Whole pages: what is done to the variable's pages concerns nothing else.
    constexpr std::size_t page = 4096;
    const std::size_t size = (bytes + page - 1) / page * page;
    auto* const memory = static_cast<std::byte*>(std::aligned_alloc(page, size));
    if (memory == nullptr) return nullptr;
    std::memset(memory, 0, size);
    *pointer = memory;
    const std::lock_guard lock(mutex_);
    Variable& variable = variables_[memory];
    variable.program = program, variable.name = std::move(name), variable.bytes = bytes,
    variable.waits = true;
    variable.memory.reset(memory);
    return memory;
}

void ManagedVariables::initialise(std::size_t program, const image::KernelImage& image) {
    const std::lock_guard lock(mutex_);
    for (const auto& managed : cuda_cpp::managed_variables(image))
        for (auto& [address, variable] : variables_) {
            if (variable.program != program || variable.name != managed.name || !variable.waits) continue;
            std::memcpy(variable.memory.get(), managed.value.data(),
                        std::min(managed.value.size(), variable.bytes));
            variable.waits = false;
        }
}

void ManagedVariables::bind(const std::shared_ptr<driver::Module>& module,
                            const std::set<std::size_t>& programs) {
    const auto& context = module->context();
    const std::lock_guard lock(mutex_);
    for (auto& [address, variable] : variables_) {
        if (!programs.contains(variable.program)) continue;
        execution::AddressRange pointer;
        try {
            pointer = module->global(cuda_cpp::managed_pointer_name(variable.name));
        } catch (const driver::Error& error) {
            if (error.code != driver::CudaResult::not_found) throw;
            continue;  // no kernel uses it
        }
        const auto at = reinterpret_cast<std::uint64_t>(address);
        auto& device = context->engine()->device;
        if (variable.contexts.insert(context->id()).second) {
            device.adopt(at, variable.bytes, image::demangled(variable.name));
            context->engine()->written_memory().shared_with_others(at);
            (void)driver::HostRanges::of_this_process().add(
                {at, variable.bytes, driver::HostMemory::managed, false, context});
        }
        device.copy_to_device(pointer.base, &at, sizeof at);
    }
}

void ManagedVariables::remove(const void* host_variable) {
    const std::lock_guard lock(mutex_);
    const auto found = variables_.find(host_variable);
    if (found == variables_.end()) return;
    const auto at = reinterpret_cast<std::uint64_t>(host_variable);
    (void)driver::HostRanges::of_this_process().take(at, [](const driver::HostRange&) { return true; });
    for (const auto& context : driver::Context::all())
        if (found->second.contexts.contains(context->id())) context->engine()->release(at);
    variables_.erase(found);
}

std::optional<execution::AddressRange> ManagedVariables::range(const void* host_variable) const {
    const std::lock_guard lock(mutex_);
    const auto found = variables_.find(host_variable);
    if (found == variables_.end()) return std::nullopt;
    return execution::AddressRange{reinterpret_cast<std::uint64_t>(host_variable), found->second.bytes};
}

}  // namespace cudasim::cudart
