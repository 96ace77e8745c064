// What synchronous calls of the driver wait for: the work that a front end has enqueued in streams and has not run yet.
// A front end says once where it keeps that work and how it is run; copies and fills (memory.h) ask.
//
//   wait_for_enqueued_work({.timeline = timeline, .synchronize = [&](int device) { ... }});   // the front end
//   finish_enqueued_work(device);                                                             // the driver
#pragma once

#include <functional>
#include <memory>

#include "simulator/streams/timeline.h"

namespace cudasim::driver {

struct EnqueuedWork {
    std::shared_ptr<const streams::Timeline> timeline;
    /// Runs everything that is enqueued on a device, on the calling thread. What it throws, because work has failed
    /// or was interrupted, leaves the call that waited. Inside of a task, which must not wait for itself, it does
    /// nothing. Called without locks.
    std::function<void(int device)> synchronize;
};

/// From now on synchronous calls wait for this work, and for no other: until then they wait for nothing. A process
/// that was forked says anew what its own work is. May be called from any thread.
void wait_for_enqueued_work(EnqueuedWork work);

/// Runs what is enqueued on a device. Costs next to nothing when nothing is enqueued on any.
/// @throws what EnqueuedWork::synchronize does
void finish_enqueued_work(int device);

}  // namespace cudasim::driver
