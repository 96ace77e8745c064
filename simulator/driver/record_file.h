// The file that records of launches are kept in.
//
//   header   "CUDASIM RECORD\r\n"  version u32  reserved u32 (0)
//   block*   kind u8  raw bytes u32  stored bytes u32  then so many stored bytes
//
// Numbers are little-endian. Every block is one zstd frame (RFC 8878) with its checksum. Kinds:
//
//   'C' chunk    at most chunk_bytes of content: memory, an image, texts. Chunks are numbered from 0 as they
//                come; equal ones are stored once.
//   'L' launch   JSON (record_text.h); contents are lists of chunks that come before it
//   'E' end      empty; a file without it was not finished, and its launches up to there are whole
//
// A reader believes nothing: sizes are compared with what is there, frames with their checksums, numbers with
// their ranges. Whatever is wrong is a RecordError that says what, and at which byte of the file.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "simulator/driver/launch_record.h"

namespace cudasim::driver {

inline constexpr std::string_view record_magic = "CUDASIM RECORD\r\n";
inline constexpr std::uint32_t record_version = 1;
inline constexpr std::uint32_t chunk_bytes = 64 << 10;
/// Most bytes of a launch's JSON. A launch with 1 TiB of memory needs less.
inline constexpr std::uint32_t most_launch_bytes = 256 << 20;

/// Where the bytes of a content are: runs of consecutive chunks.
struct ChunkList {
    std::uint64_t bytes = 0;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> runs;  ///< (first chunk, how many)
};

class RecordWriter {
  public:
    /// @throws RecordError when the file cannot be written
    explicit RecordWriter(std::filesystem::path path);
    ~RecordWriter();
    RecordWriter(const RecordWriter&) = delete;
    RecordWriter& operator=(const RecordWriter&) = delete;

    /// Appends one launch. @throws RecordError
    void add(const LaunchRecord& record);
    /// Ends the file; without it readers say that it was not finished. @throws RecordError
    void close();

  private:
    void block(char kind, std::span<const std::byte> raw);
    [[nodiscard]] ChunkList chunks(std::span<const std::byte> bytes);
    void write(const void* data, std::size_t bytes);

    struct Compressor;
    std::filesystem::path path_;
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
    std::unique_ptr<Compressor> compressor_;
    std::map<Hash, std::uint32_t> known_;  ///< chunk's hash → its number
};

/// A file of records, in memory while this lives. Contents are decompressed when a launch is read.
class RecordReader {
  public:
    /// Looks at every block's frame, and at no content. @throws RecordError
    explicit RecordReader(const std::filesystem::path& path);
    /// The same for bytes in memory. @throws RecordError
    explicit RecordReader(std::vector<std::byte> bytes);
    ~RecordReader();
    RecordReader(const RecordReader&) = delete;
    RecordReader& operator=(const RecordReader&) = delete;

    [[nodiscard]] std::size_t launches() const { return launches_.size(); }
    /// Whether whoever wrote it came to its end.
    [[nodiscard]] bool finished() const { return finished_; }
    /// @param with_memory false: RecordedMemory has no contents, only places and hashes
    /// @throws RecordError
    [[nodiscard]] LaunchRecord read(std::size_t index, bool with_memory = true) const;

  private:
    struct Block {
        std::uint64_t offset = 0;  ///< of the stored bytes in the file
        std::uint32_t raw = 0, stored = 0;
    };
    void index();
    [[nodiscard]] Content unpacked(const Block& block) const;
    [[nodiscard]] Content content(const ChunkList& list) const;

    std::vector<std::byte> owned_;
    std::span<const std::byte> bytes_;
    std::vector<Block> chunks_, launches_;
    std::vector<std::uint64_t> chunk_offsets_;
    bool finished_ = false;
};

}  // namespace cudasim::driver
