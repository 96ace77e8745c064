// See differing_elements.h.
#include "gpu_backend/launches/differing_elements.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace cudasim::gpu_launches {
namespace {

/// Of one allocation, of bytes outside of arrays. More are counted as if they were not there.
constexpr std::size_t most_runs = 1 << 16;

bool lines_agree(const Results& simulated, const Results& gpu) {
    if (simulated.printed == gpu.printed) return true;
    return comparison::compare_printed(simulated.printed, gpu.printed).verdict() !=
           comparison::Verdict::different;
}

bool is_float(comparison::Kind kind) {
    return kind == comparison::Kind::floating || kind == comparison::Kind::bfloat16 ||
           kind == comparison::Kind::complex;
}

bool same_bytes(std::span<const std::byte> first, std::span<const std::byte> second) {
    return first.data() == second.data() || std::memcmp(first.data(), second.data(), first.size()) == 0;
}

}  // namespace

std::uint64_t size_of(const ElementSet& set) {
    return static_cast<std::uint64_t>(std::ranges::count(set, true));
}

DifferingElements::DifferingElements(const driver::LaunchRecord& record, Results simulated,
                                     const GpuOutcome& outcome, std::span<const ComparedArray> arrays)
    : record_(record),
      simulated_(std::move(simulated)),
      gpu_{.memory = outcome.after, .printed = outcome.result.printed} {
    gpu_.memory.resize(record.memory.size());
    simulated_.memory.resize(record.memory.size());
    const auto add = [&](Part part) {
        part.first = size_;
        part.elements =
            differing(part, simulated_.memory[part.memory]->bytes(), gpu_.memory[part.memory]->bytes());
        size_ += part.elements.size();
        parts_.push_back(std::move(part));
    };
    for (std::size_t i = 0; i < record.memory.size(); ++i) {
        const auto& range = record.memory[i];
        if (!gpu_.memory[i]) continue;
        if (!simulated_.memory[i])
            throw driver::RecordError("the record does not have the memory after the launch");
        std::vector<comparison::ArrayView> views;
        for (const ComparedArray& array : arrays) {
            if (array.view.address < range.address || array.view.address - range.address >= range.bytes)
                continue;
            Part part{.memory = i, .array = &array, .view = array.view};
            part.view.offset = array.view.address - range.address;
            views.push_back(part.view);
            if (is_float(part.view.type.kind))
                part.values = comparison::ValueComparer::make(part.view.type, array.tolerance);
            add(std::move(part));
        }
        add({.memory = i, .views = std::move(views)});
    }
    lines_differ_ = !lines_agree(simulated_, gpu_);
    if (lines_differ_) ++size_;
}

std::vector<std::uint64_t> DifferingElements::differing(const Part& part,
                                                        std::span<const std::byte> simulated,
                                                        std::span<const std::byte> gpu) const {
    if (part.array != nullptr)
        return comparison::mismatched_elements(part.view, simulated, gpu, part.array->tolerance);
    const auto bytes = comparison::compare_outside({}, 0, part.views, simulated, gpu, {.runs = most_runs});
    std::vector<std::uint64_t> offsets;
    for (const auto& run : bytes.first)
        for (std::uint64_t at = 0; at < run.bytes; ++at) offsets.push_back(run.address + at);
    return offsets;
}

std::uint64_t DifferingElements::offset_of(const Part& part, std::uint64_t element) const {
    if (part.array == nullptr) return element;
    return comparison::address_of(part.view, element) - record_.memory[part.memory].address;
}

/// @param now, then, other the beginnings of the allocation's contents
bool DifferingElements::is_moved(const Part& part, std::uint64_t element, const std::byte* now,
                                 const std::byte* then, const std::byte* other) const {
    const std::uint64_t offset = offset_of(part, element);
    const std::uint64_t bytes = part.array == nullptr ? 1 : part.view.type.bytes;
    if (std::memcmp(now + offset, then + offset, bytes) == 0) return false;
    if (!part.values) return true;
    const auto change = part.values->evaluate(now + offset, then + offset);
    const auto difference = part.values->evaluate(then + offset, other + offset);
    if (!difference.has_distance || !change.has_distance) return !change.has_distance;
    constexpr double least = 1.0 / 64;
    return change.absolute >= least * difference.absolute;
}

Effect DifferingElements::effect(const Results& changed, const Results& then, const Results& other,
                                 bool changed_is_gpu) const {
    Effect effect{.removed = none(), .moved = none()};
    for (const Part& part : parts_) {
        const auto now = changed.memory[part.memory]->bytes(), before = then.memory[part.memory]->bytes(),
                   opposite = other.memory[part.memory]->bytes();
        if (same_bytes(now, before)) continue;
        const auto differ = changed_is_gpu ? differing(part, opposite, now) : differing(part, now, opposite);
        auto at = differ.begin();
        for (std::size_t i = 0; i < part.elements.size(); ++i) {
            const std::uint64_t element = part.elements[i];
            for (; at != differ.end() && *at < element; ++at) ++effect.adds;
            if (at == differ.end() || *at != element) {
                effect.removed[part.first + i] = true;
                continue;
            }
            ++at;
            if (is_moved(part, element, now.data(), before.data(), opposite.data()))
                effect.moved[part.first + i] = true;
        }
        effect.adds += static_cast<std::uint64_t>(differ.end() - at);
    }
    const bool agree = changed_is_gpu ? lines_agree(other, changed) : lines_agree(changed, other);
    if (!lines_differ_)
        effect.adds += agree ? 0 : 1;
    else if (agree)
        effect.removed.back() = true;
    else if (!lines_agree(changed, then))
        effect.moved.back() = true;
    return effect;
}

Effect DifferingElements::effect_of(const Results& simulated) const {
    return effect(simulated, simulated_, gpu_, false);
}

Effect DifferingElements::effect_of_gpu(const Results& gpu) const {
    return effect(gpu, gpu_, simulated_, true);
}

std::vector<execution::AddressRange> DifferingElements::places(const ElementSet& set,
                                                               std::size_t most) const {
    const std::uint64_t stride = std::max<std::uint64_t>(1, size_of(set) / std::max<std::size_t>(1, most));
    std::vector<execution::AddressRange> places;
    std::uint64_t seen = 0;
    for (const Part& part : parts_) {
        for (std::size_t i = 0; i < part.elements.size() && places.size() < most; ++i) {
            if (!set[part.first + i] || seen++ % stride != 0) continue;
            places.push_back({record_.memory[part.memory].address + offset_of(part, part.elements[i]),
                              part.array == nullptr ? 1 : part.view.type.bytes});
        }
    }
    return places;
}

bool DifferingElements::any_in(std::uint64_t address, std::uint64_t bytes) const {
    return std::ranges::any_of(parts_, [&](const Part& part) {
        const std::uint64_t begin = record_.memory[part.memory].address;
        if (begin >= address + bytes || address >= begin + record_.memory[part.memory].bytes) return false;
        return std::ranges::any_of(part.elements, [&](std::uint64_t element) {
            const std::uint64_t place = begin + offset_of(part, element);
            return place >= address && place - address < bytes;
        });
    });
}

}  // namespace cudasim::gpu_launches
