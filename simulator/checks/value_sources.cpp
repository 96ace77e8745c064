// See value_sources.h.
#include "simulator/checks/value_sources.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <utility>

namespace cudasim::checks {

using namespace llvm;

namespace {

/// Of one walk. What would be found later is left out, so that large kernels are compiled in reasonable time.
constexpr std::size_t most_steps = 4096;
/// Sources of one store; there are not more in a ring.
constexpr std::size_t most_sources = 256;

const AllocaInst* local_behind(const Value* address) {
    return dyn_cast<AllocaInst>(getUnderlyingObject(address, 0));
}

}  // namespace

/// A search along operands. Loads that have numbers end it, and are noted.
struct ValueSources::Walk {
    SmallVector<Step, 64> open;
    DenseMap<const Value*, bool> seen;  ///< whether as part of a value that repeats
    SmallVector<std::pair<const Instruction*, bool>, 16> loads;
    std::size_t steps = 0;

    void add(const Value* value, bool repeats) {
        if (isa<Constant>(value) || isa<BasicBlock>(value) || isa<MetadataAsValue>(value)) return;
        const auto [known, is_new] = seen.try_emplace(value, repeats);
        if (!is_new && (known->second || !repeats)) return;
        known->second = known->second || repeats;
        open.push_back({value, repeats});
    }
};

void ValueSources::add_address(Walk& walk, const Instruction& read, bool repeats) {
    if (const auto* copy = dyn_cast<MemTransferInst>(&read))
        walk.add(copy->getRawSource(), repeats);
    else if (const auto* update = dyn_cast<AtomicRMWInst>(&read))
        walk.add(update->getPointerOperand(), repeats);
    else if (const auto* exchange = dyn_cast<AtomicCmpXchgInst>(&read))
        walk.add(exchange->getPointerOperand(), repeats);
    else if (const auto* load = dyn_cast<LoadInst>(&read))
        walk.add(load->getPointerOperand(), repeats);
}

ValueSources::ValueSources(Module& module) : module_(module) {}

std::uint32_t ValueSources::add(const Instruction& read) {
    const auto next = static_cast<std::uint32_t>(numbers_.size());
    return numbers_.try_emplace(&read, std::min(next, unknown_load)).first->second;
}

std::uint32_t ValueSources::number_of(const Instruction& read) const {
    const auto known = numbers_.find(&read);
    return known == numbers_.end() ? unknown_load : known->second;
}

const DominatorTree& ValueSources::tree_of(const Function& function) {
    auto& tree = trees_[&function];
    if (!tree) tree = std::make_unique<DominatorTree>(const_cast<Function&>(function));
    return *tree;
}

void ValueSources::index_locals() {
    if (std::exchange(indexed_, true)) return;
    for (Function& function : module_) {
        for (Instruction& instruction : instructions(function)) {
            if (const auto* store = dyn_cast<StoreInst>(&instruction)) {
                if (const auto* local = local_behind(store->getPointerOperand()))
                    stored_in_[local].push_back(store->getValueOperand());
            } else if (const auto* copy = dyn_cast<MemTransferInst>(&instruction)) {
                if (const auto* local = local_behind(copy->getRawDest())) stored_in_[local].push_back(copy);
            }
        }
    }
}

void ValueSources::follow_local(const AllocaInst& local, Walk& walk) {
    index_locals();
    const auto stored = stored_in_.find(&local);
    if (stored == stored_in_.end()) return;
    for (const Value* value : stored->second) walk.add(value, true);
}

void ValueSources::follow_argument(const Argument& argument, bool repeats, Walk& walk) {
    for (const User* user : argument.getParent()->users()) {
        const auto* call = dyn_cast<CallInst>(user);
        if (call && call->getCalledFunction() == argument.getParent())
            walk.add(call->getArgOperand(argument.getArgNo()), repeats);
    }
}

void ValueSources::follow_instruction(const Instruction& instruction, bool repeats, Walk& walk) {
    if (numbers_.contains(&instruction)) {
        walk.loads.push_back({&instruction, repeats});
        return;
    }
    if (const auto* load = dyn_cast<LoadInst>(&instruction)) {
        if (const auto* local = local_behind(load->getPointerOperand())) follow_local(*local, walk);
        return;
    }
    if (const auto* copy = dyn_cast<MemTransferInst>(&instruction)) {
        if (const auto* local = local_behind(copy->getRawSource())) follow_local(*local, walk);
        return;
    }
    if (const auto* phi = dyn_cast<PHINode>(&instruction)) {
        const DominatorTree& tree = tree_of(*instruction.getFunction());
        for (const auto& use : phi->incoming_values()) {
            const bool is_back_edge = tree.dominates(phi->getParent(), phi->getIncomingBlock(use));
            walk.add(use.get(), repeats || is_back_edge);
        }
        return;
    }
    if (const auto* call = dyn_cast<CallInst>(&instruction)) {
        const Function* callee = call->getCalledFunction();
        if (callee && !callee->isDeclaration()) {
            for (const BasicBlock& block : *callee)
                if (const auto* end = dyn_cast<ReturnInst>(block.getTerminator()))
                    if (end->getReturnValue()) walk.add(end->getReturnValue(), repeats);
            return;
        }
    }
    if (isa<AllocaInst>(instruction)) return;
    for (const Value* operand : instruction.operand_values()) walk.add(operand, repeats);
}

void ValueSources::follow(const Step& step, Walk& walk) {
    if (const auto* instruction = dyn_cast<Instruction>(step.value))
        follow_instruction(*instruction, step.repeats, walk);
    else if (const auto* argument = dyn_cast<Argument>(step.value))
        follow_argument(*argument, step.repeats, walk);
}

std::vector<std::uint32_t> ValueSources::of(const jit::MemoryAccess& write) {
    Walk values, addresses;
    if (const auto* store = dyn_cast<StoreInst>(write.at)) {
        values.add(store->getValueOperand(), false);
    } else if (const auto* update = dyn_cast<AtomicRMWInst>(write.at)) {
        values.add(update->getValOperand(), false);
    } else if (const auto* exchange = dyn_cast<AtomicCmpXchgInst>(write.at)) {
        values.add(exchange->getNewValOperand(), false);
        values.add(exchange->getCompareOperand(), false);
    } else if (const auto* fill = dyn_cast<MemSetInst>(write.at)) {
        values.add(fill->getValue(), false);
    } else {
        values.add(write.at, false);
    }
    const auto run = [&](Walk& walk) {
        while (!walk.open.empty() && walk.steps++ < most_steps) follow(walk.open.pop_back_val(), walk);
    };
    run(values);
    addresses.add(write.address, false);
    for (const auto& [read, repeats] : values.loads) add_address(addresses, *read, repeats);
    run(addresses);
    for (std::size_t i = 0; i < addresses.loads.size(); ++i) {
        const auto [read, repeats] = addresses.loads[i];
        add_address(addresses, *read, repeats);
        run(addresses);
    }

    std::map<std::uint32_t, std::uint32_t> found;  // the bits, by number
    for (const auto& [read, repeats] : addresses.loads)
        found[number_of(*read)] |= source_address | (repeats ? source_repeats : 0U);
    for (const auto& [read, repeats] : values.loads) {
        std::uint32_t& bits = found[number_of(*read)];
        bits = (bits & source_repeats) | (repeats ? source_repeats : 0U);
    }
    found.erase(unknown_load);
    std::vector<std::uint32_t> list;
    for (const auto& [number, bits] : found)
        if (list.size() < most_sources) list.push_back(number | bits);
    list.push_back(no_source);
    return list;
}

}  // namespace cudasim::checks
