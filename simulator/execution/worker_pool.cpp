// Waking, joining and, after fork(), replacing the workers.
#include "simulator/execution/worker_pool.h"

#include <pthread.h>

#include <atomic>
#include <system_error>

#include "simulator/execution/fault_signals.h"

namespace cudasim::execution {

namespace {

std::atomic<unsigned long> forks{0};

unsigned long fork_generation() {
    static const bool registered = [] {
        pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1); });
        return true;
    }();
    (void)registered;
    return forks.load(std::memory_order_relaxed);
}

constexpr auto join_interval = std::chrono::milliseconds(10);

}  // namespace

struct WorkerPool::Crew {
    std::mutex mutex;
    std::condition_variable work, done;
    std::vector<std::unique_ptr<Worker>> workers;
    std::vector<std::thread> threads;
    Launch* launch = nullptr;
    unsigned wanted = 0;   ///< helpers that may still join the launch
    unsigned active = 0;
    bool closing = false;

    Crew() { workers.push_back(std::make_unique<Worker>(0)); }

    ~Crew() {
        {
            std::lock_guard lock(mutex);
            closing = true;
        }
        work.notify_all();
        for (auto& thread : threads) thread.join();
    }

    void serve(Worker& worker) {
        std::unique_lock lock(mutex);
        for (;;) {
            work.wait(lock, [this] { return closing || wanted != 0; });
            if (closing) return;
            --wanted;
            ++active;
            Launch& current = *launch;
            current.helpers.fetch_add(1);
            lock.unlock();
            {
                AlternateStack alternate;
                worker.run(current);
            }
            current.helpers.fetch_sub(1);
            lock.lock();
            if (--active == 0) done.notify_all();
        }
    }

    void wake(Launch& current, unsigned helpers) {
        std::lock_guard lock(mutex);
        while (threads.size() < helpers) {
            auto worker = std::make_unique<Worker>(static_cast<unsigned>(workers.size()));
            try {
                threads.emplace_back([this, worker = worker.get()] { serve(*worker); });
            } catch (const std::system_error&) {
                break;  // the host gives no more threads: fewer workers do it too
            }
            workers.push_back(std::move(worker));
        }
        launch = &current;
        wanted = helpers;
        work.notify_all();
    }

    /// No helper may join any more; waits for those that did. The launching thread keeps polling.
    void join(Launch& current) {
        std::unique_lock lock(mutex);
        wanted = 0;
        while (active != 0) {
            if (done.wait_for(lock, join_interval) == std::cv_status::no_timeout) continue;
            lock.unlock();
            current.gather_for_orphans();
            workers.front()->poll(current);
            lock.lock();
        }
        launch = nullptr;
    }
};

WorkerPool::WorkerPool() : crew_(std::make_unique<Crew>()), fork_generation_(fork_generation()) {}

WorkerPool::~WorkerPool() {
    if (fork_generation_ != fork_generation()) (void)crew_.release();
}

void WorkerPool::run(Launch& launch, unsigned workers) {
    if (fork_generation_ != fork_generation()) {
        (void)crew_.release();  // its threads are not in this process; their memory is the price of a fork
        crew_ = std::make_unique<Crew>();
        fork_generation_ = fork_generation();
    }
    AlternateStack alternate;
    if (workers > 1 && launch.block_count > 1)
        launch.wake_helpers = [this, &launch, workers] { crew_->wake(launch, workers - 1); };
    do {
        crew_->workers.front()->run(launch);
        if (launch.helpers_woken) crew_->join(launch);
    } while (!launch.orphans.empty());
}

}  // namespace cudasim::execution
