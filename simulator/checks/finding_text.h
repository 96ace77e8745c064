// Words that findings of several checks have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "simulator/findings/finding.h"

namespace cudasim::checks {

/// "0x0f" for a value of one byte
[[nodiscard]] std::string hexadecimal(std::uint64_t value, std::uint32_t bytes);

/// "tile[3, 5] in shared memory", "global memory 'a' at byte 8", or the address alone
[[nodiscard]] std::string object_text(const std::optional<findings::MemoryObject>& object,
                                      std::uint64_t address);

/// " at script.py:12", the innermost place; empty where that is not known
[[nodiscard]] std::string place_text(const findings::CallChain& chain);

}  // namespace cudasim::checks
