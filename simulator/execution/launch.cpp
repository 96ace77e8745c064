// These members are out of line because BlockRun is incomplete in launch.h.
#include "simulator/execution/launch.h"

#include <new>

#include "simulator/execution/block_run.h"
#include "simulator/execution/stop.h"
#include "simulator/memory/host_memory.h"

namespace cudasim::execution {

Launch::Launch() = default;
Launch::~Launch() = default;

void Launch::run_out_of_memory(const findings::ThreadCoordinate& thread, std::uint64_t stacks) noexcept {
    if (!request_stop(Stop::out_of_memory)) return;
    shortage.thread = thread;
    shortage.stacks = stacks;
    try {
        shortage.there = memory::describe_host_memory();
    } catch (const std::bad_alloc&) {
        shortage.there.clear();  // not even for a sentence
    }
}

}  // namespace cudasim::execution
