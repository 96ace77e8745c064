// Decompresses one block of LZ4, as nvcc before 12.4, and later ones with --compress-mode=speed, store PTX
// ("LZ4 Block Format Description", lz4.org).
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace cudasim::cuda_cpp {

/// @return how many bytes it has become; nothing when it is damaged or does not fit
[[nodiscard]] std::optional<std::size_t> decompressed_lz4(std::span<const std::byte> block,
                                                          std::span<char> target);

}  // namespace cudasim::cuda_cpp
