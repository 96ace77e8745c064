// The object cache: compiled kernels on disk, so that a kernel is compiled once and not once per process.
//
//   key    everything that machine code depends on: this build of cudasim and of LLVM, the processor and its
//          features, the instrumentations with their versions and the other compile options, the image's
//          bitcode (which names source lines), the kernel's name
//   entry  what is known about the kernel (KernelFacts) and the relocatable object file, as code generation
//          left it: no address of this process is in it, the hooks are symbols that are resolved at load
//
// An entry is only believed when it is whole: magic, version, BLAKE3 of all that follows, and the key itself.
// Anything else is removed and compiled again. Where files come from and who may write them: cache_folder.h.
//
//   "CUDASIMK"  version u32  reserved u32  BLAKE3 32 bytes | key text, facts, object code
//
// Used under lock_compiler() (object_code.h).
#pragma once

#include <llvm/ADT/SmallVector.h>

#include <optional>
#include <string>
#include <string_view>

#include "simulator/jit/cache_folder.h"
#include "simulator/jit/compiler.h"

namespace cudasim::jit {

struct CachedKernel {
    KernelFacts facts;
    llvm::SmallVector<char, 0> object;
};

class ObjectCache {
  public:
    /// The process's cache; off until use() says where.
    static ObjectCache& instance();

    /// Uses a folder for the cache from now on. Switches the cache off where the folder is a problem, which
    /// is returned. @throws nothing
    std::optional<FolderProblem> use(const std::string& folder, std::uint64_t limit_bytes);
    void switch_off() { folder_.reset(); }
    [[nodiscard]] bool is_on() const { return folder_.has_value(); }

    [[nodiscard]] std::optional<CachedKernel> find(const std::string& key);
    void store(const std::string& key, const KernelFacts& facts, const llvm::SmallVector<char, 0>& object);
    /// What find() gave could not be used after all.
    void discard(const std::string& key);

  private:
    std::optional<CacheFolder> folder_;
};

/// Readable, one line for each thing that machine code depends on.
[[nodiscard]] std::string cache_key(const image::KernelImage& image, std::string_view kernel,
                                    const CompileOptions& options);

/// The bytes of an entry, and back; nothing for bytes that are not the whole entry of this key.
[[nodiscard]] std::vector<std::byte> write_entry(const std::string& key, const KernelFacts& facts,
                                                 std::string_view object);
[[nodiscard]] std::optional<CachedKernel> read_entry(const std::string& key,
                                                     std::span<const std::byte> bytes);

}  // namespace cudasim::jit
