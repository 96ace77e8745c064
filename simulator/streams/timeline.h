// Streams: the work that a host program has enqueued and the order in which it may run (V8). An operation
// runs after the one before it in its stream, after those that an event makes it wait for, and as the legacy
// default stream's rules say (CUDA Runtime API, "Stream synchronization behavior"): an operation there waits
// for all streams of its device, and theirs wait for it.
//
//   Timeline timeline;
//   auto copied = timeline.enqueue({0, s1}, {.task = copy});
//   timeline.enqueue({0, s2}, {.task = launch, .after = {copied}});
//   timeline.run({timeline.tail({0, s2})}, {});         // cudaStreamSynchronize(s2)
//
// Nothing runs before a thread calls run(): it drains what its targets need, streams side by side as fibers,
// the tasks themselves on the calling thread's own stack (drain.h). Host callbacks run on a thread of their
// own, which asks next_callback() for them. A task may also go on in the background, on a thread of its own
// (Outcome::rest): what depends on it waits, and no drain waits for it: run() drains again when it is over.
// All functions may be called from any thread.
#pragma once

#include <atomic>
#include <boost/fiber/condition_variable.hpp>
#include <boost/fiber/mutex.hpp>
#include <chrono>
#include <compare>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace cudasim::streams {

struct StreamKey {
    int device = 0;
    std::uint64_t handle = legacy_default;  ///< the per-thread default stream: a handle per host thread
    static constexpr std::uint64_t legacy_default = 0;
    auto operator<=>(const StreamKey&) const = default;
};

struct Outcome {
    int status = 0;     ///< 0, or the CUresult with which the task failed
    bool stop = false;  ///< the drain ends and everything that waits is dropped: Ctrl-C
    /// Not empty: the task goes on in the background, where rest() ends it and gives the status.
    std::function<int()> rest = {};
};

/// Must not throw. @param status 0, or (callbacks) what an operation before this one failed with
using Task = std::function<Outcome(int status)>;

class Operation;
using OperationPtr = std::shared_ptr<Operation>;
using Clock = std::chrono::steady_clock;

struct Work {
    Task task = {};                        ///< empty: only an order between others
    bool callback = false;                 ///< for the callback thread; called after failures too
    Clock::time_point due = {};            ///< a callback nobody waits for runs from then on
    std::vector<OperationPtr> after = {};  ///< besides what its stream asks for
};

/// A point in a stream, and the work that leads there.
class Operation : public std::enable_shared_from_this<Operation> {
  public:
    [[nodiscard]] bool done() const { return state_.load() == State::done; }

  private:
    friend class Timeline;
    friend class Drain;
    enum class State { pending, dispatched, taken, done };

    std::uint64_t number_ = 0;  ///< in order of enqueueing
    StreamKey stream_;
    bool is_callback_ = false;
    Work work_;
    std::vector<OperationPtr> predecessors_;
    std::atomic<State> state_{State::pending};
    std::atomic<bool> in_background_{false};  ///< it was taken, and goes on there or is done
    int status_ = 0;
};

/// The order in which streams get their turn.
enum class StreamOrder { enqueued, reverse, random };

struct RunOptions {
    StreamOrder order = StreamOrder::enqueued;
    std::uint64_t seed = 0;
    /// Called about every 50 ms while there is nothing to do but wait. Returns true to stop the run.
    std::function<bool()> poll = {};
};

/// A mutex that is tried for a time. It is made of a condition variable, because ThreadSanitizer before GCC
/// 13 does not know how std::timed_mutex waits on a steady clock.
class TimedLock {
  public:
    [[nodiscard]] bool try_lock_for(std::chrono::milliseconds time);
    void unlock();

  private:
    std::mutex mutex_;
    std::condition_variable unlocked_;
    bool locked_ = false;
};

