// KernelImage: the one form in which kernels reach the engine and the GPU back end.
//
// It is NVVM IR bitcode (LLVM IR with the nvptx64 data layout, address spaces 1 global, 3 shared,
// 4 constant, 5 local) plus the source texts that reports quote. Immutable, hashable, serialisable,
// uninstrumented. What it says about its kernels is derived from the bitcode, so there is one truth.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace llvm {
class Module;
}

namespace cudasim::image {

/// Triple and data layout of every image (LLVM NVPTX back end user guide; what clang 19 emits).
inline constexpr std::string_view target_triple = "nvptx64-nvidia-cuda";
inline constexpr std::string_view data_layout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64";

/// One kernel parameter in the parameter buffer (CUDA Driver API, cuLaunchKernel: each parameter
/// at the next multiple of its alignment).
struct Parameter {
    std::string name;
    std::uint32_t offset = 0;  ///< bytes from the start of the buffer
    std::uint32_t size = 0;    ///< bytes
    std::uint32_t alignment = 1;
    bool operator==(const Parameter&) const = default;
};

struct Kernel {
    std::string name;
    std::vector<Parameter> parameters;
    std::uint32_t parameter_bytes = 0;
    bool operator==(const Kernel&) const = default;
};

struct SourceFile {
    std::string path;
    std::string text;
    bool operator==(const SourceFile&) const = default;
};

/// Raised for bytes or IR that are not a valid image; says what and where.
struct ImageError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class KernelImage {
  public:
    /// @param bitcode an LLVM module of any origin; is read in a child process, verified, and written anew
    ///     (isolated_reading.h). @throws ImageError
    [[nodiscard]] static KernelImage from_bitcode(std::string bitcode, std::vector<SourceFile> sources = {});
    /// @param module what a front end has just made in this process and verified. @throws ImageError
    [[nodiscard]] static KernelImage from_module(const llvm::Module& module,
                                                 std::vector<SourceFile> sources = {});
    /// @param text textual LLVM IR (.ll) of any origin. @throws ImageError with line and column
    [[nodiscard]] static KernelImage from_ir_text(std::string_view text,
                                                  std::vector<SourceFile> sources = {});
    /// Inverse of serialise(). Refuses anything malformed. @throws ImageError
    [[nodiscard]] static KernelImage deserialise(std::span<const std::byte> bytes);
    /// Inverse of serialise_own(), for bytes that are the program's own, as its machine code is: nothing is
    /// parsed, and only what cannot be is refused. @throws ImageError
    [[nodiscard]] static KernelImage deserialise_own(std::span<const std::byte> bytes);

    [[nodiscard]] std::vector<std::byte> serialise() const;
    /// With what was learnt from the bitcode. Whoever stores it adds a checksum.
    [[nodiscard]] std::vector<std::byte> serialise_own() const;
    [[nodiscard]] const std::string& bitcode() const { return data_->bitcode; }
    [[nodiscard]] const std::vector<Kernel>& kernels() const { return data_->kernels; }
    [[nodiscard]] const Kernel* find(std::string_view name) const;
    /// The functions whose address the module takes, in its order, so that a kernel can be read without the
    /// others. nullopt: not all of them have names.
    [[nodiscard]] const std::optional<std::vector<std::string>>& functions_with_address() const {
        return data_->functions_with_address;
    }
    [[nodiscard]] const std::vector<SourceFile>& sources() const { return data_->sources; }
    /// Hex SHA-256 of the bitcode that the image was made from, and of the sources.
    [[nodiscard]] const std::string& hash() const { return data_->hash; }
    /// The module as text, for people.
    [[nodiscard]] std::string ir_text() const;

  private:
    struct Data {
        std::string bitcode;
        /// The bytes of unknown origin that were read: hashed and stored, never parsed in this process
        /// again. Empty: it is `bitcode`.
        /// (LLVM does not write the same bytes again for a module that it has read.)
        std::string original;
        std::vector<Kernel> kernels;
        std::optional<std::vector<std::string>> functions_with_address;
        std::vector<SourceFile> sources;
        std::string hash;
    };
    static KernelImage make(const llvm::Module& module, std::string bitcode, std::string original,
                            std::vector<SourceFile> sources);
    /// The same for bitcode that a child process has verified and written.
    static KernelImage read(std::string bitcode, std::string original, std::vector<SourceFile> sources);
    explicit KernelImage(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
    std::shared_ptr<const Data> data_;
};

}  // namespace cudasim::image
