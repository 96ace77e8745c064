// One recorded launch on a GPU of this machine, in this process.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "gpu_backend/libcuda/driver.h"
#include "gpu_backend/runner/device_memory.h"
#include "simulator/records/gpu_launch.h"

namespace cudasim::runner {

/// Where the bytes of GpuLaunch::memory are, before the launch and, in the same place, after it.
using Contents = std::function<std::span<std::byte>(std::size_t)>;

struct Limits {
    double seconds = 60;                    ///< for the kernel
    std::function<bool()> nobody_waits;     ///< whether the result is no longer wanted; may be empty
    std::uint64_t printf_bytes = 16 << 20;  ///< of the buffer between the kernel's printf and the host
};

/// A GPU with a context that this process has made. After `is_lost()` CUDA wants the process ended (CUDA
/// Driver API, "Data types used by CUDA driver": errors that leave the process in an inconsistent state).
class Gpu {
  public:
    /// Of the first GPU that the driver shows. @throws libcuda::Unavailable
    explicit Gpu(const libcuda::Search& search);
    ~Gpu();
    Gpu(const Gpu&) = delete;
    Gpu& operator=(const Gpu&) = delete;

    /// Runs the launch. Whatever goes wrong is in the result.
    [[nodiscard]] records::GpuResult run(const records::GpuLaunch& launch, const records::GpuCode& code,
                                         const Contents& contents, const Limits& limits);
    [[nodiscard]] bool is_lost() const { return lost_; }
    [[nodiscard]] const libcuda::Gpu& properties() const { return gpu_; }
    [[nodiscard]] libcuda::Version driver_version() const { return driver_.version(); }

  private:
    void execute(const records::GpuLaunch& launch, const records::GpuCode& code, const Contents& contents,
                 const Limits& limits, records::GpuResult& result);

    libcuda::Driver driver_;
    libcuda::Gpu gpu_;
    libcuda::Context context_ = nullptr;
    std::unique_ptr<DeviceMemory> memory_;
    std::uint64_t printf_bytes_ = 0;  ///< as set last
    bool lost_ = false;
};

}  // namespace cudasim::runner
