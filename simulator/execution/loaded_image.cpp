// Compilation on demand and the placing of globals.
#include "simulator/execution/loaded_image.h"

#include <atomic>
#include <cstring>

#include "simulator/execution/launch.h"
#include "simulator/execution/launch_memory.h"
#include "simulator/jit/hooks.h"
#include "simulator/memory/host_guard.h"
#include "simulator/memory/shadow.h"

namespace cudasim::execution {

namespace {

std::vector<std::uint32_t> barrier_places(const jit::CompiledKernel& kernel) {
    std::vector<std::uint32_t> places(kernel.sites.size());
    std::map<std::string, std::uint32_t> first_at;
    for (std::uint32_t site = 0; site < places.size(); ++site) {
        std::string key;
        const bool known = !kernel.sites[site].empty() && kernel.sites[site].front().line != 0;
        for (const auto& frame : kernel.sites[site])
            if (known)
                key +=
                    frame.file + ':' + std::to_string(frame.line) + ':' + std::to_string(frame.column) + ';';
        places[site] = key.empty() ? site : first_at.try_emplace(std::move(key), site).first->second;
    }
    return places;
}

std::atomic<std::uint64_t> next_layout_seed{1};

}  // namespace

LoadedImage::~LoadedImage() {
    if (globals_base_ == 0) return;
    {
        std::lock_guard lock(memory_->mutex);
        (void)memory_->arena.free(globals_base_);
    }
    memory_->tell_freed(globals_base_);
}

const PreparedKernel& LoadedImage::prepare(std::string_view kernel, const jit::CompileOptions& options,
                                           const image::HostPoll& poll) {
    std::unique_lock lock(mutex_);
    if (last_ != nullptr && last_kernel_ == kernel && last_options_ == options) return *last_;
    const Variant variant{std::string(kernel), options};
    const auto remembered = [&](const PreparedKernel& found) -> const PreparedKernel& {
        last_kernel_ = kernel;
        last_options_ = options;
        last_ = &found;
        return found;
    };
    const auto begin = Clock::now();
    for (;;) {
        if (const auto known = kernels_.find(variant); known != kernels_.end())
            return remembered(known->second);
        if (compiling_.insert(variant).second) break;
        if (compiled_.wait_for(lock, host_poll_interval) == std::cv_status::no_timeout || !poll) continue;
        lock.unlock();
        if (poll(std::chrono::duration<double>(Clock::now() - begin).count())) throw image::Cancelled{};
        lock.lock();
    }
    lock.unlock();
    const auto over = [&] {
        lock.lock();
        compiling_.erase(variant);
        compiled_.notify_all();
    };
    PreparedKernel prepared;
    try {
        prepared = compile(kernel, options, poll);
    } catch (...) {
        over();
        throw;
    }
    over();
    if (!layout_ && prepared.kernel->globals) {
        place_globals(*prepared.kernel->globals);
        layout_ = prepared.kernel->globals;
    }
    return remembered(kernels_.emplace(variant, std::move(prepared)).first->second);
}

PreparedKernel LoadedImage::compile(std::string_view kernel, const jit::CompileOptions& options,
                                    const image::HostPoll& poll) const {
    if (!image_.find(kernel)) {
        std::string known;
        for (const auto& each : image_.kernels()) known += (known.empty() ? "" : ", ") + each.name;
        throw CudaError(CudaResult::not_found,
                        "no kernel '" + std::string(kernel) +
                            "' in the image; it has: " + (known.empty() ? "none" : known));
    }
    PreparedKernel prepared;
    require_memory_to_compile();
    try {
        prepared.kernel = jit::compile_kernel(image_, kernel, options, jit::defined_hooks(), poll);
    } catch (const jit::ResourceError& error) {
        throw CudaError(CudaResult::launch_out_of_resources, error.what(), error.location);
    }
    prepared.barrier_place = barrier_places(*prepared.kernel);
    prepared.shared_layout_seed = next_layout_seed.fetch_add(1);
    return prepared;
}

void LoadedImage::place_globals(const jit::GlobalsLayout& layout) {
    if (layout.bytes == 0) return;
    std::unique_lock lock(memory_->mutex);
    constexpr auto label = "global variables of the image";
    std::optional<DevicePointer> base;
    if (globals_at_ != 0 && memory_->arena.allocate_at(globals_at_, layout.bytes, label, true))
        base = globals_at_;
    else
        base = memory_->arena.allocate(layout.bytes, label, true);
    if (!base)
        throw CudaError(CudaResult::out_of_memory, "no device memory is left for the image's " +
                                                       std::to_string(layout.bytes) +
                                                       " bytes of global variables");
    memory::Shadow& shadow = memory::Shadow::instance();
    shadow.set(*base, layout.bytes, memory::Access::none);
    const memory::host_guard::EngineAccess access;
    auto* bytes = reinterpret_cast<std::byte*>(*base);
    for (const auto& variable : layout.variables) {
        if (variable.initialised)
            std::memcpy(bytes + variable.offset, layout.initial.data() + variable.offset, variable.bytes);
        shadow.set(*base + variable.offset, variable.bytes,
                   variable.constant ? memory::Access::read_only : memory::Access::read_write);
    }
    for (const auto& relocation : layout.relocations) {
        const std::uint64_t address = *base + relocation.target;
        std::memcpy(bytes + relocation.offset, &address, sizeof address);
    }
    globals_base_ = *base;
    lock.unlock();
    memory_->tell_allocated(*base, layout.bytes, label);
    // Variables without an initial value are zero.
    memory_->tell_copies({CopyKind::fill, *base, 0, layout.bytes});
}

AddressRange LoadedImage::global_range(std::string_view name) {
    {
        const std::lock_guard lock(mutex_);
        if (!layout_) {
            auto layout = jit::globals_layout_of(image_);
            place_globals(*layout);
            layout_ = std::move(layout);
        }
    }
    const jit::GlobalVariable* found = nullptr;
    std::string same_name;
    for (const auto& variable : layout_->variables) {
        const AddressRange range{globals_base_ + variable.offset, variable.bytes};
        if (variable.symbol == name) return range;
        if (variable.name != name) continue;
        found = &variable;
        same_name += (same_name.empty() ? "" : ", ") + variable.symbol;
    }
    if (found == nullptr)
        throw CudaError(CudaResult::not_found, "no global variable '" + std::string(name) + "' in the image");
    if (found->symbol != same_name)
        throw CudaError(CudaResult::not_found, "several global variables of the image are called '" +
                                                   std::string(name) + "': ask for one of " + same_name);
    return {globals_base_ + found->offset, found->bytes};
}

}  // namespace cudasim::execution
