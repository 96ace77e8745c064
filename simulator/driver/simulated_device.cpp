// The simulator as a target, and the rules about frees and launches inside launches.
#include "simulator/driver/simulated_device.h"

#include <stdexcept>
#include <utility>

namespace cudasim::driver {

namespace {

thread_local bool launching = false;

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
    image::HostPoll poll;
    if (options.poll_host)
        poll = [&](double seconds) { return options.poll_host({.seconds = seconds, .compiling = true}); };
    (void)device.compile(*dynamic_cast<SimulatedModule&>(module).loaded, kernel, options.compile_options(),
                         poll);
}

execution::LaunchResult SimulatedDevice::launch(Module& module, std::string_view kernel,
                                                const execution::LaunchConfiguration& configuration,
                                                std::span<const std::byte> parameters,
                                                const execution::LaunchOptions& options) {
    const OneLaunchPerThread only;
    const LaunchScope scope(*this);
    return device.launch(*dynamic_cast<SimulatedModule&>(module).loaded, kernel, configuration, parameters,
                         options);
}

SimulatedDevice::LaunchScope::LaunchScope(SimulatedDevice& owner) : owner_(owner) {
    const std::lock_guard lock(owner_.mutex_);
    ++owner_.launches_;
}

SimulatedDevice::LaunchScope::~LaunchScope() {
    std::vector<DevicePointer> pending;
    {
        const std::lock_guard lock(owner_.mutex_);
        if (--owner_.launches_ == 0) pending.swap(owner_.pending_);
    }
    for (const auto pointer : pending) owner_.free_quietly(pointer);
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
