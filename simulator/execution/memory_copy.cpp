// See memory_copy.h.
#include "simulator/execution/memory_copy.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "simulator/memory/large_buffer.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

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

/// Copies what is not read again soon: past the caches, where that saves reading the target before it is
/// written, and leaves the caches to the kernel. memcpy() does so from a size on that depends on the machine,
/// and is 250 MiB on some.
void copy_for_later(std::byte* target, const std::byte* source, std::size_t bytes) {
    std::size_t done = 0;
#if defined(__SSE2__)
    constexpr std::size_t large = 256 << 10, unit = sizeof(__m128i), line = 4 * unit;
    if (bytes >= large && reinterpret_cast<std::uintptr_t>(target) % unit == 0) {
        for (; done + line <= bytes; done += line) {
            const auto* from = reinterpret_cast<const __m128i*>(source + done);
            auto* to = reinterpret_cast<__m128i*>(target + done);
            const __m128i first = _mm_loadu_si128(from), second = _mm_loadu_si128(from + 1);
            const __m128i third = _mm_loadu_si128(from + 2), fourth = _mm_loadu_si128(from + 3);
            _mm_stream_si128(to, first);
            _mm_stream_si128(to + 1, second);
            _mm_stream_si128(to + 2, third);
            _mm_stream_si128(to + 3, fourth);
        }
        _mm_sfence();
    }
#endif
    std::memcpy(target + done, source + done, bytes - done);
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
    for (const Range& range : ranges_) copy_for_later(data_.get() + range.place, range.memory, range.bytes);
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
