// One launch of a Python function as a kernel: the engine's HostKernel that runs CPython on its fibers.
//
//   engine, without the GIL ─ begin(): takes it ─ run() per thread, on its fiber ─ … ─ end(): gives it back
//
// What a thread raises ends that thread only and becomes a finding; the exception of the lowest
// (block, thread) is kept, so that the host raises the very object, with the kernel's frames. What is
// not an Exception (KeyboardInterrupt, SystemExit), or what a debugger raises to quit, ends the
// launch and is raised as it is.
#pragma once

#include <Python.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>

#include "frontend/pyfiber/reference.h"
#include "frontend/pyfiber/simulated_thread.h"
#include "simulator/execution/named_array.h"

namespace cudasim::pyfiber {

/// Attribute of exceptions that stand for a finding other than kernel-exception: its kind's number.
inline constexpr const char* finding_attribute = "__cudasim_finding__";

/// A device function that gets shape or dtype as arguments has an array for each, as its compiled forms have.
struct SharedArray {
    CodePlace place;
    std::vector<Py_ssize_t> extents;
    Reference dtype, array;
};

/// Shared memory of one block: arrays by the place that asks for them (V4).
struct BlockMemory {
    std::vector<SharedArray> arrays;
    Reference dynamic;  ///< bytearray behind all arrays of shape 0
    std::uint64_t static_bytes = 0;
};

struct LaunchLimits {
    std::uint64_t static_shared_bytes = 0;   ///< of the device
    std::uint64_t shared_bytes = 0;          ///< static and dynamic together
    std::uint64_t dynamic_shared_bytes = 0;  ///< of this launch
    double seconds = 0;                      ///< 0: no limit
};

/// What sys.settrace() gets on simulated threads, as on a new OS thread; None: the launching thread's trace
/// function, if it has one.
struct ThreadTracer {
    PyObject* start = nullptr;
    bool each_thread = false;  ///< on each; else once for each thread state, which later threads share
};

class KernelLaunch final : public execution::HostKernel {
  public:
    /// @param function called once per thread with the elements of the tuple `arguments`
    /// @param settles callable(exception) → whether it ends the launch rather than the thread
    /// @param after_block callable(number of blocks that are over) or None: called after each block until it
    /// returns
    ///     False; what it raises ends the launch
    /// @param stop_files set of the names of files: threads stop at lines of these only (stops.h)
    KernelLaunch(PyObject* function, PyObject* arguments, PyObject* settles, ThreadTracer thread_tracer,
                 PyObject* after_block, PyObject* stop_files, std::string name, LaunchLimits limits);

    void run(execution::ThreadHandle& handle) override;
    [[nodiscard]] std::string name() const override { return name_; }
    [[nodiscard]] std::size_t stack_bytes() const override { return 8 << 20; }  // as a main thread has
    [[nodiscard]] bool guarded_stacks() const override { return true; }
    [[nodiscard]] bool unwinds() const override { return true; }
    [[nodiscard]] bool keeps_state_on_device() const override { return false; }
    void begin() override;
    void end() override;
    bool block_over(std::uint64_t block) override;
    void describe_fault(findings::Finding& finding) override;
    [[nodiscard]] findings::CallChain location(std::uint32_t site) const override {
        return site < sites_.size() ? sites_[site] : findings::CallChain{};
    }
    [[nodiscard]] std::optional<findings::CallChain> location_of(
        const findings::ThreadCoordinate& thread) const override;
    [[nodiscard]] std::vector<findings::VariableValue> variables_of(
        const findings::ThreadCoordinate& thread) const override;
    bool set_variable(const findings::ThreadCoordinate& thread, std::uint32_t frame, std::string_view name,
                      std::span<const std::byte> bytes) override;
    [[nodiscard]] bool keeps_memory(const findings::ThreadCoordinate& thread, std::uint64_t address,
                                    std::size_t bytes) const override;
    void hold(bool begins) override;

