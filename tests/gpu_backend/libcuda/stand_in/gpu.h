// A device of the stand-in: the engine that simulates it, its default stream, and what lasts: a fault, the
// primary context, limits. Gpu::current() is what functions begin with.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "simulator/driver/simulated_device.h"
#include "tests/gpu_backend/libcuda/stand_in/behaviour.h"
#include "tests/gpu_backend/libcuda/stand_in/printed_text.h"
#include "tests/gpu_backend/libcuda/stand_in/work_queue.h"

namespace cudasim::libcuda {

/// The primary context of a device, which lives as long as the process.
struct ContextState {
    int retained = 0;  ///< guarded by the mutex of the Gpu
};

}  // namespace cudasim::libcuda

namespace cudasim::stand_in {

class Gpu {
  public:
    /// cuInit
    static void initialise();
    [[nodiscard]] static bool is_initialised();
    /// Null for an ordinal that no device has.
    [[nodiscard]] static Gpu* at(DeviceOrdinal ordinal);
    /// The one whose context is current in this host thread.
    /// @return what a call has to answer where it cannot go on: CUDA_ERROR_NOT_INITIALIZED, no context, a
    ///     destroyed one, or the device's fault
    [[nodiscard]] static Result current(Gpu*& gpu);
    /// Null: none. @return CUDA_ERROR_INVALID_CONTEXT for what is no context
    [[nodiscard]] static Result make_current(Context context);
    /// Of this host thread; null: none.
    [[nodiscard]] static Context current_context();

    [[nodiscard]] Result retain(Context& context);
    [[nodiscard]] Result release();

    [[nodiscard]] Context primary_context() { return &context_; }
    [[nodiscard]] DeviceOrdinal ordinal() const { return ordinal_; }
    [[nodiscard]] const execution::DeviceProfile& profile() const { return profile_; }
    /// Made at the first call.
    [[nodiscard]] driver::SimulatedDevice& engine();

    /// Waits for all work, and writes what kernels have printed.
    /// @return the device's fault
    Result synchronise();
    /// Success, or the first fault of a kernel: every later call returns it.
    [[nodiscard]] Result fault() const { return fault_.load(); }
    void set_fault(Result result);

    WorkQueue work;
    PrintedText printed;
    std::atomic<std::uint64_t> memory_in_use{0};  ///< bytes
    std::mutex limits_mutex;
    std::map<Limit, std::size_t> limits;  ///< that were set, but for the one of `printed`

  private:
    Gpu(DeviceOrdinal ordinal, execution::DeviceProfile profile);

    const DeviceOrdinal ordinal_;
    const execution::DeviceProfile profile_;
    std::mutex mutex_;
    std::unique_ptr<driver::SimulatedDevice> engine_;
    ContextState context_;
    std::atomic<Result> fault_{Result::success};
};

}  // namespace cudasim::stand_in
