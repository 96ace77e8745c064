// A kernel that is host code: a C++ callable, or CPython (frontend/pyfiber). It runs once per simulated
// thread on the same fibers, with the same barriers, scheduling and findings as compiled kernels.
//
// Compiled kernels are forgotten where they stand when a launch ends before its threads do (E10). Host code
// may hold what must be released: a kernel that unwinds() is resumed instead, ThreadHandle::ending() is true
// from then on, and it returns.
//
// Calls go through virtual functions only, so that a kernel may live in another shared object than the
// engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/execution/access_observer.h"
#include "simulator/execution/value_observer.h"
#include "simulator/fiber/stack_slab.h"
#include "simulator/findings/finding.h"
#include "simulator/jit/abi.h"

namespace cudasim::execution {

using findings::Dim3;

/// That can be resident at once with guarded_stacks().
inline constexpr std::size_t most_guarded_threads = fiber::most_guarded_stacks;

/// What a host kernel sees of its thread; valid during HostKernel::run().
class ThreadHandle {
  public:
    explicit ThreadHandle(jit::ThreadContext* context) : context_(context) {}
    virtual ~ThreadHandle() = default;
    ThreadHandle(const ThreadHandle&) = delete;
    ThreadHandle& operator=(const ThreadHandle&) = delete;

    [[nodiscard]] Dim3 tid() const { return dim(context_->tid); }
    [[nodiscard]] Dim3 ctaid() const { return dim(context_->block->ctaid); }
    [[nodiscard]] Dim3 ntid() const { return dim(context_->block->ntid); }
    [[nodiscard]] Dim3 nctaid() const { return dim(context_->block->nctaid); }
    [[nodiscard]] std::uint32_t thread() const { return context_->thread; }
    [[nodiscard]] std::byte* shared() const { return context_->block->shared_base; }
    [[nodiscard]] findings::ThreadCoordinate coordinate() const {
        const Dim3 block = ctaid(), grid = nctaid();
        return {block.x + std::uint64_t{grid.x} * (block.y + std::uint64_t{grid.y} * block.z), thread(),
                block, tid()};
    }

    /// Waits for the block. @param site of HostKernel::location(); threads that wait at different sites
    /// diverge. Returns at once, with 0, when ending().
    virtual std::int32_t barrier(std::uint32_t site = 0, jit::BarrierKind kind = jit::BarrierKind::plain,
                                 std::int32_t value = 0);
    /// Waits for the lanes of a mask; operand and result as in jit/abi.h. Returns at once, with 0, when
    /// ending().
    virtual std::uint64_t warp(jit::WarpKind kind, std::uint32_t mask, std::uint64_t value,
                               std::uint32_t operand, std::uint32_t site = 0);
    /// Lets others have a turn; for threads that spin (E5). Returns at once when ending().
    virtual void yield(std::uint32_t site = 0);
    /// Whether the thread is to yield in front of an access to memory that others see (interleaving.h).
    /// @param site orders places of the kernel
    [[nodiscard]] virtual bool gives_turn(std::uint32_t site);
    /// Whether the launch has stops (stop.h): then the kernel calls stop() where its statements begin.
    [[nodiscard]] virtual bool has_stops() const;
    /// Whether stop() would stop here. Nothing is to be called for a statement at which it would not.
    [[nodiscard]] virtual bool wants_stop(const findings::SourceLocation& place) const;
    /// A statement begins, where the launch has stops: waits while the thread is held. Nothing
    /// otherwise, and when ending().
    virtual void stop(const findings::SourceLocation& place, std::uint32_t site = 0);
    /// Who is to be told of the thread's accesses (access_observer.h), for as long as the launch lasts; null:
    /// nobody.
    [[nodiscard]] virtual const AccessObserverList* access_observers() const;
    /// Who follows the values that the thread loads (value_observer.h), for as long as the launch lasts;
    /// null: nobody.
    [[nodiscard]] virtual ValueObserver* value_observer() const;
    /// The number of the place where the thread is: HostKernel::site_here(). For observers of accesses and
    /// values, during a call.
    [[nodiscard]] virtual std::uint32_t site_here();
    /// The place of that number, innermost function first: HostKernel::location().
    [[nodiscard]] virtual findings::CallChain location(std::uint32_t site) const;
    /// Ends the thread where it stands.
    [[noreturn]] virtual void fault(findings::FindingKind kind);
    /// The thread faulted, run() will return, and then HostKernel::describe_fault() says what happened.
    virtual void fail(std::uint32_t site);
    /// A float division by zero (C3): counted. True when it is to be an error instead.
    virtual bool float_division(std::uint32_t site);
    /// Whether the launch asks for negative indices.
    [[nodiscard]] virtual bool checks_wraps() const;
    /// A negative index of an array, in range: counted. True when it is to be an error instead.
    virtual bool wrapped_index(std::int64_t index, std::int64_t size, std::int32_t axis, std::uint32_t site);
    /// The launch ends: interrupted by the host, or at its time limit. @param location where this thread was,
    /// for the report; empty where nobody knows
    virtual void stop_launch(bool time_limit = false, findings::CallChain location = {});
    /// The launch is over before this thread is: it is to return.
    [[nodiscard]] virtual bool ending() const;
    /// The memory that is the thread's stack, without guard pages.
    [[nodiscard]] virtual std::span<std::byte> stack() const;
    [[nodiscard]] bool failed() const { return failed_; }

