// See host_findings.h.
#include "frontend/cuda_cpp/runtime/host_findings.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "frontend/cuda_cpp/host_code/host_lines.h"
#include "frontend/cuda_cpp/runtime/launch_runner.h"
#include "frontend/cuda_cpp/runtime/process.h"
#include "simulator/driver/memory.h"
#include "simulator/driver/program_journal.h"
#include "simulator/driver/simulated_device.h"
#include "simulator/driver/stream_work.h"
#include "simulator/findings/writers.h"

namespace cudasim::cudart {
namespace {

using checks::InitObserver;
using findings::Finding;
using findings::FindingKind;

/// Of structures whose padding is known as such.
constexpr std::size_t largest_structure = 256;
/// Padding is shorter than the strictest alignment of a structure's members.
constexpr std::size_t most_padding = 15;

/// Which bytes of the first structure nobody wrote; empty where that cannot be padding.
std::vector<bool> padding_of(InitObserver& memory, std::uint64_t address, std::size_t structure) {
    std::vector<bool> holes(structure);
    std::size_t run = 0;
    for (std::size_t at = 0; at < structure; ++at) {
        holes[at] = memory.unwritten(address + at, 1, 1, {}).elements != 0;
        run = holes[at] ? run + 1 : 0;
        if (run > most_padding) return {};
    }
    // A structure begins with its first member.
    return holes[0] ? std::vector<bool>{} : holes;
}

bool is_padding(InitObserver& memory, std::uint64_t address, std::size_t bytes) {
    for (std::size_t structure = 2; structure <= std::min(largest_structure, bytes / 2); ++structure) {
        if (bytes % structure != 0) continue;
        const auto holes = padding_of(memory, address, structure);
        if (!holes.empty() && memory.unwritten(address, bytes, structure, holes).elements == 0) return true;
    }
    return false;
}

bool is_first_at(const void* place) {
    static std::mutex mutex;
    static auto& told = *new std::set<const void*>;
    const std::lock_guard lock(mutex);
    return told.insert(place).second;
}

}  // namespace

checks::Checks wanted_checks() {
    const char* const words = std::getenv("CUDASIM_CHECK");
    const auto wanted = words != nullptr ? checks::checks_from(words) : std::nullopt;
    return wanted.value_or(checks::Checks{});
}

namespace {

void tell(const Finding& finding) {
    const std::string report = cuda_cpp::with_lines(findings::text_report(finding, {}));
    if (finding.severity == findings::Severity::error) Process::note_failure();
    if (LaunchRunner::of_this_process().tells_findings())
        driver::ProgramJournal::of_this_process().host_finding(finding, report);
    else
        std::fputs(report.c_str(), stderr);
}

streams::OperationOrder& order() {
    return driver::StreamWork::of_this_process().order();
}

}  // namespace

void tell_of_host(FindingKind kind, std::string message, findings::CallChain place, std::uint64_t count) {
    Finding finding;
    finding.kind = kind;
    finding.severity = findings::info(kind).severity;
    finding.message = std::move(message);
    finding.location = std::move(place);
    finding.count = count;
    tell(finding);
}

void look_for_stream_races(const driver::Context& device) {
    if (!wanted_checks().races) return;
    if (const auto engine = device.engine()) engine->look_for_races_between_streams();
}

void tell_stream_races() {
    if (!order().is_kept()) return;
    for (const auto& context : driver::Context::all())
        if (const auto engine = context->engine())
            for (const Finding& each : engine->take_races_of_copies()) tell(each);
}

std::string place_in_stream(const HostCall& host) {
    if (!order().is_kept()) return {};
    const std::string place = cuda_cpp::host_place(host.return_address);
    return place.starts_with("at ") ? place.substr(3) : place;
}

void tell_unwritten(const HostCall& host, const std::shared_ptr<driver::Context>& current, const Side& source,
                    const Box& box) {
    if (!wanted_checks().init) return;
    const auto engine = driver::owner_of(current, source.address)->engine();
    if (!engine) return;
    InitObserver& memory = engine->written_memory();
    std::uint64_t missing = 0, first = 0;
    for (std::size_t row = 0; row < box.height * box.depth; ++row) {
        const std::uint64_t at =
            source.address + row / box.height * source.slice + row % box.height * source.pitch;
        const auto unwritten = memory.unwritten(at, box.width, 1, {});
        if (unwritten.elements == 0 || is_padding(memory, at, box.width)) continue;
        if (missing == 0) first = row * box.width + unwritten.first;
        missing += unwritten.elements;
    }
    if (missing == 0 || !is_first_at(host.return_address)) return;
    const std::uint64_t bytes = box.width * box.height * box.depth;
    tell_of_host(FindingKind::uninitialised_copy,
                 std::to_string(missing) + (missing == 1 ? " byte of " : " bytes of ") +
                     std::to_string(bytes) + (missing == 1 ? " is" : " are") +
                     " copied to the host that nobody wrote, the first has the offset " +
                     std::to_string(first) + ": what the copy has there is not defined",
                 cuda_cpp::host_lines(host.return_address));
}

}  // namespace cudasim::cudart
