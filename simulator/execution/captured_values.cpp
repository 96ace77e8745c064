// See captured_values.h.
#include "simulator/execution/captured_values.h"

#include <cstring>
#include <mutex>
#include <new>

#include "simulator/execution/block_run.h"
#include "simulator/execution/runner.h"
#include "simulator/memory/arena.h"

namespace cudasim::execution {

using findings::VariableValue;
using jit::CapturedPart;
using jit::CapturedVariable;
using jit::PartSource;

namespace {

using findings::most_bytes_on_chip;
/// Copies of elements in global memory, as many as findings::most_bytes_on_chip says for
/// those in shared and local memory.
constexpr std::uint64_t most_bytes_global = 1 << 26;

std::uint64_t word_at(const std::vector<std::byte>& bytes, std::size_t offset) {
    std::uint64_t word = 0;
    if (offset + sizeof word <= bytes.size()) std::memcpy(&word, bytes.data() + offset, sizeof word);
    return word;
}

/// The bytes from the lowest element to the end of the highest.
struct Extent {
    std::uint64_t low = 0, bytes = 0;
};

/// Arrays lie in memory as debug info describes them: data, shape, strides.
Extent extent_of(const VariableValue& value) {
    Extent extent{word_at(value.bytes, 0), value.element_bytes};
    for (std::size_t axis = 0; axis < value.dimensions; ++axis) {
        const auto length = static_cast<std::int64_t>(word_at(value.bytes, 8 * (1 + axis)));
        const auto stride =
            static_cast<std::int64_t>(word_at(value.bytes, 8 * (1 + value.dimensions + axis)));
        std::int64_t reach = 0;
        if (length <= 0) return {extent.low, 0};
        if (__builtin_mul_overflow(length - 1, stride, &reach) || std::abs(reach) > std::int64_t{1} << 46)
            return {0, ~std::uint64_t{0}};
        if (reach < 0) extent.low -= static_cast<std::uint64_t>(-reach);
        extent.bytes += static_cast<std::uint64_t>(std::abs(reach));
    }
    return extent;
}

void keep(VariableValue& value, const Extent& extent) {
    try {
        value.contents.resize(extent.bytes);
    } catch (const std::bad_alloc&) {
        return;  // a copy less to look at
    }
    value.contents_address = extent.low;
    if (extent.bytes != 0)
        std::memcpy(value.contents.data(), reinterpret_cast<const void*>(extent.low), extent.bytes);
    value.contents_known = true;
}

/// Shared memory, and what the thread has on its stack or in its coroutine's frame: soon others'.
bool is_on_chip(const BlockRun& block, const Launch& launch, const Runner* runner, const Extent& extent) {
    const std::vector<std::byte>& frames = block.coroutines().frames();
    return contains(block.shared(), launch.shared_bytes, extent.low, extent.bytes) ||
           contains(frames.data(), frames.size(), extent.low, extent.bytes) ||
           (runner != nullptr && stack_contains(*runner, extent.low, extent.bytes));
}

class Reader {
  public:
    /// @param block null: of arguments only. @param runner null: the thread has none
    Reader(const Launch& launch, const BlockRun* block, const Runner* runner)
        : launch_(launch), block_(block), runner_(runner) {}

    /// Of a thread that has not started.
    std::vector<VariableValue> arguments() const {
        const jit::Stops& stops = launch_.kernel->stops;
        std::vector<VariableValue> result;
        for (const CapturedVariable& argument : stops.arguments) add(argument, stops.types, result);
        return result;
    }

    /// Of the thread that has just faulted.
    std::vector<VariableValue> captured() const {
        const jit::Captures& captures = launch_.kernel->captures;
        std::vector<VariableValue> result;
        const std::uint64_t number = block_->captured()[0];
        if (number >= captures.places.size() || captures.places[number].site != runner_->site) return result;
        for (const std::uint32_t variable : captures.places[number].variables)
            add(captures.variables[variable], captures.types, result);
        return result;
    }

    /// Of a record, and of those of its callers.
    std::vector<VariableValue> recorded(const jit::FrameRecord* record) {
        const jit::Stops& stops = launch_.kernel->stops;
        std::vector<VariableValue> result;
        std::uint32_t frame = 0;
        for (record_ = record; record_ != nullptr; record_ = record_->caller) {
            if (record_->place >= stops.places.size()) continue;
            for (const std::uint32_t function : stops.places[record_->place].frames) {
                for (const CapturedVariable& variable : stops.frames[function])
                    if (add(variable, stops.types, result)) result.back().frame = frame;
                ++frame;
            }
        }
        return result;
    }

  private:
    bool add(const CapturedVariable& variable, const std::vector<std::string>& types,
             std::vector<VariableValue>& values) const {
        if (!is_assigned(variable)) return false;
        values.push_back(value_of(variable, types[variable.type]));
        return true;
    }

    bool is_assigned(const CapturedVariable& variable) const {
        if (variable.parts.empty() || variable.parts.back().offset != jit::assigned_flag) return true;
        std::vector<std::byte> flag(1);
        CapturedPart part = variable.parts.back();
        part.offset = 0;
        if (part.source != PartSource::unknown) take(flag, 0, part);
        return flag[0] != std::byte{0};
    }

