// An image on a device: its kernels as compiled so far and the one state of its global variables (E2b).
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "simulator/execution/device.h"
#include "simulator/execution/device_heap.h"
#include "simulator/memory/arena.h"

namespace cudasim::execution {

/// A device's memory and the lock that guards it.
struct DeviceMemory {
    DeviceMemory(std::uint64_t capacity, DevicePointer base) : arena(capacity, base) {}
    std::mutex mutex;
    memory::Arena arena;
    DeviceHeap heap;  ///< in the arena

    void observe(LaunchObserver& observer) {
        const std::unique_lock lock(observers_mutex_);
        observers_.add(observer);
        observed_.store(true, std::memory_order_release);
    }
    void stop_observing(LaunchObserver& observer) {
        const std::unique_lock lock(observers_mutex_);
        observers_.remove(observer);
        observed_.store(!observers_.empty(), std::memory_order_release);
    }
    /// Without `mutex`. @param event gets the ObserverList; not called when it is empty
    template <typename Event>
    void tell(Event&& event) const {
        if (!observed_.load(std::memory_order_acquire)) return;
        const std::shared_lock lock(observers_mutex_);
        event(observers_);
    }
    void tell_allocated(DevicePointer address, std::uint64_t bytes, std::string_view label) const {
        tell([&](const ObserverList& observers) { observers.allocated(address, bytes, label); });
    }
    void tell_freed(DevicePointer address) const {
        tell([&](const ObserverList& observers) { observers.freed(address); });
    }
    void tell_copies(const ObservedCopy& copy) const {
        tell([&](const ObserverList& observers) { observers.copies(copy); });
    }

  private:
    mutable std::shared_mutex observers_mutex_;  ///< held for reading while they are told
    ObserverList observers_;
    std::atomic<bool> observed_{false};  ///< there are some
};

struct PreparedKernel {
    std::shared_ptr<const jit::CompiledKernel> kernel;
    /// For each site, the lowest site at the same source place: LLVM clones barrier calls, and threads at two
    /// clones of one barrier wait at the same barrier (C4).
    std::vector<std::uint32_t> barrier_place;
    std::uint64_t shared_layout_seed = 0;  ///< unique in the process
};

class LoadedImage {
  public:
    /// @param globals_at where its variables are to lie, if that place is free; 0: anywhere
    LoadedImage(image::KernelImage image, std::shared_ptr<DeviceMemory> memory, DevicePointer globals_at)
        : image_(std::move(image)), memory_(std::move(memory)), globals_at_(globals_at) {}
    ~LoadedImage();
    LoadedImage(const LoadedImage&) = delete;
    LoadedImage& operator=(const LoadedImage&) = delete;

    [[nodiscard]] const image::KernelImage& image() const { return image_; }
    /// Compiles at the first call with these options. Thread-safe. @throws image::Cancelled when `poll` asked
    /// for it
    [[nodiscard]] const PreparedKernel& prepare(std::string_view kernel, const jit::CompileOptions& options,
                                                const image::HostPoll& poll = {});
    /// First byte of the globals segment; 0 when the image has none or nothing has been compiled yet.
    [[nodiscard]] DevicePointer globals_base() const { return globals_base_; }
    /// @param name the variable's symbol, or its name in the source where no other variable has it
    /// @throws CudaError 500 (not found) when the image has no such variable
    [[nodiscard]] AddressRange global_range(std::string_view name);

  private:
    using Variant = std::pair<std::string, jit::CompileOptions>;

    [[nodiscard]] PreparedKernel compile(std::string_view kernel, const jit::CompileOptions& options,
                                         const image::HostPoll& poll) const;
    void place_globals(const jit::GlobalsLayout& layout);

    image::KernelImage image_;
    std::shared_ptr<DeviceMemory> memory_;
    std::mutex mutex_;
    std::map<Variant, PreparedKernel> kernels_;
    /// What was asked for last, as most launches ask for it again.
    std::string last_kernel_;
    jit::CompileOptions last_options_;
    const PreparedKernel* last_ = nullptr;
    std::set<Variant> compiling_;  ///< by some thread, without the lock
    std::condition_variable compiled_;
    std::shared_ptr<const jit::GlobalsLayout> layout_;
    DevicePointer globals_at_ = 0;
    DevicePointer globals_base_ = 0;
};

}  // namespace cudasim::execution
