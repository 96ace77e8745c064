// Numbers as people write them: the shortest text that reads back as the same number, as Python's repr()
// writes it; and such texts as bytes of a type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "debugger/values/type.h"

namespace cudasim::debugger {

/// "0x7f00", as addresses are shown.
[[nodiscard]] std::string hexadecimal(std::uint64_t number);

/// Of a number, bool, character or sequence of characters; nothing for other types and where bytes are
/// missing.
[[nodiscard]] std::optional<std::string> scalar_text(const Type& type, std::span<const std::byte> bytes);

/// The bytes of a literal, or of an enumerator's name: 12, -0x1f, 1.5, nan, True, (1+2j), 'text'. Nothing
/// where it is no literal, or does not fit into the type: `error` says why.
[[nodiscard]] std::optional<std::vector<std::byte>> bytes_of_literal(const Type& type, std::string_view text,
                                                                     std::string& error);

}  // namespace cudasim::debugger