    VariableValue value_of(const CapturedVariable& variable, const std::string& type) const {
        VariableValue value;
        value.name = variable.name;
        value.type = type;
        value.frame = variable.frame;
        value.argument = variable.argument;
        value.is_static = variable.is_static;
        value.is_global = variable.is_global;
        value.element_bytes = variable.element_bytes;
        value.dimensions = variable.dimensions;
        value.bytes.resize(variable.bytes);
        value.known = !variable.parts.empty();
        bool pointer_known = true;
        for (const CapturedPart& part : variable.parts) {
            if (part.offset == jit::assigned_flag) continue;
            if (part.offset >= variable.bytes) {
                take_element(value, part, part.offset - variable.bytes);
            } else if (part.source != PartSource::unknown) {
                take(value.bytes, part.offset, part);
            } else if (part.offset == 0 && variable.element_bytes != 0) {
                pointer_known = false;  // of a local array whose elements are known, if anything is
            } else {
                value.known = false;
            }
        }
        if (!pointer_known && !value.contents_known) value.known = value.known && value.dimensions != 0;
        if (block_ != nullptr && value.known && pointer_known && value.element_bytes != 0) {
            const Extent extent = extent_of(value);
            if (extent.bytes <= most_bytes_on_chip && is_on_chip(*block_, launch_, runner_, extent))
                keep(value, extent);
        }
        return value;
    }

    void take_element(VariableValue& value, const CapturedPart& part, std::uint64_t offset) const {
        if (part.source == PartSource::unknown) {
            value.contents_known = false;
            value.contents.clear();
            value.element_bytes = 0;
            return;
        }
        value.contents.resize(std::max<std::size_t>(value.contents.size(), offset + part.bytes));
        take(value.contents, offset, part);
        value.contents_known = true;
    }

    void take(std::vector<std::byte>& target, std::uint64_t offset, const CapturedPart& part) const {
        if (offset + part.bytes > target.size()) return;
        const void* source = &part.value;
        std::uint64_t address = launch_.globals_base + part.value;
        if (part.source == PartSource::shared && block_ != nullptr)
            address = reinterpret_cast<std::uint64_t>(block_->shared()) + part.value;
        if (part.source == PartSource::shared || part.source == PartSource::globals) source = &address;
        if (part.source == PartSource::slot) source = &block_->captured()[part.value];
        if (part.source == PartSource::record)
            source = reinterpret_cast<const std::byte*>(record_) + part.value;
        if (part.source == PartSource::parameter) source = launch_.parameters.data() + part.value;
        std::memcpy(target.data() + offset, source, part.bytes);
    }

    const Launch& launch_;
    const BlockRun* block_;
    const Runner* runner_;
    const jit::FrameRecord* record_ = nullptr;
};

}  // namespace

std::vector<VariableValue> captured_values(const Launch& launch, const BlockRun& block,
                                           const Runner& runner) {
    if (!launch.kernel || runner.fault.source == Fault::Source::signal) return {};
    return Reader(launch, &block, &runner).captured();
}

std::vector<VariableValue> variables_in_records(const Launch& launch, const BlockRun& block,
                                                const jit::FrameRecord* innermost, const Runner* runner) {
    return launch.kernel ? Reader(launch, &block, runner).recorded(innermost) : std::vector<VariableValue>();
}

std::vector<VariableValue> arguments_of(const Launch& launch) {
    return launch.kernel ? Reader(launch, nullptr, nullptr).arguments() : std::vector<VariableValue>();
}

std::byte* set_in_record(const Launch& launch, jit::FrameRecord* innermost, std::uint32_t frame,
                         std::string_view name, std::span<const std::byte> bytes) {
    if (!launch.kernel) return nullptr;
    const jit::Stops& stops = launch.kernel->stops;
    for (jit::FrameRecord* record = innermost; record != nullptr; record = record->caller) {
        if (record->place >= stops.places.size()) continue;
        const std::vector<std::uint32_t>& frames = stops.places[record->place].frames;
        if (frame >= frames.size()) {
            frame -= static_cast<std::uint32_t>(frames.size());
            continue;
        }
        auto* memory = reinterpret_cast<std::byte*>(record);
        for (const CapturedVariable& variable : stops.frames[frames[frame]]) {
            if (variable.is_static) continue;
            const bool assigned = memory[variable.parts.back().value] != std::byte{0};
            if (variable.name != name || variable.bytes != bytes.size() || !assigned) continue;
            std::memcpy(memory + variable.parts.front().value, bytes.data(), bytes.size());
            record->keeps_parameters = 0;
            return memory + variable.parts.front().value;
        }
        return nullptr;
    }
    return nullptr;
}

void keep_global_arrays(const Launch& launch, std::vector<findings::Finding>& findings) {
    if (!launch.kernel || findings.empty() || findings.front().severity != findings::Severity::error) return;
    std::lock_guard lock(*launch.arena_mutex);
    std::uint64_t left = most_bytes_global;
    for (VariableValue& value : findings.front().variables) {
        if (!value.known || value.element_bytes == 0 || value.contents_known || word_at(value.bytes, 0) == 0)
            continue;
        const Extent extent = extent_of(value);
        if (extent.bytes > left || (extent.bytes != 0 && !launch.arena->containing(extent.low, extent.bytes)))
            continue;
        keep(value, extent);
        left -= extent.bytes;
    }
}

}  // namespace cudasim::execution
