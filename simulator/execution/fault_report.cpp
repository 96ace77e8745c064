// Messages of faults that compiled code or the processor noticed.
#include "simulator/execution/fault_report.h"

#include <csignal>
#include <cstdio>

#include "simulator/findings/messages.h"

namespace cudasim::execution {

using findings::Finding;
using findings::FindingKind;
using findings::message_of;
using findings::WaitingGroup;

namespace {

void describe_signal(const Launch& launch, const BlockRun& block, const Runner& runner, Finding& finding) {
    const Fault& fault = runner.fault;
    if (launch.kernel) finding.location = launch.kernel->locate(fault.program_counter);
    const auto low = reinterpret_cast<std::uint64_t>(runner.stack.low);
    switch (fault.signal) {
        case SIGFPE:
            finding.kind = FindingKind::integer_division;
            break;
        case SIGILL:
            finding.kind = FindingKind::trap;
            break;
        default:
            if (fault.address + 65536 >= low && fault.address < low + 4096) {
                finding.kind = FindingKind::stack_overflow;
            } else {
                describe_access(launch, block, runner, finding);
                return;
            }
    }
    finding.message = message_of(finding.kind);
}

void describe_exception(const Launch& launch, std::int32_t exception, Finding& finding) {
    finding.kind = FindingKind::kernel_exception;
    const auto& table = launch.kernel->exceptions;
    if (exception < 0 || static_cast<std::size_t>(exception) >= table.size()) return;
    finding.exception_type = table[static_cast<std::size_t>(exception)].type;
    if (finding.exception_type.empty()) finding.kind = FindingKind::trap;
    finding.message = table[static_cast<std::size_t>(exception)].message;
}

std::string seconds_text(double seconds) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", seconds);
    return text;
}

std::string place(const findings::CallChain& location) {
    if (location.empty() || location.front().line == 0) return "an unknown line";
    const auto& frame = location.front();
    return frame.file.substr(frame.file.rfind('/') + 1) + ':' + std::to_string(frame.line);
}

findings::IndexFault index_of(const Fault& fault) {
    return {fault.index, fault.size, fault.axis, fault.is_unsigned};
}

/// mapa (PTX ISA), cluster_group::map_shared_rank().
std::string wrong_rank(const Fault& fault) {
    if (fault.index < fault.size)
        return "the address that is to be mapped to another block of the cluster lies in no shared memory of "
               "the cluster";
    return "there is no block of rank " + std::to_string(fault.index) + " in a cluster of " +
           std::to_string(fault.size) + (fault.size == 1 ? " block" : " blocks");
}

std::string wrong_barrier(const Runner& runner) {
    if (jit::is_of_cluster(runner.named.kind))
        return std::string("the barrier of the cluster: ") + runner.fault.what;
    const std::string number = std::to_string(runner.named.number);
    const std::string threads = std::to_string(runner.named.threads);
    std::string text = "barrier " + number;
    if (runner.named.threads != jit::all_threads) text += " for " + threads + " threads";
    return text + ": " + runner.fault.what;
}

/// What CUDA writes for it (CUDA C++ Programming Guide, "Assertion").
std::string failed_assertion(const BlockRun& block, const Runner& runner) {
    const auto& [expression, file, function, line] = runner.fault.assertion;
    const findings::ThreadCoordinate at = block.coordinate(runner.thread);
    const auto triple = [](const Dim3& of) {
        return '[' + std::to_string(of.x) + ',' + std::to_string(of.y) + ',' + std::to_string(of.z) + ']';
    };
    // NVIDIA's compiler writes "[with T = float]" for a template's arguments, clang leaves "with" out.
    std::string name = block.text_at(runner, function);
    if (const auto with = name.rfind(" [");
        name.ends_with(']') && with != std::string::npos && name.compare(with, 7, " [with ") != 0)
        name.insert(with + 2, "with ");
    return block.text_at(runner, file) + ':' + std::to_string(line) + ": " + name +
           ": block: " + triple(at.ctaid) + ", thread: " + triple(at.tid) + " Assertion `" +
           block.text_at(runner, expression) + "` failed.";
}

}  // namespace

Finding describe_fault(const Launch& launch, const BlockRun& block, const Runner& runner) {
    const Fault& fault = runner.fault;
    Finding finding;
    finding.kind = fault.kind;
    finding.kernel = launch.kernel_name;
    finding.thread = block.coordinate(runner.thread);
    finding.location = launch.location(runner.site);
    switch (fault.source) {
        case Fault::Source::kind:
            finding.message = message_of(fault.kind);
            break;
        case Fault::Source::index:
            finding.message = fault.kind == FindingKind::negative_index
                                  ? findings::wrapped_index(index_of(fault))
                                  : findings::index_out_of_bounds(index_of(fault));
            break;
        case Fault::Source::access:
            describe_access(launch, block, runner, finding);
            break;
        case Fault::Source::exception:
            describe_exception(launch, fault.exception, finding);
            break;
        case Fault::Source::call:
            finding.kind = FindingKind::invalid_call;
            finding.message = fault.address == 0
                                  ? "call through a null function pointer"
                                  : "call through a pointer that is not a function of this type";
            break;
        case Fault::Source::signal:
            describe_signal(launch, block, runner, finding);
            break;
        case Fault::Source::host:
            finding.kind = FindingKind::kernel_exception;
            break;
        case Fault::Source::cluster:
            finding.message = wrong_rank(fault);
            break;
        case Fault::Source::barrier:
            finding.message = wrong_barrier(runner);
            break;
        case Fault::Source::assertion:
            finding.message = failed_assertion(block, runner);
            break;
        case Fault::Source::heap:
            finding.message = fault.what;
            break;
    }
    if (launch.host_kernel &&
        (fault.source == Fault::Source::host || finding.kind == FindingKind::stack_overflow))
        launch.host_kernel->describe_fault(finding);
    if (finding.exception_type.empty())
        finding.exception_type = findings::info(finding.kind).python_exception;
    finding.severity = findings::Severity::error;
    return finding;
}

