// Stream-ordered allocation: the counts of pools, and the operations in streams.
#include "simulator/driver/memory_pool.h"

#include <algorithm>
#include <utility>

#include "simulator/driver/host_ranges.h"
#include "simulator/driver/memory.h"
#include "simulator/driver/stream_work.h"

namespace cudasim::driver {

// -- pools --------------------------------------------------------------------------------------------------

bool MemoryPool::has_room_for(std::uint64_t bytes) const {
    return most_ == 0 || (bytes <= most_ && used_ <= most_ - bytes);
}

void MemoryPool::add(std::uint64_t bytes) {
    used_ += bytes;
    used_high_ = std::max(used_high_, used_);
    reserved_ = std::max(reserved_, used_);
    reserved_high_ = std::max(reserved_high_, reserved_);
}

void MemoryPool::remove(std::uint64_t bytes) {
    used_ -= bytes;
    trim(threshold_);
}

void MemoryPool::trim(std::uint64_t keep) {
    reserved_ = std::max(used_, std::min(reserved_, keep));
}

std::uint64_t& MemoryPool::value_of(PoolAttribute attribute, const char* call) {
    switch (attribute) {
        case PoolAttribute::reuse_follow_event_dependencies:
            return follow_events_;
        case PoolAttribute::reuse_allow_opportunistic:
            return opportunistic_;
        case PoolAttribute::reuse_allow_internal_dependencies:
            return internal_dependencies_;
        case PoolAttribute::release_threshold:
            return threshold_;
        case PoolAttribute::reserved_mem_current:
            return reserved_;
        case PoolAttribute::reserved_mem_high:
            return reserved_high_;
        case PoolAttribute::used_mem_current:
            return used_;
        case PoolAttribute::used_mem_high:
            return used_high_;
    }
    throw Error(
        call, CudaResult::invalid_value,
        "memory pools have no attribute " + std::to_string(static_cast<int>(attribute)) + " (1 to 8)");
}

MemoryPools::MemoryPools(int device)
    : device_(device), default_(std::make_shared<MemoryPool>(device, 0)), current_(default_) {}

std::shared_ptr<MemoryPool> MemoryPools::create(std::uint64_t most) const {
    return std::make_shared<MemoryPool>(device_, most);
}

std::shared_ptr<MemoryPool> MemoryPools::default_pool() const {
    const std::lock_guard lock(mutex_);
    return default_;
}

std::shared_ptr<MemoryPool> MemoryPools::current() const {
    const std::lock_guard lock(mutex_);
    return current_;
}

void MemoryPools::require_alive(const MemoryPool& pool, const char* call) const {
    if (pool.device_ != device_)
        throw Error(call, CudaResult::invalid_value,
                    "the memory pool is one of device " + std::to_string(pool.device_) + ", not of device " +
                        std::to_string(device_));
    if (pool.destroyed_) throw Error(call, CudaResult::invalid_value, "the memory pool was destroyed before");
}

void MemoryPools::set_current(const std::shared_ptr<MemoryPool>& pool) {
    const std::lock_guard lock(mutex_);
    require_alive(*pool, "cuDeviceSetMemPool");
    current_ = pool;
}

void MemoryPools::destroy(const std::shared_ptr<MemoryPool>& pool) {
    const std::lock_guard lock(mutex_);
    require_alive(*pool, "cuMemPoolDestroy");
    if (pool == default_)
        throw Error("cuMemPoolDestroy", CudaResult::invalid_value,
                    "a device's default memory pool cannot be destroyed");
    pool->destroyed_ = true;
    if (current_ == pool) current_ = default_;
}

std::uint64_t MemoryPools::attribute(MemoryPool& pool, PoolAttribute attribute) const {
    const std::lock_guard lock(mutex_);
    return pool.value_of(attribute, "cuMemPoolGetAttribute");
}

void MemoryPools::set_attribute(MemoryPool& pool, PoolAttribute attribute, std::uint64_t value) {
    constexpr auto call = "cuMemPoolSetAttribute";
    const std::lock_guard lock(mutex_);
    std::uint64_t& kept = pool.value_of(attribute, call);
    switch (attribute) {
        case PoolAttribute::reserved_mem_current:
        case PoolAttribute::used_mem_current:
            throw Error(call, CudaResult::invalid_value,
                        "what a memory pool holds now can only be asked for");
        case PoolAttribute::reserved_mem_high:
        case PoolAttribute::used_mem_high:
            if (value != 0)
                throw Error(call, CudaResult::invalid_value,
                            "the highest value so far can only be set to 0, not to " + std::to_string(value));
            kept = attribute == PoolAttribute::used_mem_high ? pool.used_ : pool.reserved_;
            return;
        case PoolAttribute::release_threshold:
            kept = value;
            return;
        default:
            if (value > 1)
                throw Error(call, CudaResult::invalid_value,
                            "this attribute is 0 or 1, not " + std::to_string(value));
            kept = value;
    }
}

void MemoryPools::trim(MemoryPool& pool, std::uint64_t keep) {
    const std::lock_guard lock(mutex_);
    pool.trim(keep);
}

void MemoryPools::add(const std::shared_ptr<MemoryPool>& pool, DevicePointer pointer, std::uint64_t bytes) {
    constexpr auto call = "cuMemAllocFromPoolAsync";
    const std::lock_guard lock(mutex_);
    require_alive(*pool, call);
    if (!pool->has_room_for(bytes))
        throw Error(call, CudaResult::out_of_memory,
                    std::to_string(bytes) + " bytes asked for, and " + std::to_string(pool->used_) +
                        " of the memory pool's " + std::to_string(pool->most_) + " are used");
    allocations_[pointer] = {pool, bytes, false};
    pool->add(bytes);
}

bool MemoryPools::contains(DevicePointer pointer) const {
    const std::lock_guard lock(mutex_);
    return allocations_.contains(pointer);
}

bool MemoryPools::begin_free(DevicePointer pointer, const char* call) {
    const std::lock_guard lock(mutex_);
    const auto found = allocations_.find(pointer);
    if (found == allocations_.end()) return false;
    if (std::exchange(found->second.being_freed, true))
        throw Error(call, CudaResult::invalid_value, "double free: a stream frees this memory already");
    return true;
}

bool MemoryPools::remove(DevicePointer pointer) {
    const std::lock_guard lock(mutex_);
    const auto found = allocations_.find(pointer);
    if (found == allocations_.end()) return false;
    found->second.pool->remove(found->second.bytes);
    allocations_.erase(found);
    return true;
}

void MemoryPools::reset(SimulatedDevice* engine) {
    std::map<DevicePointer, Allocation> freed;
    {
        const std::lock_guard lock(mutex_);
        freed = std::exchange(allocations_, {});
        default_->destroyed_ = current_->destroyed_ = true;
        current_ = default_ = std::make_shared<MemoryPool>(device_, 0);
    }
    if (!engine) return;
    for (const auto& [pointer, allocation] : freed) engine->release(pointer);
}

// -- operations in streams ----------------------------------------------------------------------------------

namespace {

/// What has to happen in its turn of a stream, and at the latest when the stream gives it up: an error before
/// it, or the end of the work that waits.
class SureTask {
  public:
    explicit SureTask(std::function<void()> action) : action_(std::move(action)) {}
    ~SureTask() {
        try {
            run();
        } catch (...) {  // the memory is gone already
        }
    }
    SureTask(const SureTask&) = delete;
    SureTask& operator=(const SureTask&) = delete;

