// See object_cache.h: the key, and looking up. The form of an entry is in object_cache_entry.cpp.
#include "simulator/jit/object_cache.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/Support/BLAKE3.h>
#include <llvm/TargetParser/Host.h>

#include "simulator/jit/build_id.h"
#include "simulator/jit/object_code.h"

namespace cudasim::jit {
namespace {

/// The build ids of this code and of LLVM, which may be a library of its own. Empty where one is unknown;
/// then nothing can be cached.
const std::string& build_ids() {
    static const std::string ids = [] {
        const std::string own = build_id_of(reinterpret_cast<const void*>(&cache_key));
        const std::string llvm = build_id_of(reinterpret_cast<const void*>(&llvm::sys::getHostCPUName));
        return own.empty() || llvm.empty() ? std::string() : own + " " + llvm;
    }();
    return ids;
}

std::string hash_of(std::string_view text) {
    llvm::BLAKE3 hash;
    hash.update(llvm::StringRef(text.data(), text.size()));
    return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

std::string entry_name(const std::string& key) {
    return hash_of(key).substr(0, 40);
}

}  // namespace

std::string cache_key(const image::KernelImage& image, std::string_view kernel,
                      const CompileOptions& options) {
    // An option that is added must be named here, else this does not compile: it is part of the key.
    const auto& [instrumentations, fma_contraction, optimisation, wrap_checks, coroutines, lane_coroutines] =
        options;
    std::string inserted;
    for (const Instrumentation* each : instrumentations)
        inserted += " " + std::string(each->name()) + "=" + std::to_string(each->version());
    return "build " + build_ids() + "\nllvm " LLVM_VERSION_STRING "\nprocessor " + host_processor() +
           "\ninstrumentations" + inserted +
           "\noptions"
           " fma_contraction=" +
           std::to_string(fma_contraction) + " optimisation=" + std::to_string(optimisation) +
           " wrap_checks=" + std::to_string(wrap_checks) + " coroutines=" + std::to_string(coroutines) +
           std::to_string(lane_coroutines) + "\nbitcode " + hash_of(image.bitcode()) + "\nkernel " +
           std::string(kernel) + "\n";
}

ObjectCache& ObjectCache::instance() {
    static auto* cache = new ObjectCache;  // never destroyed: kernels may be compiled while the process ends
    return *cache;
}

std::optional<FolderProblem> ObjectCache::use(const std::string& folder, std::uint64_t limit_bytes) {
    folder_.reset();
    if (build_ids().empty())
        return FolderProblem{false,
                             "this build of cudasim carries no build id (link it with -Wl,--build-id)"};
    CacheFolder candidate(folder, limit_bytes);
    candidate.make();
    auto problem = candidate.problem();
    if (!problem) folder_ = std::move(candidate);
    return problem;
}

std::optional<CachedKernel> ObjectCache::find(const std::string& key) {
    if (!folder_) return std::nullopt;
    const std::string name = entry_name(key);
    std::optional<CachedKernel> found;
    if (const auto bytes = folder_->read(name)) {
        found = read_entry(key, *bytes);
        if (!found) folder_->remove(name);
    }
    folder_->count(found.has_value());
    return found;
}

void ObjectCache::store(const std::string& key, const KernelFacts& facts,
                        const llvm::SmallVector<char, 0>& object) {
    if (!folder_) return;
    folder_->write(entry_name(key), write_entry(key, facts, {object.data(), object.size()}));
}

void ObjectCache::discard(const std::string& key) {
    if (folder_) folder_->remove(entry_name(key));
}

}  // namespace cudasim::jit
