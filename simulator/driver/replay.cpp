// Restores memory, and compares it after the launch.
#include "simulator/driver/replay.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "simulator/findings/writers.h"
#include "simulator/image/unknown_origin.h"
#include "simulator/memory/host_memory.h"

namespace cudasim::driver {

namespace {

constexpr std::uint64_t page = 4096;

std::string name_of(const RecordedMemory& range) {
    return (range.label.empty() ? "an allocation" : "'" + range.label + "'") + " of " +
           std::to_string(range.bytes) + " bytes";
}

/// findings::json_report() as it would be at the recorded addresses.
std::string findings_of(const execution::LaunchResult& result, const Restored& restored,
                        const LaunchRecord& record) {
    if (restored.same_addresses()) return findings::json_report(result.findings);
    auto findings = result.findings;
    for (auto& finding : findings) {
        if (!finding.object) continue;
        for (std::size_t i = 0; i < record.memory.size(); ++i)
            if (finding.object->address == restored.address(i)) {
                finding.object->address = record.memory[i].address;
                break;
            }
    }
    return findings::json_report(findings);
}

}  // namespace

AdoptedPages::AdoptedPages(std::uint64_t first, std::uint64_t last) : first_(first), last_(last) {
    const std::uint64_t bytes = last - first;
    // Includes the shadow of the memory, which is touched wherever kernels may access it.
    if (bytes > memory::host_memory_available() ||
        bytes + bytes / 8 + memory::host_reserve > memory::host_memory_available())
        throw RecordError("the record's " + memory::bytes_text(bytes) +
                          " of host memory are more than this host can give");
    // A hint: Linux takes a place that is free, and another one else.
    mapped_ = mmap(reinterpret_cast<void*>(first), bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                   -1, 0);
    if (mapped_ != MAP_FAILED) return;
    mapped_ = nullptr;
    throw RecordError("the record's " + std::to_string(bytes) + " bytes of host memory cannot be mapped");
}

AdoptedPages::~AdoptedPages() {
    if (mapped_ != nullptr) munmap(mapped_, last_ - first_);
}

AdoptedPages::AdoptedPages(AdoptedPages&& other) noexcept
    : first_(other.first_), last_(other.last_), mapped_(std::exchange(other.mapped_, nullptr)) {}

std::optional<std::uint64_t> AdoptedPages::address_of(std::uint64_t recorded) const {
    if (recorded < first_ || recorded >= last_) return std::nullopt;
    return reinterpret_cast<std::uint64_t>(mapped_) + (recorded - first_);
}

namespace {

/// Of all host memory in the record: several variables may lie on one page.
std::vector<AdoptedPages> map_adopted(const LaunchRecord& record) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
    for (const RecordedMemory& range : record.memory)
        if (range.kind == MemoryKind::adopted)
            ranges.emplace_back(range.address / page * page,
                                (range.address + range.bytes + page - 1) / page * page);
    std::ranges::sort(ranges);
    std::vector<AdoptedPages> mapped;
    for (std::size_t i = 0; i < ranges.size();) {
        auto [first, last] = ranges[i];
        while (++i < ranges.size() && ranges[i].first < last) last = std::max(last, ranges[i].second);
        mapped.emplace_back(first, last);
    }
    return mapped;
}

}  // namespace

Restored::Restored(Target& target, const LaunchRecord& record, const execution::LaunchOptions& options)
    : target_(target),
      record_(record),
      parameters_(record.parameters),
      addresses_(record.memory.size()),
      owned_(record.memory.size()) {
    try {
        if (!record.runs_in_front_end()) {
            const auto globals = std::ranges::find(record.memory, true, &RecordedMemory::globals);
            const auto image = image::KernelImage::deserialise(record.image.bytes());
            module_ = target.load(image::without_claims(image),
                                  globals != record.memory.end() ? globals->address : 0);
            target.compile(*module_, record.kernel, options);
        }
        adopted_ = map_adopted(record);
        for (std::size_t i = 0; i < record.memory.size(); ++i) place(i);
        // What was freed takes the places that are left, in the order in which it was freed.
        for (std::size_t i = 0; i < record.memory.size(); ++i)
            if (owned_[i] && record.memory[i].kind == MemoryKind::freed) {
                target.free(addresses_[i]);
                owned_[i] = false;
            }
        fill();
    } catch (...) {
        free_all();
        throw;
    }
}

Restored::~Restored() {
    free_all();
}

void Restored::free_all() noexcept {
    for (std::size_t i = 0; i < addresses_.size(); ++i) {
        if (!owned_[i]) continue;
        owned_[i] = false;
        try {
            target_.free(addresses_[i]);
        } catch (...) {  // it goes with the target
        }
    }
}

