// Merging of findings.
#include "simulator/execution/finding_collector.h"

#include <algorithm>

namespace cudasim::execution {

using findings::Finding;
using findings::Severity;

namespace {

std::string place_of(const Finding& finding) {
    std::string place;
    for (const auto& frame : finding.location)
        place += frame.file + ':' + std::to_string(frame.line) + ':' + std::to_string(frame.column) + ';';
    if (!finding.accesses.empty()) {  // races of several places with this one
        const findings::RacingAccess& other = finding.accesses.front();
        place += '|' + other.what + '|';
        for (const auto& frame : other.location)
            place += frame.file + ':' + std::to_string(frame.line) + ':' + std::to_string(frame.column) + ';';
    }
    return place + finding.exception_type;
}

}  // namespace

void FindingCollector::add(Finding finding) {
    std::lock_guard lock(mutex_);
    if (finding.severity == Severity::error) found_.faults += finding.threads;
    Key key{finding.kind, place_of(finding)};
    auto [it, inserted] = found_.merged.try_emplace(std::move(key), finding);
    if (inserted) return;
    Finding& known = it->second;
    const std::uint64_t count = known.count + finding.count, threads = known.threads + finding.threads;
    const bool is_first = finding.severity != known.severity ? finding.severity > known.severity
                                                             : finding.thread < known.thread;
    if (is_first) std::swap(known, finding);
    known.count = count;
    known.threads = threads;
    known.waiting.insert(known.waiting.end(), finding.waiting.begin(), finding.waiting.end());
}

std::uint64_t FindingCollector::faults() const {
    std::lock_guard lock(mutex_);
    return found_.faults;
}

std::vector<Finding> FindingCollector::take() {
    std::lock_guard lock(mutex_);
    std::vector<Finding> all;
    for (auto& [key, finding] : found_.merged) all.push_back(std::move(finding));
    std::stable_sort(all.begin(), all.end(), [](const Finding& a, const Finding& b) {
        if (a.severity != b.severity) return a.severity > b.severity;
        return a.thread < b.thread;
    });
    found_.merged.clear();
    return all;
}

FindingCollector::State FindingCollector::state() const {
    std::lock_guard lock(mutex_);
    return found_;
}

void FindingCollector::restore(State state) {
    std::lock_guard lock(mutex_);
    found_ = std::move(state);
}

}  // namespace cudasim::execution
