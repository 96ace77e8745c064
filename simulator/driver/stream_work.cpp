// See stream_work.h.
#include "simulator/driver/stream_work.h"

#include <llvm/ADT/ScopeExit.h>
#include <pthread.h>

#include <exception>
#include <stdexcept>
#include <thread>
#include <utility>

#include "simulator/driver/context.h"
#include "simulator/streams/page_watch.h"

namespace cudasim::driver {

namespace {

using streams::OperationPtr;
using streams::StreamKey;

/// A callback that no call waits for runs after this time, with what is before it in its stream. A GPU would
/// not wait; deferred execution gives the host that time to make its mistakes.
constexpr auto deferred_callback_delay = std::chrono::milliseconds(20);
/// How long the end of the program waits for callbacks.
constexpr auto longest_finish = std::chrono::seconds(5);

struct HostThread {
    bool in_task = false;
    bool in_run = false;
    std::unique_ptr<TaskFailure> interruption = nullptr;  ///< what ends the run of this thread
    std::function<int()> rest = nullptr;                  ///< of the task, which goes on in the background
};
thread_local HostThread host_thread;

std::atomic<StreamWork*> of_process{nullptr};
std::atomic<const StreamHost*> host_in_force{nullptr};

/// Hosts that were set. They are kept: another thread may be using one.
struct Hosts {
    std::mutex mutex;
    std::vector<std::shared_ptr<const StreamHost>> all{std::make_shared<StreamHost>()};
};
Hosts& hosts() {
    static auto* const instance = new Hosts;
    return *instance;
}

const StreamHost& host() {
    if (const StreamHost* const found = host_in_force.load(std::memory_order_acquire)) return *found;
    const std::lock_guard lock(hosts().mutex);
    return *hosts().all.front();
}

/// An exception of C++.
class ThrownFailure : public TaskFailure {
  public:
    explicit ThrownFailure(std::exception_ptr thrown) : thrown_(std::move(thrown)) {}

    [[nodiscard]] int status() const override {
        try {
            std::rethrow_exception(thrown_);
        } catch (const Error& error) {
            return static_cast<int>(error.code);
        } catch (...) {
            return static_cast<int>(CudaResult::launch_failed);
        }
    }

    [[nodiscard]] std::string text() const override {
        try {
            std::rethrow_exception(thrown_);
        } catch (const std::exception& error) {
            return error.what();
        } catch (...) {
            return "an exception of an unknown class";
        }
    }

    /// Errors of the driver get the line; other classes keep their messages.
    void add_line(const std::string& line) override {
        try {
            std::rethrow_exception(thrown_);
        } catch (const Error& error) {
            thrown_ = std::make_exception_ptr(Error(error, line));
        } catch (...) {
            return;
        }
    }

    [[noreturn]] void raise() const override { std::rethrow_exception(thrown_); }

