// See large_stack.h.
#include "simulator/image/large_stack.h"

#include <pthread.h>
#include <sys/resource.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <exception>
#include <mutex>

namespace cudasim::image {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t mebibyte = std::size_t{1} << 20;
/// Reserved, not used: pages come as recursion reaches them. The smaller ones are for a process with a memory
/// limit.
constexpr std::size_t stack_sizes[] = {512 * mebibyte, 128 * mebibyte, 32 * mebibyte, 8 * mebibyte};
constexpr auto poll_interval = std::chrono::milliseconds(50);

struct Task {
    explicit Task(const std::function<void(const Cancellation&)>& given) : work(given) {}
    const std::function<void(const Cancellation&)>& work;
    Cancellation cancellation;
    std::exception_ptr thrown;
    std::mutex mutex;
    std::condition_variable ended;
    bool over = false;
};

void* run(void* argument) {
    Task& task = *static_cast<Task*>(argument);
    try {
        task.work(task.cancellation);
    } catch (...) {
        task.thrown = std::current_exception();
    }
    const std::lock_guard lock(task.mutex);
    task.over = true;
    task.ended.notify_one();
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

bool start(pthread_t& thread, Task& task) {
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

void wait_for(Task& task, const HostPoll& poll) {
    const auto begin = Clock::now();
    std::unique_lock lock(task.mutex);
    while (!task.ended.wait_for(lock, poll_interval, [&] { return task.over; })) {
        if (!poll || task.cancellation.requested()) continue;
        lock.unlock();
        if (poll(std::chrono::duration<double>(Clock::now() - begin).count())) task.cancellation.request();
        lock.lock();
    }
}

}  // namespace

void on_large_stack(const std::function<void(const Cancellation&)>& work, const HostPoll& poll) {
    Task task(work);
    pthread_t thread{};
    if (!start(thread, task)) return work(task.cancellation);
    wait_for(task, poll);
    pthread_join(thread, nullptr);
    if (task.thrown) std::rethrow_exception(task.thrown);
}

std::size_t remaining_stack() {
    const Stack stack = own_stack();
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    return here > stack.lowest && here - stack.lowest <= stack.size ? here - stack.lowest : 0;
}

}  // namespace cudasim::image
