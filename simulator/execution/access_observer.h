// Accesses to memory of kernels that are host code, told one by one: CPython (frontend/pyfiber), or C++ that
// tells its own (ThreadHandle::access_observers). Compiled kernels tell nothing here: what has to see their
// accesses is compiled into them (simulator/jit/instrumentation.h). Both have the same facts of an access:
// range, kind, order, scope, volatile, thread and place (simulator/jit/memory_accesses.h), and of what orders
// accesses within a block or warp (synchronisation.h). Barriers are told to LaunchObserver (observer.h).
//
//   kernel ─► memory ─► access ─► access ─► fence ─► lane_comes … lane_goes_on ─► access
//                                                                     LaunchOptions::access_observers
//
// **When.** An event is told before it happens, on the simulated thread's own stack and the host thread of
// the worker that runs it: one worker at a time in Python mode, several where C++ host code has several. With
// a thread of Python mode the GIL is held.
//
// **What an observer may do.** It may look at the memory, and ask the thread where it is. It must not throw,
// wait, let another thread run, call the device, or run Python code.
//
// **Which addresses.** Those that the kernel uses. Global memory has device addresses. Where shared and local
// arrays are objects of the kernel's own, as in Python mode, they have the addresses of their buffers, which
// memory() announces; a later array may have the same ones. What lies in neither is private to the kernel's
// host code, such as an array that NumPy has made.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "simulator/image/scope.h"
#include "simulator/jit/abi.h"
#include "simulator/jit/memory_order.h"

namespace cudasim::execution {

class ThreadHandle;

enum class AccessKind : std::uint8_t {
    read,
    write,
    update,  ///< an atomic operation that reads and writes
    view     ///< code that tells nothing, such as NumPy, has the range from here on and may read or write it
};

struct ObservedAccess {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    AccessKind kind = AccessKind::read;
    jit::MemoryOrder order = jit::MemoryOrder::plain;
    image::Scope scope = image::Scope::thread;  ///< of an access with an order
    bool is_volatile = false;                   ///< without an order: PTX's ld.volatile and st.volatile
    bool compares = false;          ///< of a compare-and-swap: an update, or a read where it will not write
    bool drops_old = false;         ///< of an update that is an exchange: nobody looks at what it finds
    const void* written = nullptr;  ///< the bytes that a write is about to write, where they are known
};

enum class MemorySpace : std::uint8_t { shared, local };

/// A shared or local array that begins to exist. What was known of the range before means another array.
struct ObservedMemory {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    MemorySpace space = MemorySpace::shared;
};

class AccessObserver {
  public:
    virtual ~AccessObserver() = default;

    virtual void access(ThreadHandle& thread, const ObservedAccess& access) = 0;
    /// The array of the thread's block, or of the thread, holds poison (V3).
    virtual void memory(ThreadHandle& thread, const ObservedMemory& memory) { (void)thread, (void)memory; }
    /// The array may be gone when this has returned, and its memory be used for something else. Told on the
    /// worker's own stack, too.
    virtual void memory_ends(const ObservedMemory& memory) { (void)memory; }
    virtual void fence(ThreadHandle& thread, jit::MemoryOrder order, image::Scope scope) {
        (void)thread, (void)order, (void)scope;
    }
    /// The thread comes to a warp operation, which waits for the lanes of the mask unless it is
    /// WarpKind::active.
    virtual void lane_comes(ThreadHandle& thread, jit::WarpKind kind, std::uint32_t mask) {
        (void)thread, (void)kind, (void)mask;
    }
    /// All lanes of the mask have come, and the thread goes on. Not told where the launch ends instead.
    virtual void lane_goes_on(ThreadHandle& thread, jit::WarpKind kind, std::uint32_t mask) {
        (void)thread, (void)kind, (void)mask;
    }
};

/// Observers in the order in which they are told. It does not own them. Everything is inline, because kernels
/// may live in another shared object than the engine (host_kernel.h).
class AccessObserverList {
  public:
    /// @throws std::invalid_argument when it is in the list
    void add(AccessObserver& observer) {
        if (std::ranges::find(observers_, &observer) != observers_.end())
            throw std::invalid_argument("an observer of accesses is added twice");
        observers_.push_back(&observer);
    }
    [[nodiscard]] bool empty() const { return observers_.empty(); }

    // As in AccessObserver.
    void access(ThreadHandle& thread, const ObservedAccess& access) const {
        for (AccessObserver* each : observers_) each->access(thread, access);
    }
    void memory(ThreadHandle& thread, const ObservedMemory& memory) const {
        for (AccessObserver* each : observers_) each->memory(thread, memory);
    }
    void memory_ends(const ObservedMemory& memory) const {
        for (AccessObserver* each : observers_) each->memory_ends(memory);
    }
    void fence(ThreadHandle& thread, jit::MemoryOrder order, image::Scope scope) const {
        for (AccessObserver* each : observers_) each->fence(thread, order, scope);
    }
    void lane_comes(ThreadHandle& thread, jit::WarpKind kind, std::uint32_t mask) const {
        for (AccessObserver* each : observers_) each->lane_comes(thread, kind, mask);
    }
    void lane_goes_on(ThreadHandle& thread, jit::WarpKind kind, std::uint32_t mask) const {
        for (AccessObserver* each : observers_) each->lane_goes_on(thread, kind, mask);
    }

  private:
    std::vector<AccessObserver*> observers_;
};

}  // namespace cudasim::execution
