// See group_shapes.h. Strides are found by a fixpoint that begins with "not known" and ends at the least that
// holds: a phi of several values with one stride has that stride, because all lanes take the same way.
#include "simulator/jit/group_shapes.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/GetElementPtrTypeIterator.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

#include "simulator/jit/hook_calls.h"
#include "simulator/jit/thread_groups.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

/// Instructions of a body. Its copy is optimised twice: about 15 ms. What is longer has other troubles than
/// the order of its loads.
constexpr std::size_t largest_body = 600;
/// Bytes from lane to lane up to which lanes share cache lines. What lies further apart is rarely loaded in
/// loops (can_group_threads()).
constexpr std::int64_t widest_stride = 64;

/// Types whose vectors the processor handles as it does single values.
bool has_vectors(const Type& type) {
    if (type.isIntegerTy()) {
        const unsigned bits = type.getIntegerBitWidth();
        return bits == 1 || bits == 8 || bits == 16 || bits == 32 || bits == 64;
    }
    return type.isFloatTy() || type.isDoubleTy() || type.isPointerTy();
}

/// The stride as a number of the type: what wraps there is the same.
std::int64_t wrapped(std::int64_t stride, const Type& type) {
    if (!type.isIntegerTy() || type.getIntegerBitWidth() >= 64) return stride;
    return SignExtend64(static_cast<std::uint64_t>(stride), type.getIntegerBitWidth());
}

std::int64_t product(std::int64_t a, std::uint64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * b);
}

std::int64_t sum(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

/// Whether GroupCode can tell that an extended integer of this type does not wrap between the first lane and
/// the last.
bool can_be_tested(std::optional<std::int64_t> stride, const Type& type) {
    const unsigned bits = type.getIntegerBitWidth();
    const std::int64_t most = std::int64_t{1} << (bits - 6);
    return stride && bits >= 16 && *stride > -most && *stride < most;
}

/// Numbers of 64 bits hold them, and what is computed of them.
bool has_strides(const Type& type) {
    return type.isPointerTy() || (type.isIntegerTy() && type.getIntegerBitWidth() <= 64);
}

bool is_pure(const CallInst& call) {
    return call.doesNotAccessMemory() && call.doesNotThrow() && call.hasFnAttr(Attribute::WillReturn) &&
           call.getCalledFunction() != nullptr;
}

bool is_ignored(const Instruction& instruction) {
    const auto* intrinsic = dyn_cast<IntrinsicInst>(&instruction);
    return intrinsic && (intrinsic->getIntrinsicID() == Intrinsic::assume ||
                         intrinsic->getIntrinsicID() == Intrinsic::experimental_noalias_scope_decl);
}

}  // namespace

GroupShapes::GroupShapes(Function& body) : body_(body) {}

bool GroupShapes::is_extension(const Instruction& instruction) {
    return isa<ZExtInst, SExtInst>(instruction);
}

std::optional<std::int64_t> GroupShapes::stride(const Value& value) const {
    const auto known = strides_.find(&value);
    return known != strides_.end() ? known->second : std::optional<std::int64_t>(0);
}

bool GroupShapes::is_consecutive(const Instruction& access) const {
    const Value* address = getLoadStorePointerOperand(&access);
    const TypeSize bytes =
        body_.getDataLayout().getTypeStoreSize(getLoadStoreType(const_cast<Instruction*>(&access)));
    const auto step = stride(*address);
    return step && *step == static_cast<std::int64_t>(bytes.getFixedValue());
}

/// Blocks from which every way ends in `unreachable`.
void GroupShapes::find_cold_blocks() {
    for (const BasicBlock* block : post_order(&body_)) {
        const Instruction* end = block->getTerminator();
        if (isa<UnreachableInst>(end) ||
            (end->getNumSuccessors() != 0 &&
             all_of(successors(block), [&](const BasicBlock* next) { return cold_.contains(next); })))
            cold_.insert(block);
    }
}

