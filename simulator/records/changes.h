// What a launch has changed of an allocation, as files of results hold it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "simulator/records/blocks.h"
#include "simulator/records/gpu_launch.h"

namespace cudasim::records {

/// Pieces of chunk_bytes that differ, neighbours as one. Their bytes after the launch go to the file.
/// @param before, after of the same size
/// @throws RecordError where the file cannot be written
[[nodiscard]] std::vector<GpuChange> changes_between(std::span<const std::byte> before,
                                                     std::span<const std::byte> after, BlockWriter& file);

}  // namespace cudasim::records
