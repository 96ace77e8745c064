// The files of records: blocks that are compressed one by one. Needs neither LLVM nor any other part of the
// engine than the host's memory, so that the program that runs records on a GPU can be linked with it alone.
//
//   header   magic (16 bytes)  version u32  reserved u32 (0)
//   block*   kind u8  raw bytes u32  stored bytes u32  then so many stored bytes
//
// Numbers are little-endian. Every block is one zstd frame (RFC 8878) with its checksum. Kinds:
//
//   'C' chunk    at most chunk_bytes of content: memory, an image, texts. Chunks are numbered from 0 as they
//                come.
//   'E' end      empty; a file without it was not finished, and its blocks up to there are whole
//   others       as the file's format says
//
// A reader believes nothing: sizes are compared with what is there, frames with their checksums, numbers with
// their ranges. Whatever is wrong is a RecordError that says what, and at which byte of the file.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulator/records/content.h"

namespace cudasim::records {

inline constexpr std::uint32_t chunk_bytes = 64 << 10;
/// Of a block that is not a chunk: a launch with 1 TiB of memory needs less.
inline constexpr std::uint32_t most_block_bytes = 256 << 20;

/// What a file of records holds.
struct FileFormat {
    std::string_view magic;        ///< 16 bytes
    std::uint32_t version;         ///< that is written
    std::uint32_t oldest_version;  ///< that can be read
    std::string_view name;         ///< for messages: "file of launch records"
    std::string_view kinds;        ///< of blocks, besides 'C' and 'E'
};

/// Where the bytes of a content are: runs of consecutive chunks.
struct ChunkList {
    std::uint64_t bytes = 0;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> runs;  ///< (first chunk, how many)
    bool operator==(const ChunkList&) const = default;
};

class BlockWriter {
  public:
    using Hasher = Hash (*)(std::span<const std::byte>);

    /// @param hasher by which equal chunks are known, to be stored once; null: all are stored
    /// @throws RecordError when the file cannot be written
    BlockWriter(std::filesystem::path path, const FileFormat& format, Hasher hasher);
    ~BlockWriter();
    BlockWriter(const BlockWriter&) = delete;
    BlockWriter& operator=(const BlockWriter&) = delete;

    /// Keeps a content. @throws RecordError
    [[nodiscard]] ChunkList chunks(std::span<const std::byte> bytes);
    /// Appends a block, and hands what is buffered to the system. @throws RecordError
    void add(char kind, std::span<const std::byte> raw);
    /// Ends the file; without it readers say that it was not finished. @throws RecordError
    void close();

  private:
    void block(char kind, std::span<const std::byte> raw);
    void write(const void* data, std::size_t bytes);

    struct Compressor;
    std::filesystem::path path_;
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
    std::unique_ptr<Compressor> compressor_;
    Hasher hasher_;
    std::map<Hash, std::uint32_t> known_;  ///< chunk's hash → its number
    std::uint32_t count_ = 0;              ///< chunks
};

/// A file of records, in memory while this lives. Blocks are decompressed when they are read.
class BlockReader {
  public:
    /// Looks at every block's frame, and at no content. @throws RecordError
    BlockReader(const std::filesystem::path& path, const FileFormat& format);
    /// The same for bytes in memory. @throws RecordError
    BlockReader(std::vector<std::byte> bytes, const FileFormat& format);

    /// How many blocks of this kind there are.
    [[nodiscard]] std::size_t count(char kind) const;
    /// Whether whoever wrote it came to its end.
    [[nodiscard]] bool finished() const { return finished_; }
    /// @throws RecordError
    [[nodiscard]] Content read(char kind, std::size_t index) const;
    /// @throws RecordError
    [[nodiscard]] Content content(const ChunkList& list) const;

  private:
    struct Block {
        std::uint64_t offset = 0;  ///< of the stored bytes in the file
        std::uint32_t raw = 0, stored = 0;
    };
    void index(const FileFormat& format);
    [[nodiscard]] Content unpacked(const Block& block) const;
    [[nodiscard]] RecordError malformed(std::uint64_t offset, const std::string& what) const;

    std::string name_;
    std::vector<std::byte> bytes_;
    std::vector<Block> chunks_;
    std::map<char, std::vector<Block>> blocks_;
    std::vector<std::uint64_t> chunk_offsets_;
    bool finished_ = false;
};

/// The whole of a regular file. @throws RecordError
[[nodiscard]] std::vector<std::byte> bytes_of(const std::filesystem::path& path);

}  // namespace cudasim::records