void GroupShapes::find_stores() {
    std::vector<const BasicBlock*> work;
    const auto reach = [&](const BasicBlock& block) {
        for (const BasicBlock* next : successors(&block))
            if (behind_store_.insert(next).second) work.push_back(next);
    };
    for (const BasicBlock& block : body_) {
        if (!is_cold(block) && any_of(block, [](const Instruction& each) { return isa<StoreInst>(each); }))
            reach(block);
    }
    while (!work.empty()) {
        const BasicBlock* block = work.back();
        work.pop_back();
        reach(*block);
    }
}

bool GroupShapes::is_behind_store(const Instruction& instruction) const {
    if (behind_store_.contains(instruction.getParent())) return true;
    for (const Instruction& each : *instruction.getParent()) {
        if (&each == &instruction) return false;
        if (isa<StoreInst>(each)) return true;
    }
    return false;
}

bool GroupShapes::has_known_strides(const Instruction& instruction) const {
    return all_of(instruction.operands(), [&](const Use& operand) {
        return !isa<Instruction>(operand) || strides_.contains(operand);
    });
}

std::optional<std::int64_t> GroupShapes::common_stride(ArrayRef<const Value*> values) const {
    std::optional<std::int64_t> common;
    for (const Value* value : values) {
        if (isa<Instruction>(value) && !strides_.contains(value)) continue;  // of a loop: to come
        const auto step = stride(*value);
        if (!step || (common && *common != *step)) return std::nullopt;
        common = step;
    }
    return common;
}

std::optional<std::int64_t> GroupShapes::stride_of_address(const GetElementPtrInst& address) const {
    auto total = stride(*address.getPointerOperand());
    for (auto step = gep_type_begin(address); total && step != gep_type_end(address); ++step) {
        const auto index = stride(*step.getOperand());
        if (!index) return std::nullopt;
        if (*index == 0) continue;
        const bool is_wide = step.getOperand()->getType()->isIntegerTy(64);
        if (step.isStruct() || !is_wide) return std::nullopt;
        const TypeSize scale = step.getSequentialElementStride(body_.getDataLayout());
        total = sum(*total, product(*index, scale.getFixedValue()));
    }
    return total;
}

std::optional<std::int64_t> GroupShapes::stride_of(const Instruction& instruction) const {
    const auto operand = [&](unsigned i) { return stride(*instruction.getOperand(i)); };
    if (const auto* phi = dyn_cast<PHINode>(&instruction)) {
        SmallVector<const Value*, 4> values;
        for (const auto& [value, block] : zip(phi->incoming_values(), phi->blocks()))
            if (!is_cold(*block)) values.push_back(value);
        return common_stride(values);
    }
    if (const auto* load = dyn_cast<LoadInst>(&instruction))
        return stride(*load->getPointerOperand()) == 0 ? std::optional<std::int64_t>(0) : std::nullopt;
    const bool is_same = all_of(instruction.operands(), [&](const Use& each) { return stride(*each) == 0; });
    if (is_same) return 0;
    const Type& type = *instruction.getType();
    if (!has_strides(type)) return std::nullopt;
    switch (instruction.getOpcode()) {
        case Instruction::Add:
            if (!operand(0) || !operand(1)) return std::nullopt;
            return wrapped(sum(*operand(0), *operand(1)), type);
        case Instruction::Sub:
            if (!operand(0) || !operand(1)) return std::nullopt;
            return wrapped(sum(*operand(0), product(*operand(1), ~std::uint64_t{0})), type);
        case Instruction::Mul: {
            const auto* factor = dyn_cast<ConstantInt>(instruction.getOperand(1));
            if (!operand(0) || !factor || factor->getBitWidth() > 64) return std::nullopt;
            return wrapped(product(*operand(0), factor->getZExtValue()), type);
        }
        case Instruction::Shl: {
            const auto* bits = dyn_cast<ConstantInt>(instruction.getOperand(1));
            if (!operand(0) || !bits || bits->getValue().uge(64)) return std::nullopt;
            return wrapped(product(*operand(0), std::uint64_t{1} << bits->getZExtValue()), type);
        }
        case Instruction::Trunc:
            return operand(0) ? std::optional(wrapped(*operand(0), type)) : std::nullopt;
        case Instruction::ZExt:
        case Instruction::SExt:
            // Tested when it is computed, which must be while the group can still give up.
            if (!can_be_tested(operand(0), *instruction.getOperand(0)->getType()) ||
                is_behind_store(instruction))
                return std::nullopt;
            return operand(0);
        case Instruction::Freeze:
            return operand(0);
        case Instruction::PtrToInt:
        case Instruction::IntToPtr:
            if (!instruction.getOperand(0)->getType()->isIntegerTy(64) && !type.isIntegerTy(64))
                return std::nullopt;
            return operand(0);
        case Instruction::GetElementPtr:
            return stride_of_address(cast<GetElementPtrInst>(instruction));
        case Instruction::Select:
            if (operand(0) != 0) return std::nullopt;
            return common_stride({instruction.getOperand(1), instruction.getOperand(2)});
        default:
            return std::nullopt;
    }
}

