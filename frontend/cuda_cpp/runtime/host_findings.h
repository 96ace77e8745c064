// Findings outside of launches: they go to the journal of `cudasim check`, or to the standard error output.
#pragma once

#include <cstdint>
#include <string>

#include "frontend/cuda_cpp/runtime/copies.h"
#include "frontend/cuda_cpp/runtime/host_calls.h"
#include "simulator/checks/checks.h"
#include "simulator/findings/finding.h"

namespace cudasim::cudart {

/// What the option check asks for; no check where its value is none that it takes.
[[nodiscard]] checks::Checks wanted_checks();

/// @param place of the host's code
/// @param count how often it has happened
void tell_of_host(findings::FindingKind kind, std::string message, findings::CallChain place,
                  std::uint64_t count = 1);

/// The host is about to copy memory of a device. Tells of bytes that nobody wrote, where the option check
/// looks for them (`init`), once for each place of the program. Bytes that are missing at the same offsets of
/// each of some structures, which lie one behind the other, are padding.
void tell_unwritten(const HostCall& host, const std::shared_ptr<driver::Context>& current, const Side& source,
                    const Box& box);

}  // namespace cudasim::cudart
