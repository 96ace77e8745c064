// See memory_history.h.
#include "simulator/execution/memory_history.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "simulator/memory/large_buffer.h"

namespace cudasim::execution {

void MemoryHistory::apply(const Changes& changes, std::byte* target) {
    for (std::size_t i = 0; i < changes.places.size(); ++i)
        std::memcpy(target + changes.places[i], changes.contents.data() + i * chunk_bytes, chunk_bytes);
}

std::size_t MemoryHistory::save() {
    if (!last_) {
        last_ = memory::large_buffer(first_->bytes());
        std::memcpy(last_.get(), first_->data(), first_->bytes());
    }
    Changes changes;
    for (const Range& range : first_->ranges()) {
        for (std::size_t at = 0; at < range.bytes; at += chunk_bytes) {
            const std::size_t bytes = std::min(chunk_bytes, range.bytes - at);
            std::byte* known = last_.get() + range.place + at;
            if (std::memcmp(known, range.memory + at, bytes) == 0) continue;
            std::memcpy(known, range.memory + at, bytes);
            changes.places.push_back(range.place + at);
            changes.contents.insert(changes.contents.end(), known, known + chunk_bytes);
        }
    }
    changed_bytes_ += changes.contents.size();
    changes_.push_back(std::move(changes));
    return changes_.size();
}

void MemoryHistory::restore(std::size_t state) {
    while (changes_.size() > state) {
        changed_bytes_ -= changes_.back().contents.size();
        changes_.pop_back();
    }
    const std::byte* source = first_->data();
    if (last_) {
        std::memcpy(last_.get(), first_->data(), first_->bytes());
        for (const Changes& changes : changes_) apply(changes, last_.get());
        source = last_.get();
    }
    for (const Range& range : first_->ranges()) std::memcpy(range.memory, source + range.place, range.bytes);
}

/// What the state changed, and the next one did not change again, becomes part of the next one.
void MemoryHistory::forget(std::size_t state) {
    const Changes old = std::move(changes_[state - 1]);
    Changes& next = changes_[state];
    Changes both;
    both.places.reserve(old.places.size() + next.places.size());
    both.contents.reserve(old.contents.size() + next.contents.size());
    const auto take = [&](const Changes& from, std::size_t index) {
        both.places.push_back(from.places[index]);
        const auto first = from.contents.begin() + static_cast<std::ptrdiff_t>(index * chunk_bytes);
        both.contents.insert(both.contents.end(), first, first + chunk_bytes);
    };
    std::size_t i = 0, j = 0;
    while (i < old.places.size() || j < next.places.size()) {
        if (j == next.places.size() || (i < old.places.size() && old.places[i] < next.places[j])) {
            take(old, i++);
        } else {
            if (i < old.places.size() && old.places[i] == next.places[j]) ++i;
            take(next, j++);
        }
    }
    changed_bytes_ += both.contents.size() - old.contents.size() - next.contents.size();
    next = std::move(both);
    changes_.erase(changes_.begin() + static_cast<std::ptrdiff_t>(state) - 1);
}

}  // namespace cudasim::execution
