// The work that a process has enqueued in streams: when it runs, on which thread, and who is told of its
// errors (V7; CUDA Driver API, "Stream Management"). simulator/streams keeps the order in which it may run.
//
//   StreamWork& work = StreamWork::of_this_process();
//   work.submit(stream_key(0, stream), [&] { launch(...); }, {});
//   work.synchronize(stream_key(0, stream));             // cuStreamSynchronize; throws what tasks threw
//
// Calls are eager by default: work runs on the thread that enqueues it, before submit() returns, and
// nothing is kept. With StreamHost::deferred() it is kept until the host synchronises: a stream, an event,
// a device, every copy from or to pageable memory, the end of the program. In both modes host callbacks
// wait for the callback thread.
//
// A task whose launch waits for the host, or for other work, goes on in the background (go_on()): what does
// not depend on it runs when it is enqueued, what does runs when it is over.
//
// What a task throws leaves the call that synchronises. What depends on a failed task does not run; what
// is enqueued after that does.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "simulator/driver/event.h"
#include "simulator/streams/operation_order.h"
#include "simulator/streams/timeline.h"

namespace cudasim::driver {

/// What a task failed with, until somebody is told.
class TaskFailure {
  public:
    virtual ~TaskFailure() = default;
    /// The CUresult that callbacks get to see.
    [[nodiscard]] virtual int status() const = 0;
    /// One line for people: what kind of error, and its message.
    [[nodiscard]] virtual std::string text() const = 0;
    /// Appends a line to the message.
    virtual void add_line(const std::string& line) = 0;
    /// Throws it.
    [[noreturn]] virtual void raise() const = 0;
    /// Whether it ends the run and all work that waits is dropped, as Ctrl-C does: then it leaves the call
    /// that ran the task, and nobody else hears of it.
    [[nodiscard]] virtual bool ends_run() const { return false; }
};

/// What depends on the language of the host program. This one is a C++ program without options.
class StreamHost {
  public:
    StreamHost() = default;
    virtual ~StreamHost() = default;
    StreamHost(const StreamHost&) = delete;
    StreamHost& operator=(const StreamHost&) = delete;

    /// Whether work waits until the host synchronises.
    [[nodiscard]] virtual bool deferred() const { return false; }
    /// In which order streams get their turn in the run that begins. The poll may throw what ends the run.
    [[nodiscard]] virtual streams::RunOptions run_options() const { return {}; }
    /// What is being handled, inside of a catch block.
    [[nodiscard]] virtual std::unique_ptr<TaskFailure> caught() const;
    /// Calls body(), which runs tasks and waits for other threads: an interpreter's
    /// lock must not be held there.
    virtual void while_running(const std::function<void()>& body) const { body(); }
    /// The same for the callback thread while it has nothing to do.
    virtual void while_idle(const std::function<void()>& body) const { body(); }
    /// Starts a thread of the language that calls serve(), which does not return
    /// unless it throws. Called once.
    virtual void start_callback_thread(std::function<void()> serve) const;
};

class StreamWork {
  public:
    /// A process that was forked has one of its own, and another one than before.
    [[nodiscard]] static StreamWork& of_this_process();
    /// The host of this process and of those forked from it. Called before there is work.
    static void set_host(std::shared_ptr<const StreamHost> host);

    /// Whether anything is enqueued that is not done. Costs next to nothing.
    [[nodiscard]] bool busy() const noexcept { return !timeline_.idle(); }
    /// Which operations are ordered, for those who look for races between streams: it notes nothing before
    /// OperationOrder::keep().
    [[nodiscard]] streams::OperationOrder& order() noexcept { return order_; }
    /// Whether submit() would call its task and do nothing else: nothing is enqueued, work is not deferred
    /// and no order is kept, or the caller is a task itself, whose calls are done at once.
    [[nodiscard]] bool runs_at_once() const;
    /// The same for a caller that knows what StreamHost::deferred() says. Costs next to nothing.
    [[nodiscard]] bool runs_at_once(bool deferred) const;
    /// Whether synchronising would do nothing: nothing is enqueued, and nobody is to be told of an
    /// error. Costs next to nothing.
    [[nodiscard]] bool nothing_to_tell() const noexcept { return !busy() && !failed_.load(); }

