// What the host can still give: memory, and address space where that is limited (ulimit -v, ulimit -d). Asked
// before much memory is touched, because the kernel kills the process that touches too much. Reads files
// under /proc and /sys without allocating anything, so it can be asked when nothing is left.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace cudasim::memory {

/// What the host could give right now without swapping or killing anybody, bytes: the machine's available
/// memory, or what is left below a limit of a control group, whichever is less.
[[nodiscard]] std::uint64_t host_memory_available();

/// Physical memory this process may use: the machine's, or its control group's limit when that is lower.
/// Bytes.
[[nodiscard]] std::uint64_t host_memory_limit();

/// A limit on the address space or the data of this process, and what is left below it. Bytes.
struct AddressLimit {
    std::uint64_t limit = 0, left = 0;
    const char* name = "";  ///< as people know it: "ulimit -v"
};
/// The tighter one; nullopt when there is none.
[[nodiscard]] std::optional<AddressLimit> address_limit();

/// Leaves the host, and the rest of this process, so much.
inline constexpr std::uint64_t host_reserve = 512 << 20;

/// What there is, for a message: "ulimit -v allows this process 4096 MiB, of which 3 MiB are left".
[[nodiscard]] std::string describe_host_memory();

/// "17 bytes", "3 MiB".
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);

}  // namespace cudasim::memory
