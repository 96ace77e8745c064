// Page "Execution Control": launches run on the thread of the device's default stream. What the engine finds
// becomes what a GPU would notice of it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "simulator/execution/launch_limits.h"
#include "simulator/execution/observer.h"
#include "simulator/findings/writers.h"
#include "simulator/memory/shadow.h"
#include "tests/gpu_backend/libcuda/stand_in/address_space.h"
#include "tests/gpu_backend/libcuda/stand_in/modules.h"
#include "tests/gpu_backend/libcuda/stand_in/planting.h"

namespace cudasim::stand_in {
namespace {

using findings::FindingKind;

/// Shared memory as on a GPU: it usually starts as zeros, and all of it can be accessed, gaps between
/// variables too.
struct SharedOfGpu final : execution::LaunchObserver {
    explicit SharedOfGpu(bool starts_as_poison) : poison(starts_as_poison) {}

    void block_begins(execution::ObservedBlock& block) override {
        if (block.shared.empty()) return;
        if (!poison) std::ranges::fill(block.shared, std::byte{});
        constexpr std::uint64_t unit = 128;  // docs/gpu_results.md, "Limits and refusals"
        memory::Shadow::instance().set(reinterpret_cast<std::uint64_t>(block.shared.data()),
                                       (block.shared.size() + unit - 1) / unit * unit,
                                       memory::Access::read_write);
    }

