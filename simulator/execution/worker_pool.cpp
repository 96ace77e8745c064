// Waking, joining and, after fork(), replacing the workers.
#include "simulator/execution/worker_pool.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <system_error>

#include "simulator/execution/fault_signals.h"
#include "simulator/execution/launch_memory.h"
#include "simulator/memory/host_memory.h"

namespace cudasim::execution {

namespace {

std::atomic<unsigned long> forks{0};
std::atomic<unsigned> threads_made{0};

unsigned long fork_generation() {
    static const bool registered = [] {
        pthread_atfork(nullptr, nullptr, [] {
            forks.fetch_add(1);
            threads_made = 0;
        });
        return true;
    }();
    (void)registered;
    return forks.load(std::memory_order_relaxed);
}

constexpr auto join_interval = std::chrono::milliseconds(10);
/// Address space for a helper: its stack, its part of the allocator, and what its blocks need at first.
constexpr std::uint64_t room_of_a_thread = 192 << 20;
/// What threads of earlier launches used and later ones do not may keep so much memory.
constexpr std::uint64_t kept_unused = 64 << 20;

}  // namespace

struct WorkerPool::Crew {
    std::mutex mutex;
    std::condition_variable work, done;
    std::vector<std::unique_ptr<Worker>> workers;
    std::vector<std::thread> threads;
    Launch* launch = nullptr;
    LeavingLaunch* leaving = nullptr;
    unsigned wanted = 0;  ///< helpers that may still join the launch
    unsigned active = 0;
    bool closing = false;
    std::atomic<std::uint64_t> thread_memory{0};  ///< that threads on all workers may take; see RunnerPool

    Crew() { workers.push_back(std::make_unique<Worker>(0, thread_memory)); }

    ~Crew() {
        {
            std::lock_guard lock(mutex);
            closing = true;
        }
        work.notify_all();
        for (auto& thread : threads) thread.join();
        threads_made.fetch_sub(static_cast<unsigned>(threads.size()));
    }

    void serve(Worker& worker) {
        std::unique_lock lock(mutex);
        for (;;) {
            work.wait(lock, [this] { return closing || wanted != 0; });
            if (closing) return;
            --wanted;
            ++active;
            Launch& current = *launch;
            LeavingLaunch* const leaving_now = leaving;
            current.helpers.fetch_add(1);
            lock.unlock();
            try {
                AlternateStack alternate;
                worker.run(current, leaving_now);
            } catch (const std::bad_alloc&) {
                // There is no memory for a signal stack; the other workers do the work.
            }
            current.helpers.fetch_sub(1);
            lock.lock();
            if (--active == 0) done.notify_all();
        }
    }

    void wake(Launch& current, unsigned helpers, LeavingLaunch* leaving_now) {
        std::lock_guard lock(mutex);
        try {
            while (threads.size() < helpers && has_room_for_a_thread()) start_thread();
        } catch (const std::system_error&) {
            // The host gives no more threads, or no more memory: fewer workers do it too.
        } catch (const std::bad_alloc&) {
        }
        launch = &current;
        leaving = leaving_now;
        wanted = std::min<unsigned>(helpers, static_cast<unsigned>(threads.size()));
        work.notify_all();
    }

    void start_thread() {
        threads.reserve(threads.size() + 1);
        workers.reserve(workers.size() + 1);
        auto worker = std::make_unique<Worker>(static_cast<unsigned>(workers.size()), thread_memory);
        threads.emplace_back([this, worker = worker.get()] { serve(*worker); });
        threads_made.fetch_add(1);
        workers.push_back(std::move(worker));
    }

    /// glibc ends the process when a new thread gets no memory for its thread-local variables.
    [[nodiscard]] static bool has_room_for_a_thread() {
        const auto limit = memory::address_limit();
        return !limit || limit->left >= room_of_a_thread;
    }

    // These are called between launches, when only the launching thread works.

    /// How many of the workers asked for have memory for their threads, or would have it if nothing were
    /// kept.
    [[nodiscard]] unsigned with_memory(const Launch& launch, unsigned asked) {
        ThreadMemory held;
        for (const auto& worker : workers) {
            const ThreadMemory of_worker = worker->runners().held_for(launch);
            held.address += of_worker.address;
            held.touched += of_worker.touched;
        }
        if (const unsigned possible = workers_with_memory(launch, asked, held); possible != 0)
            return possible;
        forget_all();
        return workers_with_memory(launch, asked, {});
    }

    void forget_all() {
        for (const auto& worker : workers) worker->give_all_memory_back();
        thread_memory = 0;
    }

    /// When this launch left most of the memory alone that threads of earlier ones had used.
    void give_unused_back() {
        MemoryUse all;
        for (const auto& worker : workers) {
            const MemoryUse use = worker->memory_use();
            all.used += use.used;
            all.unused += use.unused;
        }
        const bool much = all.unused > kept_unused && all.unused / 2 > all.used;
        for (const auto& worker : workers) {
            if (much) worker->give_unused_memory_back();
            worker->start_counting_memory();
        }
    }

    /// No helper may join any more; waits for those that did, unless the launch leaves. The launching thread
    /// keeps polling.
    void join(Launch& current) {
        std::unique_lock lock(mutex);
        wanted = 0;
        while (active != 0) {
            if (done.wait_for(lock, join_interval) == std::cv_status::no_timeout) continue;
            lock.unlock();
            current.gather_for_orphans();
            workers.front()->poll(current);
            if (workers.front()->leaves()) return;
            lock.lock();
        }
        launch = nullptr;
    }
};

WorkerPool::WorkerPool() : crew_(std::make_unique<Crew>()), fork_generation_(fork_generation()) {}

unsigned WorkerPool::threads_of_process() {
    return threads_made.load();
}

WorkerPool::~WorkerPool() {
    if (fork_generation_ != fork_generation()) (void)crew_.release();
}

void WorkerPool::run(Launch& launch, unsigned workers, LeavingLaunch* leaving) {
    if (fork_generation_ != fork_generation()) {
        (void)crew_.release();  // its threads are not in this process; their memory is the price of a fork
        crew_ = std::make_unique<Crew>();
        fork_generation_ = fork_generation();
    }
    const bool goes_on = leaving != nullptr && leaving->has_left();
    if (!goes_on && needs_much_memory(launch, workers)) workers = crew_->with_memory(launch, workers);
    if (workers == 0) {
        launch.run_out_of_memory({}, 0);
        return;
    }
    const AlternateStack alternate;
    if (!goes_on && workers > 1 && launch.block_count > 1)
        launch.wake_helpers = [this, &launch, workers, leaving] {
            crew_->wake(launch, workers - 1, leaving);
        };
    do {
        crew_->workers.front()->run(launch, leaving);
        if (crew_->workers.front()->leaves()) return;
        if (launch.helpers_woken) crew_->join(launch);
        if (crew_->workers.front()->leaves()) return;
    } while (!launch.orphans.empty());
    if (launch.stop.load() == Stop::out_of_memory)
        crew_->forget_all();
    else if (crew_->thread_memory.load(std::memory_order_relaxed) > kept_unused)
        crew_->give_unused_back();
}

}  // namespace cudasim::execution
