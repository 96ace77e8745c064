// See experiments.h.
#include "gpu_backend/launches/experiments.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "frontend/ptx/reader.h"
#include "gpu_backend/ptx.h"
#include "gpu_backend/recorded_code.h"
#include "simulator/checks/checks.h"
#include "simulator/driver/array_arguments.h"
#include "simulator/driver/launch_options.h"
#include "simulator/execution/loaded_image.h"
#include "simulator/jit/compiler.h"

namespace cudasim::gpu_launches {
namespace {

using Clock = std::chrono::steady_clock;
using driver::RecordedMemory;

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct ZeroedShared final : execution::LaunchObserver {
    void block_begins(execution::ObservedBlock& block) override {
        std::ranges::fill(block.shared, std::byte{});
    }
};

driver::Content content_of(const image::KernelImage& image) {
    const auto bytes = image.serialise();
    return driver::Content(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

/// Findings with which a launch is not over.
bool ends_early(findings::FindingKind kind) {
    using enum findings::FindingKind;
    return kind == time_limit || kind == interrupted || kind == deadlock || kind == livelock;
}

void record_addresses(std::vector<findings::Finding>& findings, const driver::LaunchRecord& record,
                      const driver::Restored& restored) {
    for (auto& finding : findings) {
        finding.kernel = record.display_name;
        if (!finding.object) continue;
        for (std::size_t i = 0; i < record.memory.size(); ++i) {
            const std::uint64_t place = restored.address(i);
            if (place == 0 || finding.object->address - place >= record.memory[i].bytes) continue;
            finding.object->address += record.memory[i].address - place;
            break;
        }
    }
}

/// The parameters of the PTX's kernel, whose offsets may be others.
std::vector<std::byte> parameters_for(const image::Kernel& kernel, const records::GpuCode& code,
                                      std::span<const std::byte> recorded) {
    if (kernel.parameters.size() != code.parameters.size())
        throw driver::RecordError("the record's PTX has another number of parameters than its kernel");
    std::vector<std::byte> bytes(kernel.parameter_bytes);
    for (std::size_t i = 0; i < code.parameters.size(); ++i) {
        const auto& from = code.parameters[i];
        const auto& to = kernel.parameters[i];
        if (from.size != to.size || from.offset > recorded.size() ||
            from.size > recorded.size() - from.offset)
            throw driver::RecordError("the record's PTX has other parameters than its kernel");
        std::ranges::copy(recorded.subspan(from.offset, from.size), bytes.data() + to.offset);
    }
    return bytes;
}

}  // namespace

Laboratory::Laboratory(const driver::LaunchRecord& record, LaboratoryLimits limits)
    : record_(record),
      limits_(std::move(limits)),
      begin_(Clock::now()),
      image_(image::KernelImage::deserialise(record.image.bytes())),
      usual_(record.options) {
    usual_.workers = 1;
    usual_.stop_handler = nullptr;
    usual_.observers = {};
    usual_.access_observers = {};
    usual_.value_observer = nullptr;
    checks::choose({.memory = true}, usual_.compile.instrumentations);
}

double Laboratory::seconds_left() const {
    return limits_.seconds - seconds_since(begin_);
}

bool Laboratory::is_over() const {
    return stopped_ || seconds_left() <= 0;
}

bool Laboratory::wants_to_stop() {
    if (!stopped_ && limits_.stop && limits_.stop()) stopped_ = true;
    return is_over();
}

execution::LaunchOptions Laboratory::limited(const execution::LaunchOptions& options, std::string& printed) {
    execution::LaunchOptions chosen = options;
    // Compiling is not counted: a kernel that runs for a millisecond takes longer to compile.
    constexpr double most_times = 20, least = 0.5;
    chosen.time_limit_seconds = std::max(seconds_left(), 0.001);
    if (usual_seconds_)
        chosen.time_limit_seconds =
            std::min(chosen.time_limit_seconds, std::max(least, most_times * *usual_seconds_));
    chosen.poll_host = [this](const execution::LaunchProgress&) { return wants_to_stop(); };
    chosen.write_output = [&printed](std::string_view text) {
        printed += text;
        return true;
    };
    return chosen;
}

MemoryAfter Laboratory::memory_of(driver::SimulatedDevice& device, const driver::Restored& restored) const {
    MemoryAfter after(record_.memory.size());
    for (std::size_t i = 0; i < after.size(); ++i) {
        const RecordedMemory& range = record_.memory[i];
        if (!range.before || restored.address(i) == 0) continue;
        driver::Content content(range.bytes);
        device.copy_from_device(content.data(), restored.address(i), range.bytes);
        after[i] = std::move(content);
    }
    return after;
}

template <typename Launch>
std::optional<Repetition> Laboratory::repeat(const execution::LaunchOptions& options, Launch launch) {
    why_not_.clear();
    if (wants_to_stop()) {
        why_not_ = "there was no time left";
        return std::nullopt;
    }
    Repetition repetition;
    try {
        launch(limited(options, repetition.results.printed), repetition);
    } catch (const image::Cancelled&) {
        why_not_ = "there was no time left";
        return std::nullopt;
    } catch (
        const std::exception& error) {  // RecordError, CudaError, CompileError, ImageError, PtxError, ...
        why_not_ = error.what();
        return std::nullopt;
    }
    for (const auto& finding : repetition.findings)
        if (ends_early(finding.kind)) {
            why_not_ = finding.message;
            return std::nullopt;
        }
    if (wants_to_stop() && stopped_) {
        why_not_ = "there was no time left";
        return std::nullopt;
    }
    return repetition;
}

std::optional<Repetition> Laboratory::run(const Variation& variation) {
    return repeat(variation.options, [&](execution::LaunchOptions options, Repetition& repetition) {
        std::optional<driver::LaunchRecord> changed;
        if (variation.image) {
            changed = record_;
            changed->image = content_of(*variation.image);
        }
        const driver::LaunchRecord& record = changed ? *changed : record_;
        driver::SimulatedDevice device(record.device, record.memory_base);
        driver::Restored restored(device, record, options);
        ZeroedShared zeroes;
        if (variation.zeroes_shared_memory) options.observers.add(zeroes);
        auto& module = dynamic_cast<driver::SimulatedModule&>(restored.module());
        if (const image::Kernel* kernel = module.loaded->image().find(record.kernel))
            options.arrays = driver::array_arguments(*kernel, record.arguments, restored.parameters());
        const auto begin = Clock::now();
        auto result =
            device.launch(module, record.kernel, record.configuration, restored.parameters(), options);
        last_seconds_ = seconds_since(begin);
        repetition.results.memory = memory_of(device, restored);
        repetition.findings = std::move(result.findings);
        record_addresses(repetition.findings, record, restored);
    });
}

std::optional<Repetition> Laboratory::run_ptx() {
    const records::GpuCode& code = record_.gpu.value();
    execution::LaunchOptions usual = usual_;
    usual.wrap = execution::Wrap::allow;  // checks are in the PTX, where they are
    usual.raise_float_division = false;
    usual.compile.fma_contraction = false;
    return repeat(usual, [&](const execution::LaunchOptions& options, Repetition& repetition) {
        driver::SimulatedDevice device(record_.device, record_.memory_base);
        // The kernel's variables are memory like any other: the PTX has their addresses.
        driver::LaunchRecord memory_only = record_;
        memory_only.image = {};
        const auto globals = std::ranges::find(memory_only.memory, true, &RecordedMemory::globals);
        if (globals != memory_only.memory.end()) globals->globals = false;
        const driver::Restored restored(device, memory_only, options);
        std::string text = code.ptx;
        if (globals != memory_only.memory.end()) {
            const auto index = static_cast<std::size_t>(globals - memory_only.memory.begin());
            if (restored.address(index) != globals->address) {
                gpu_backend::PtxOptions ptx;
                ptx.architecture = code.architecture;
                ptx.fma_contraction = record_.options.compile.fma_contraction;
                ptx.report_faults = !code.fault_sites.empty();
                ptx.raise_float_division = record_.options.raise_float_division;
                ptx.raise_negative_index = record_.options.wrap == execution::Wrap::error;
                ptx.globals_base = restored.address(index);
                text = gpu_backend::gpu_code_of(image_, record_.kernel, ptx).ptx;
            }
        }
        const image::KernelImage image = ptx::read(text, "kernel.ptx", ptx::Entries::kernels);
        const image::Kernel* kernel = image.find(code.entry);
        if (kernel == nullptr) throw driver::RecordError("the record's PTX has no entry " + code.entry);
        const auto module = device.load(image, 0);
        auto result = device.launch(*module, code.entry, record_.configuration,
                                    parameters_for(*kernel, code, restored.parameters()), options);
        repetition.results.memory = memory_of(device, restored);
        repetition.findings = std::move(result.findings);
        record_addresses(repetition.findings, record_, restored);
    });
}

std::optional<std::vector<checks::TracedElement>> Laboratory::trace(
    std::span<const execution::AddressRange> places) {
    std::vector<checks::TracedElement> traced;
    const auto done = repeat(usual_, [&](const execution::LaunchOptions& options, Repetition& repetition) {
        driver::SimulatedDevice device(record_.device, record_.memory_base);
        auto trace = driver::trace_elements(device, record_, places, {}, options);
        traced = std::move(trace.elements);
        repetition.findings = std::move(trace.result.findings);
    });
    if (!done) return std::nullopt;
    return traced;
}

}  // namespace cudasim::gpu_launches
