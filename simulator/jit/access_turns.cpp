// Threads take turns in front of their accesses to memory: calls of hook `turn` (simulator/execution/
// interleaving.h).
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>

#include <vector>

#include "simulator/jit/hook_calls.h"
#include "simulator/jit/kept_loads.h"
#include "simulator/jit/lowering.h"
#include "simulator/jit/memory_accesses.h"
#include "simulator/jit/standard_instrumentations.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

/// Whether threads can meet there, and it is no access of the compiler's own.
bool others_see(const MemoryAccess& access) {
    if (access.at->getMetadata(marks::internal) != nullptr) return false;
    if (isa<AllocaInst>(getUnderlyingObject(access.address, 0))) return false;
    const auto variable = variable_behind(access.address);
    return !variable || variable->space != constant;
}

class AccessTurns final : public Instrumentation {
  public:
    [[nodiscard]] std::string_view name() const override { return "access_turns"; }
    [[nodiscard]] std::uint32_t version() const override { return 1; }

    /// A load whose value nobody uses takes its turn, too.
    void early(Compilation& compilation) const override {
        keep_loads(compilation,
                   [](const LoadInst& load) { return load.getMetadata(marks::internal) == nullptr; });
    }

    void late(Compilation& compilation) const override {
        for (Function& function : *compilation.module) {
            std::vector<Instruction*> accesses;
            for (Instruction& instruction : instructions(function)) {
                const auto all = memory_accesses_of(instruction, function.getDataLayout());
                if (any_of(all, others_see)) accesses.push_back(&instruction);
            }
            for (Instruction* access : accesses) {
                IRBuilder<> builder(access);
                call_hook(builder, Hook::turn, {});
            }
        }
    }
};

const AccessTurns instrumentation;

}  // namespace

const Instrumentation& access_turns() {
    return instrumentation;
}

}  // namespace cudasim::jit
