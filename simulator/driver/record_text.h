// A record's fields as JSON, with contents as lists of chunks. docs/recording.md describes the fields.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "simulator/driver/record_file.h"

namespace cudasim::driver {

/// @param store keeps a content in the file and says where
[[nodiscard]] std::string to_json(const LaunchRecord& record,
                                  const std::function<ChunkList(std::span<const std::byte>)>& store);

/// @param fetch reads a content of the file
/// @throws RecordError for what is missing, of another type, or out of range
[[nodiscard]] LaunchRecord from_json(std::string_view given, bool with_memory,
                                     const std::function<Content(const ChunkList&)>& fetch);

}  // namespace cudasim::driver
