// Makes a Finding of what a hook or signal knew: message, place, and the memory object concerned. Runs on the
// worker's own stack.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulator/execution/block_run.h"
#include "simulator/execution/launch.h"
#include "simulator/execution/runner.h"

namespace cudasim::execution {

/// What is said about a thread at a place; the message is still to come.
[[nodiscard]] findings::Finding finding_at(const Launch& launch, findings::FindingKind kind,
                                           const findings::ThreadCoordinate& thread,
                                           findings::CallChain location);

[[nodiscard]] findings::Finding describe_fault(const Launch& launch, const BlockRun& block,
                                               const Runner& runner);

[[nodiscard]] findings::Finding describe_counted(const Launch& launch, std::uint32_t site,
                                                 const CountedWarning& warning);

/// Where the threads of a block were when the launch was stopped; nothing when the reason is not a finding.
[[nodiscard]] std::optional<findings::Finding> describe_stop(const Launch& launch, const BlockRun& block);

/// "threads 0-15 at kernel.py:12; threads 16-31 at kernel.py:15"
[[nodiscard]] std::uint64_t threads_in(const std::vector<findings::WaitingGroup>& groups);
[[nodiscard]] std::string describe_groups(const std::vector<findings::WaitingGroup>& groups);

/// Kind, message and object for an access to `address` that is not allowed.
void describe_access(const Launch& launch, const BlockRun& block, const Runner& runner,
                     findings::Finding& finding);

/// For LaunchObserver::adds_findings(). Called after the launch.
[[nodiscard]] std::unique_ptr<ObserverFindings> findings_of_observers(Launch& launch);

/// The finding for blocks that wait at a grid barrier for others that never come. Called after the launch.
[[nodiscard]] findings::Finding describe_deadlock(Launch& launch);

}  // namespace cudasim::execution
