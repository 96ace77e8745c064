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

/// The program has a stream of its own: from now on operations of this device are compared with those that
/// nothing orders, where the option check asks for races.
void look_for_stream_races(const driver::Context& device);

/// Tells of the races of copies with what is in other streams, since the last call.
void tell_stream_races();

/// The host's line, for what streams note of an operation; empty where they note nothing.
[[nodiscard]] std::string place_in_stream(const HostCall& host);

/// The host has copied memory of a device. Tells of bytes that nobody wrote, where the option check
/// looks for them (`init`), once for each place of the program. Bytes that are missing at the same offsets of
/// each of some structures, which lie one behind the other, are padding.
void tell_unwritten(const HostCall& host, const std::shared_ptr<driver::Context>& current, const Side& source,
                    const Box& box);

}  // namespace cudasim::cudart
