// One libdevice.10.bc, read and checked once for a process.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace cudasim::gpu_backend {

class LibdeviceFile {
  public:
    /// The library at the path. A file that was read before, and has the same size and time of modification,
    /// is not read again. @throws PtxError that names the path where it cannot be read or is not libdevice
    [[nodiscard]] static std::shared_ptr<const LibdeviceFile> at(const std::filesystem::path& path);
    /// The one that find_libdevice() finds; null where there is none. @throws PtxError
    [[nodiscard]] static std::shared_ptr<const LibdeviceFile> found();

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    /// Hex SHA-256 of the file.
    [[nodiscard]] const std::string& hash() const { return hash_; }
    /// Its functions for kernels: names, with `__nv_`, and types in LLVM's words, "double (double, ptr)".
    [[nodiscard]] const std::map<std::string, std::string, std::less<>>& functions() const {
        return functions_;
    }
    /// The library as a module whose functions are read when they are needed: of its 350 functions a kernel
    /// needs a few. @throws PtxError
    [[nodiscard]] std::unique_ptr<llvm::Module> module(llvm::LLVMContext& context) const;

  private:
    LibdeviceFile(std::filesystem::path path, std::string bitcode);
    std::filesystem::path path_;
    std::string bitcode_, hash_;
    std::map<std::string, std::string, std::less<>> functions_;
};

}  // namespace cudasim::gpu_backend