Finding finding_at(const Launch& launch, FindingKind kind, const findings::ThreadCoordinate& thread,
                   findings::CallChain location) {
    Finding finding;
    finding.kind = kind;
    finding.exception_type = findings::info(kind).python_exception;
    finding.kernel = launch.kernel_name;
    finding.thread = thread;
    finding.location = std::move(location);
    return finding;
}

Finding describe_counted(const Launch& launch, std::uint32_t site, const CountedWarning& warning) {
    Finding finding = finding_at(launch, warning.kind, warning.first, launch.location(site));
    finding.severity = findings::Severity::warning;
    finding.count = warning.count;
    finding.threads = warning.threads;
    finding.message =
        warning.kind == FindingKind::negative_index
            ? findings::wrapped_index({warning.index.index, warning.index.size, warning.index.axis})
            : message_of(warning.kind);
    return finding;
}

std::optional<Finding> describe_stop(const Launch& launch, const BlockRun& block) {
    const Stop reason = launch.stop.load();
    if (reason != Stop::interrupted && reason != Stop::time_limit) return std::nullopt;
    Finding finding;
    finding.kind = reason == Stop::interrupted ? FindingKind::interrupted : FindingKind::time_limit;
    finding.exception_type = findings::info(finding.kind).python_exception;
    finding.kernel = launch.kernel_name;
    finding.waiting = block.places();
    if (launch.stopped_by && launch.stopped_by->block == block.block())
        finding.waiting.insert(finding.waiting.begin(), *launch.stopped_by);
    finding.thread =
        block.coordinate(finding.waiting.empty() ? 0 : finding.waiting.front().threads.front().first);
    finding.threads = finding.waiting.empty() ? block.context().thread_count : threads_in(finding.waiting);
    finding.count = finding.threads;
    if (!finding.waiting.empty()) finding.location = finding.waiting.front().location;
    finding.message = reason == Stop::interrupted
                          ? "the launch was interrupted"
                          : "the launch ran longer than the time limit of " +
                                seconds_text(launch.options.time_limit_seconds) + " seconds";
    finding.message +=
        ": " + (finding.waiting.empty() ? "this block was about to begin" : describe_groups(finding.waiting));
    return finding;
}

Finding describe_deadlock(Launch& launch) {
    Finding finding;
    finding.kind = FindingKind::deadlock;
    finding.exception_type = findings::info(finding.kind).python_exception;
    finding.kernel = launch.kernel_name;
    finding.waiting = launch.grid.take_waiting();
    const auto ended = launch.grid.ended();
    const std::string blocks = std::to_string(launch.block_count) + " blocks";
    if (ended.empty()) {
        finding.message = "only " + std::to_string(launch.resident_blocks) + " of " + blocks +
                          " can be resident at once, so those that wait at a grid barrier wait for ever: ";
    } else {
        const bool one = ended.size() == 1 && ended[0].first == ended[0].second;
        finding.message = std::string("block") + (one ? " " : "s ") + findings::ranges(ended) + " of " +
                          blocks + " ended without reaching the grid barrier at which the others wait: ";
    }
    if (!finding.waiting.empty()) {
        const WaitingGroup& lowest = finding.waiting.front();
        const std::uint32_t thread = lowest.threads.front().first;
        const Dim3& block = launch.configuration.block;
        finding.thread = {lowest.block,
                          thread,
                          lowest.ctaid,
                          {thread % block.x, thread / block.x % block.y, thread / block.x / block.y}};
        finding.location = lowest.location;
    }
    finding.threads = finding.count = threads_in(finding.waiting);
    constexpr std::size_t most_groups = 16;
    if (finding.waiting.size() > most_groups) finding.waiting.resize(most_groups);
    const std::uint64_t lowest = finding.thread.block;
    std::vector<WaitingGroup> of_lowest;
    for (const WaitingGroup& group : finding.waiting)
        if (group.block == lowest) of_lowest.push_back(group);
    finding.message += "in block " + std::to_string(lowest) + " " + describe_groups(of_lowest);
    return finding;
}

std::uint64_t threads_in(const std::vector<WaitingGroup>& groups) {
    std::uint64_t count = 0;
    for (const WaitingGroup& group : groups)
        for (const auto& [first, last] : group.threads) count += last - first + 1;
    return count;
}

std::string describe_groups(const std::vector<WaitingGroup>& groups) {
    std::string text;
    for (const WaitingGroup& group : groups) {
        if (!text.empty()) text += "; ";
        const bool one = group.threads.size() == 1 && group.threads[0].first == group.threads[0].second;
        text += (one ? "thread " : "threads ") + findings::ranges(group.threads) + ' ' + group.state +
                " at " + place(group.location);
    }
    return text;
}

}  // namespace cudasim::execution