void GroupShapes::find_strides() {
    strides_[body_.getArg(body_tid_x)] = strides_[body_.getArg(body_thread)] = 1;
    const ReversePostOrderTraversal<Function*> order(&body_);
    for (bool changed = true; changed;) {
        changed = false;
        for (const BasicBlock* block : order) {
            if (is_cold(*block)) continue;
            for (const Instruction& instruction : *block) {
                if (instruction.getType()->isVoidTy()) continue;
                const auto known = strides_.find(&instruction);
                if (known != strides_.end() && !known->second) continue;
                const auto* phi = dyn_cast<PHINode>(&instruction);
                if (!phi && !has_known_strides(instruction)) continue;
                auto found = stride_of(instruction);
                // A stride that changes is none: the fixpoint goes downwards only.
                if (known != strides_.end() && known->second != found) found = std::nullopt;
                if (known != strides_.end() && known->second == found) continue;
                strides_[&instruction] = found;
                changed = true;
            }
        }
    }
}

bool GroupShapes::is_allowed_access(const Instruction& access) const {
    const auto* load = dyn_cast<LoadInst>(&access);
    const auto* store = dyn_cast<StoreInst>(&access);
    if (load ? !load->isSimple() : !store->isSimple()) return false;
    const auto step = stride(*getLoadStorePointerOperand(&access));
    const Type& type = *getLoadStoreType(const_cast<Instruction*>(&access));
    if (step == 0) return load != nullptr;  // of all lanes to one place: a race, which is left as it was
    if (!has_vectors(type) || type.isIntegerTy(1)) return false;
    return load != nullptr || !is_wide_in_loop(access);
}

bool GroupShapes::is_wide_in_loop(const Instruction& access) const {
    const auto step = stride(*getLoadStorePointerOperand(&access));
    return in_loop_.contains(access.getParent()) &&
           (!step || *step < -widest_stride || *step > widest_stride);
}

/// One thread after another may walk along a line of the cache, and eight at once lose each other's: with two
/// arrays and more, rows of 2^n bytes took up to five times as long in groups. One such load pays beside
/// loads of what is the same for all lanes, which each thread would come back to.
bool GroupShapes::has_wide_loops() const {
    unsigned wide = 0, same = 0;
    for (const Instruction& instruction : instructions(body_)) {
        const auto* load = dyn_cast<LoadInst>(&instruction);
        if (!load || is_cold(*load->getParent()) || !in_loop_.contains(load->getParent())) continue;
        same += stride(*load->getPointerOperand()) == 0;
        if (!is_wide_in_loop(*load)) continue;
        ++wide;
        if (from_memory_.contains(load->getPointerOperand())) return true;
    }
    return wide > 1 || wide > same;
}

/// Branches on what differs between lanes.
bool GroupShapes::is_allowed_end(const Instruction& end) const {
    if (isa<ReturnInst>(end)) return true;
    const bool to_cold = any_of(successors(&end), [&](const BasicBlock* next) { return is_cold(*next); });
    if (to_cold && is_behind_store(end)) return false;
    if (const auto* choice = dyn_cast<SwitchInst>(&end)) return stride(*choice->getCondition()) == 0;
    const auto* branch = dyn_cast<BranchInst>(&end);
    if (!branch) return false;
    if (branch->isUnconditional() || stride(*branch->getCondition()) == 0) return true;
    return !is_behind_store(end) && (to_cold || !in_loop_.contains(end.getParent()));
}

