// See sync_scopes.h.
#include "simulator/image/sync_scopes.h"

#include <llvm/IR/Instructions.h>

#include <string_view>

namespace cudasim::image {
namespace {

struct Name {
    std::string_view name;
    Scope scope;
};

/// The first name of a scope is the one that is written. "cta", "agent" and "workgroup" are other producers'.
constexpr Name names[] = {
    {"singlethread", Scope::thread}, {"block", Scope::block},  {"cluster", Scope::cluster},
    {"device", Scope::device},       {"", Scope::system},      {"cta", Scope::block},
    {"workgroup", Scope::block},     {"agent", Scope::device},
};

}  // namespace

llvm::SyncScope::ID sync_scope(llvm::LLVMContext& context, Scope scope) {
    if (scope == Scope::thread) return llvm::SyncScope::SingleThread;
    if (scope == Scope::system) return llvm::SyncScope::System;
    for (const Name& each : names)
        if (each.scope == scope) return context.getOrInsertSyncScopeID(each.name);
    return llvm::SyncScope::System;
}

Scope scope_of(const llvm::Instruction& instruction) {
    const auto id = llvm::getAtomicSyncScopeID(&instruction);
    if (!id || *id == llvm::SyncScope::SingleThread) return Scope::thread;
    if (*id == llvm::SyncScope::System) return Scope::system;
    llvm::SmallVector<llvm::StringRef, 8> known;
    instruction.getContext().getSyncScopeNames(known);
    for (const Name& each : names)
        if (known[*id] == llvm::StringRef(each.name)) return each.scope;
    return Scope::system;
}

}  // namespace cudasim::image
