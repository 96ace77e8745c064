// Contexts: what a device holds for a program (memory, modules, streams), and which of them is
// current in a host thread. As programs that use the CUDA runtime do, cudasim uses primary
// contexts only: each device has one.
//
//   auto context = Context::make(0);
//   context->retain();                                  // cuDevicePrimaryCtxRetain
//   ContextStack::of_this_thread().push(context);       // cuCtxPushCurrent
//
// All functions may be called from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "simulator/driver/error.h"
#include "simulator/driver/simulated_device.h"

namespace cudasim::driver {

class MemoryPools;
class Module;

/// The primary context of a device. It is active from the first use until nobody retains it or it is reset;
/// then everything in it is gone, and the next use begins another one with a new handle.
class Context {
  public:
    /// @param device its ordinal
    [[nodiscard]] static std::shared_ptr<Context> make(int device);
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    [[nodiscard]] int device() const { return device_; }
    /// A number that no other Context of this process has had; 1 or more.
    [[nodiscard]] std::uint64_t id() const { return id_; }

    /// The engine's device: null until set_engine(), which happens once.
    [[nodiscard]] std::shared_ptr<SimulatedDevice> engine() const;
    void set_engine(std::shared_ptr<SimulatedDevice> engine);
    /// Memory pools (memory_pool.h). The end of the context frees what is allocated from them.
    [[nodiscard]] MemoryPools& pools() { return *pools_; }

    /// Makes it active. @return its handle
    std::uint64_t activate();
    /// The same for one more user.
    std::uint64_t retain();
    /// One user less; without any it ends, as reset() says. @return whether this has ended it
    /// @throws Error 201 when nobody retains it
    bool release();
    /// Ends it, whoever retains it; they still do: the work that waits in its streams is dropped, its modules
    /// are unloaded, what mem_alloc() and its pools gave is freed, no peer may be used, and a failure() is
    /// forgotten. Page-locked, mapped and managed memory stays its owner's, because host code may use it.
    /// @return whether it was active
    bool reset();
    /// What the host's language has of the context ends with it: reset() calls this when work has been
    /// dropped, before anything is freed.
    void on_end(std::function<void()> end_of_language);

    /// What is in it, for reset().
    void note_module(const std::shared_ptr<Module>& module);
    void note_allocation(DevicePointer pointer) const;
    [[nodiscard]] bool has_allocation(DevicePointer pointer) const;
    /// @return whether it was there
    bool forget_allocation(DevicePointer pointer) const;

    /// An error that lasts (findings/cuda_results.def: sticky) makes the context unusable until
    /// reset(); others do not. The first stays. Launches that only front ends report, as
    /// Python's, do not call it (V9).
    void fail(CudaResult code);
    /// success: it is usable.
    [[nodiscard]] CudaResult failure() const;
    /// @throws Error with the failure, which names `call`
    void require_usable(const char* call) const;
    /// What programs know it by (CUcontext); 0 while it is not active.
    [[nodiscard]] std::uint64_t handle() const;
    [[nodiscard]] unsigned users() const;

    /// Whether kernels of this device can be allowed to use the peer's memory: devices of one compute
    /// capability. Both have their engines.
    [[nodiscard]] bool can_access_peer(const Context& peer) const;
    /// Allows it. @throws Error 217 for devices that cannot, 704 when it was allowed before
    void enable_peer_access(const Context& peer);
    /// @throws Error 705 when it was not allowed
    void disable_peer_access(const Context& peer);
    /// Whether kernels of this device may use memory of the other one now.
    [[nodiscard]] bool may_use_memory_of(const Context& other) const;

    /// Every context that is there, oldest first.
    [[nodiscard]] static std::vector<std::shared_ptr<Context>> all();
    /// The active context that has this handle. @throws Error 201, which names `call`
    [[nodiscard]] static std::shared_ptr<Context> with_handle(std::uint64_t handle, const char* call);

  private:
    explicit Context(int device);

    const int device_;
    const std::uint64_t id_;
    const std::unique_ptr<MemoryPools> pools_;
    mutable std::mutex mutex_;  ///< guards what follows
    std::shared_ptr<SimulatedDevice> engine_;
    std::uint64_t handle_ = 0;
    unsigned users_ = 0;
    std::set<std::uint64_t> peers_;  ///< ids of contexts
    std::vector<std::weak_ptr<Module>> modules_;
    mutable std::set<DevicePointer> allocations_;
    CudaResult failure_ = CudaResult::success;
    std::function<void()> end_of_language_;
};

/// Whether this process was forked after its parent had used CUDA, and nobody has said that it may go on: on
/// a GPU every call of CUDA fails in such a process.
[[nodiscard]] bool used_before_fork();
/// From now on calls are allowed in this process, with a copy of all device memory.
void allow_use_after_fork();
/// A stream's callback has called CUDA, which it must not (cuStreamAddCallback): the stream waits for it.
struct CallInCallback : Error {
    CallInCallback();
};

/// The contexts of a host thread. The last is current; in the beginning none is.
class ContextStack {
  public:
    /// That of the calling thread, which alone uses it.
    [[nodiscard]] static ContextStack& of_this_thread();

    /// Context::id() of what is current; 0 when nothing is, or calls are not allowed. Costs next to nothing.
    [[nodiscard]] std::uint64_t current_id() const noexcept;
    /// Null when nothing is current.
    /// @throws CallInCallback, Error 3 where used_before_fork(): as all that follow do
    [[nodiscard]] std::shared_ptr<Context> current() const;
    /// @throws Error 201, which names `call`, when nothing is current
    [[nodiscard]] std::shared_ptr<Context> require_current(const char* call) const;
    void push(std::shared_ptr<Context> context);
    /// @throws Error 201 when nothing is current
    std::shared_ptr<Context> pop();
    /// cuCtxSetCurrent: takes the place of what is current; null only takes that away.
    void set_current(std::shared_ptr<Context> context);
    /// Others in the place of all of them. @return those
    [[nodiscard]] std::vector<std::shared_ptr<Context>> exchange(
        std::vector<std::shared_ptr<Context>> contexts);

    void require_calls_allowed() const;
    /// For a thread that runs a stream's callback. @return what held before
    bool forbid_calls(bool forbidden);

  private:
    std::vector<std::shared_ptr<Context>> contexts_;
    bool forbidden_ = false;
};

}  // namespace cudasim::driver
