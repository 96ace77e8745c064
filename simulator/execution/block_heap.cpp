// malloc() and free() of a block's threads (device_heap.h), on the worker's own stack.
#include <mutex>

#include "simulator/execution/block_run.h"
#include "simulator/execution/loaded_image.h"
#include "simulator/execution/worker.h"

namespace cudasim::execution {

namespace {

/// "malloc() at list.cu:12": what reports call the allocation.
std::string label_at(const Launch& launch, std::uint32_t site) {
    const findings::CallChain place = launch.location(site);
    for (const auto& frame : place) {
        // operator new of clang's headers calls malloc(): the line that the user knows is that of `new`.
        if (frame.line == 0 || frame.function.starts_with("operator new")) continue;
        return std::string(DeviceHeap::label_begin) + " at " + frame.file.substr(frame.file.rfind('/') + 1) +
               ':' + std::to_string(frame.line);
    }
    return std::string(DeviceHeap::label_begin);
}

/// Why free() refuses an address that is no live allocation of the heap; a literal.
const char* reason(const memory::Arena& arena, std::uint64_t address) {
    if (const memory::Allocation* live = arena.containing(address, 1)) {
        return live->address == address
                   ? "free() of memory that the host has allocated: only cudaFree() can free it"
                   : "free() of an address inside of an allocation: it has to be the one that malloc() gave";
    }
    const memory::Allocation* freed = arena.freed_at(address);
    return freed != nullptr && freed->address == address
               ? "double free: this memory of the device's heap was freed before"
               : "free() of an address that malloc() did not give";
}

}  // namespace

/// False when it is a fault of the thread.
bool BlockRun::use_heap(Runner& runner) {
    DeviceMemory& memory = *launch_->memory;
    if (runner.heap.is_free) {
        const char* refused = nullptr;
        {
            const std::lock_guard lock(memory.mutex);
            if (!memory.heap.free(memory.arena, runner.heap.address))
                refused = reason(memory.arena, runner.heap.address);
        }
        if (refused == nullptr) {
            memory.tell_freed(runner.heap.address);
            return true;
        }
        runner.fault = {};
        runner.fault.source = Fault::Source::heap;
        runner.fault.kind = findings::FindingKind::invalid_free;
        runner.fault.what = refused;
        runner.event = Event::faulted;
        return false;
    }
    const std::string label = label_at(*launch_, runner.site);
    std::optional<std::uint64_t> address;
    {
        const std::lock_guard lock(memory.mutex);
        address = memory.heap.allocate(memory.arena, runner.heap.bytes, label);
    }
    if (address) memory.tell_allocated(*address, std::max<std::uint64_t>(runner.heap.bytes, 1), label);
    runner.heap.address = address.value_or(0);
    return true;
}

}  // namespace cudasim::execution