    bool poison;
};

/// A launch, from the call on until it has run.
struct PendingLaunch {
    Gpu& gpu;
    std::shared_ptr<libcuda::ModuleState> module;  ///< which stays loaded
    std::string kernel;
    execution::LaunchConfiguration configuration;
    std::vector<std::byte> parameters;
    std::vector<DevicePointer> words;  ///< the parameters that are addresses, or could be
    std::vector<PlantedLaunch> planted;
    Order order = Order::forward;
    std::uint64_t seed = 0;
    std::optional<std::chrono::milliseconds> watchdog = {};
    bool poison_shared = false, explain = false;
};

/// What a GPU answers where the engine finds this; success where it notices nothing.
Result result_of(FindingKind kind) {
    return static_cast<Result>(findings::info(kind).cuda_error_code);
}

/// Whether a kernel with this finding never ends on a GPU.
bool never_ends(FindingKind kind) {
    return kind == FindingKind::livelock || kind == FindingKind::deadlock;
}

/// Where a planted change goes. Refuses what is no memory of the device.
std::byte* target_of(const PendingLaunch& launch, const Place& place, std::uint64_t bytes) {
    const AddressSpace& memory = AddressSpace::of_this_process();
    DevicePointer base = place.number;
    if (place.origin == Place::Origin::parameter) {
        if (place.number >= launch.words.size()) refuse(place.text, "the kernel has no such parameter");
        base = launch.words[place.number];
    } else if (place.origin == Place::Origin::mapping) {
        const auto range = memory.accessible_mapping(launch.gpu, place.number);
        if (!range) refuse(place.text, "there are fewer mapped ranges");
        base = range->base + (place.offset < 0 ? range->bytes : 0);
    }
    const DevicePointer address = base + static_cast<std::uint64_t>(place.offset);
    if (!memory.is_accessible(launch.gpu, address, bytes, true))
        refuse(place.text, "the place is no memory that the device can write");
    return reinterpret_cast<std::byte*>(address);
}

/// @return whether the launch is never to end
bool plant(const PendingLaunch& launch) {
    bool hangs = false;
    for (const auto& planted : launch.planted) {
        switch (planted.what) {
            case PlantedLaunch::What::hang:
                hangs = true;
                break;
            case PlantedLaunch::What::flip:
                *target_of(launch, planted.place, 1) ^= std::byte{1} << planted.place.bit;
                break;
            case PlantedLaunch::What::put:
                std::ranges::copy(planted.bytes, target_of(launch, planted.place, planted.bytes.size()));
                break;
            case PlantedLaunch::What::print:
                launch.gpu.printed.add(planted.text);
                break;
        }
    }
    return hangs;
}

void run(const PendingLaunch& launch) {
    Gpu& gpu = launch.gpu;
    if (gpu.fault() != Result::success) return;
    SharedOfGpu shared(launch.poison_shared);
    execution::LaunchOptions options = usual_options();
    options.policy = launch.order == Order::forward   ? execution::Policy::forward
                     : launch.order == Order::reverse ? execution::Policy::reverse
                                                      : execution::Policy::random;
    options.seed = launch.seed;
    if (launch.watchdog) options.time_limit_seconds = std::chrono::duration<double>(*launch.watchdog).count();
    options.observers.add(shared);
    options.poll_host = [&](const execution::LaunchProgress&) { return gpu.work.ends(); };
    options.write_output = [&](std::string_view text) {
        gpu.printed.add(text);
        return true;
    };
    execution::LaunchResult result;
    try {
        result = gpu.engine().launch(*launch.module->loaded, launch.kernel, launch.configuration,
                                     launch.parameters, options);
    } catch (const std::exception& error) {  // cuLaunchKernelEx has checked what a driver checks
        std::fprintf(stderr, "stand-in GPU: %s: %s\n", launch.kernel.c_str(), error.what());
        gpu.set_fault(Result::launch_failed);
        return;
    }
    bool hangs = plant(launch);
    for (const auto& finding : result.findings) {
        if (finding.severity != findings::Severity::error) continue;
        hangs = hangs || never_ends(finding.kind);
        const Result fault = result_of(finding.kind);
        if (fault == Result::success) continue;
        if (launch.explain)
            std::fputs(findings::text_report(finding, launch.module->image.sources()).c_str(), stderr);
        gpu.set_fault(fault);
    }
    if (hangs && gpu.fault() == Result::success && !gpu.work.wait_for_end(launch.watchdog))
        gpu.set_fault(Result::launch_timeout);
}

/// The parameter buffer from pointers to values, or from a buffer in `extra`. False where neither or both are
/// given, or the buffer is too small.
bool take_parameters(const image::Kernel& kernel, void** parameters, void** extra,
                     std::vector<std::byte>& buffer) {
    buffer.assign(kernel.parameter_bytes, std::byte{});
    if (extra == nullptr) {
        if (kernel.parameters.empty()) return true;
        if (parameters == nullptr) return false;
        for (std::size_t i = 0; i < kernel.parameters.size(); ++i)
            std::memcpy(buffer.data() + kernel.parameters[i].offset, parameters[i],
                        kernel.parameters[i].size);
        return true;
    }
    // CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE, CU_LAUNCH_PARAM_END
    const auto names = [](void* name) { return reinterpret_cast<std::size_t>(name); };
    const void* bytes = nullptr;
    std::size_t size = 0;
    for (; names(extra[0]) == 1 || names(extra[0]) == 2; extra += 2) {
        if (names(extra[0]) == 1) bytes = extra[1];
        if (names(extra[0]) == 2) size = *static_cast<const std::size_t*>(extra[1]);
    }
    if (parameters != nullptr || names(extra[0]) != 0 || bytes == nullptr || size < buffer.size())
        return false;
    std::memcpy(buffer.data(), bytes, buffer.size());
    return true;
}

/// For planted changes at a parameter: its first 8 bytes; 0 for a smaller one.
std::vector<DevicePointer> words_of(const image::Kernel& kernel, std::span<const std::byte> buffer) {
    std::vector<DevicePointer> words(kernel.parameters.size());
    for (std::size_t i = 0; i < words.size(); ++i)
        if (kernel.parameters[i].size >= sizeof words[i])
            std::memcpy(&words[i], buffer.data() + kernel.parameters[i].offset, sizeof words[i]);
    return words;
}

/// nullopt for an attribute that this driver does not know.
std::optional<bool> is_cooperative(const LaunchConfig& config) {
    bool cooperative = false;
    for (unsigned i = 0; i < config.attribute_count; ++i) {
        if (config.attributes[i].id != LaunchAttributeId::cooperative) return std::nullopt;
        cooperative = config.attributes[i].value.cooperative != 0;
    }
    return cooperative;
}

/// What a driver refuses when a kernel is launched.
Result check(const Gpu& gpu, const libcuda::FunctionState& function,
             const execution::LaunchConfiguration& configuration, bool cooperative) {
    try {
        execution::check_configuration(gpu.profile(), configuration);
        if (configuration.dynamic_shared_bytes > function.most_dynamic_shared_bytes)
            return Result::invalid_value;
        if (cooperative)
            execution::check_cooperative(
                gpu.profile(), configuration,
                execution::occupancy(gpu.profile(), configuration.block.volume(),
                                     function.static_shared_bytes + configuration.dynamic_shared_bytes));
        return Result::success;
    } catch (const execution::CudaError& error) {
        return error.code;
    }
}

}  // namespace

Result Behaviour::cuLaunchKernelEx(const LaunchConfig* config, Function function, void** parameters,
                                   void** extra) {
    Gpu* gpu = nullptr;
    if (const Result wrong = Gpu::current(gpu); wrong != Result::success) return wrong;
    if (config == nullptr) return Result::invalid_value;
    auto module = Modules::of_this_process().find(*gpu, function);
    if (!module || config->stream != nullptr) return Result::invalid_handle;
    const auto cooperative = is_cooperative(*config);
    const execution::LaunchConfiguration configuration{{config->grid_x, config->grid_y, config->grid_z},
                                                       {config->block_x, config->block_y, config->block_z},
                                                       config->shared_bytes};
    std::vector<std::byte> buffer;
    if (!cooperative || !take_parameters(function->kernel, parameters, extra, buffer))
        return Result::invalid_value;
    if (const Result wrong = check(*gpu, *function, configuration, *cooperative); wrong != Result::success)
        return wrong;
    const Settings& now = settings();
    const auto launch =
        std::make_shared<PendingLaunch>(PendingLaunch{.gpu = *gpu,
                                                      .module = std::move(module),
                                                      .kernel = function->kernel.name,
                                                      .configuration = configuration,
                                                      .parameters = buffer,
                                                      .words = words_of(function->kernel, buffer),
                                                      .planted = planted_in_launch(),
                                                      .order = now.order,
                                                      .seed = now.seed,
                                                      .poison_shared = now.poison_shared,
                                                      .explain = now.explain});
    if (now.watchdog != 0) launch->watchdog = std::chrono::milliseconds(now.watchdog);
    gpu->work.add([launch] { run(*launch); });
    return Result::success;
}

}  // namespace cudasim::stand_in
