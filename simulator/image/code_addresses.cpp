// See code_addresses.h.
#include "simulator/image/code_addresses.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/xxhash.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <set>
#include <utility>

namespace cudasim::image {
namespace {

class Search {
  public:
    void look_at(const llvm::Value& value) {
        const auto* constant = llvm::dyn_cast<llvm::Constant>(&value);
        if (constant == nullptr || llvm::isa<llvm::GlobalValue>(constant)) return;
        if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(constant)) {
            if (number->getBitWidth() == 64 && number->getZExtValue() >> 32 != 0)
                found_.insert(number->getZExtValue());
            return;
        }
        if (const auto* data = llvm::dyn_cast<llvm::ConstantDataSequential>(constant)) {
            if (!data->getElementType()->isIntegerTy(64)) return;
            for (unsigned i = 0; i < data->getNumElements(); ++i)
                if (data->getElementAsInteger(i) >> 32 != 0) found_.insert(data->getElementAsInteger(i));
            return;
        }
        if (!seen_.insert(constant).second) return;
        for (const llvm::Use& operand : constant->operands()) look_at(*operand);
    }
    [[nodiscard]] std::vector<std::uint64_t> found() const { return {found_.begin(), found_.end()}; }

  private:
    std::set<std::uint64_t> found_;
    llvm::SmallPtrSet<const llvm::Constant*, 32> seen_;
};

std::vector<std::uint64_t> searched(llvm::StringRef bitcode) {
    llvm::LLVMContext context;
    auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, "kernel image"), context);
    if (!module) throw ImageError("kernel image: " + llvm::toString(module.takeError()));
    Search search;
    for (const llvm::GlobalVariable& variable : (*module)->globals())
        if (variable.hasInitializer()) search.look_at(*variable.getInitializer());
    for (const llvm::Function& function : **module)
        for (const llvm::Instruction& instruction : llvm::instructions(function))
            for (const llvm::Use& operand : instruction.operands()) search.look_at(*operand);
    return search.found();
}

}  // namespace

std::vector<std::uint64_t> wide_constants(const KernelImage& image) {
    constexpr std::size_t most = 64;
    static auto& mutex = *new std::mutex;  // launches of finalizers may come late
    static auto& known = *new std::deque<std::pair<llvm::XXH128_hash_t, std::vector<std::uint64_t>>>;
    const llvm::StringRef bitcode(image.bitcode().data(), image.bitcode().size());
    const auto hash = llvm::xxh3_128bits({bitcode.bytes_begin(), bitcode.size()});
    const auto is_it = [&](const auto& each) { return each.first == hash; };
    {
        const std::lock_guard lock(mutex);
        if (const auto found = std::ranges::find_if(known, is_it); found != known.end()) return found->second;
    }
    auto constants = searched(bitcode);
    const std::lock_guard lock(mutex);
    known.emplace_front(hash, constants);
    if (known.size() > most) known.pop_back();
    return constants;
}

}  // namespace cudasim::image
