// See departure.h.
#include "simulator/execution/departure.h"

namespace cudasim::execution {

namespace {

thread_local Departure* departure_of_thread = nullptr;

}  // namespace

Departure* Departure::offered() {
    return departure_of_thread;
}

Departure::OfThisThread::OfThisThread(Departure& departure) {
    departure_of_thread = &departure;
}

Departure::OfThisThread::~OfThisThread() {
    departure_of_thread = nullptr;
}

bool LeavingLaunch::ask(const LaunchProgress& progress) {
    if (poll_ && poll_(progress)) return true;
    if (DepartedLaunch* const left = departed_.load(std::memory_order_relaxed)) return left->is_to_end();
    if (auto left = departure_->leaves(progress, turns_.load(std::memory_order_relaxed))) {
        owner_ = std::move(left);
        departed_.store(owner_.get(), std::memory_order_release);
        leaves_.store(true, std::memory_order_relaxed);
    }
    return false;
}

Departure& LeavingLaunch::caller_goes() {
    leaves_.store(false, std::memory_order_relaxed);
    return *std::exchange(departure_, nullptr);
}

/// Before its departure somebody may: that is why it was offered.
bool LeavingLaunch::others_may_write() const {
    DepartedLaunch* const left = departed_.load(std::memory_order_acquire);
    return left == nullptr || left->others_may_write();
}

}  // namespace cudasim::execution
