// See local_memory.h.
#include "simulator/jit/local_memory.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Support/MathExtras.h>

#include <map>
#include <sstream>

#include "simulator/jit/local_variables.h"
#include "simulator/jit/source_places.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

class LocalMemory {
  public:
    explicit LocalMemory(const Compilation& compilation) {
        for (const Function* function : compilation.layout.functions)
            if (function) address_taken_.push_back(function);
    }

    /// Bytes of local memory of the function and everything that it calls. Saturates.
    std::uint64_t bytes_of(const Function& function) {
        const auto [known, fresh] = bytes_.try_emplace(&function, 0);
        if (!fresh) return known->second;
        std::uint64_t own = 0, deepest = 0;
        for (const Instruction& instruction : instructions(function)) {
            if (const auto* local = dyn_cast<AllocaInst>(&instruction))
                own = SaturatingAdd(own, look_at(*local));
            const auto* call = dyn_cast<CallBase>(&instruction);
            if (!call) continue;
            if (const Function* callee = call->getCalledFunction()) {
                if (!callee->isDeclaration()) deepest = std::max(deepest, bytes_of(*callee));
            } else {
                for (const Function* callee : address_taken_) deepest = std::max(deepest, bytes_of(*callee));
            }
        }
        return bytes_[&function] = SaturatingAdd(own, deepest);
    }

    [[nodiscard]] const AllocaInst* largest() const { return largest_; }
    [[nodiscard]] std::uint64_t largest_bytes() const { return largest_bytes_; }

  private:
    std::uint64_t look_at(const AllocaInst& local) {
        const std::uint64_t bytes = bytes_of_variable(local);
        if (bytes > largest_bytes_) {
            largest_bytes_ = bytes;
            largest_ = &local;
        }
        return bytes;
    }

    std::vector<const Function*> address_taken_;
    std::map<const Function*, std::uint64_t> bytes_;
    const AllocaInst* largest_ = nullptr;
    std::uint64_t largest_bytes_ = 0;
};

std::string name_in_source(const AllocaInst& local) {
    const StringRef name = local.getName();
    return name.substr(0, name.find(".data")).str();
}

}  // namespace

void check_local_memory(const Compilation& compilation) {
    const Function& kernel = *compilation.kernel;
    LocalMemory memory(compilation);
    const std::uint64_t bytes = memory.bytes_of(kernel);
    if (bytes <= local_memory_per_thread) return;
    const AllocaInst& largest = *memory.largest();
    const auto head = place_of(kernel.getSubprogram());
    auto place = call_chain(largest.getDebugLoc().get());
    if (place.empty()) place.push_back(place_of(largest.getFunction()->getSubprogram()));
    std::ostringstream message;
    message << "Entry function '" << (head.function.empty() ? compilation.description->name : head.function)
            << "' uses too much local data (0x" << std::hex << bytes << " bytes, 0x"
            << local_memory_per_thread << " max): " << std::dec
            << "a GPU gives each thread 512 KiB of local memory; the largest variable";
    if (const std::string name = name_in_source(largest); !name.empty()) message << ", '" << name << "',";
    message << " takes " << memory.largest_bytes() << " bytes";
    throw ResourceError(message.str(), std::move(place));
}

}  // namespace cudasim::jit