  private:
    static Dim3 dim(const std::uint32_t (&v)[3]) { return {v[0], v[1], v[2]}; }
    jit::ThreadContext* context_;
    bool failed_ = false;
};

class HostKernel {
  public:
    HostKernel() = default;
    virtual ~HostKernel() = default;
    HostKernel(const HostKernel&) = delete;
    HostKernel& operator=(const HostKernel&) = delete;

    /// One thread, on its fiber. Must not throw.
    virtual void run(ThreadHandle& thread) = 0;

    /// What reports call it.
    [[nodiscard]] virtual std::string name() const { return "C++ kernel"; }
    /// The size of each thread's stack in bytes; memory is committed as it is touched.
    [[nodiscard]] virtual std::size_t stack_bytes() const { return 256 * 1024; }
    /// Whether inaccessible pages lie below each stack: for code whose frames nobody measured. An overflow is
    /// the finding stack-overflow; the thread is then forgotten, whatever unwinds() says.
    [[nodiscard]] virtual bool guarded_stacks() const { return false; }
    [[nodiscard]] virtual bool unwinds() const { return false; }
    /// Whether stacks, shared and device memory are all that threads depend on: then a spin that changes
    /// nothing there is a livelock.
    [[nodiscard]] virtual bool keeps_state_on_device() const { return true; }

    /// Called before and after the launch, on the launching thread. Nothing else of the kernel is called
    /// outside of these two. begin() throws std::bad_alloc when there is no memory for it; then end() is not
    /// called.
    virtual void begin() {}
    virtual void end() {}
    /// Called when a block is over. Returns false to end the launch as if the host had been interrupted. Runs
    /// on the worker's own stack, as the two below.
    virtual bool block_over(std::uint64_t block) {
        (void)block;
        return true;
    }
    /// Completes the finding of a thread that failed, or whose stack overflowed (`finding.kind` says so).
    virtual void describe_fault(findings::Finding& finding) { (void)finding; }
    [[nodiscard]] virtual findings::CallChain location(std::uint32_t site) const {
        (void)site;
        return {};
    }
    /// The array in shared memory that the address lies in, with its element, where that is known. Asked when
    /// the launch is over.
    [[nodiscard]] virtual std::optional<findings::MemoryObject> shared_object_at(
        std::uint64_t address) const {
        (void)address;
        return std::nullopt;
    }
    /// For location(): where the thread is that runs now, on its own stack. Asked only while it tells of an
    /// access.
    [[nodiscard]] virtual std::uint32_t site_here() { return 0; }

    // What stops ask (stop.h), on the worker's own stack, of a thread that is inside of run() and does not
    // run now.

    /// Where the thread is, innermost function first. Nothing: at location() of its site.
    [[nodiscard]] virtual std::optional<findings::CallChain> location_of(
        const findings::ThreadCoordinate& thread) const {
        (void)thread;
        return std::nullopt;
    }
    /// Its variables, as StoppedLaunch::variables() has them.
    [[nodiscard]] virtual std::vector<findings::VariableValue> variables_of(
        const findings::ThreadCoordinate& thread) const {
        (void)thread;
        return {};
    }
    /// As StoppedLaunch::set_variable().
    virtual bool set_variable(const findings::ThreadCoordinate& thread, std::uint32_t frame,
                              std::string_view name, std::span<const std::byte> bytes) {
        (void)thread, (void)frame, (void)name, (void)bytes;
        return false;
    }
    /// Whether the memory is shared memory of the thread's block, or local memory of the thread, that the
    /// kernel itself keeps: the engine knows its own only.
    [[nodiscard]] virtual bool keeps_memory(const findings::ThreadCoordinate& thread, std::uint64_t address,
                                            std::size_t bytes) const {
        (void)thread, (void)address, (void)bytes;
        return false;
    }
    /// A handler begins to look at the stopped launch, or no simulated thread is held for it any more: clocks
    /// of the kernel's own stand still in between.
    virtual void hold(bool begins) { (void)begins; }
};

/// A C++ callable as a kernel.
class HostFunction final : public HostKernel {
  public:
    explicit HostFunction(std::function<void(ThreadHandle&)> function) : function_(std::move(function)) {}
    void run(ThreadHandle& thread) override { function_(thread); }

  private:
    std::function<void(ThreadHandle&)> function_;
};

}  // namespace cudasim::execution
