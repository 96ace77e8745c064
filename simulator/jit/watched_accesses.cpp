// See watched_accesses.h.
#include "simulator/jit/watched_accesses.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>

#include "simulator/jit/function_context.h"
#include "simulator/jit/hook_calls.h"
#include "simulator/jit/lowering.h"
#include "simulator/jit/memory_accesses.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

class WatchedAccesses {
  public:
    WatchedAccesses(Compilation& compilation, Function& function)
        : compilation_(compilation), function_(function), head_(function) {}

    void run() {
        std::vector<MemoryAccess> accesses;
        for (Instruction& instruction : instructions(function_)) {
            if (instruction.getMetadata(marks::internal)) continue;
            for (const MemoryAccess& access : memory_accesses_of(instruction, function_.getDataLayout()))
                if (can_be_watched(access)) accesses.push_back(access);
        }
        for (const MemoryAccess& access : accesses) test(access);
    }

  private:
    bool can_be_watched(const MemoryAccess& access) const {
        if (constant_bytes(access) == 0) return false;
        const Value* object = getUnderlyingObject(access.address, 0);
        if (const auto* local = dyn_cast<AllocaInst>(object)) return !local->getMetadata(marks::record);
        // Parameters that are passed by value lie in the launch's buffer, which is host memory.
        const auto* argument = dyn_cast<Argument>(object);
        if (!argument || argument->getParent() != compilation_.kernel) return true;
        return argument->getArgNo() >= body_parameters &&
               !compilation_.by_value[argument->getArgNo() - body_parameters];
    }

    void test(const MemoryAccess& access) {
        Instruction* behind = access.at->getNextNode();
        IRBuilder<> builder(behind);
        builder.SetCurrentDebugLocation(access.at->getDebugLoc());
        Value* low = field(builder, offsetof(BlockContext, watch_low));
        Value* span = field(builder, offsetof(BlockContext, watch_bytes));
        Value* address = builder.CreatePtrToInt(access.address, builder.getInt64Ty());
        Value* bytes = access.bytes ? builder.CreateZExtOrTrunc(access.bytes, builder.getInt64Ty())
                                    : builder.getInt64(access.fixed_bytes);
        // [address, address + bytes) and [low, low + span) overlap when one contains the beginning of the
        // other. The span begins so far in front of what is watched that one test does for short accesses.
        Value* may = builder.CreateICmpULT(builder.CreateSub(address, low), span);
        if (access.bytes || access.fixed_bytes > watch_margin + 1)
            may = builder.CreateOr(may, builder.CreateICmpULT(builder.CreateSub(low, address), bytes));
        IRBuilder<> cold(branch_cold(may, behind, true));
        cold.SetCurrentDebugLocation(access.at->getDebugLoc());
        call_hook(cold, Hook::watched_access, {address, bytes, cold.getInt32(access.flags)});
    }

    /// Not invariant, unlike the context's other fields.
    Value* field(IRBuilder<>& builder, std::uint64_t offset) {
        Value* block = head_.block();
        LoadInst* load = builder.CreateLoad(
            builder.getInt64Ty(), builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), block, offset));
        mark_internal(*load);
        return load;
    }

    Compilation& compilation_;
    Function& function_;
    FunctionContext head_;
};

}  // namespace

void test_watched_accesses(Compilation& compilation) {
    for (Function& function : *compilation.module)
        if (!function.isDeclaration()) WatchedAccesses(compilation, function).run();
}

}  // namespace cudasim::jit
