// The file that records of launches are kept in: blocks (simulator/records/blocks.h), of which these are its
// own.
//
//   'L' launch   JSON (record_text.h); contents are lists of chunks that come before it
//   'G' the launch before it for a GPU (simulator/records/gpu_launch.h), with the same contents; a launch
//       that is not for a GPU has none
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "simulator/driver/launch_record.h"
#include "simulator/records/blocks.h"

namespace cudasim::driver {

using records::ChunkList;

class RecordWriter {
  public:
    /// @throws RecordError when the file cannot be written
    explicit RecordWriter(std::filesystem::path path);

    /// Appends one launch. @throws RecordError
    void add(const LaunchRecord& record);
    /// Ends the file; without it readers say that it was not finished. @throws RecordError
    void close();

  private:
    records::BlockWriter blocks_;
};

/// A file of records, in memory while this lives. Contents are decompressed when a launch is read.
class RecordReader {
  public:
    /// Looks at every block's frame, and at no content. @throws RecordError
    explicit RecordReader(const std::filesystem::path& path);
    /// The same for bytes in memory. @throws RecordError
    explicit RecordReader(std::vector<std::byte> bytes);

    [[nodiscard]] std::size_t launches() const { return blocks_.count('L'); }
    /// Whether whoever wrote it came to its end.
    [[nodiscard]] bool finished() const { return blocks_.finished(); }
    /// @param with_memory false: RecordedMemory has no contents, only places and hashes
    /// @throws RecordError
    [[nodiscard]] LaunchRecord read(std::size_t index, bool with_memory = true) const;

  private:
    records::BlockReader blocks_;
};

}  // namespace cudasim::driver
