// Stream-ordered allocation and memory pools (CUDA Driver API, "Stream Ordered Memory Allocator"). A free
// function has the name of the driver's call without "cu".
//
//   const auto x = mem_alloc_async(current, 4096, stream, "x");   // an address at once
//   StreamWork::of_this_process().submit(stream, launch_with(x), {});
//   mem_free_async(current, x, stream);                           // freed when the launch is done
//
// Between the call and its turn in the stream, kernels may not use the memory (finding use-before-alloc);
// after the free has had its turn, neither (use-after-free). Fresh memory is poisoned: a GPU hands out
// what others left in the pool.
//
// A pool of the simulator holds no memory of its own: attributes count what a GPU's pool would hold, without
// rounding to the size of its pages, and as if the host synchronised after every free.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "simulator/driver/context.h"
#include "simulator/streams/timeline.h"

namespace cudasim::driver {

/// CUmemPool_attribute, with its numbers.
enum class PoolAttribute {
    reuse_follow_event_dependencies =
        1,  ///< this and the next two: 0 or 1; kept, and nothing depends on them
    reuse_allow_opportunistic = 2,
    reuse_allow_internal_dependencies = 3,
    release_threshold = 4,     ///< bytes that the pool keeps when they are free
    reserved_mem_current = 5,  ///< bytes; this and used_mem_current cannot be set
    reserved_mem_high = 6,     ///< the most since it was set to 0, the one value that it can be set to
    used_mem_current = 7,
    used_mem_high = 8,
};

/// CUmemoryPool. Its functions are those of MemoryPools, which makes it.
class MemoryPool {
  public:
    MemoryPool(int device, std::uint64_t most) : device_(device), most_(most) {}

    [[nodiscard]] int device() const { return device_; }

  private:
    friend class MemoryPools;

    /// Whether so many bytes more are allowed.
    [[nodiscard]] bool has_room_for(std::uint64_t bytes) const;
    void add(std::uint64_t bytes);
    void remove(std::uint64_t bytes);
    void trim(std::uint64_t keep);
    [[nodiscard]] std::uint64_t& value_of(PoolAttribute attribute, const char* call);

    const int device_;
    const std::uint64_t most_;
    // Guarded by the lock of MemoryPools.
    bool destroyed_ = false;
    std::uint64_t follow_events_ = 1, opportunistic_ = 1, internal_dependencies_ = 1;
    std::uint64_t threshold_ = 0;
    std::uint64_t used_ = 0, used_high_ = 0, reserved_ = 0, reserved_high_ = 0;
};

/// The pools of a context, and what is allocated from them. Safe to use from any thread.
class MemoryPools {
  public:
    explicit MemoryPools(int device);

    /// @param most how many bytes may be allocated from it at a time; 0: as many as the device has
    [[nodiscard]] std::shared_ptr<MemoryPool> create(std::uint64_t most = 0) const;
    [[nodiscard]] std::shared_ptr<MemoryPool> default_pool() const;
    [[nodiscard]] std::shared_ptr<MemoryPool> current() const;
    /// @throws Error 1 for a pool of another device, and one that was destroyed
    void set_current(const std::shared_ptr<MemoryPool>& pool);
    /// What is allocated stays until it is freed. The default pool takes the place of a pool that is current.
    /// @throws Error 1 for the default pool, and one that was destroyed
    void destroy(const std::shared_ptr<MemoryPool>& pool);
    /// @throws Error 1 for an attribute that does not exist
    [[nodiscard]] std::uint64_t attribute(MemoryPool& pool, PoolAttribute attribute) const;
    /// @throws Error 1 for an attribute that cannot be set, or not to this value
    void set_attribute(MemoryPool& pool, PoolAttribute attribute, std::uint64_t value);
    void trim(MemoryPool& pool, std::uint64_t keep);

    /// Counts an allocation of that pool. @throws Error 1 for a destroyed pool, 2 for one without room for it
    void add(const std::shared_ptr<MemoryPool>& pool, DevicePointer pointer, std::uint64_t bytes);
    [[nodiscard]] bool contains(DevicePointer pointer) const;
    /// Whether the address is that of an allocation; from now on it is being freed.
    /// @throws Error 1, which names `call`, when it is being freed already
    bool begin_free(DevicePointer pointer, const char* call);
    /// It is freed. @return false for an address that is no allocation, or is none any more
    bool remove(DevicePointer pointer);
    /// For the end of the context: frees everything. The default pool and the current one give nothing more;
    /// another default pool takes their place.
    void reset(SimulatedDevice* engine);

  private:
    struct Allocation {
        std::shared_ptr<MemoryPool> pool;
        std::uint64_t bytes = 0;
        bool being_freed = false;
    };
    void require_alive(const MemoryPool& pool, const char* call) const;

    const int device_;
    mutable std::mutex mutex_;  ///< guards what follows, and what is in the pools
    std::shared_ptr<MemoryPool> default_, current_;
    std::map<DevicePointer, Allocation> allocations_;
};

/// From the device's current pool, for what comes after it in the stream.
/// @param current the context of the stream
/// @param label what reports call the memory; @param place the line of the host (StreamWork::Submission)
/// @throws Error 1 for no bytes, 2 when it does not fit, and what StreamWork::submit() throws
[[nodiscard]] DevicePointer mem_alloc_async(const std::shared_ptr<Context>& current, std::uint64_t bytes,
                                            streams::StreamKey stream, const std::string& label,
                                            std::string place = {});
/// The same from a pool, which may be another device's. @param owner the context of the pool
[[nodiscard]] DevicePointer mem_alloc_from_pool_async(const std::shared_ptr<Context>& owner,
                                                      const std::shared_ptr<MemoryPool>& pool,
                                                      std::uint64_t bytes, streams::StreamKey stream,
                                                      const std::string& label, std::string place = {});
/// Frees device memory after what is in the stream: memory of a pool, and what mem_alloc() gave. It is freed
/// also when what is before it in the stream fails.
/// @throws Error 1 for what is not the start of an allocation, is being freed, or is managed or the host's
void mem_free_async(const std::shared_ptr<Context>& current, DevicePointer pointer, streams::StreamKey stream,
                    std::string place = {});

}  // namespace cudasim::driver
