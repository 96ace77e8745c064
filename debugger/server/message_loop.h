// Reading a client's messages, as every server of the protocol does it.
#pragma once

#include <functional>
#include <string>

#include "debugger/dap/adapter.h"

namespace cudasim::debugger {

/// Hands messages to the adapter until the client has gone or has said so; then its session ends.
/// @param receive what has come; empty: the client is gone
void read_messages(Adapter& adapter, const std::function<std::string()>& receive);

}  // namespace cudasim::debugger