void Restored::place(std::size_t index) {
    const RecordedMemory& range = record_.memory[index];
    const execution::AllocateOptions options{.label = range.label,
                                             .poison = false,
                                             .host = range.kind == MemoryKind::host,
                                             .read_only = range.read_only};
    std::uint64_t& address = addresses_[index];
    if (range.globals) {
        address = module_ ? module_->globals_base() : 0;
        if (address == 0) throw RecordError("the record has global variables that its image lacks");
    } else if (range.kind == MemoryKind::adopted) {
        for (const AdoptedPages& pages : adopted_)
            if (const auto place = pages.address_of(range.address)) address = *place;
        if (!target_.adopt(address, range.bytes, range.label))
            throw RecordError("the record's host memory, " + name_of(range) + ", overlaps other memory");
        owned_[index] = true;
    } else if (target_.allocate_at(range.address, range.bytes, options)) {
        address = range.address;
        owned_[index] = true;
    } else if (range.before) {
        address = target_.allocate(range.bytes, options);
        owned_[index] = true;
    } else {
        // The kernel could not reach it; its place only tells what an access beyond another one meets.
        return;
    }
    moved_ = moved_ || address != range.address;
}

std::uint64_t Restored::relocated(std::uint64_t address) const {
    std::uint64_t behind_end = address;
    for (std::size_t i = 0; i < record_.memory.size(); ++i) {
        const auto& range = record_.memory[i];
        if (!range.before || addresses_[i] == 0 || address < range.address) continue;
        const std::uint64_t offset = address - range.address;
        if (offset < range.bytes) return addresses_[i] + offset;
        if (offset == range.bytes) behind_end = addresses_[i] + offset;
    }
    return behind_end;
}

/// Contents, and the parameters.
void Restored::fill() {
    for (std::size_t i = 0; i < record_.memory.size(); ++i) {
        const auto& range = record_.memory[i];
        if (!range.before || addresses_[i] == 0) continue;
        if (range.before->size() != range.bytes) throw RecordError("the record was read without its memory");
        if (moved_) {
            const std::uint64_t skew = (8 - range.address % 8) % 8;
            for (std::uint64_t at = skew; at + 8 <= range.bytes; at += 8) {
                std::uint64_t word = 0;
                std::memcpy(&word, range.before->data() + at, 8);
                if (relocated(word) != word)
                    throw RecordError("the launch cannot be run at other addresses, because " +
                                      name_of(range) + " holds an address (at byte " + std::to_string(at) +
                                      "), and the recorded places are not free in this process");
            }
        }
        target_.copy_to_device(addresses_[i], range.before->data(), range.bytes);
    }
    for (std::size_t at = 0; moved_ && at + 8 <= parameters_.size(); at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, parameters_.data() + at, 8);
        word = relocated(word);
        std::memcpy(parameters_.data() + at, &word, 8);
    }
}

std::vector<Difference> compare(Target& target, const LaunchRecord& record, const Restored& restored,
                                const execution::LaunchResult& result, bool finished,
                                std::string_view printed) {
    std::vector<Difference> differences;
    if (finished != record.outcome.finished)
        differences.push_back(
            {"finished", finished ? "the recorded launch was stopped before its end, this one was not"
                                  : "this launch was stopped before its end"});
    if (findings_of(result, restored, record) != record.outcome.findings)
        differences.push_back({"findings", "the findings differ"});
    if (printed != record.outcome.printed)
        differences.push_back({"printed", "what the kernel printed differs"});
    for (std::size_t i = 0; i < record.memory.size(); ++i) {
        const auto& range = record.memory[i];
        const bool is_known = range.after && range.after->size() == range.bytes;
        if ((!is_known && !range.after_hash) || restored.address(i) == 0) continue;
        Content now(range.bytes);
        try {
            target.copy_from_device(now.data(), restored.address(i), range.bytes);
        } catch (const execution::CudaError&) {
            differences.push_back(
                {"memory", "this launch frees memory that the recorded one did not: " + name_of(range), i});
            continue;
        }
        if (is_known ? std::ranges::equal(now.bytes(), range.after->bytes())
                     : hash_of(now.bytes()) == *range.after_hash)
            continue;
        Difference difference{"memory", "memory differs after the launch: " + name_of(range), i};
        if (is_known) {
            for (std::uint64_t at = 0; at < range.bytes; ++at) {
                if (now.data()[at] == range.after->data()[at]) continue;
                if (difference.count++ == 0) difference.first = at;
            }
            difference.text += ", in " + std::to_string(difference.count) + " bytes, the first at byte " +
                               std::to_string(difference.first);
        }
        differences.push_back(std::move(difference));
    }
    return differences;
}

}  // namespace cudasim::driver
