// See site_numbering.h.
#include "simulator/jit/site_numbering.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include <map>
#include <tuple>
#include <vector>

#include "simulator/jit/hook_calls.h"
#include "simulator/jit/source_places.h"

namespace cudasim::jit {

using namespace llvm;

namespace {

std::uint32_t add_site(Compilation& compilation, const DILocation* place, const Function& function) {
    auto chain = call_chain(place);
    if (chain.empty()) chain.push_back(place_of(function.getSubprogram()));
    compilation.sites.push_back(std::move(chain));
    return static_cast<std::uint32_t>(compilation.sites.size() - 1);
}

}  // namespace

ConstantInt* site_of(Compilation& compilation, const Instruction& instruction) {
    const DILocation* place = instruction.getDebugLoc().get();
    const Function* owner = place ? nullptr : instruction.getFunction();
    const auto [entry, fresh] = compilation.place_sites.try_emplace({place, owner}, 0);
    if (fresh) entry->second = add_site(compilation, place, *instruction.getFunction());
    return ConstantInt::get(Type::getInt32Ty(instruction.getContext()), entry->second);
}

/// Copies of an operation have its mark, and its site.
static void number_skippable_operations(Compilation& compilation) {
    std::map<const MDNode*, std::uint32_t> index_of;
    std::vector<CallInst*> passes;
    for (Function& function : *compilation.module) {
        for (Instruction& instruction : instructions(function)) {
            const MDNode* mark = instruction.getMetadata(marks::skippable);
            if (mark == nullptr) continue;
            auto& call = cast<CallInst>(instruction);
            if (hook_called_by(call) == Hook::passes) {
                passes.push_back(&call);
                continue;
            }
            const auto& site = *cast<ConstantInt>(call.getArgOperand(call.arg_size() - 1));
            if (index_of.try_emplace(mark, index_of.size()).second)
                compilation.skippable_sites.push_back(static_cast<std::uint32_t>(site.getZExtValue()));
        }
    }
    for (CallInst* call : passes) {
        const auto known = index_of.find(call->getMetadata(marks::skippable));
        if (known == index_of.end())
            call->eraseFromParent();  // nothing comes to the operation
        else
            call->setArgOperand(1, ConstantInt::get(call->getArgOperand(1)->getType(), known->second));
    }
}

void number_sites(Compilation& compilation) {
    std::map<std::tuple<const Function*, const DILocation*, const MDNode*, const MDNode*, const Function*>,
             std::uint32_t>
        known;
    for (Function& function : *compilation.module) {
        for (Instruction& instruction : instructions(function)) {
            const Function* hook = any_hook_called_by(instruction);
            if (!hook) continue;
            const DILocation* place = instruction.getDebugLoc().get();
            // Without a place, copies cannot be told from different calls: then each call is its own.
            const Function* owner = place ? nullptr : &function;
            const auto key = std::tuple(hook, place, instruction.getMetadata(marks::barrier),
                                        instruction.getMetadata(marks::entry), owner);
            const auto [entry, fresh] = known.try_emplace(key, 0);
            if (fresh) entry->second = add_site(compilation, place, function);
            auto& call = cast<CallInst>(instruction);
            call.setArgOperand(call.arg_size() - 1,
                               ConstantInt::get(Type::getInt32Ty(function.getContext()), entry->second));
        }
    }
    number_skippable_operations(compilation);
}

}  // namespace cudasim::jit
