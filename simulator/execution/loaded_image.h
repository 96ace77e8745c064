// An image on a device: its kernels as compiled so far and the one state of its global variables (E2b).
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "simulator/execution/device.h"
#include "simulator/memory/arena.h"

namespace cudasim::execution {

/// A device's memory and the lock that guards it.
struct DeviceMemory {
    DeviceMemory(std::uint64_t capacity, DevicePointer base) : arena(capacity, base) {}
    std::mutex mutex;
    memory::Arena arena;
    std::atomic<LaunchObserver*> observer{nullptr};  ///< told without the lock

    void tell_allocated(DevicePointer address, std::uint64_t bytes, std::string_view label) const {
        if (LaunchObserver* told = observer.load(std::memory_order_acquire))
            told->allocated(address, bytes, label);
    }
    void tell_freed(DevicePointer address) const {
        if (LaunchObserver* told = observer.load(std::memory_order_acquire)) told->freed(address);
    }
    void tell_copies(const ObservedCopy& copy) const {
        if (LaunchObserver* told = observer.load(std::memory_order_acquire)) told->copies(copy);
    }
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
