// See memory_copy.h.
#include "simulator/execution/memory_copy.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "simulator/memory/large_buffer.h"

namespace cudasim::execution {

namespace {

/// Of all devices.
struct Spare {
    std::mutex mutex;
    std::shared_ptr<std::byte[]> memory;
    std::size_t bytes = 0;
};

Spare& spare() {
    static auto* one = new Spare;  // launches of finalizers may come late
    return *one;
}

bool is_writable(const memory::Allocation& allocation) {
    return !allocation.read_only && allocation.accessible && allocation.bytes != 0;
}

}  // namespace

std::uint64_t MemoryCopy::writable_bytes(const memory::Arena& arena) {
    std::uint64_t bytes = 0;
    arena.for_each_live([&](const memory::Allocation& each) { bytes += is_writable(each) ? each.bytes : 0; });
    return bytes;
}

MemoryCopy::MemoryCopy(const memory::Arena& arena) {
    arena.for_each_live([&](const memory::Allocation& each) {
        if (!is_writable(each)) return;
        ranges_.push_back({reinterpret_cast<std::byte*>(each.address), each.bytes, bytes_});
        bytes_ += (each.bytes + chunk_bytes - 1) / chunk_bytes * chunk_bytes;
    });
    {
        Spare& known = spare();
        const std::lock_guard lock(known.mutex);
        if (known.bytes == bytes_) data_ = std::move(known.memory);
    }
    if (!data_) data_ = memory::large_buffer(bytes_);
    for (const Range& range : ranges_) std::memcpy(data_.get() + range.place, range.memory, range.bytes);
}

/// Its memory is kept for the next launch, unless a record still has a part of it: the host gives fresh
/// memory ten times as slowly as it copies.
MemoryCopy::~MemoryCopy() {
    if (data_.use_count() != 1) return;
    Spare& known = spare();
    const std::lock_guard lock(known.mutex);
    known.memory.swap(data_);
    known.bytes = bytes_;
}

std::shared_ptr<std::byte[]> MemoryCopy::content(std::uint64_t address, std::uint64_t bytes) const {
    const auto found = std::ranges::find_if(ranges_, [&](const Range& range) {
        return reinterpret_cast<std::uint64_t>(range.memory) == address && range.bytes == bytes;
    });
    if (found == ranges_.end()) return nullptr;
    return {data_, data_.get() + found->place};
}

}  // namespace cudasim::execution