    void run() {
        if (const auto action = std::exchange(action_, {})) action();
    }

  private:
    std::function<void()> action_;
};

void submit_surely(streams::StreamKey stream, std::string place, std::function<void()> action) {
    StreamWork::of_this_process().submit(
        stream, [task = std::make_shared<SureTask>(std::move(action))] { task->run(); },
        {.place = std::move(place)});
}

}  // namespace

DevicePointer mem_alloc_from_pool_async(const std::shared_ptr<Context>& owner,
                                        const std::shared_ptr<MemoryPool>& pool, std::uint64_t bytes,
                                        streams::StreamKey stream, const std::string& label,
                                        std::string place) {
    const auto engine = owner->engine();
    const DevicePointer pointer = in_call(
        "cuMemAllocAsync", [&] { return engine->device.allocate(bytes, {.label = label, .poison = true}); });
    try {
        owner->pools().add(pool, pointer, bytes);
        engine->device.set_accessible(pointer, false);
        submit_surely(stream, std::move(place), [owner, engine, pointer] {
            if (owner->pools().contains(pointer)) engine->device.set_accessible(pointer, true);
        });
    } catch (...) {  // also what earlier work threw: the caller gets no address to free
        (void)owner->pools().remove(pointer);
        engine->release(pointer);
        throw;
    }
    return pointer;
}

DevicePointer mem_alloc_async(const std::shared_ptr<Context>& current, std::uint64_t bytes,
                              streams::StreamKey stream, const std::string& label, std::string place) {
    return mem_alloc_from_pool_async(current, current->pools().current(), bytes, stream, label,
                                     std::move(place));
}

void mem_free_async(const std::shared_ptr<Context>& current, DevicePointer pointer, streams::StreamKey stream,
                    std::string place) {
    constexpr auto call = "cuMemFreeAsync";
    const auto owner = owner_of(current, pointer);
    if (HostRanges::of_this_process().starting_at(pointer))
        throw Error(call, CudaResult::invalid_value,
                    "this is managed or page-locked memory, which streams do not free");
    const bool of_pool = owner->pools().begin_free(pointer, call);
    const bool noted = !of_pool && owner->has_allocation(pointer);
    if (!of_pool) {
        const auto range = in_call(call, [&] { return owner->engine()->device.address_range(pointer); });
        if (range.base != pointer)
            throw Error(call, CudaResult::invalid_value, "the address is not the start of an allocation");
    }
    submit_surely(stream, std::move(place), [owner, pointer, of_pool, noted] {
        if (of_pool && !owner->pools().remove(pointer)) return;  // the device was reset before
        if (noted && !owner->forget_allocation(pointer)) return;
        in_call(call, [&] {
            owner->engine()->device.set_accessible(pointer, false);
            owner->engine()->free(pointer);
        });
    });
}

}  // namespace cudasim::driver
