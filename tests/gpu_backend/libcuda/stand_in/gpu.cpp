#include "tests/gpu_backend/libcuda/stand_in/gpu.h"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "tests/gpu_backend/libcuda/stand_in/address_space.h"
#include "tests/gpu_backend/libcuda/stand_in/events.h"
#include "tests/gpu_backend/libcuda/stand_in/modules.h"
#include "tests/gpu_backend/libcuda/stand_in/settings.h"

namespace cudasim::stand_in {
namespace {

/// Where variables of modules lie: below all addresses that programs can reserve.
constexpr DevicePointer engine_memory_at = 0x0800'0000'0000, engine_memory_step = 0x0010'0000'0000;
/// Room for them. All other memory is AddressSpace's.
constexpr std::uint64_t engine_memory_bytes = std::uint64_t{1} << 30;

constexpr unsigned multiprocessors = 4;

using Capability = std::pair<int, int>;

Capability capability_of(DeviceOrdinal ordinal) {
    const auto& all = settings().capabilities;
    return all[std::min(static_cast<std::size_t>(ordinal), all.size() - 1)];
}

execution::DeviceProfile profile_of(DeviceOrdinal ordinal, Capability capability) {
    const auto [major, minor] = capability;
    // Devices that cannot be simulated are there to be refused: they never run anything.
    auto profile = execution::profile_of_architecture(major, minor).value_or(execution::h100());
    profile.key = "stand-in";
    profile.name = std::string("Stand-in GPU ") + static_cast<char>('A' + ordinal);
    profile.compute_capability_major = major;
    profile.compute_capability_minor = minor;
    profile.multiprocessors = multiprocessors;
    profile.total_memory = engine_memory_bytes;
    return profile;
}

/// Never destroyed: calls may come while the process ends.
struct Process {
    std::mutex mutex;
    std::atomic<bool> is_initialised{false};
    /// Made when they are asked for. Tests may change a device's capability.
    std::map<std::pair<DeviceOrdinal, Capability>, std::unique_ptr<Gpu>> gpus;
};

Process& process() {
    static auto* const instance = new Process;
    return *instance;
}

thread_local Gpu* current_gpu = nullptr;

/// No work may run while the engine's static objects are destroyed.
void end_all_work() {
    for (const auto& [key, gpu] : process().gpus) gpu->work.end();
}

}  // namespace

Gpu::Gpu(DeviceOrdinal ordinal, execution::DeviceProfile profile)
    : ordinal_(ordinal), profile_(std::move(profile)) {}

void Gpu::initialise() {
    if (!process().is_initialised.exchange(true)) std::atexit(end_all_work);
}

bool Gpu::is_initialised() {
    return process().is_initialised;
}

Gpu* Gpu::at(DeviceOrdinal ordinal) {
    if (ordinal < 0 || ordinal >= settings().devices) return nullptr;
    Process& all = process();
    const std::lock_guard lock(all.mutex);
    auto& gpu = all.gpus[{ordinal, capability_of(ordinal)}];
    if (!gpu) gpu.reset(new Gpu(ordinal, profile_of(ordinal, capability_of(ordinal))));
    return gpu.get();
}

Result Gpu::current(Gpu*& gpu) {
    if (!is_initialised()) return Result::not_initialized;
    gpu = current_gpu;
    if (gpu == nullptr) return Result::invalid_context;
    {
        const std::lock_guard lock(gpu->mutex_);
        if (gpu->context_.retained == 0) return Result::context_is_destroyed;
    }
    return gpu->fault();
}

Result Gpu::make_current(Context context) {
    if (!is_initialised()) return Result::not_initialized;
    const std::lock_guard lock(process().mutex);
    for (const auto& [key, gpu] : process().gpus) {
        if (&gpu->context_ != context) continue;
        current_gpu = gpu.get();
        return gpu->fault();
    }
    if (context != nullptr) return Result::invalid_context;
    current_gpu = nullptr;
    return Result::success;
}

Context Gpu::current_context() {
    return current_gpu != nullptr ? &current_gpu->context_ : nullptr;
}

Result Gpu::retain(Context& context) {
    if (fault() != Result::success) return fault();
    const std::lock_guard lock(mutex_);
    ++context_.retained;
    context = &context_;
    return Result::success;
}

Result Gpu::release() {
    {
        const std::lock_guard lock(mutex_);
        if (context_.retained == 0) return Result::invalid_context;
        if (--context_.retained > 0) return fault();
    }
    const Result result = synchronise();
    Modules::of_this_process().unload_all(*this);
    AddressSpace::of_this_process().free_all(*this);
    Events::of_this_process().destroy_all(*this);
    return result;
}

driver::SimulatedDevice& Gpu::engine() {
    const std::lock_guard lock(mutex_);
    if (!engine_)
        engine_ = std::make_unique<driver::SimulatedDevice>(
            profile_, engine_memory_at + engine_memory_step * static_cast<unsigned>(ordinal_));
    return *engine_;
}

Result Gpu::synchronise() {
    work.wait_for_all();
    printed.flush();
    return fault();
}

void Gpu::set_fault(Result result) {
    Result none = Result::success;
    fault_.compare_exchange_strong(none, result);
}

}  // namespace cudasim::stand_in