    /// The current thread has come to a line, and stops there if somebody wants it to. False with an
    /// exception set when the launch has ended meanwhile.
    [[nodiscard]] bool stop_at_line(SimulatedThread& thread, PyFrameObject* frame);
    /// The number of the place that the current frame is at.
    [[nodiscard]] std::uint32_t site_here() override;
    [[nodiscard]] BlockMemory& block_memory(std::uint64_t block) { return blocks_[block]; }
    /// A shared array, for shared_object_at(). It lies where one of an earlier block may have been.
    void note_shared_array(execution::NamedArray array, std::uint64_t bytes) {
        const std::uint64_t address = array.address;
        shared_arrays_[address] = {std::move(array), bytes};
    }
    [[nodiscard]] std::optional<findings::MemoryObject> shared_object_at(
        std::uint64_t address) const override;
    [[nodiscard]] const LaunchLimits& limits() const { return limits_; }

    /// ((exception of the lowest thread that raised or None, tid, ctaid), (what ends the launch or None, tid
    /// and ctaid of the thread that raised it, or None where none did)): new tuple, or null.
    [[nodiscard]] PyObject* outcome() const;

  private:
    [[nodiscard]] PyThreadState* acquire_state();
    void give_states_back();
    void trace(PyThreadState* state);
    void prepare(SimulatedThread& thread);
    void clean(SimulatedThread& thread);
    void settle_exception(SimulatedThread& thread);
    void note_fault(const findings::ThreadCoordinate& where, PyObject* exception, PyObject* traceback);
    void watch();
    [[nodiscard]] SimulatedThread* find(const findings::ThreadCoordinate& thread) const;
    /// A frame and its callers as far as they are the kernel's, as location() numbers them.
    [[nodiscard]] std::vector<Reference> kernel_frames(Reference innermost) const;
    [[nodiscard]] std::vector<Reference> frames_of(const SimulatedThread& thread) const;

    Reference function_, arguments_, settles_, thread_tracer_, after_block_, stop_files_, context_;
    bool each_thread_is_traced_ = false;
    std::uint64_t blocks_over_ = 0;
    std::string name_;
    LaunchLimits limits_;
    PyThreadState* host_state_ = nullptr;
    const execution::AccessObserverList* observers_ = nullptr;  ///< the launch's, once a thread has begun
    std::vector<PyThreadState*> idle_states_;  ///< of threads that are over; they keep their trace functions
    Py_tracefunc trace_ = nullptr, profile_ = nullptr;
    Reference trace_object_, profile_object_;

    struct PlaceHash {
        std::size_t operator()(const CodePlace& place) const {
            return reinterpret_cast<std::size_t>(place.code) * 31 +
                   static_cast<std::size_t>(place.instruction);
        }
    };
    std::unordered_map<CodePlace, std::uint32_t, PlaceHash> site_of_;
    std::vector<Reference> codes_;  ///< keeps the keys' code objects
    std::vector<findings::CallChain> sites_;
    CodePlace last_place_;
    std::uint32_t last_site_ = 0;
    struct NotedArray {
        execution::NamedArray array;
        std::uint64_t bytes = 0;
    };
    std::map<std::uint64_t, NotedArray> shared_arrays_;  ///< by address
    std::unordered_map<std::uint64_t, BlockMemory> blocks_;
    /// Inside of run(), by block and thread; of launches with stops only.
    std::map<std::pair<std::uint64_t, std::uint32_t>, SimulatedThread*> threads_;

    findings::Finding fault_;  ///< of the thread that failed last
    Reference raised_;
    findings::ThreadCoordinate raised_by_;
    Reference ends_launch_;
    std::optional<findings::ThreadCoordinate> ended_by_;

    // The time limit: this thread interrupts Python code, which never looks at a clock. It hands signals on,
    // too.
    std::thread watchdog_;
    std::mutex watch_mutex_;
    std::condition_variable watch_;
    bool over_ = false;
    std::optional<std::chrono::steady_clock::time_point> held_since_;  ///< a handler is at work
    std::chrono::steady_clock::duration held_time_{0};  ///< that the time limit has still to be moved by
    std::atomic<PyThreadState*> running_{
        nullptr};  ///< of the simulated thread whose turn it is; kept for good
};

}  // namespace cudasim::pyfiber