    struct Submission {
        /// The call waits for the work, deferred or not.
        bool synchronous = false;
        /// "file.py:12", the line that enqueues it, for order() and for the message of an error when the
        /// work runs later; empty where it is not known.
        std::string place = {};
    };
    /// Runs task() when its turn in the stream has come: now, or later.
    /// @return whether it ran
    /// @throws what it and earlier tasks threw, if it ran; CallInCallback
    bool submit(streams::StreamKey stream, std::function<void()> task, Submission submission);
    /// What is enqueued in the stream from now on runs after the operation as well.
    void wait_for(streams::StreamKey stream, streams::OperationPtr operation);
    /// The task that the calling thread runs in the stream returns before its work is done: rest() does it,
    /// on a thread of its own, and then it is over for the stream.
    void go_on(streams::StreamKey stream, std::function<void()> rest);
    /// The stream does not wait for the legacy default stream, nor that one for it.
    void set_non_blocking(streams::StreamKey stream) {
        timeline_.set_non_blocking(stream);
        order_.set_non_blocking(stream);
    }
    /// Puts the event at the end of what is in the stream now. @throws Error 400, as Event::record()
    void record(Event& event, streams::StreamKey stream);
    /// cuStreamWaitEvent: what is enqueued in the stream from now on runs after the
    /// event's point, if it has one.
    void wait_for(streams::StreamKey stream, const Event& event);
    /// Appends callback(status), which the callback thread calls when what is before it is done, after
    /// failures too: then with their CUresult. It must not throw, and calls of CUDA in it are errors
    /// (CallInCallback). What comes after it in the stream waits for it.
    void add_callback(streams::StreamKey stream, std::function<void(int status)> callback);

    /// Run what is in a stream, on a device, or everywhere. In a task, which must not wait
    /// for itself, they do nothing.
    /// @throws what tasks threw that nobody was told of, the first of several with a line about each of the
    /// others; CallInCallback; std::runtime_error in a signal handler that interrupts a run of this thread
    void synchronize(streams::StreamKey stream);
    void synchronize(std::optional<int> device);
    /// The same for what a copy in the device's legacy default stream waits for.
    void synchronize_default(int device);
    /// The same for what leads to an operation.
    void run(const streams::OperationPtr& operation);
    /// Whether an operation is done, after running what can be run without waiting for a callback.
    [[nodiscard]] bool is_complete(const streams::OperationPtr& operation);
    /// cuEventSynchronize: the same as run() for what leads to the event's point; nothing for
    /// one that was never recorded.
    void synchronize(const Event& event);
    /// cuEventQuery: whether the stream has come to the event's point; true for one that was never recorded.
    [[nodiscard]] bool is_complete(const Event& event);
    /// cuStreamQuery: the same for everything that is in a stream now.
    [[nodiscard]] bool is_complete(streams::StreamKey stream);
    /// cuStreamDestroy: what is in the stream runs first, and the handle is no stream's from then on.
    /// @throws Error 400 for a handle that is none; what tasks threw
    void destroy_stream(std::uint64_t handle);
    /// Inside of a catch block: whoever synchronises next is told of what is being handled.
    void tell_later();
    /// Forgets the work that waits, of a device or all.
    void drop(std::optional<int> device);
    /// Tasks in the background. Costs next to nothing.
    [[nodiscard]] unsigned in_background() const noexcept { return timeline_.in_background(); }
    /// Waits until no task of the device, or none at all, is in the background. @return false after `wait`
    bool wait_for_background(std::optional<int> device, std::chrono::milliseconds wait) {
        return timeline_.wait_for_background(device, wait);
    }
    /// Threads of this process that wait for work in the background, or serve this class, and do nothing
    /// else: so many at least.
    [[nodiscard]] unsigned idle_threads();
    /// For the end of the program: runs everything, and stops waiting for callbacks that do not end.
    /// @throws as synchronize() does
    void finish();

  private:
    explicit StreamWork(const StreamWork* of_parent) : of_parent_(of_parent) {
        timeline_.after_background([this] { run_ready(); });
    }
    static void forget_work_of_parent();

    using Targets = std::function<std::vector<streams::OperationPtr>()>;
    [[nodiscard]] bool nothing_waits() const;
    void run_all(const Targets& targets);
    void run_ready();
    /// Something was enqueued that nobody waits for.
    void enqueued() {
        if (in_background() != 0) run_ready();
    }
    [[nodiscard]] streams::Task task_of(std::function<void()> task, std::string place);
    void serve_callbacks();
    void raise_failures();

    /// Never destroyed: other threads of the parent may have had its locks.
    [[maybe_unused]] const StreamWork* const of_parent_;
    streams::Timeline timeline_;
    streams::OperationOrder order_;
    std::mutex mutex_;  ///< guards what follows
    std::vector<std::unique_ptr<TaskFailure>> failures_;
    std::atomic<bool> failed_{false};  ///< whether there are failures; read without the lock
    bool serves_callbacks_ = false;
};

}  // namespace cudasim::driver
