// The device: memory calls, loading, and the checks before a launch. A launch itself is a Launch (launch.h)
// that WorkerPool runs.
#include "simulator/execution/device.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>

#include "simulator/execution/launch.h"
#include "simulator/execution/launch_limits.h"
#include "simulator/execution/launch_memory.h"
#include "simulator/execution/loaded_image.h"
#include "simulator/execution/running_launch.h"
#include "simulator/execution/stop.h"
#include "simulator/memory/host_guard.h"
#include "simulator/memory/host_memory.h"
#include "simulator/memory/shadow.h"

namespace cudasim::execution {

namespace {

/// Of all devices of the process.
class AllMemory {
  public:
    void add(const std::shared_ptr<DeviceMemory>& memory) {
        const std::lock_guard lock(mutex_);
        std::erase_if(known_, [](const auto& each) { return each.expired(); });
        known_.push_back(memory);
    }
    [[nodiscard]] std::vector<std::shared_ptr<DeviceMemory>> live() const {
        std::vector<std::shared_ptr<DeviceMemory>> found;
        const std::lock_guard lock(mutex_);
        for (const auto& each : known_)
            if (auto memory = each.lock()) found.push_back(std::move(memory));
        return found;
    }

  private:
    mutable std::mutex mutex_;
    std::vector<std::weak_ptr<DeviceMemory>> known_;
};

AllMemory& all_memory() {
    static auto* all = new AllMemory;  // launches of finalizers may come late
    return *all;
}

}  // namespace

struct Device::State {
    State(const DeviceProfile& device_profile, DevicePointer memory_base)
        : profile(device_profile),
          memory(
              make_memory(std::min(device_profile.total_memory, memory::host_memory_limit()), memory_base)) {}

    static std::shared_ptr<DeviceMemory> make_memory(std::uint64_t capacity, DevicePointer base) try {
        return std::make_shared<DeviceMemory>(capacity, base);
    } catch (const std::bad_alloc&) {
        throw CudaError(CudaResult::out_of_memory,
                        "no address space is left for device memory: " + memory::describe_host_memory());
    }

