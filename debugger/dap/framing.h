// The framing of the Debug Adapter Protocol: `Content-Length: N`, an empty line, N bytes of JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cudasim::debugger {

/// Longer messages are passed over.
inline constexpr std::uint64_t longest_message = std::uint64_t{16} << 20;
inline constexpr std::size_t longest_header = 4096;
/// Objects and lists in each other: the parser recurses.
inline constexpr unsigned deepest_message = 64;

/// Takes a stream apart.
class MessageReader {
  public:
    void add(std::string_view bytes) { buffer_ += bytes; }

    struct Result {
        std::optional<std::string> message;
        std::string complaint;  ///< what is wrong; empty: nothing, or not yet
        bool broken = false;    ///< where the next message begins is unknown: there will be no more
    };
    /// The next message. Neither message nor complaint: more bytes are needed.
    [[nodiscard]] Result next();

  private:
    std::string buffer_;
    std::uint64_t to_skip_ = 0;  ///< bytes of a message that is too long
    bool broken_ = false;
};

[[nodiscard]] std::string framed(std::string_view message);

/// Whether JSON text nests no deeper than deepest_message.
[[nodiscard]] bool is_shallow(std::string_view json);

}  // namespace cudasim::debugger
