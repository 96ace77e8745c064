// See enqueued_work.h.
#include "simulator/driver/enqueued_work.h"

#include <atomic>
#include <utility>

namespace cudasim::driver {

namespace {

/// Never freed: another thread may be reading it, and front ends register once for each process.
std::atomic<const EnqueuedWork*> registered{nullptr};

}  // namespace

void wait_for_enqueued_work(EnqueuedWork work) {
    registered.store(new EnqueuedWork(std::move(work)), std::memory_order_release);
}

void finish_enqueued_work(int device) {
    const EnqueuedWork* const work = registered.load(std::memory_order_acquire);
    if (work == nullptr || work->timeline->idle()) return;
    work->synchronize(device);
}

}  // namespace cudasim::driver
