// A device as Python holds it: shared by its allocations, so that memory may outlive every other reference,
// and safe to free from a garbage collector that runs at any moment.
#pragma once

#include <mutex>
#include <vector>

#include "simulator/execution/device.h"

namespace cudasim::bindings {

class SimulatedDevice {
  public:
    explicit SimulatedDevice(const execution::DeviceProfile& profile) : device(profile) {}

    /// Frees memory nobody refers to any more. While a launch runs it waits for the launch's end: the
    /// collector may run on the launching thread itself (inside a signal handler), in the middle of it.
    void release(execution::DevicePointer pointer) noexcept {
        {
            const std::lock_guard lock(mutex_);
            if (launches_ > 0) {
                pending_.push_back(pointer);
                return;
            }
        }
        free_quietly(pointer);
    }

    /// The same for who wants to know that there was nothing to free. @throws execution::CudaError 1
    void free(execution::DevicePointer pointer) {
        {
            const std::lock_guard lock(mutex_);
            if (launches_ > 0) {
                pending_.push_back(pointer);
                return;
            }
        }
        device.free(pointer);
    }

    /// Held around every launch.
    class LaunchScope {
      public:
        explicit LaunchScope(SimulatedDevice& owner) : owner_(owner) {
            const std::lock_guard lock(owner_.mutex_);
            ++owner_.launches_;
        }
        ~LaunchScope() {
            std::vector<execution::DevicePointer> pending;
            {
                const std::lock_guard lock(owner_.mutex_);
                if (--owner_.launches_ == 0) pending.swap(owner_.pending_);
            }
            for (const auto pointer : pending) owner_.free_quietly(pointer);
        }
        LaunchScope(const LaunchScope&) = delete;
        LaunchScope& operator=(const LaunchScope&) = delete;

      private:
        SimulatedDevice& owner_;
    };

    execution::Device device;

  private:
    /// Destructors have nobody to tell; an invalid free here would be a defect of the bindings.
    void free_quietly(execution::DevicePointer pointer) noexcept {
        try {
            device.free(pointer);
        } catch (...) {
        }
    }

    std::mutex mutex_;
    int launches_ = 0;
    std::vector<execution::DevicePointer> pending_;
};

}  // namespace cudasim::bindings
