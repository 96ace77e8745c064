// See prepared_record.h.
#include "gpu_backend/launches/prepared_record.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>
#include <list>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "gpu_backend/recorded_code.h"
#include "simulator/image/code_addresses.h"
#include "simulator/image/globals_placement.h"

namespace cudasim::gpu_launches {
namespace {

struct Key {
    driver::Hash image, embedded_image;
    std::string kernel;
    std::optional<std::uint64_t> globals_base;
    std::string architecture;
    bool fma, report_faults, raise_float_division, raise_negative_index;
    bool operator==(const Key&) const = default;
};

/// The code of the kernels that were prepared last: programs launch few kernels many times, and PTX takes
/// tens of milliseconds.
class KnownCode {
  public:
    std::optional<records::GpuCode> find(const Key& key) {
        const std::lock_guard lock(mutex_);
        const auto found = std::ranges::find(known_, key, &Entry::first);
        if (found == known_.end()) return std::nullopt;
        known_.splice(known_.begin(), known_, found);
        return known_.front().second;
    }
    void keep(Key key, records::GpuCode code) {
        const std::lock_guard lock(mutex_);
        known_.emplace_front(std::move(key), std::move(code));
        if (known_.size() > most) known_.pop_back();
    }

  private:
    static constexpr std::size_t most = 64;
    using Entry = std::pair<Key, records::GpuCode>;
    std::mutex mutex_;
    std::list<Entry> known_;
};

KnownCode& known_code() {
    static KnownCode known;
    return known;
}

bool is_in_memory(const driver::LaunchRecord& record, std::uint64_t word) {
    return std::ranges::any_of(record.memory, [word](const driver::RecordedMemory& range) {
        return range.before && word >= range.address && word - range.address < range.bytes;
    });
}

/// Where the variables of an image lie among each other.
std::vector<std::pair<std::uint64_t, std::uint64_t>> placement_of(const image::KernelImage& image) {
    llvm::LLVMContext context;
    auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(image.bitcode(), "kernel image"), context);
    if (!module) throw image::ImageError("kernel image: " + llvm::toString(module.takeError()));
    std::vector<std::pair<std::uint64_t, std::uint64_t>> placed;
    for (const auto& [variable, offset] : image::place_globals(**module).offsets)
        placed.emplace_back(offset, (*module)->getDataLayout().getTypeAllocSize(variable->getValueType()));
    return placed;
}

/// The image to make PTX of: as the program holds it, with its own inline PTX. Its variables have to lie
/// where the launch had them, and its functions to have the same handles.
image::KernelImage image_for_gpu(const driver::LaunchRecord& record) {
    auto loaded = image::KernelImage::deserialise(record.image.bytes());
    if (record.embedded_image.size() == 0) return loaded;
    auto embedded = image::KernelImage::deserialise(record.embedded_image.bytes());
    const bool means_the_same = placement_of(embedded) == placement_of(loaded) &&
                                embedded.functions_with_address() == loaded.functions_with_address();
    return means_the_same ? embedded : loaded;
}

}  // namespace

void add_gpu_code(driver::LaunchRecord& record, const PreparationOptions& options) {
    if (record.runs_in_front_end())
        throw driver::RecordError(
            "the kernel runs in Python mode, so there is no code of it that a GPU could run");
    Key key{.image = driver::hash_of(record.image.bytes()),
            .embedded_image = driver::hash_of(record.embedded_image.bytes()),
            .kernel = record.kernel,
            .globals_base = std::nullopt,
            .architecture = options.architecture,
            .fma = record.options.compile.fma_contraction,
            .report_faults = options.report_faults,
            .raise_float_division = record.options.raise_float_division,
            .raise_negative_index = record.options.wrap == execution::Wrap::error};
    const auto globals = std::ranges::find(record.memory, true, &driver::RecordedMemory::globals);
    if (globals != record.memory.end()) key.globals_base = globals->address;
    if (auto code = known_code().find(key)) {
        record.gpu = std::move(*code);
        return;
    }
    gpu_backend::PtxOptions ptx;
    ptx.architecture = options.architecture;
    ptx.fma_contraction = key.fma;
    ptx.report_faults = key.report_faults;
    ptx.raise_float_division = key.raise_float_division;
    ptx.raise_negative_index = key.raise_negative_index;
    ptx.debug_info = gpu_backend::DebugInfo::lines;
    ptx.globals_base = key.globals_base;
    const auto image = image_for_gpu(record);
    record.gpu = gpu_backend::gpu_code_of(image, record.kernel, ptx);
    const auto constants = image::wide_constants(image);
    if (std::ranges::any_of(constants, [&](std::uint64_t word) { return is_in_memory(record, word); }))
        record.gpu->has_addresses = true;
    known_code().keep(std::move(key), *record.gpu);
}

}  // namespace cudasim::gpu_launches
