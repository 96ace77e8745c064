// From NVVM's sync scopes to what the CPU needs: the threads of a block share one host thread, those of
// different blocks may run on several. Every scope but the block's fence becomes the system's.
#include "simulator/image/sync_scopes.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include "simulator/jit/lowering.h"

namespace cudasim::jit {

using namespace llvm;

void lower_sync_scopes(Compilation& compilation) {
    for (Function& function : *compilation.module) {
        for (Instruction& instruction : instructions(function)) {
            const auto scope = getAtomicSyncScopeID(&instruction);
            if (!scope || *scope == SyncScope::System || *scope == SyncScope::SingleThread) continue;
            if (auto* fence = dyn_cast<FenceInst>(&instruction)) {
                // Keeping the compiler from reordering is enough within a host thread.
                const bool in_block = image::scope_of(instruction) <= image::Scope::cluster;
                fence->setSyncScopeID(in_block ? SyncScope::SingleThread : SyncScope::System);
            }
            if (auto* load = dyn_cast<LoadInst>(&instruction)) load->setSyncScopeID(SyncScope::System);
            if (auto* store = dyn_cast<StoreInst>(&instruction)) store->setSyncScopeID(SyncScope::System);
            if (auto* update = dyn_cast<AtomicRMWInst>(&instruction))
                update->setSyncScopeID(SyncScope::System);
            if (auto* exchange = dyn_cast<AtomicCmpXchgInst>(&instruction))
                exchange->setSyncScopeID(SyncScope::System);
        }
    }
}

}  // namespace cudasim::jit