/// Vectors of these need not give the bits that single values give.
bool GroupShapes::is_inexact(const Instruction& instruction) {
    return isa<FPMathOperator>(instruction) &&
           (instruction.hasAllowReassoc() || instruction.hasAllowReciprocal() || instruction.hasApproxFunc());
}

bool GroupShapes::is_allowed(const Instruction& instruction) const {
    if (is_inexact(instruction)) return false;
    if (instruction.isTerminator()) return is_allowed_end(instruction);
    if (isa<LoadInst, StoreInst>(instruction)) return is_allowed_access(instruction);
    if (isa<AllocaInst>(instruction)) return false;
    if (const auto* call = dyn_cast<CallInst>(&instruction)) {
        if (is_ignored(*call) || hook_called_by(*call) == Hook::yield) return true;
        if (!is_pure(*call)) return false;
    } else if (instruction.mayReadOrWriteMemory()) {
        return false;
    }
    if (!is_vector(instruction)) return true;
    const auto& shown = cast<User>(instruction);
    if (!has_vectors(*instruction.getType()) || any_of(shown.operands(), [](const Use& each) {
            return !isa<Function>(each) && !isa<BasicBlock>(each) && !has_vectors(*each->getType());
        }))
        return false;
    return isa<BinaryOperator, UnaryOperator, CastInst, CmpInst, SelectInst, PHINode, GetElementPtrInst,
               FreezeInst, CallInst>(instruction);
}

/// What follows from anything that has been read.
void GroupShapes::find_values_from_memory() {
    const auto is_from_memory = [&](const Value* value) { return from_memory_.contains(value); };
    for (bool changed = true; changed;) {
        changed = false;
        for (const Instruction& instruction : instructions(body_)) {
            if (is_cold(*instruction.getParent())) continue;
            const auto* load = dyn_cast<LoadInst>(&instruction);
            const bool reads = load && !load->hasMetadata(LLVMContext::MD_invariant_load);
            if ((reads || any_of(instruction.operands(), is_from_memory)) &&
                from_memory_.insert(&instruction).second)
                changed = true;
        }
    }
}

/// Whether threads that ran together until one of them faulted meet the same fault when they run again, one
/// by one: what they have stored meanwhile must not lead them elsewhere.
bool GroupShapes::runs_again_alike() {
    bool faults_behind_store = false, leads_elsewhere = false;
    const auto is_from_memory = [&](const Value* value) { return from_memory_.contains(value); };
    for (const Instruction& instruction : instructions(body_)) {
        if (is_cold(*instruction.getParent())) continue;
        if (const Value* address = getLoadStorePointerOperand(&instruction)) {
            leads_elsewhere |= is_from_memory(address);
            faults_behind_store |= is_behind_store(instruction);
            faults_behind_store |= isa<StoreInst>(instruction) && !is_consecutive(instruction);
        }
        if (instruction.isTerminator() && instruction.getNumSuccessors() > 1)
            leads_elsewhere |= is_from_memory(instruction.getOperand(0));
    }
    probes_stores_ = leads_elsewhere;
    return !faults_behind_store || !leads_elsewhere;
}

bool GroupShapes::can_group_threads() {
    if (body_.getInstructionCount() > largest_body) return false;
    find_cold_blocks();
    if (is_cold(body_.getEntryBlock())) return false;
    const DominatorTree dominators(body_);
    const LoopInfo loops(dominators);
    for (const BasicBlock& block : body_)
        if (loops.getLoopFor(&block)) in_loop_.insert(&block);
    find_stores();
    find_strides();
    find_values_from_memory();
    bool any_access = false;
    for (const Instruction& instruction : instructions(body_)) {
        if (is_cold(*instruction.getParent())) continue;
        if (!is_allowed(instruction)) return false;
        const Value* address = getLoadStorePointerOperand(&instruction);
        any_access |= address != nullptr && stride(*address) != 0;
    }
    return any_access && !has_wide_loops() && runs_again_alike();
}

}  // namespace cudasim::jit
