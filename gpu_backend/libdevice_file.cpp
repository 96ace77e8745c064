// See libdevice_file.h. A path is the user's, and LLVM's reader of bitcode does not survive every file: a
// child process reads all of it first.
#include "gpu_backend/libdevice_file.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SHA256.h>
#include <llvm/Support/raw_ostream.h>

#include <map>
#include <mutex>

#include "gpu_backend/ptx.h"
#include "gpu_backend/toolkit.h"
#include "simulator/image/isolated_reading.h"

namespace cudasim::gpu_backend {
namespace {

namespace fs = std::filesystem;
using Code = PtxError::Code;

/// libdevice of CUDA 13 has half a million bytes.
constexpr std::uintmax_t most_bytes = 64U << 20;

[[noreturn]] void refuse(const fs::path& path, const std::string& reason) {
    throw PtxError(Code::libdevice, path.string() + " is not CUDA's libdevice: " + reason);
}

/// Name and type, a line for each.
std::string functions_in(const std::string& bitcode) {
    llvm::LLVMContext context;
    auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, "libdevice"), context);
    if (!module) throw image::ImageError(llvm::toString(module.takeError()));
    if (llvm::verifyModule(**module)) throw image::ImageError("its code is malformed");
    std::string lines;
    llvm::raw_string_ostream stream(lines);
    for (const llvm::Function& function : **module) {
        const bool is_for_kernels = !function.isDeclaration() && !function.hasLocalLinkage();
        if (is_for_kernels && function.getName().starts_with("__nv_"))
            stream << function.getName() << ' ' << *function.getFunctionType() << '\n';
    }
    return lines;
}

struct Known {
    std::uintmax_t size = 0;
    fs::file_time_type written;
    std::shared_ptr<const LibdeviceFile> file;
};

}  // namespace

LibdeviceFile::LibdeviceFile(fs::path path, std::string bitcode)
    : path_(std::move(path)), bitcode_(std::move(bitcode)) {
    if (!bitcode_.starts_with("BC\xC0\xDE")) refuse(path_, "it is not LLVM bitcode");
    std::string lines;
    try {
        lines = image::read_in_child_process("malformed bitcode", [this] { return functions_in(bitcode_); });
    } catch (const image::ImageError& error) {
        refuse(path_, error.what());
    }
    for (const llvm::StringRef line : llvm::split(llvm::StringRef(lines).rtrim(), '\n')) {
        const auto [name, type] = line.split(' ');
        if (!name.empty()) functions_.emplace(name.str(), type.str());
    }
    if (functions_.empty()) refuse(path_, "it has no function __nv_*");
    const auto digest = llvm::SHA256::hash(
        {reinterpret_cast<const std::uint8_t*>(bitcode_.data()), bitcode_.size()});  // NOLINT
    hash_ = llvm::toHex(digest, /*LowerCase=*/true);
}

std::shared_ptr<const LibdeviceFile> LibdeviceFile::at(const fs::path& path) {
    static std::mutex lock;
    static std::map<fs::path, Known> known;
    std::error_code failure;
    const auto size = fs::file_size(path, failure);
    if (failure) refuse(path, failure.message());
    if (size > most_bytes) refuse(path, "it has " + std::to_string(size) + " bytes");
    const auto written = fs::last_write_time(path, failure);
    const std::lock_guard guard(lock);
    Known& entry = known[path];
    if (entry.file && entry.size == size && entry.written == written) return entry.file;
    auto buffer = llvm::MemoryBuffer::getFile(path.string());
    if (!buffer) refuse(path, buffer.getError().message());
    std::shared_ptr<const LibdeviceFile> file(new LibdeviceFile(path, (*buffer)->getBuffer().str()));
    entry = {size, written, file};
    return file;
}

std::shared_ptr<const LibdeviceFile> LibdeviceFile::found() {
    const auto path = find_libdevice();
    return path ? at(*path) : nullptr;
}

std::unique_ptr<llvm::Module> LibdeviceFile::module(llvm::LLVMContext& context) const {
    auto library = llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(bitcode_, path_.string()), context,
                                              /*ShouldLazyLoadMetadata=*/true);
    if (!library) refuse(path_, llvm::toString(library.takeError()));
    return std::move(*library);
}

}  // namespace cudasim::gpu_backend
