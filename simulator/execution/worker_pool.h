// The host threads of a device (E7). Worker 0 is whoever calls launch(); the others sleep between launches
// and join one only when worker 0 finds, some microseconds in, that there is more than it can do alone.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "simulator/execution/worker.h"

namespace cudasim::execution {

class WorkerPool {
  public:
    WorkerPool();
    ~WorkerPool();
    WorkerPool(const WorkerPool&) = delete;
    WorkerPool& operator=(const WorkerPool&) = delete;

    /// Runs the launch to its end on up to `workers` host threads, this one included, or as many as there is
    /// memory for. Returns before its end when it leaves its caller; the next call goes on with it.
    void run(Launch& launch, unsigned workers, LeavingLaunch* leaving);
    /// How many threads all pools of this process have made.
    [[nodiscard]] static unsigned threads_of_process();

  private:
    struct Crew;  // the threads; replaced as a whole in a forked child, which has none of them
    std::unique_ptr<Crew> crew_;
    unsigned long fork_generation_;
};

}  // namespace cudasim::execution
