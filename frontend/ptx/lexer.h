// PTX text as tokens (PTX ISA, "Lexical Elements").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cudasim::ptx {

struct Token {
    enum Kind { identifier, directive, integer, real, string, punctuation, end };
    Kind kind = end;
    std::string text;         ///< a directive without its dot; a string without its quotes
    std::uint64_t value = 0;  ///< integer; the bit pattern of a real
    unsigned width = 64;      ///< of a real: 32 or 64 bits
    int line = 0;
    bool touches = false;  ///< no blank between it and the token before: `%tid.x`
};

/// The last one is `end`. @throws PtxError
[[nodiscard]] std::vector<Token> tokens(const std::string& text);

}  // namespace cudasim::ptx
