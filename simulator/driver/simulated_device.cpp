// The simulator as a target, and the rules about frees and launches inside launches.
#include "simulator/driver/simulated_device.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "simulator/checks/checks.h"
#include "simulator/driver/stream_work.h"
#include "simulator/execution/loaded_image.h"
#include "simulator/memory/host_guard.h"

namespace cudasim::driver {

namespace {

thread_local bool launching = false;

/// What the host does meanwhile, as LaunchOptions::poll_host says it; good as long as the options are.
image::HostPoll poll_while_compiling(const execution::LaunchOptions& options) {
    if (!options.poll_host) return {};
    return [&](double seconds) { return options.poll_host({.seconds = seconds, .compiling = true}); };
}

}  // namespace

bool SimulatedDevice::adopt(DevicePointer address, std::uint64_t bytes, const std::string& label) {
    try {
        device.adopt(address, bytes, label);
        return true;
    } catch (const execution::CudaError&) {
        return false;
    }
}

std::unique_ptr<Target::Module> SimulatedDevice::load(const image::KernelImage& image,
                                                      DevicePointer globals_at) {
    return std::make_unique<SimulatedModule>(device, device.load(image, globals_at));
}

void SimulatedDevice::compile(Module& module, std::string_view kernel,
                              const execution::LaunchOptions& options) {
    (void)device.compile(*dynamic_cast<SimulatedModule&>(module).loaded, kernel, options.compile_options(),
                         poll_while_compiling(options));
}

execution::LaunchResult SimulatedDevice::launch(Module& module, std::string_view kernel,
                                                const execution::LaunchConfiguration& configuration,
                                                std::span<const std::byte> parameters,
                                                const execution::LaunchOptions& options) {
    const OneLaunchPerThread only;
    const LaunchScope scope(*this);
    return launch(*dynamic_cast<SimulatedModule&>(module).loaded, kernel, configuration, parameters, options);
}

/// Who looks for races sees all threads on one worker, in one order. A debugger takes launches back, which
/// neither detector can follow.
execution::LaunchOptions SimulatedDevice::with_checks(const execution::LaunchOptions& options) {
    execution::LaunchOptions chosen = options;
    checks::Checks wanted = checks::checks_of(options.compile.instrumentations);
    if (options.stop_handler != nullptr && (wanted.races || wanted.init)) {
        wanted.races = wanted.init = false;
        checks::choose(wanted, chosen.compile.instrumentations);
    }
    if (wanted.init) {
        chosen.observers.add(init_);
        chosen.access_observers.add(init_);
        chosen.value_observer = &init_;
    } else {
        init_.launch_unchecked();
    }
    if (!wanted.races) return chosen;
    checks::RaceObserver& races = look_for_races();
    races.set_model(checks::race_model_of(options.compile.instrumentations));
    chosen.observers.add(races);
    chosen.access_observers.add(races);
    chosen.workers = 1;
    return chosen;
}

checks::RaceObserver& SimulatedDevice::look_for_races() {
    const std::lock_guard lock(mutex_);
    if (!races_) {
        races_ = std::make_unique<checks::RaceObserver>(device.memory_base());
        device.observe(*races_);
        for (const auto& each : device.memory_layout().live)
            races_->allocated(each.address, each.bytes, each.label);
    }
    return *races_;
}

void SimulatedDevice::look_for_races_between_streams() {
    StreamWork& work = StreamWork::of_this_process();
    work.order().keep();
    look_for_races().between_streams().set_order(work.order());
}

std::vector<findings::Finding> SimulatedDevice::take_races_of_copies() {
    const std::lock_guard lock(mutex_);
    if (!races_) return {};
    return races_->between_streams().take_findings_of_copies();
}

checks::StreamRaces::Touched SimulatedDevice::touched_by(streams::OperationOrder::Number operation,
                                                         std::uint64_t address, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (!races_) return {};
    return races_->between_streams().touched_by(operation, address, bytes);
}

/// Whether the kernel can write what it was thought only to read: the race checks of such parameters were
/// left out.
bool SimulatedDevice::writes_unchecked(execution::LoadedImage& image, std::string_view kernel,
                                       std::span<const std::byte> parameters,
                                       const execution::LaunchOptions& options) {
    const auto compiled =
        device.compile(image, kernel, options.compile_options(), poll_while_compiling(options));
    const jit::ParameterUse& use = compiled->parameter_use;
    if (use.unchecked.empty()) return false;
    const image::Kernel* described = image.image().find(std::string(kernel));
    if (described == nullptr) return true;
    const auto allocation_of = [&](std::uint32_t parameter) -> DevicePointer {
        DevicePointer address = 0;
        const std::uint32_t offset = described->parameters[parameter].offset;
        if (offset + sizeof address <= parameters.size())
            std::memcpy(&address, parameters.data() + offset, sizeof address);
        return device.allocation_at(address);
    };
    std::vector<DevicePointer> written;
    for (const std::uint32_t parameter : use.written) written.push_back(allocation_of(parameter));
    return std::ranges::any_of(use.unchecked, [&](std::uint32_t parameter) {
        const DevicePointer allocation = allocation_of(parameter);
        return allocation != 0 && std::ranges::find(written, allocation) != written.end();
    });
}

execution::LaunchResult SimulatedDevice::launch(execution::LoadedImage& image, std::string_view kernel,
                                                const execution::LaunchConfiguration& configuration,
                                                std::span<const std::byte> parameters,
                                                const execution::LaunchOptions& options) {
    execution::LaunchOptions chosen = with_checks(options);
    if (checks::checks_of(chosen.compile.instrumentations).races &&
        (look_for_races().between_streams().compares() ||
         writes_unchecked(image, kernel, parameters, chosen)))
        checks::check_all_memory(chosen.compile.instrumentations);
    auto result = device.launch(image, kernel, configuration, parameters, chosen);
    checks::drop_consequences(result.findings);
    return result;
}

execution::LaunchResult SimulatedDevice::launch(execution::HostKernel& kernel,
                                                const execution::LaunchConfiguration& configuration,
                                                const execution::LaunchOptions& options) {
    auto result = device.launch(kernel, configuration, with_checks(options));
    checks::drop_consequences(result.findings);
    return result;
}

SimulatedDevice::LaunchScope::LaunchScope(SimulatedDevice& owner) : owner_(owner) {
    const std::lock_guard lock(owner_.mutex_);
    ++owner_.launches_;
    memory::host_guard::enter();
}

SimulatedDevice::LaunchScope::~LaunchScope() {
    std::vector<DevicePointer> pending;
    {
        const std::lock_guard lock(owner_.mutex_);
        if (--owner_.launches_ == 0) pending.swap(owner_.pending_);
    }
    for (const auto pointer : pending) owner_.free_quietly(pointer);
    memory::host_guard::leave();
}

/// Whether the memory is freed when the launches that run now have ended.
bool SimulatedDevice::deferred(DevicePointer pointer) {
    const std::lock_guard lock(mutex_);
    if (launches_ == 0) return false;
    pending_.push_back(pointer);
    return true;
}

/// Destructors have nobody to tell; an invalid free here would be a defect of a front end.
void SimulatedDevice::free_quietly(DevicePointer pointer) noexcept {
    try {
        device.free(pointer);
    } catch (...) {
    }
}

void OneLaunchPerThread::require_none() {
    if (launching)
        throw std::runtime_error(
            "a kernel cannot be launched from a kernel, nor from a signal handler that runs during a launch: "
            "the launch waits for it. Launch after it");
}

OneLaunchPerThread::OneLaunchPerThread() {
    require_none();
    launching = true;
}

OneLaunchPerThread::~OneLaunchPerThread() {
    launching = false;
}

}  // namespace cudasim::driver
