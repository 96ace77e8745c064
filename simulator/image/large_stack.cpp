// See large_stack.h, host_questions.h.
#include "simulator/image/large_stack.h"

#include <pthread.h>
#include <sys/resource.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <exception>
#include <mutex>
#include <utility>

#include "simulator/image/host_questions.h"

namespace cudasim::image {

struct LargeStackTask {
    explicit LargeStackTask(const std::function<void(const Cancellation&, HostQuestions&)>& given)
        : work(given) {}
    const std::function<void(const Cancellation&, HostQuestions&)>& work;
    Cancellation cancellation;
    std::exception_ptr thrown;
    std::mutex mutex;
    std::condition_variable host_wakes, answered;
    const std::function<void()>* question = nullptr;  ///< until it is answered
    std::exception_ptr thrown_by_question;
    bool over = false;
};

void HostQuestions::ask(const std::function<void()>& question) {
    if (!task_) return question();
    std::unique_lock lock(task_->mutex);
    task_->question = &question;
    task_->host_wakes.notify_one();
    task_->answered.wait(lock, [&] { return !task_->question; });
    if (task_->thrown_by_question) std::rethrow_exception(std::exchange(task_->thrown_by_question, nullptr));
}

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t mebibyte = std::size_t{1} << 20;
/// Reserved, not used: pages come as recursion reaches them. The smaller ones are for a process with a memory
/// limit.
constexpr std::size_t stack_sizes[] = {512 * mebibyte, 128 * mebibyte, 32 * mebibyte, 8 * mebibyte};
constexpr auto poll_interval = std::chrono::milliseconds(50);

void* run(void* argument) {
    auto& task = *static_cast<LargeStackTask*>(argument);
    try {
        HostQuestions host(&task);
        task.work(task.cancellation, host);
    } catch (...) {
        task.thrown = std::current_exception();
    }
    const std::lock_guard lock(task.mutex);
    task.over = true;
    task.host_wakes.notify_one();
    return nullptr;
}

/// Handlers of the program's signals run on the program's threads; faults are the worker's own.
class BlockedSignals {
  public:
    BlockedSignals() {
        sigset_t blocked;
        sigfillset(&blocked);
        for (const int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT})
            sigdelset(&blocked, fault);
        pthread_sigmask(SIG_SETMASK, &blocked, &before_);
    }
    ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    BlockedSignals(const BlockedSignals&) = delete;
    BlockedSignals& operator=(const BlockedSignals&) = delete;

  private:
    sigset_t before_;
};

/// A thread costs more than its stack: the C library gives it an arena of 64 MiB of address space. Where that
/// is limited a stack of this size must do.
constexpr std::size_t sufficient_stack = 4 * mebibyte;

struct Stack {
    std::uintptr_t lowest = 0;
    std::size_t size = 0;
};

/// The calling thread's.
Stack own_stack() {
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
    void* lowest = nullptr;
    Stack stack;
    if (pthread_attr_getstack(&attributes, &lowest, &stack.size) == 0)
        stack.lowest = reinterpret_cast<std::uintptr_t>(lowest);
    pthread_attr_destroy(&attributes);
    return stack;
}

bool must_do_without_thread() {
    rlimit limit{};
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
    return own_stack().size >= sufficient_stack;
}

bool start(pthread_t& thread, LargeStackTask& task) {
    if (must_do_without_thread()) return false;
    const BlockedSignals inherited_by_the_thread;
    for (const std::size_t size : stack_sizes) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, size);
        const int error = pthread_create(&thread, &attributes, run, &task);
        pthread_attr_destroy(&attributes);
        if (error == 0) return true;
    }
    return false;
}

void answer(LargeStackTask& task) {
    try {
        (*task.question)();
    } catch (...) {
        task.thrown_by_question = std::current_exception();
    }
}

void wait_for(LargeStackTask& task, const HostPoll& poll) {
    const auto begin = Clock::now();
    std::unique_lock lock(task.mutex);
    for (;;) {
        task.host_wakes.wait_for(lock, poll_interval, [&] { return task.over || task.question; });
        if (task.over) return;
        const bool asked = task.question;
        if (!asked && (!poll || task.cancellation.requested())) continue;
        lock.unlock();
        if (asked)
            answer(task);
        else if (poll(std::chrono::duration<double>(Clock::now() - begin).count()))
            task.cancellation.request();
        lock.lock();
        if (asked) {
            task.question = nullptr;
            task.answered.notify_one();
        }
    }
}

}  // namespace

void on_asking_large_stack(const std::function<void(const Cancellation&, HostQuestions&)>& work,
                           const HostPoll& poll) {
    LargeStackTask task(work);
    pthread_t thread{};
    if (!start(thread, task)) {
        HostQuestions host(nullptr);
        return work(task.cancellation, host);
    }
    wait_for(task, poll);
    pthread_join(thread, nullptr);
    if (task.thrown) std::rethrow_exception(task.thrown);
}

void on_large_stack(const std::function<void(const Cancellation&)>& work, const HostPoll& poll) {
    on_asking_large_stack([&](const Cancellation& cancellation, HostQuestions&) { work(cancellation); },
                          poll);
}

std::size_t remaining_stack() {
    const Stack stack = own_stack();
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    return here > stack.lowest && here - stack.lowest <= stack.size ? here - stack.lowest : 0;
}

}  // namespace cudasim::image