  private:
    std::exception_ptr thrown_;
};

/// The host's options for a run. What the poll throws ends the run and leaves it.
streams::RunOptions options_of_run() {
    auto options = host().run_options();
    if (options.poll)
        options.poll = [poll = std::move(options.poll)] {
            try {
                return poll();
            } catch (...) {
                host_thread.interruption = host().caught();
                return true;
            }
        };
    return options;
}

/// Runs the body as what this thread runs now; what ended the run leaves it.
void run_here(const std::function<void()>& body) {
    {
        host_thread.in_run = true;
        const auto leave = llvm::make_scope_exit([] {
            host_thread.in_run = false;
            streams::page_watch::protect_all();
        });
        streams::page_watch::open_all();
        host().while_running(body);
    }
    if (const auto interruption = std::exchange(host_thread.interruption, nullptr)) interruption->raise();
}

/// Whether the calling thread runs a task, whose calls are part of it.
bool is_in_task() {
    return host_thread.in_task || streams::OperationOrder::running() != 0;
}

void require_calls_allowed() {
    ContextStack::of_this_thread().require_calls_allowed();
}

}  // namespace

std::unique_ptr<TaskFailure> StreamHost::caught() const {
    return std::make_unique<ThrownFailure>(std::current_exception());
}

void StreamHost::start_callback_thread(std::function<void()> serve) const {
    std::thread(std::move(serve)).detach();
}

// -- the process --------------------------------------------------------------------------------------------

StreamWork& StreamWork::of_this_process() {
    static const bool registered = [] {
        of_process.store(new StreamWork(nullptr), std::memory_order_release);
        return pthread_atfork(nullptr, nullptr, &forget_work_of_parent) == 0;
    }();
    (void)registered;
    return *of_process.load(std::memory_order_acquire);
}

/// The parent's work is the parent's; its callback thread is not here.
void StreamWork::forget_work_of_parent() {
    of_process.store(new StreamWork(of_process.load()));
    host_thread.in_task = host_thread.in_run = false;
    streams::page_watch::open_all();
}

void StreamWork::set_host(std::shared_ptr<const StreamHost> host) {
    const std::lock_guard lock(hosts().mutex);
    hosts().all.push_back(std::move(host));
    host_in_force.store(hosts().all.back().get(), std::memory_order_release);
}

// -- enqueueing ---------------------------------------------------------------------------------------------

bool StreamWork::runs_at_once() const {
    return runs_at_once(host().deferred());
}

bool StreamWork::runs_at_once(bool deferred) const {
    if (is_in_task()) return true;
    return !busy() && !deferred && !order_.is_kept();
}

/// Whether what is submitted now may run now.
bool StreamWork::nothing_waits() const {
    return host_thread.in_task || (!busy() && !host().deferred());
}

streams::Task StreamWork::task_of(std::function<void()> task, std::string place) {
    return [this, task = std::move(task), place = std::move(place)](int) -> streams::Outcome {
        host_thread.in_task = true;
        const auto leave = llvm::make_scope_exit([] { host_thread.in_task = false; });
        try {
            task();
            return {.rest = std::exchange(host_thread.rest, nullptr)};
        } catch (...) {
            auto failure = host().caught();
            const int status = failure->status();
            if (failure->ends_run()) {
                host_thread.interruption = std::move(failure);
                return {status, true};
            }
            if (!place.empty()) failure->add_line("launched at " + place);
            const std::lock_guard lock(mutex_);
            failures_.push_back(std::move(failure));
            failed_.store(true);
            return {status};
        }
    };
}

bool StreamWork::submit(StreamKey stream, std::function<void()> task, Submission submission) {
    streams::OperationOrder::Number operation = 0;
    if (order_.is_kept() && !is_in_task()) {
        operation = order_.enqueue(stream, submission.place);
        task = [this, operation, task = std::move(task)] {
            const streams::OperationOrder::Running running(order_, operation);
            task();
        };
    }
    const auto waited = llvm::make_scope_exit([&] {
        if (submission.synchronous) order_.host_waits(operation);
    });
    if (nothing_waits()) {
        if (operation != 0) streams::page_watch::open_all();
        const auto watch_again = llvm::make_scope_exit([&] {
            if (operation != 0) streams::page_watch::protect_all();
        });
        task();
        return true;
    }
    require_calls_allowed();
    if (submission.synchronous || !host().deferred()) {
        const auto operation = timeline_.enqueue(stream, {.task = task_of(std::move(task), "")});
        run_all([&] { return std::vector{operation}; });
        return true;
    }
    const auto enqueued_last =
        timeline_.enqueue(stream, {.task = task_of(std::move(task), std::move(submission.place))});
    enqueued();
    streams::page_watch::protect_all();
    return enqueued_last->done();
}

void StreamWork::go_on(StreamKey stream, std::function<void()> rest) {
    auto run_rest = [task = task_of(std::move(rest), "")] { return task(0).status; };
    if (host_thread.in_task)
        host_thread.rest = std::move(run_rest);
    else
        timeline_.go_on_in_background(stream, std::move(run_rest));
}

void StreamWork::wait_for(StreamKey stream, OperationPtr operation) {
    require_calls_allowed();
    (void)timeline_.enqueue(stream, {.after = {std::move(operation)}});
    enqueued();
}

void StreamWork::wait_for(StreamKey stream, const Event& event) {
    order_.wait(stream, event.handle());
    if (auto operation = event.pending()) wait_for(stream, std::move(operation));
}

void StreamWork::record(Event& event, StreamKey stream) {
    const bool nothing_waits = !busy() && !host().deferred();
    if (!nothing_waits) require_calls_allowed();
    event.record(timeline_, stream, nothing_waits);
    enqueued();
    order_.record(event.handle(), stream);
}

void StreamWork::add_callback(StreamKey stream, std::function<void(int status)> callback) {
    require_calls_allowed();
    const bool starts_thread = [&] {
        const std::lock_guard lock(mutex_);
        return !std::exchange(serves_callbacks_, true);
    }();
    if (starts_thread) {
        auto undo = llvm::make_scope_exit([&] {
            const std::lock_guard lock(mutex_);
            serves_callbacks_ = false;
        });
        host().start_callback_thread([this] { serve_callbacks(); });
        undo.release();
    }
    const auto delay = host().deferred() ? deferred_callback_delay : std::chrono::milliseconds(0);
    const streams::OperationOrder::Number operation = order_.is_kept() ? order_.enqueue(stream, "") : 0;
    const auto call = [this, operation, callback = std::move(callback)](int status) -> streams::Outcome {
        // The host may learn of it in any way from now on.
        order_.host_waits(operation);
        order_.finish(operation);
        ContextStack& contexts = ContextStack::of_this_thread();
        const bool before = contexts.forbid_calls(true);
        callback(status);
        (void)contexts.forbid_calls(before);
        return {};
    };
    (void)timeline_.enqueue(stream, {.task = call, .callback = true, .due = streams::Clock::now() + delay});
}

// -- running ------------------------------------------------------------------------------------------------

/// @param targets are asked for in the run, where no lock of the host's language is held
void StreamWork::run_all(const Targets& targets) {
    require_calls_allowed();
    if (host_thread.in_run)
        throw std::runtime_error(
            "a stream cannot be synchronised by a signal handler that interrupts a synchronisation: it would "
            "wait for "
            "itself");
    run_here([&] { (void)timeline_.run(targets(), options_of_run()); });
    raise_failures();
}

void StreamWork::run_ready() {
    if (host_thread.in_run || host_thread.in_task) return;
    run_here([&] { timeline_.run_ready(options_of_run()); });
}

unsigned StreamWork::idle_threads() {
    bool has_callback_thread = false;
    {
        const std::lock_guard lock(mutex_);
        has_callback_thread = serves_callbacks_;
    }
    return timeline_.waiting_for_background() + (has_callback_thread && !timeline_.has_callbacks() ? 1 : 0);
}

void StreamWork::synchronize(StreamKey stream) {
    order_.host_waits(stream);
    if (nothing_to_tell() || host_thread.in_task) return;
    run_all([&] { return std::vector{timeline_.tail(stream)}; });
}

void StreamWork::synchronize(std::optional<int> device) {
    order_.host_waits(device);
    if (nothing_to_tell() || host_thread.in_task) return;
    run_all([&] { return timeline_.tails(device); });
}

void StreamWork::synchronize_default(int device) {
    order_.host_waits(device);
    if (nothing_to_tell() || host_thread.in_task) return;
    run_all([&] { return timeline_.tails_before_default(device); });
}

void StreamWork::run(const OperationPtr& operation) {
    if (!host_thread.in_task) run_all([&] { return std::vector{operation}; });
}

bool StreamWork::is_complete(const OperationPtr& operation) {
    if (!operation->done() && !timeline_.waits_for_others(operation)) run(operation);
    return operation->done();
}

void StreamWork::synchronize(const Event& event) {
    order_.host_waits_for_event(event.handle());
    const auto operation = event.pending();
    if (!operation) return;
    require_calls_allowed();
    run(operation);
}

bool StreamWork::is_complete(const Event& event) {
    const auto operation = event.pending();
    if (operation) require_calls_allowed();
    if (operation && !is_complete(operation)) return false;
    order_.host_waits_for_event(event.handle());
    return true;
}

bool StreamWork::is_complete(StreamKey stream) {
    require_calls_allowed();
    // What the legacy default stream would wait for counts as its own work.
    std::vector<OperationPtr> last;
    if (!nothing_to_tell() && stream.handle == StreamKey::legacy_default)
        last = timeline_.tails_before_default(stream.device);
    if (const auto own = nothing_to_tell() ? nullptr : timeline_.tail(stream)) last.push_back(own);
    for (const auto& operation : last)
        if (operation && !is_complete(operation)) return false;
    order_.host_waits(stream);
    return true;
}

void StreamWork::destroy_stream(std::uint64_t handle) {
    const auto device = stream_device(handle);
    // The device does the work of a stream that is destroyed; the host does not wait for it.
    if (device && in_background() == 0 && !nothing_to_tell() && !host_thread.in_task)
        run_all([&] { return std::vector{timeline_.tail(stream_key(*device, handle))}; });
    stream_forget(handle);
}

void StreamWork::drop(std::optional<int> device) {
    if (busy()) timeline_.drop(device);
}

void StreamWork::finish() {
    if (nothing_to_tell() || host_thread.in_run) return;
    auto options = options_of_run();
    options.poll = [poll = std::move(options.poll),
                    end = std::optional<streams::Clock::time_point>()]() mutable {
        const auto now = streams::Clock::now();
        if (!end) end = now + longest_finish;
        return now > *end || (poll && poll());
    };
    run_here([&] { (void)timeline_.run(timeline_.tails(), options); });
    raise_failures();
}

void StreamWork::tell_later() {
    auto failure = host().caught();
    const std::lock_guard lock(mutex_);
    failures_.push_back(std::move(failure));
    failed_.store(true);
}

void StreamWork::raise_failures() {
    if (!failed_.load()) return;
    std::vector<std::unique_ptr<TaskFailure>> failures;
    {
        const std::lock_guard lock(mutex_);
        failures.swap(failures_);
        failed_.store(false);
    }
    if (failures.empty()) return;  // another thread was told
    for (std::size_t i = 1; i < failures.size(); ++i)
        failures.front()->add_line("also: " + failures[i]->text());
    failures.front()->raise();
}

void StreamWork::serve_callbacks() {
    for (;;) {
        OperationPtr callback;
        host().while_idle([&] { callback = timeline_.next_callback(std::chrono::hours(1)); });
        if (!callback) continue;
        run_here([&] { timeline_.run_callback(callback, options_of_run()); });
    }
}

}  // namespace cudasim::driver
