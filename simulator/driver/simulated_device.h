// A simulated device with the driver's rules about lifetimes: it is shared by its allocations, so that memory
// may outlive every other reference, and freeing is safe at any moment, also while a launch runs.
#pragma once

#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "simulator/checks/init_observer.h"
#include "simulator/checks/race_observer.h"
#include "simulator/driver/target.h"
#include "simulator/execution/device.h"

namespace cudasim::driver {

class SimulatedDevice final : public Target {
  public:
    /// @param memory_base where its memory begins if that place is free; 0: where it may
    explicit SimulatedDevice(const execution::DeviceProfile& profile, DevicePointer memory_base = 0)
        : device(profile, memory_base), init_(device.memory_base()) {
        device.observe(init_);
    }

    [[nodiscard]] std::string name() const override { return device.profile().name; }
    [[nodiscard]] DevicePointer allocate(std::uint64_t bytes,
                                         const execution::AllocateOptions& options) override {
        return device.allocate(bytes, options);
    }
    [[nodiscard]] bool allocate_at(DevicePointer address, std::uint64_t bytes,
                                   const execution::AllocateOptions& options) override {
        return device.allocate_at(address, bytes, options);
    }
    [[nodiscard]] bool adopt(DevicePointer address, std::uint64_t bytes, const std::string& label) override;
    void copy_to_device(DevicePointer target, const void* source, std::uint64_t bytes) override {
        device.copy_to_device(target, source, bytes);
    }
    void copy_from_device(void* target, DevicePointer source, std::uint64_t bytes) override {
        device.copy_from_device(target, source, bytes);
    }
    [[nodiscard]] std::unique_ptr<Module> load(const image::KernelImage& image,
                                               DevicePointer globals_at) override;
    void compile(Module& module, std::string_view kernel, const execution::LaunchOptions& options) override;
    [[nodiscard]] execution::LaunchResult launch(Module& module, std::string_view kernel,
                                                 const execution::LaunchConfiguration& configuration,
                                                 std::span<const std::byte> parameters,
                                                 const execution::LaunchOptions& options) override;

    /// Frees memory nobody refers to any more. While a launch runs it waits for the launch's end: a garbage
    /// collector may run on the launching thread itself (inside a signal handler), in the middle of it.
    void release(DevicePointer pointer) noexcept {
        if (!deferred(pointer)) free_quietly(pointer);
    }
    /// The same for a caller that wants to know that there was nothing to free.
    /// @throws execution::CudaError 1
    void free(DevicePointer pointer) override {
        if (!deferred(pointer)) device.free(pointer);
    }

    /// Held around every launch, and around whatever else needs memory to stay as it is.
    class LaunchScope {
      public:
        explicit LaunchScope(SimulatedDevice& owner);
        ~LaunchScope();
        LaunchScope(const LaunchScope&) = delete;
        LaunchScope& operator=(const LaunchScope&) = delete;

      private:
        SimulatedDevice& owner_;
    };

    /// Runs a kernel with what its options ask for beyond the engine (simulator/checks).
    [[nodiscard]] execution::LaunchResult launch(execution::LoadedImage& image, std::string_view kernel,
                                                 const execution::LaunchConfiguration& configuration,
                                                 std::span<const std::byte> parameters,
                                                 const execution::LaunchOptions& options);
    [[nodiscard]] execution::LaunchResult launch(execution::HostKernel& kernel,
                                                 const execution::LaunchConfiguration& configuration,
                                                 const execution::LaunchOptions& options);

    /// Which memory has been written, as far as launches look for it.
    [[nodiscard]] checks::InitObserver& written_memory() { return init_; }

    /// From now on launches that look for races, and copies, are compared with those in other streams
    /// (StreamWork::order()).
    void look_for_races_between_streams();
    /// Races of copies with kernels and copies in other streams, since the last call.
    [[nodiscard]] std::vector<findings::Finding> take_races_of_copies();
    /// How the launches of an operation of StreamWork::order() have accessed a range.
    [[nodiscard]] checks::StreamRaces::Touched touched_by(streams::OperationOrder::Number operation,
                                                          std::uint64_t address, std::uint64_t bytes);

    execution::Device device;

  private:
    [[nodiscard]] checks::RaceObserver& look_for_races();
    [[nodiscard]] execution::LaunchOptions with_checks(const execution::LaunchOptions& options);
    [[nodiscard]] bool writes_unchecked(execution::LoadedImage& image, std::string_view kernel,
                                        std::span<const std::byte> parameters,
                                        const execution::LaunchOptions& options);
    [[nodiscard]] bool deferred(DevicePointer pointer);
    void free_quietly(DevicePointer pointer) noexcept;

    checks::InitObserver init_;
    std::unique_ptr<checks::RaceObserver> races_;  ///< from the first launch on that looks for them
    std::mutex mutex_;
    int launches_ = 0;
    std::vector<DevicePointer> pending_;  ///< to be freed when no launch runs any more
};

/// What SimulatedDevice::load() gives.
struct SimulatedModule final : Target::Module {
    SimulatedModule(const execution::Device& owner, std::shared_ptr<execution::LoadedImage> image)
        : device(owner), loaded(std::move(image)) {}
    [[nodiscard]] DevicePointer globals_base() const override { return device.globals_base(*loaded); }
    [[nodiscard]] execution::AddressRange global_range(std::string_view name) const override {
        return device.global_range(*loaded, name);
    }

    const execution::Device& device;
    std::shared_ptr<execution::LoadedImage> loaded;
};

/// A host thread launches one kernel at a time: front ends run code of the user's during a launch (signal
/// handlers, kernels of Python mode), and a launch from there would wait for the launch that waits for it.
class OneLaunchPerThread {
  public:
    /// @throws std::runtime_error inside of a launch
    OneLaunchPerThread();
    ~OneLaunchPerThread();
    /// @throws std::runtime_error inside of a launch
    static void require_none();
    OneLaunchPerThread(const OneLaunchPerThread&) = delete;
    OneLaunchPerThread& operator=(const OneLaunchPerThread&) = delete;
};

}  // namespace cudasim::driver
