// A folder of files that this user alone may write, with a limit on their bytes: what the object cache stands
// on.
//
//   <folder>/<name>.kernel    an entry; appears whole (written under another name, then renamed)
//   <folder>/new-<random>     an entry being written; one that is left over is removed after an hour
//   <folder>/hits, misses     one byte for each look-up: their lengths are the counts, whatever runs at once
//
// Nothing is trusted: folder and entries must belong to the user and be writable by nobody else, else they
// are not read. Nothing is kept open, so fork, deleted folders and daemons that close all files do no harm.
// No function here fails: what cannot be read is not there, what cannot be written is not kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cudasim::jit {

/// Why a folder is not used.
struct FolderProblem {
    bool unsafe = false;  ///< others could plant machine code there
    std::string what;     ///< names the folder
};

struct FolderUsage {
    std::uint64_t entries = 0;
    std::uint64_t bytes = 0;  ///< sum of the entries' sizes
    std::uint64_t hits = 0;   ///< since the counts were cleared
    std::uint64_t misses = 0;
};

class CacheFolder {
  public:
    /// @param limit of bytes; when entries exceed it, those not used for longest go
    CacheFolder(std::string path, std::uint64_t limit) : path_(std::move(path)), limit_(limit) {}

    /// Makes the folder and its parents (mode 0700) where they are missing.
    void make() const;
    /// Why the folder may not be used; nullopt where it may.
    [[nodiscard]] std::optional<FolderProblem> problem() const;

    /// The bytes of an entry, which now counts as just used.
    [[nodiscard]] std::optional<std::vector<std::byte>> read(std::string_view name) const;
    /// Replaces the entry; larger than the limit: does nothing.
    void write(std::string_view name, std::span<const std::byte> bytes);
    void remove(std::string_view name) const;
    void count(bool hit) const;

    [[nodiscard]] FolderUsage usage() const;
    /// Removes entries and counts, and nothing else in the folder. Returns the entries that are gone, and the
    /// counts.
    FolderUsage clear() const;

  private:
    void keep_within_limit(std::uint64_t added);

    std::string path_;
    std::uint64_t limit_;
    std::uint64_t known_bytes_ = 0;   ///< as of the last look at the whole folder, and what was added since
    unsigned writes_until_look_ = 0;  ///< other processes write too
};

}  // namespace cudasim::jit
