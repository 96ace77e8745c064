// The search for reachable memory, and the copy.
#include "simulator/driver/launch_capture.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "simulator/execution/memory_copy.h"
#include "simulator/findings/writers.h"
#include "simulator/memory/host_memory.h"

namespace cudasim::driver {

namespace {

/// Allocations by address, for the question in which one a word points.
class AddressSearch {
  public:
    explicit AddressSearch(std::vector<RecordedMemory>& memory) : memory_(memory) {
        for (std::size_t i = 0; i < memory.size(); ++i) {
            if (memory[i].kind == MemoryKind::freed) continue;
            lowest_ = std::min(lowest_, memory[i].address);
            highest_ = std::max(highest_, memory[i].address + memory[i].bytes);
            live_.push_back(i);
        }
        std::ranges::sort(live_, {}, [&](std::size_t i) { return memory[i].address; });
        seen_.resize(memory.size());
    }

    /// Notes the allocations that the words point to. Most words are no addresses at all.
    void follow_all(const std::byte* words, std::uint64_t count) {
        constexpr std::uint64_t group = 16;
        const std::uint64_t span = highest_ - lowest_;
        for (std::uint64_t first = 0; first < count; first += group) {
            const std::uint64_t end = std::min(first + group, count);
            bool any = false;
            for (std::uint64_t i = first; i < end; ++i) any |= word_at(words, i) - lowest_ <= span;
            if (!any) continue;
            for (std::uint64_t i = first; i < end; ++i) follow(word_at(words, i));
        }
    }
    /// Notes the allocation that the word points to, if there is one. Just behind the last byte counts: an
    /// array's end, or where an array of negative strides begins.
    void follow(std::uint64_t word) {
        if (word < lowest_ || word > highest_) return;
        auto next =
            std::ranges::upper_bound(live_, word, {}, [&](std::size_t i) { return memory_[i].address; });
        if (next == live_.begin()) return;
        const std::size_t found = *std::prev(next);
        if (word - memory_[found].address <= memory_[found].bytes) note(found);
    }
    void note(std::size_t index) {
        if (seen_[index]) return;
        seen_[index] = true;
        waiting_.push_back(index);
    }
    /// The next allocation to look into; false when all have been.
    bool next(std::size_t& index) {
        if (waiting_.empty()) return false;
        index = waiting_.back();
        waiting_.pop_back();
        return true;
    }

  private:
    static std::uint64_t word_at(const std::byte* words, std::uint64_t index) {
        std::uint64_t word = 0;
        std::memcpy(&word, words + 8 * index, 8);
        return word;
    }

    std::vector<RecordedMemory>& memory_;
    std::vector<std::size_t> live_;
    std::vector<bool> seen_;
    std::vector<std::size_t> waiting_;
    std::uint64_t lowest_ = ~std::uint64_t{0}, highest_ = 0;
};

/// Copies of memory that no record has needed, for the next launch of the process: the host gives fresh
/// memory ten times as slowly as it copies.
class SpareCopies {
  public:
    void keep(std::vector<RecordedMemory>& memory) {
        const std::lock_guard lock(mutex_);
        copies_.clear();
        for (RecordedMemory& each : memory)
            if (each.before && each.before->size() != 0) copies_.push_back(std::move(*each.before));
    }
    /// One of this size; nothing where there is none.
    std::optional<Content> take(std::uint64_t bytes) {
        const std::lock_guard lock(mutex_);
        const auto found = std::ranges::find(copies_, bytes, &Content::size);
        if (found == copies_.end()) return std::nullopt;
        Content content = std::move(*found);
        copies_.erase(found);
        return content;
    }

