// Host memory for copies of device memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace cudasim::memory {

/// Memory that is not initialised. From 4 MiB on it is in huge pages, which the host gives three times as
/// fast.
/// @throws std::bad_alloc
[[nodiscard]] std::shared_ptr<std::byte[]> large_buffer(std::uint64_t bytes);

}  // namespace cudasim::memory