    DeviceProfile profile;
    std::shared_ptr<DeviceMemory> memory;
    std::mutex images_mutex;
    std::map<std::string, std::weak_ptr<LoadedImage>> images;  // by hash
    LaunchPlaces places;
};

Device::Device(const DeviceProfile& profile, DevicePointer memory_base)
    : state_(std::make_unique<State>(profile, memory_base)) {
    all_memory().add(state_->memory);
}
Device::~Device() = default;

const DeviceProfile& Device::profile() const {
    return state_->profile;
}

namespace {

CudaError invalid_value(const std::string& message) {
    return {CudaResult::invalid_value, message};
}

/// The live allocation [address, address + bytes) lies in, or an error naming the range.
void require_range(const DeviceMemory& memory, DevicePointer address, std::uint64_t bytes, const char* what) {
    const memory::Allocation* whole = bytes == 0 ? nullptr : memory.arena.containing(address, bytes);
    if (whole != nullptr && memory.heap.has(whole->address))
        throw invalid_value(std::string(what) +
                            " is memory that a kernel has got from malloc(), which calls of the host cannot "
                            "use: copy it to an allocation of the host's in a kernel");
    if (bytes == 0 || whole != nullptr) return;
    const memory::Allocation* near = memory.arena.at_or_before(address);
    std::string message =
        std::string(what) + " of " + std::to_string(bytes) + " bytes is not inside one device allocation";
    if (near && address < near->address + near->bytes)
        message += ": offset " + std::to_string(address - near->address) + " of an allocation of " +
                   std::to_string(near->bytes) + " bytes";
    throw invalid_value(message);
}

}  // namespace

DevicePointer Device::allocate(std::uint64_t bytes, const AllocateOptions& options) {
    if (bytes == 0) throw invalid_value("an allocation needs at least one byte");
    std::unique_lock lock(state_->memory->mutex);
    memory::Arena& arena = state_->memory->arena;
    if (auto address =
            arena.allocate(bytes, options.label, options.poison, options.read_only, !options.host)) {
        lock.unlock();
        state_->memory->tell_allocated(*address, bytes, options.label);
        return *address;
    }
    throw CudaError(CudaResult::out_of_memory,
                    memory::bytes_text(bytes) + " asked for, " +
                        memory::bytes_text(arena.capacity() - arena.in_use()) + " of " +
                        memory::bytes_text(arena.capacity()) + " free (" + state_->profile.name + " has " +
                        memory::bytes_text(state_->profile.total_memory) + "; this host can give " +
                        memory::bytes_text(memory::host_memory_available()) + ")");
}

bool Device::allocate_at(DevicePointer address, std::uint64_t bytes, const AllocateOptions& options) {
    {
        std::lock_guard lock(state_->memory->mutex);
        if (!state_->memory->arena.allocate_at(address, bytes, options.label, options.poison,
                                               options.read_only, !options.host))
            return false;
    }
    state_->memory->tell_allocated(address, bytes, options.label);
    return true;
}

void Device::free(DevicePointer pointer) {
    std::unique_lock lock(state_->memory->mutex);
    if (state_->memory->heap.has(pointer))
        throw invalid_value(
            "free of memory that a kernel has got from malloc(): only free() in a kernel can free it");
    const memory::Allocation* freed = state_->memory->arena.freed_at(pointer);
    if (state_->memory->arena.free(pointer)) {
        lock.unlock();
        state_->memory->tell_freed(pointer);
        return;
    }
    throw invalid_value(freed ? "double free: this device memory was freed before"
                              : "free of an address that is not the start of a device allocation");
}

void Device::set_accessible(DevicePointer pointer, bool accessible) {
    std::uint64_t bytes = 0;
    {
        std::lock_guard lock(state_->memory->mutex);
        if (!state_->memory->arena.set_accessible(pointer, accessible))
            throw invalid_value("the address is not the start of a device allocation");
        bytes = state_->memory->arena.containing(pointer, 1)->bytes;
    }
    state_->memory->tell_copies({accessible ? CopyKind::allocation : CopyKind::release, pointer, 0, bytes});
}

void Device::adopt(DevicePointer address, std::uint64_t bytes, const std::string& label) {
    std::unique_lock lock(state_->memory->mutex);
    if (state_->memory->arena.adopt(address, bytes, label)) {
        lock.unlock();
        state_->memory->tell_allocated(address, bytes, label);
        return;
    }
    throw CudaError(CudaResult::host_memory_already_registered,
                    "part of these " + std::to_string(bytes) + " bytes is device memory or mapped already");
}

ExportedMemory Device::share(DevicePointer pointer) {
    std::lock_guard lock(state_->memory->mutex);
    try {
        if (const auto place = state_->memory->arena.share(pointer)) {
            const memory::Allocation* allocation = state_->memory->arena.at_or_before(pointer);
            return {place->file, place->offset, place->bytes, place->inside, allocation->bytes};
        }
    } catch (const std::system_error& error) {
        throw CudaError(CudaResult::unknown,
                        std::string("this device memory cannot be shared: ") + error.what());
    }
    throw invalid_value(
        "only device memory that was allocated in this process can be shared with another one");
}

AddressRange Device::address_range(DevicePointer pointer) const {
    std::lock_guard lock(state_->memory->mutex);
    if (const memory::Allocation* allocation = state_->memory->arena.containing(pointer, 1))
        return {allocation->address, allocation->bytes};
    throw invalid_value("the address is in no device allocation");
}

DevicePointer Device::allocation_at(DevicePointer pointer) const {
    std::lock_guard lock(state_->memory->mutex);
    const memory::Allocation* allocation = state_->memory->arena.containing(pointer, 1);
    return allocation != nullptr ? allocation->address : 0;
}

void Device::copy_to_device(DevicePointer target, const void* source, std::uint64_t bytes) {
    {
        std::lock_guard lock(state_->memory->mutex);
        require_range(*state_->memory, target, bytes, "the target of a copy");
    }
    state_->memory->tell_copies(
        {CopyKind::to_device, target, reinterpret_cast<std::uint64_t>(source), bytes});
    const memory::host_guard::EngineAccess access;
    std::memcpy(reinterpret_cast<void*>(target), source, bytes);
}

void Device::copy_from_device(void* target, DevicePointer source, std::uint64_t bytes) {
    {
        std::lock_guard lock(state_->memory->mutex);
        require_range(*state_->memory, source, bytes, "the source of a copy");
    }
    state_->memory->tell_copies(
        {CopyKind::from_device, reinterpret_cast<std::uint64_t>(target), source, bytes});
    const memory::host_guard::EngineAccess access;
    std::memcpy(target, reinterpret_cast<const void*>(source), bytes);
}

void Device::copy_within_device(DevicePointer target, DevicePointer source, std::uint64_t bytes) {
    {
        std::lock_guard lock(state_->memory->mutex);
        require_range(*state_->memory, target, bytes, "the target of a copy");
        require_range(*state_->memory, source, bytes, "the source of a copy");
    }
    state_->memory->tell_copies({CopyKind::within_device, target, source, bytes});
    const memory::host_guard::EngineAccess access;
    std::memmove(reinterpret_cast<void*>(target), reinterpret_cast<const void*>(source), bytes);
}

void Device::copy_from_peer(DevicePointer target, const Device& peer, DevicePointer source,
                            std::uint64_t bytes) {
    const auto require = [bytes](const Device& device, DevicePointer address, const char* what) {
        std::lock_guard lock(device.state_->memory->mutex);
        require_range(*device.state_->memory, address, bytes, what);
    };
    require(peer, source, "the source of a copy");
    require(*this, target, "the target of a copy");
    peer.state_->memory->tell_copies({CopyKind::from_device, target, source, bytes});
    state_->memory->tell_copies({CopyKind::to_device, target, source, bytes});
    const memory::host_guard::EngineAccess access;
    std::memmove(reinterpret_cast<void*>(target), reinterpret_cast<const void*>(source), bytes);
}

void Device::fill(DevicePointer target, std::uint8_t value, std::uint64_t bytes) {
    {
        std::lock_guard lock(state_->memory->mutex);
        require_range(*state_->memory, target, bytes, "the target of a fill");
    }
    state_->memory->tell_copies({CopyKind::fill, target, 0, bytes});
    const memory::host_guard::EngineAccess access;
    std::memset(reinterpret_cast<void*>(target), value, bytes);
}

void Device::observe(LaunchObserver& observer) {
    state_->memory->observe(observer);
}

void Device::stop_observing(LaunchObserver& observer) {
    state_->memory->stop_observing(observer);
}

MemoryInfo Device::memory_info() const {
    std::lock_guard lock(state_->memory->mutex);
    const memory::Arena& arena = state_->memory->arena;
    return {arena.capacity() - arena.in_use(), arena.capacity()};
}

std::uint64_t Device::heap_limit() const {
    std::lock_guard lock(state_->memory->mutex);
    return state_->memory->heap.limit();
}

void Device::set_heap_limit(std::uint64_t bytes) {
    std::lock_guard lock(state_->memory->mutex);
    state_->memory->heap.set_limit(bytes);
}

DevicePointer Device::memory_base() const {
    return state_->memory->arena.base();
}

Device::MemoryLayout Device::memory_layout() const {
    std::lock_guard lock(state_->memory->mutex);
    MemoryLayout layout;
    state_->memory->arena.for_each_live([&](const auto& each) { layout.live.push_back(each); });
    layout.freed = state_->memory->arena.freed();
    return layout;
}

bool Device::owns(DevicePointer pointer) const {
    if (state_->memory->arena.owns(pointer)) return true;
    std::lock_guard lock(state_->memory->mutex);
    return state_->memory->arena.near_adopted(pointer, 0);
}

bool Device::contains(DevicePointer pointer, std::uint64_t bytes) const {
    std::lock_guard lock(state_->memory->mutex);
    return state_->memory->arena.containing(pointer, bytes) != nullptr;
}

std::shared_ptr<LoadedImage> Device::load(const image::KernelImage& image, DevicePointer globals_at) {
    std::lock_guard lock(state_->images_mutex);
    std::weak_ptr<LoadedImage>& known = state_->images[image.hash()];
    if (auto loaded = known.lock()) return loaded;
    auto loaded = std::make_shared<LoadedImage>(image, state_->memory, globals_at);
    known = loaded;
    return loaded;
}

std::shared_ptr<const jit::CompiledKernel> Device::compile(LoadedImage& image, std::string_view kernel,
                                                           const jit::CompileOptions& options,
                                                           const image::HostPoll& poll) {
    return image.prepare(kernel, options, poll).kernel;
}

AddressRange Device::global_range(const LoadedImage& image, std::string_view name) const {
    return const_cast<LoadedImage&>(image).global_range(name);
}

DevicePointer Device::globals_base(const LoadedImage& image) const {
    return image.globals_base();
}

namespace {

/// Of a launch that does not know yet what it runs.
void place_on(const Device::State& state, Launch& launch, const LaunchConfiguration& configuration,
              const LaunchOptions& options) {
    launch.configuration = configuration;
    launch.options = options;
    launch.profile = &state.profile;
    launch.arena = &state.memory->arena;
    launch.arena_mutex = &state.memory->mutex;
    launch.memory = state.memory.get();
}

/// What a launch knows of the code that it runs. The same kernel may have other code later.
void take_code(Launch& launch, const PreparedKernel& prepared) {
    launch.kernel = prepared.kernel;
    launch.entry = prepared.kernel->entry;
    launch.shared_bytes = prepared.kernel->dynamic_shared_offset + launch.configuration.dynamic_shared_bytes;
    // A kernel that is given none of its dynamic shared memory has an address for it all the same.
    if (launch.shared_bytes == 0 && !prepared.kernel->shared_variables.empty()) launch.shared_bytes = 1;
    launch.shared_layout =
        (prepared.shared_layout_seed << 20) + launch.configuration.dynamic_shared_bytes + 1;
    launch.barrier_place = prepared.barrier_place;
    if (!prepared.kernel->waits) return;
    launch.early_exit_block = std::vector<std::atomic<std::uint64_t>>(prepared.barrier_place.size());
    for (auto& block : launch.early_exit_block) block.store(~std::uint64_t{0}, std::memory_order_relaxed);
}

/// Whether a kernel can write what the host program, or another device, sees meanwhile: that cannot be
/// undone.
bool others_see_memory(const Device::State& state) {
    const auto any = [](DeviceMemory& memory, auto&& is_meant) {
        const std::lock_guard lock(memory.mutex);
        bool found = false;
        memory.arena.for_each_live([&](const memory::Allocation& each) {
            found = found || (!each.read_only && each.accessible && is_meant(each));
        });
        return found;
    };
    for (const auto& memory : all_memory().live())
        if (memory != state.memory && any(*memory, [](const auto&) { return true; })) return true;
    return any(*state.memory,
               [](const memory::Allocation& each) { return each.adopted || each.shared || !each.counted; });
}

}  // namespace

LaunchResult Device::launch(LoadedImage& image, std::string_view kernel,
                            const LaunchConfiguration& configuration, std::span<const std::byte> parameters,
                            const LaunchOptions& options) {
    const memory::host_guard::EngineAccess access;
    check_configuration(state_->profile, configuration);
    check_clusters(state_->profile, configuration);
    image::HostPoll poll;
    bool cancelled = false;
    if (options.poll_host)
        poll = [&](double seconds) {
            cancelled = cancelled || options.poll_host({.seconds = seconds, .compiling = true});
            return cancelled;
        };
    const auto compiled = [&](const jit::CompileOptions& chosen) -> const PreparedKernel& {
        const PreparedKernel& found = image.prepare(kernel, chosen, poll);
        if (cancelled) throw image::Cancelled{};  // the compilation ended before it noticed
        return found;
    };
    const jit::CompileOptions in_force = options.compile_options();
    const bool runs_usual_code = options.stop_handler != nullptr &&
                                 in_force != options.usual_compile_options() && !others_see_memory(*state_) &&
                                 !options.stop_handler->needs_stops(
                                     {image.image(), kernel, [&] { return compiled(in_force).kernel; }});
    const PreparedKernel& prepared = compiled(runs_usual_code ? options.usual_compile_options() : in_force);
    check_shared_memory(state_->profile, prepared.kernel->static_shared_bytes,
                        configuration.dynamic_shared_bytes);
    if (prepared.kernel->uses_shadow && !memory::Shadow::instance().base())
        throw CudaError(CudaResult::out_of_memory,
                        std::string(memory::Shadow::instance().reservation_error()) +
                            ", and this kernel's memory accesses are checked there: lift the limit, or "
                            "switch memory checks off");
    if (parameters.size() < prepared.kernel->parameter_bytes)
        throw invalid_value("the kernel takes " + std::to_string(prepared.kernel->parameter_bytes) +
                            " bytes of parameters, " + std::to_string(parameters.size()) + " were given");
    NewLaunch made;
    Launch& launch = *made;
    place_on(*state_, launch, configuration, options);
    launch.kernel_name = prepared.kernel->name;
    launch.parameters = parameters;
    launch.globals_base = image.globals_base();
    take_code(launch, prepared);
    if (runs_usual_code) launch.take_code_with_stops = [&] { take_code(launch, compiled(in_force)); };
    launch.cooperative =
        options.cooperative || (options.cooperative_by_kernel && prepared.kernel->cooperative);
    if (launch.cooperative)
        check_cooperative(state_->profile, configuration,
                          occupancy(state_->profile, configuration.block.volume(), launch.shared_bytes));
    if (prepared.kernel->prints) launch.output = std::make_unique<PrintedOutput>(options.write_output);
    return run_launch(state_->places, made);
}

LaunchResult Device::launch(HostKernel& kernel, const LaunchConfiguration& configuration,
                            const LaunchOptions& options) {
    const memory::host_guard::EngineAccess access;
    check_configuration(state_->profile, configuration);
    check_shared_memory(state_->profile, 0, configuration.dynamic_shared_bytes);
    NewLaunch made;
    Launch& launch = *made;
    place_on(*state_, launch, configuration, options);
    launch.host_kernel = &kernel;
    launch.entry = run_host_threads;
    launch.kernel_name = kernel.name();
    launch.shared_bytes = configuration.dynamic_shared_bytes;
    launch.shared_layout = configuration.dynamic_shared_bytes + 1;
    launch.cooperative = true;  // what it does shows when it runs
    if (options.cooperative)
        check_cooperative(state_->profile, configuration, resident_blocks(state_->profile, launch));
    return run_launch(state_->places, made);
}

}  // namespace cudasim::execution