class Timeline {
  public:
    [[nodiscard]] OperationPtr enqueue(StreamKey stream, Work work);
    /// The last operation of a stream, null when all are done.
    [[nodiscard]] OperationPtr tail(StreamKey stream);
    /// The last operations of all streams, of one device or of all.
    [[nodiscard]] std::vector<OperationPtr> tails(std::optional<int> device = {});
    /// The same for those of a device that the legacy default stream waits for.
    [[nodiscard]] std::vector<OperationPtr> tails_before_default(int device);
    /// The stream and the legacy default stream do not wait for each other (cudaStreamNonBlocking).
    void set_non_blocking(StreamKey stream);
    /// Runs the targets and everything they wait for. When a task or the poll stops it, all that waits is
    /// dropped.
    /// @return whether it came to the end
    bool run(std::vector<OperationPtr> targets, const RunOptions& options);
    /// Runs what waits neither for callbacks nor for work in the background.
    void run_ready(const RunOptions& options);
    /// A task of the stream that has begun already goes on in the background (Outcome::rest).
    void go_on_in_background(StreamKey stream, std::function<int()> rest);
    /// Sets what the thread of such a task calls when it is over. Before there are any.
    void after_background(std::function<void()> function) { after_background_ = std::move(function); }
    /// Tasks in the background, and threads in run() that wait for them with nothing else to do.
    [[nodiscard]] unsigned in_background() const noexcept { return in_background_.load(); }
    [[nodiscard]] unsigned waiting_for_background() const noexcept { return waiting_for_background_.load(); }
    /// Waits until no task of the device, or none at all, is in the background. @return false after `wait`
    bool wait_for_background(std::optional<int> device, std::chrono::milliseconds wait);
    /// Forgets what has not begun: it counts as done.
    void drop(std::optional<int> device = {});
    /// Whether everything is done that was enqueued. Costs next to nothing.
    [[nodiscard]] bool idle() const noexcept { return idle_.load(std::memory_order_acquire); }
    /// Whether the operation is, or waits for, a callback or work in the background.
    [[nodiscard]] bool waits_for_others(const OperationPtr& operation);
    [[nodiscard]] bool has_callbacks();

    /// The next callback for the callback thread to give to run_callback(): one whose turn it is, or one that
    /// is due and that nobody waits for. Returns null after `wait`.
    [[nodiscard]] OperationPtr next_callback(std::chrono::milliseconds wait);
    /// Runs what is before the callback, and the callback; or puts it back when another is waited for.
    void run_callback(const OperationPtr& callback, const RunOptions& options);

  private:
    friend class Drain;
    void complete(Operation& operation, int status);
    void dispatch(const OperationPtr& callback);
    /// Runs a Drain. The caller has locked `drain_lock_`, which is unlocked afterwards.
    /// @return false when a task or the poll stopped it
    [[nodiscard]] bool drain(const std::vector<OperationPtr>& targets, const RunOptions& options,
                             bool waits_for_callbacks = true);
    /// Locks `drain_lock_`. @return false when the poll stopped it
    [[nodiscard]] bool lock_drain(const RunOptions& options);
    void go_on(const OperationPtr& operation, std::function<int()> rest);
    [[nodiscard]] bool waits_for_background_locked(const Operation& operation);
    [[nodiscard]] static std::vector<OperationPtr> needed_locked(std::vector<OperationPtr> targets);
    /// Puts a callback back when a drain waits for another one. @return whether it did
    [[nodiscard]] bool gives_way(const OperationPtr& callback);
    /// What is not done and has to be for the targets, them included.
    [[nodiscard]] std::vector<OperationPtr> needed_for(std::vector<OperationPtr> targets);
    [[nodiscard]] static int status_before(const Operation& operation);

    std::mutex mutex_;  ///< guards what follows; held for moments
    std::uint64_t last_number_ = 0;
    std::map<StreamKey, OperationPtr> tails_;
    std::set<StreamKey> non_blocking_;
    std::atomic<bool> idle_{true};  ///< whether `tails_` is empty; written with the lock, read without
    std::map<std::uint64_t, OperationPtr> callbacks_;  ///< by number; those not yet taken
    std::condition_variable callbacks_changed_;
    std::map<int, unsigned> background_of_device_;
    std::atomic<unsigned> in_background_{0}, waiting_for_background_{0};
    std::uint64_t background_ended_ = 0;  ///< how often
    std::condition_variable background_changed_;
    std::function<void()> after_background_;

    TimedLock drain_lock_;  ///< one drain at a time
    boost::fibers::mutex fiber_mutex_;
    boost::fibers::condition_variable changed_;  ///< an operation is done
};

}  // namespace cudasim::streams