  private:
    std::mutex mutex_;
    std::vector<Content> copies_;
};

SpareCopies& spare_copies() {
    static auto* copies = new SpareCopies;  // launches of finalizers may come late
    return *copies;
}

/// Copies and searches in one go, a piece that stays in the cache at a time.
/// @param known what it contained, where there is a copy already; else null
Content copied(const RecordedMemory& range, AddressSearch& search, std::optional<Content> spare,
               std::shared_ptr<std::byte[]> known) {
    constexpr std::uint64_t piece = 32 << 10;
    const bool is_known = known != nullptr;
    Content content(std::move(known), range.bytes);
    try {
        if (!is_known) content = spare ? *std::move(spare) : Content(range.bytes);
    } catch (const std::bad_alloc&) {
        throw RecordError("the launch cannot be recorded: there is no memory for a copy of " +
                          memory::bytes_text(range.bytes) + " (" + memory::describe_host_memory() + ")");
    }
    const auto* source = reinterpret_cast<const std::byte*>(range.address);
    // Where pointers lie: at multiples of 8 in the address space, also in adopted
    // memory that begins elsewhere.
    std::uint64_t searched = (8 - range.address % 8) % 8;
    for (std::uint64_t at = 0; at < range.bytes; at += piece) {
        const std::uint64_t size = std::min(piece, range.bytes - at);
        if (!is_known) std::memcpy(content.data() + at, source + at, size);
        if (at + size < searched) continue;
        const std::uint64_t words = (at + size - searched) / 8;
        search.follow_all(content.data() + searched, words);
        searched += 8 * words;
    }
    return content;
}

MemoryKind kind_of(const memory::Allocation& allocation) {
    if (allocation.adopted) return MemoryKind::adopted;
    return allocation.counted ? MemoryKind::device : MemoryKind::host;
}

}  // namespace

LaunchCapture::LaunchCapture(SimulatedDevice& device, LaunchRecord described,
                             const execution::LoadedImage* image, std::vector<std::uint64_t> roots,
                             const CaptureOptions& options)
    : device_(device),
      record_(std::move(described)),
      image_(image),
      roots_(std::move(roots)),
      options_(options) {
    record_.device = device.device.profile();
    record_.memory_base = device.device.memory_base();
    record_.options.observers = {};  // the record may live longer
    record_.options.access_observers = {};
    record_.options.value_observer = nullptr;
}

/// The launch goes on without a record.
template <typename Step>
void LaunchCapture::attempt(Step&& step) {
    if (!error_.empty()) return;
    try {
        step();
    } catch (const RecordError& error) {
        error_ = error.what();
    } catch (const std::bad_alloc&) {
        error_ = "the launch cannot be recorded: there is no memory for what it left behind (" +
                 memory::describe_host_memory() + ")";
    }
    if (!error_.empty()) record_.memory.clear();
}

void LaunchCapture::launch_begins(const execution::LaunchBegin& launch) {
    began_ = true;
    copy_ = launch.memory;
    attempt([this] {
        list_memory();
        if (!copy_) take_memory();
    });
}

void LaunchCapture::launch_ends(std::span<const findings::Finding> findings) {
    failed_ = std::ranges::any_of(findings, [](const findings::Finding& finding) {
        return finding.severity == findings::Severity::error;
    });
    if (wanted())
        attempt([this] {
            take_memory();
            take_results();
        });
    else
        forget_memory();
}

void LaunchCapture::forget_memory() {
    if (options_.only_failures && !handed_out_ && !copy_) spare_copies().keep(record_.memory);
    record_.memory.clear();
}

void LaunchCapture::list_memory() {
    const std::uint64_t globals_base = image_ == nullptr ? 0 : device_.device.globals_base(*image_);
    const auto layout = device_.device.memory_layout();
    auto& memory = record_.memory;
    for (const auto& each : layout.live)
        memory.push_back({.address = each.address,
                          .bytes = each.bytes,
                          .label = each.label,
                          .kind = kind_of(each),
                          .read_only = each.read_only,
                          .globals = globals_base != 0 && each.address == globals_base});
    for (const auto& each : layout.freed)
        memory.push_back({.address = each.address,
                          .bytes = each.bytes,
                          .label = each.label,
                          .kind = MemoryKind::freed,
                          .read_only = each.read_only});
}

/// What a kernel cannot write is still as it was.
void LaunchCapture::take_memory() {
    if (std::exchange(is_taken_, true)) return;
    const std::uint64_t globals_base = image_ == nullptr ? 0 : device_.device.globals_base(*image_);
    auto& memory = record_.memory;
    AddressSearch search(memory);
    for (const std::uint64_t root : roots_) search.follow(root);
    if (globals_base != 0) search.follow(globals_base);
    for (std::size_t at = 0; at + 8 <= record_.parameters.size(); at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, record_.parameters.data() + at, 8);
        search.follow(word);
    }
    std::uint64_t copied_bytes = 0;
    for (std::size_t index = 0; search.next(index);) {
        copied_bytes += memory[index].bytes;
        if (options_.most_bytes != 0 && copied_bytes > options_.most_bytes)
            throw RecordError("the launch is not recorded: it reaches more than " +
                              memory::bytes_text(options_.most_bytes) + " of memory");
        const RecordedMemory& range = memory[index];
        std::shared_ptr<std::byte[]> known = copy_ ? copy_->content(range.address, range.bytes) : nullptr;
        if (!known && range.bytes >= (64 << 20) &&
            range.bytes + memory::host_reserve > memory::host_memory_available())
            throw RecordError("the launch cannot be recorded: a copy of the memory that it reaches, " +
                              memory::bytes_text(copied_bytes) +
                              " or more, is more than this host can give (" + memory::describe_host_memory() +
                              ")");
        std::optional<Content> spare;
        if (options_.only_failures && !known) spare = spare_copies().take(range.bytes);
        memory[index].before = copied(range, search, std::move(spare), std::move(known));
    }
}

void LaunchCapture::take_results() {
    const execution::Device& device = device_.device;
    for (auto& range : record_.memory) {
        if (!range.before) continue;
        // The kernel may have given it to free(): nobody reads it any more.
        if (device.owns(range.address) && !device.contains(range.address, range.bytes)) continue;
        const std::span content(reinterpret_cast<const std::byte*>(range.address), range.bytes);
        if (!options_.keep_after) {
            range.after_hash = hash_of(content);
            continue;
        }
        if (std::memcmp(range.before->data(), content.data(), content.size()) == 0) {
            range.after = range.before;
            continue;
        }
        range.after = Content(range.bytes);
        std::memcpy(range.after->data(), content.data(), content.size());
    }
}

LaunchRecord LaunchCapture::before_launch() {
    if (!began_) throw RecordError("the launch cannot be recorded: it has not begun");
    attempt([this] { take_memory(); });
    if (!error_.empty()) throw RecordError(error_);
    handed_out_ = true;
    LaunchRecord record = record_;
    record.outcome.printed.clear();
    record.outcome.findings = findings::json_report({});
    return record;
}

LaunchRecord LaunchCapture::finish(const execution::LaunchResult& result, bool finished) {
    if (!began_) throw RecordError("the launch cannot be recorded: it was stopped before it began");
    if (!error_.empty()) throw RecordError(error_);
    record_.outcome.finished = finished;
    record_.outcome.findings = findings::json_report(result.findings);
    record_.outcome.blocks_run = result.blocks_run;
    return std::move(record_);
}

}  // namespace cudasim::driver
