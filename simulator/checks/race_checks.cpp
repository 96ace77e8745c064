// See race_checks.h.
#include "simulator/checks/race_checks.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <set>

#include "simulator/checks/access_roles.h"
#include "simulator/checks/atomic_idioms.h"
#include "simulator/checks/race_hooks.h"
#include "simulator/jit/asynchronous_copies.h"
#include "simulator/jit/function_context.h"
#include "simulator/jit/hook_calls.h"
#include "simulator/jit/kept_loads.h"
#include "simulator/jit/lowering.h"
#include "simulator/jit/memory_accesses.h"
#include "simulator/jit/site_numbering.h"

namespace cudasim::checks {
namespace {

using namespace llvm;
using jit::Compilation;
using jit::MemoryAccess;
using jit::MemoryOrder;

/// Longer ones are calls.
constexpr std::uint64_t most_inline_bytes = 8;

class RaceChecks {
  public:
    /// @param waits threads of the module wait for each other
    RaceChecks(Compilation& compilation, Function& function, bool barriers_only, bool waits)
        : compilation_(compilation),
          function_(function),
          module_(*function.getParent()),
          head_(function),
          flags_(function),
          idioms_(function),
          barriers_only_(barriers_only),
          waits_(waits),
          clusters_(uses_clusters(module_)) {
        MDBuilder metadata(module_.getContext());
        MDNode* domain = metadata.createAnonymousAliasScopeDomain("cudasim.races");
        state_scope_ =
            MDNode::get(module_.getContext(), {metadata.createAnonymousAliasScope(domain, "state")});
    }

    void run() {
        std::vector<Found> accesses;
        std::vector<Instruction*> orders;
        for (Instruction& instruction : instructions(function_)) {
            if (is_internal(instruction)) continue;
            if (jit::fence_at(instruction) || jit::warp_operation_at(instruction) ||
                jit::copy_mark_at(instruction))
                orders.push_back(&instruction);
            for (const MemoryAccess& access :
                 jit::memory_accesses_of(instruction, function_.getDataLayout())) {
                if (!can_race(access)) continue;
                Found& found = accesses.emplace_back(Found{access});
                if (barriers_only_) continue;
                found.is_flag = access.is_volatile && flags_.contains(instruction);
                found.is_polled = flags_.is_polled_load(instruction);
                if (!found.is_flag) found.verified_by = idioms_.verifies(instruction);
                if (idioms_.is_decided(instruction)) decided_.insert(&instruction);
            }
        }
        for (Instruction& instruction : instructions(function_)) stays_away(instruction);
        for (Instruction* order : orders) insert_order(*order);
        for (const Found& each : accesses) {
            const bool is_atomic = each.access.order != MemoryOrder::plain || each.is_flag;
            if (is_atomic && barriers_only_ && !isa<LoadInst>(each.access.at) && is_inline(each.access))
                insert_inline(each.access, AccessClass::atomic);
            else if (is_atomic || each.verified_by != nullptr) {
                IRBuilder<> behind(each.access.at->getNextNode());
                emit_atomic_call(behind, each, true);
            } else if (is_inline(each.access))
                insert_inline(each.access, (each.access.flags & jit::access_write) != 0 ? AccessClass::write
                                                                                        : AccessClass::read);
            else
                call_plain(each.access);
        }
    }

  private:
    struct Found {
        MemoryAccess access;
        bool is_flag = false, is_polled = false;
        const AtomicCmpXchgInst* verified_by = nullptr;  ///< it finds out if a plain load was out of date
    };

    bool can_race(const MemoryAccess& access) const {
        if (jit::constant_bytes(access) == 0) return false;
        const Value* object = getUnderlyingObject(access.address, 0);
        if (isa<AllocaInst>(object)) return false;
        const auto variable = jit::variable_behind(access.address);
        if (variable && variable->space == jit::constant) return false;
        const auto* argument = dyn_cast<Argument>(object);
        if (!argument || argument->getParent() != compilation_.kernel) return true;
        // Parameters that are passed by value lie in the launch's buffer.
        if (argument->getArgNo() < jit::body_parameters) return false;
        const std::uint32_t parameter = argument->getArgNo() - jit::body_parameters;
        return !compilation_.by_value[parameter] &&
               std::ranges::find(compilation_.parameter_use.unchecked, parameter) ==
                   compilation_.parameter_use.unchecked.end();
    }

    static bool is_inline(const MemoryAccess& access) {
        return access.bytes == nullptr && access.fixed_bytes <= most_inline_bytes &&
               access.fixed_bytes % word_bytes == 0 && access.alignment >= word_bytes;
    }

    std::uint32_t site(const Instruction& instruction) {
        const std::uint64_t number = jit::site_of(compilation_, instruction)->getZExtValue();
        return static_cast<std::uint32_t>(std::min<std::uint64_t>(number, unknown_site));
    }

    Function* hook(const char* name, ArrayRef<Type*> parameters) {
        LLVMContext& context = module_.getContext();
        SmallVector<Type*, 6> types{PointerType::get(context, 0)};
        types.append(parameters.begin(), parameters.end());
        types.push_back(Type::getInt32Ty(context));
        return jit::declare_hook(module_, name, FunctionType::get(Type::getVoidTy(context), types, false));
    }

    void insert_order(Instruction& instruction) {
        IRBuilder<> builder(&instruction);
        Type* i32 = builder.getInt32Ty();
        if (const auto fence = jit::fence_at(instruction)) {
            if (fence->scope == image::Scope::thread) return;
            const bool wide = clusters_ && fence->scope == image::Scope::cluster;
            const auto scope = static_cast<std::uint32_t>(wide ? image::Scope::device : fence->scope);
            jit::call_hook(
                builder, *hook("cudasim_hook_race_fence", {i32, i32}),
                {builder.getInt32(static_cast<std::uint32_t>(fence->order)), builder.getInt32(scope)});
        } else if (const auto warp = jit::warp_operation_at(instruction);
                   warp && warp->kind == jit::WarpKind::sync) {
            jit::call_hook(builder, *hook("cudasim_hook_race_warp", {i32}), {warp->mask});
        } else if (const auto copy = jit::copy_mark_at(instruction)) {
            insert_copy(builder, instruction, *copy);
        }
    }

    void insert_copy(IRBuilder<>& builder, const Instruction& at, const jit::CopyMark& mark) {
        Type *i32 = builder.getInt32Ty(), *i64 = builder.getInt64Ty();
        if (mark.step == jit::CopyStep::commit) {
            jit::call_hook(builder, *hook("cudasim_hook_race_copy_commit", {}), {});
        } else if (mark.step == jit::CopyStep::wait) {
            jit::call_hook(builder, *hook("cudasim_hook_race_copy_wait", {i32}), {mark.groups});
        } else {
            jit::call_hook(builder, *hook("cudasim_hook_race_copy", {i64, i64, i32, i32, i32}),
                           {builder.CreatePtrToInt(mark.target, i64),
                            builder.CreatePtrToInt(mark.source, i64), builder.CreateTrunc(mark.bytes, i32),
                            builder.CreateTrunc(mark.source_bytes, i32), builder.getInt32(site(at))});
        }
    }

    std::uint32_t plain_flags(const MemoryAccess& access, WrittenValue value) {
        return site(*access.at) | ((access.flags & jit::access_write) != 0 ? plain_writes : 0U) |
               (access.is_volatile ? plain_volatile : 0U) | (barriers_only_ ? plain_barriers_only : 0U) |
               (decided_.contains(access.at) ? plain_is_decided : 0U) |
               (is_message_store(*access.at) ? plain_is_message : 0U) |
               static_cast<std::uint32_t>(value) << plain_value_shift;
    }

    struct Written {
        WrittenValue kind = WrittenValue::unknown;
        Value* value = nullptr;
    };

    /// What an access writes; of longer ones where that lies.
    static Written written_value(IRBuilder<>& builder, const MemoryAccess& access) {
        if ((access.flags & jit::access_write) == 0) return {};
        if (const auto* copy = dyn_cast<MemTransferInst>(access.at))
            return {WrittenValue::address, builder.CreatePtrToInt(copy->getSource(), builder.getInt64Ty())};
        if (const auto* fill = dyn_cast<MemSetInst>(access.at))
            return {WrittenValue::fill, builder.CreateZExt(fill->getValue(), builder.getInt64Ty())};
        Value* const number = stored_number(builder, access);
        return {number != nullptr ? WrittenValue::number : WrittenValue::unknown, number};
    }

    /// What a store writes, as a number; nullptr where it is too long.
    static Value* stored_number(IRBuilder<>& builder, const MemoryAccess& access) {
        const auto* store = dyn_cast<StoreInst>(access.at);
        if (store == nullptr) return nullptr;
        Value* value = const_cast<Value*>(store->getValueOperand());
        Type* type = value->getType();
        if (type->isPointerTy()) return builder.CreatePtrToInt(value, builder.getInt64Ty());
        const std::uint64_t bits = type->getPrimitiveSizeInBits().getFixedValue();
        if (bits == 0 || bits > 64) return nullptr;
        if (!type->isIntegerTy())
            value = builder.CreateBitCast(value, builder.getIntNTy(static_cast<unsigned>(bits)));
        return builder.CreateZExtOrTrunc(value, builder.getInt64Ty());
    }

    Value* address_of(IRBuilder<>& builder, const MemoryAccess& access) {
        return builder.CreatePtrToInt(access.address, builder.getInt64Ty());
    }

    void call_plain(const MemoryAccess& access) {
        IRBuilder<> builder(access.at);
        emit_plain_call(builder, access);
    }

    void emit_plain_call(IRBuilder<>& builder, const MemoryAccess& access) {
        builder.SetCurrentDebugLocation(access.at->getDebugLoc());
        const Written written = written_value(builder, access);
        Value* bytes = access.bytes ? builder.CreateZExtOrTrunc(access.bytes, builder.getInt64Ty())
                                    : builder.getInt64(access.fixed_bytes);
        Type* i64 = builder.getInt64Ty();
        jit::call_hook(
            builder, *hook("cudasim_hook_race_access", {i64, i64, builder.getInt32Ty(), i64}),
            {address_of(builder, access), bytes, builder.getInt32(plain_flags(access, written.kind)),
             written.value != nullptr ? written.value : builder.getInt64(0)});
    }

    /// @param behind the builder is behind the access: whether a compare-and-swap has written is known then,
    /// and nobody runs in between. Else nobody asks
    void emit_atomic_call(IRBuilder<>& builder, const Found& found, bool behind) {
        const auto& [access, is_flag, is_polled, verified_by] = found;
        builder.SetCurrentDebugLocation(access.at->getDebugLoc());
        AtomicKind kind = AtomicKind::update;
        Value* wrote = builder.getInt32(1);
        if (isa<LoadInst>(access.at)) kind = AtomicKind::load;
        if (isa<StoreInst>(access.at)) kind = AtomicKind::store;
        if (auto* exchange = dyn_cast<AtomicCmpXchgInst>(access.at)) {
            kind = AtomicKind::compare_and_swap;
            if (behind)
                wrote = builder.CreateZExt(builder.CreateExtractValue(exchange, 1), builder.getInt32Ty());
        }
        const AtomicScope scope = atomic_scope(verified_by != nullptr ? image::scope_of(*verified_by)
                                               : is_flag              ? image::Scope::device
                                                                      : access.scope,
                                               clusters_);
        const MemoryOrder order = is_flag || verified_by ? MemoryOrder::relaxed : order_of(access);
        const std::uint32_t flags = site(*access.at) | static_cast<std::uint32_t>(kind) << atomic_kind_shift |
                                    static_cast<std::uint32_t>(scope) << atomic_scope_shift |
                                    static_cast<std::uint32_t>(order) << atomic_order_shift |
                                    (barriers_only_ ? atomic_barriers_only : 0U) |
                                    (is_flag ? atomic_is_flag : 0U) | (is_polled ? atomic_waits : 0U) |
                                    (verified_by != nullptr ? atomic_is_verified : 0U);
        Type* i32 = builder.getInt32Ty();
        jit::call_hook(
            builder, *hook("cudasim_hook_race_atomic", {builder.getInt64Ty(), i32, i32, i32}),
            {address_of(builder, access), builder.getInt32(static_cast<std::uint32_t>(access.fixed_bytes)),
             builder.getInt32(flags), wrote});
    }

    // In line. All values are 64-bit records; comparisons are unsigned.
    struct Line {
        BasicBlock *slow, *done;
        Value *launch = nullptr, *own = nullptr, *phase = nullptr, *present = nullptr;
        bool is_shared = false;
    };

    /// A load of the detector's state. Only barriers change it, and in kernels whose threads order each other
    /// otherwise, the calls of the detector.
    LoadInst* state(IRBuilder<>& builder, Value* base, std::uint64_t offset, Type* type, bool once) {
        LoadInst* value = load(builder, base, offset, type, once);
        if (!once) value->setMetadata(LLVMContext::MD_alias_scope, state_scope_);
        return value;
    }

    /// What does not change the state, so that it may be kept in registers.
    void stays_away(Instruction& instruction) {
        const bool accesses = isa<LoadInst, StoreInst, AtomicRMWInst, AtomicCmpXchgInst>(instruction);
        const bool is_check = jit::hook_called_by(instruction) == jit::Hook::access_check;
        if ((!accesses && !is_check) || instruction.getMetadata(LLVMContext::MD_noalias) != nullptr) return;
        instruction.setMetadata(LLVMContext::MD_noalias, state_scope_);
    }

    LoadInst* load(IRBuilder<>& builder, Value* base, std::uint64_t offset, Type* type, bool invariant) {
        LoadInst* value =
            builder.CreateLoad(type, builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), base, offset));
        if (invariant)
            value->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(module_.getContext(), {}));
        jit::mark_internal(*value);
        return value;
    }

    void branch(IRBuilder<>& builder, Value* condition, BasicBlock* yes, BasicBlock* no, bool likely) {
        MDBuilder weights(module_.getContext());
        builder.CreateCondBr(condition, yes, no, likely ? weights.createBranchWeights(1 << 20, 1) : nullptr);
    }

    BasicBlock* new_block(const Line& line, const char* name) {
        return BasicBlock::Create(module_.getContext(), name, &function_, line.slow);
    }

    void insert_inline(const MemoryAccess& access, AccessClass kind) {
        BasicBlock* before = access.at->getParent();
        Line line{};
        line.done = before->splitBasicBlock(access.at->getIterator(), "race.done");
        line.slow = BasicBlock::Create(module_.getContext(), "race.slow", &function_, line.done);
        before->getTerminator()->eraseFromParent();
        const auto variable = jit::variable_behind(access.address);
        line.is_shared = variable && variable->space == jit::shared && !clusters_;

        IRBuilder<> builder(before);
        builder.SetCurrentDebugLocation({});
        Type* i64 = builder.getInt64Ty();
        Type* pointer = builder.getPtrTy();
        // What is loaded once for all threads of a loop would have to be kept for each thread across
        // barriers.
        const bool once = !waits_;
        Value* block = head_.block();
        builder.SetInsertPoint(before);
        Value* floors =
            state(builder, block, offsetof(jit::BlockContext, check_states[jit::race_state]), pointer, once);
        Value* thread = load(builder, function_.getArg(0), offsetof(jit::ThreadContext, thread),
                             builder.getInt32Ty(), false);
        Value* low = state(builder, floors, offsetof(BlockFloors, window_low), i64, once);
        Value* window = state(builder, floors, offsetof(BlockFloors, window_bytes), i64, once);
        Value* cells = state(builder, floors, offsetof(BlockFloors, cells), pointer, once);
        Value* all_present = state(builder, floors, offsetof(BlockFloors, present), pointer, once);
        line.phase = state(builder, floors, offsetof(BlockFloors, phase), i64, false);
        if (!line.is_shared) {
            line.launch = state(builder, floors, offsetof(BlockFloors, launch), i64, false);
            line.own = state(builder, floors, offsetof(BlockFloors, own), i64, false);
        } else {
            line.launch = line.phase;
        }
        Value* slot = builder.CreateInBoundsGEP(i64, all_present, builder.CreateZExt(thread, i64));
        LoadInst* present = builder.CreateLoad(i64, slot);
        jit::mark_internal(*present);
        // Of other kernels the calls of the detector draw the next epoch.
        if (barriers_only_) present->setMetadata(LLVMContext::MD_alias_scope, state_scope_);
        line.present = present;
        Value* offset = builder.CreateSub(address_of(builder, access), low);
        Value* inside = builder.CreateICmpULT(offset, window);
        if (!barriers_only_) {
            // The thread is to get its next epoch.
            inside = builder.CreateAnd(
                inside, builder.CreateICmpUGE(line.present, builder.getInt64(Record{1} << epoch_shift)));
        }
        BasicBlock* next = new_block(line, "race.word");
        branch(builder, inside, next, line.slow, true);
        builder.SetInsertPoint(next);
        static_assert(sizeof(Cell) / word_bytes == 8);
        Value* cell = builder.CreateGEP(builder.getInt8Ty(), cells, builder.CreateShl(offset, 3));
        for (std::uint64_t at = 0; at < access.fixed_bytes; at += word_bytes) {
            Value* here = at == 0 ? cell
                                  : builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), cell,
                                                                       at / word_bytes * sizeof(Cell));
            const bool last = at + word_bytes >= access.fixed_bytes;
            BasicBlock* behind = last ? line.done : new_block(line, "race.word");
            test_word(builder, line, access, kind, here, behind);
            if (!last) builder.SetInsertPoint(behind);
        }
        builder.SetInsertPoint(line.slow);
        if (kind == AccessClass::atomic)
            emit_atomic_call(builder, {access}, false);
        else
            emit_plain_call(builder, access);
        builder.CreateBr(line.done);
    }

    Value* below(IRBuilder<>& builder, Value* record, Value* floor) {
        return builder.CreateICmpULT(record, floor);
    }

    Value* equal_in(IRBuilder<>& builder, Value* a, Value* b, Record bits) {
        return builder.CreateICmpEQ(builder.CreateAnd(builder.CreateXor(a, b), builder.getInt64(bits)),
                                    builder.getInt64(0));
    }

    /// Ordered before this access by a barrier or the launch; nothing hides behind it.
    Value* is_over(IRBuilder<>& builder, const Line& line, Value* record) {
        Value* over = below(builder, record, line.launch);
        if (line.is_shared) return over;
        Value* in_own = builder.CreateICmpULT(builder.CreateSub(record, line.own),
                                              builder.CreateSub(line.phase, line.own));
        Value* alone =
            builder.CreateICmpEQ(builder.CreateAnd(record, builder.getInt64(has_more)), builder.getInt64(0));
        return builder.CreateOr(over, builder.CreateAnd(in_own, alone));
    }

    /// The same, or the thread's own in this epoch.
    Value* is_fine(IRBuilder<>& builder, const Line& line, Value* record, bool may_be_own_block) {
        Value* own = equal_in(builder, record, line.present, who_bits | has_more);
        Value* over = may_be_own_block ? is_over(builder, line, record) : below(builder, record, line.launch);
        return builder.CreateOr(own, over);
    }

    Value* largest(IRBuilder<>& builder, Value* a, Value* b) {
        return builder.CreateBinaryIntrinsic(Intrinsic::umax, a, b);
    }

    void test_word(IRBuilder<>& builder, const Line& line, const MemoryAccess& access, AccessClass kind,
                   Value* cell, BasicBlock* behind) {
        if (kind == AccessClass::read)
            test_read(builder, line, access, cell, behind);
        else
            test_change(builder, line, access, kind, cell, behind);
    }

    Value* record(IRBuilder<>& builder, const Line& line, const MemoryAccess& access, Record bits) {
        return builder.CreateOr(line.present,
                                builder.getInt64(bits | Record{site(*access.at)} << site_shift | all_bytes));
    }

    void store_record(IRBuilder<>& builder, Value* cell, std::uint64_t offset, Value* value) {
        StoreInst* store =
            builder.CreateStore(value, builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), cell, offset));
        jit::mark_internal(*store);
        stays_away(*store);
    }

    Value* cell_record(IRBuilder<>& builder, Value* cell, std::uint64_t offset) {
        return load(builder, cell, offset, builder.getInt64Ty(), false);
    }

    static constexpr std::uint64_t first_reader = offsetof(Cell, read);
    static constexpr std::uint64_t second_reader = first_reader + sizeof(Record);
    static constexpr Record epoch_bits = ~Record{0} << epoch_shift;

    void test_read(IRBuilder<>& builder, const Line& line, const MemoryAccess& access, Value* cell,
                   BasicBlock* behind) {
        const Record bits = access.is_volatile ? is_volatile : 0;
        Value* second = cell_record(builder, cell, second_reader);
        if (barriers_only_) {
            // Two have read the word in this epoch, and nobody has changed it: RaceDetector::mark_readers().
            BasicBlock* others = new_block(line, "race.readers");
            branch(builder, equal_in(builder, second, line.present, epoch_bits | has_more), behind, others,
                   false);
            builder.SetInsertPoint(others);
        }
        Value* written = cell_record(builder, cell, offsetof(Cell, written));
        Value* atomic = cell_record(builder, cell, offsetof(Cell, atomic));
        Value* first = cell_record(builder, cell, first_reader);
        BasicBlock* changed = new_block(line, "race.changed");
        BasicBlock* reads = new_block(line, "race.read");
        BasicBlock* take = new_block(line, "race.take");
        BasicBlock* known = new_block(line, "race.known");
        Value* old = below(builder, largest(builder, written, atomic), line.launch);
        branch(builder, old, reads, changed, false);

        builder.SetInsertPoint(reads);
        branch(builder, below(builder, first, line.launch), take, known, false);
        builder.SetInsertPoint(known);
        Value* enough = equal_in(builder, first, record(builder, line, access, 0), who_bits | all_bytes);
        if (barriers_only_) {
            Value* two_blocks = builder.CreateAnd(
                builder.CreateICmpEQ(builder.CreateAnd(second, builder.getInt64(other_block | has_more)),
                                     builder.getInt64(other_block)),
                builder.CreateICmpUGE(second, line.launch));
            enough = builder.CreateOr(enough, two_blocks);
            // The second one of this epoch.
            BasicBlock* third = new_block(line, "race.second");
            BasicBlock* take_second = new_block(line, "race.take");
            branch(builder, enough, behind, third, false);
            builder.SetInsertPoint(third);
            Value* is_second = builder.CreateAnd(
                equal_in(builder, first, record(builder, line, access, 0), epoch_bits | all_bytes),
                below(builder, second, line.launch));
            branch(builder, is_second, take_second, line.slow, true);
            builder.SetInsertPoint(take_second);
            store_record(builder, cell, second_reader, record(builder, line, access, bits));
            builder.CreateBr(behind);
        } else {
            branch(builder, enough, behind, line.slow, true);
        }
        builder.SetInsertPoint(take);
        store_record(builder, cell, first_reader, record(builder, line, access, bits));
        builder.CreateBr(behind);

        // Changed since the launch began, by the thread or before a barrier of its block.
        builder.SetInsertPoint(changed);
        Value* fine =
            builder.CreateAnd(is_fine(builder, line, written, true), is_fine(builder, line, atomic, false));
        fine = builder.CreateAnd(fine, below(builder, second, line.launch));
        BasicBlock* first_own = new_block(line, "race.own");
        branch(builder, fine, first_own, line.slow, true);
        builder.SetInsertPoint(first_own);
        Value* same = equal_in(builder, first, record(builder, line, access, 0), who_bits | all_bytes);
        BasicBlock* replace = new_block(line, "race.replace");
        branch(builder, same, behind, replace, false);
        builder.SetInsertPoint(replace);
        branch(builder, is_over(builder, line, first), take, line.slow, true);
    }

    /// Writes and atomic operations.
    void test_change(IRBuilder<>& builder, const Line& line, const MemoryAccess& access, AccessClass kind,
                     Value* cell, BasicBlock* behind) {
        const bool is_write = kind == AccessClass::write;
        Value* written = cell_record(builder, cell, offsetof(Cell, written));
        Value* atomic = cell_record(builder, cell, offsetof(Cell, atomic));
        Value* first = cell_record(builder, cell, first_reader);
        Value* second = cell_record(builder, cell, second_reader);
        BasicBlock* unusual = new_block(line, "race.others");
        BasicBlock* take = new_block(line, "race.take");
        Value* newest = largest(builder, largest(builder, written, first), second);
        if (is_write) newest = largest(builder, newest, atomic);
        branch(builder, below(builder, newest, line.launch), take, unusual, false);
        builder.SetInsertPoint(unusual);
        Value* fine = builder.CreateAnd(
            is_fine(builder, line, written, true),
            builder.CreateAnd(is_fine(builder, line, first, true), below(builder, second, line.launch)));
        if (is_write) fine = builder.CreateAnd(fine, is_fine(builder, line, atomic, false));
        branch(builder, fine, take, line.slow, true);
        builder.SetInsertPoint(take);
        if (is_write) {
            store_record(builder, cell, offsetof(Cell, written),
                         record(builder, line, access,
                                (access.is_volatile ? is_volatile : 0) |
                                    (is_message_store(*access.at) ? is_message : 0)));
            builder.CreateBr(behind);
            return;
        }
        Value* mine = record(builder, line, access,
                             static_cast<Record>(atomic_scope(access.scope, clusters_)) << kind_shift);
        BasicBlock* other = new_block(line, "race.atomics");
        BasicBlock* replace = new_block(line, "race.replace");
        if (atomic_scope(access.scope, clusters_) == AtomicScope::device) {
            BasicBlock* alone = new_block(line, "race.alone");
            Value* saturated = builder.CreateAnd(
                builder.CreateICmpEQ(
                    builder.CreateAnd(atomic, builder.getInt64(scope_bits | only_reads | all_bytes)),
                    builder.getInt64(with_scope(all_bytes, AtomicScope::two_blocks))),
                builder.CreateICmpUGE(atomic, line.launch));
            branch(builder, saturated, behind, alone, false);
            builder.SetInsertPoint(alone);
        }
        branch(builder, below(builder, atomic, line.launch), replace, other, false);
        builder.SetInsertPoint(other);
        // The thread's own, or one of this epoch with an older one behind it, all of the same scope.
        Value* own = equal_in(builder, atomic, mine, who_bits | scope_bits | only_reads | all_bytes);
        Value* two = builder.CreateAnd(
            equal_in(builder, atomic, mine, epoch_bits | scope_bits | only_reads | all_bytes),
            builder.CreateICmpNE(builder.CreateAnd(atomic, builder.getInt64(has_more)), builder.getInt64(0)));
        branch(builder, builder.CreateOr(own, two), behind, line.slow, true);
        builder.SetInsertPoint(replace);
        store_record(builder, cell, offsetof(Cell, atomic), mine);
        builder.CreateBr(behind);
    }

    Compilation& compilation_;
    Function& function_;
    Module& module_;
    jit::FunctionContext head_;
    FlagAccesses flags_;
    AtomicIdioms idioms_;
    std::set<const Instruction*> decided_;   ///< writes: PlainAccess::is_decided
    bool barriers_only_, waits_, clusters_;  ///< clusters_: as uses_clusters() says
    MDNode* state_scope_;
};

class RaceCheckInstrumentation final : public jit::Instrumentation {
  public:
    explicit RaceCheckInstrumentation(bool of_all) : of_all_(of_all) {}
    [[nodiscard]] std::string_view name() const override {
        return of_all_ ? "race_checks_of_all" : "race_checks";
    }
    [[nodiscard]] std::uint32_t version() const override { return 13; }
    [[nodiscard]] std::span<const jit::HookAddress> hooks() const override { return race_hooks(); }

    /// A dead load that races is a race.
    void early(Compilation& compilation) const override {
        jit::keep_loads(compilation, [](const LoadInst& load) { return !is_internal(load); });
    }

    void late(Compilation& compilation) const override {
        bool barriers_only = true, waits = false;
        for (Function& function : *compilation.module) {
            FlagAccesses flags(function);
            const auto orders = [&](const Instruction& instruction) {
                return orders_threads(instruction) || flags.is_polled_load(instruction);
            };
            barriers_only = barriers_only && none_of(instructions(function), orders);
            waits = waits || any_of(instructions(function), [](const Instruction& instruction) {
                        return jit::barrier_at(instruction) || jit::warp_operation_at(instruction);
                    });
        }
        if (!of_all_) compilation.parameter_use = parameter_use_of(compilation);
        for (Function& function : *compilation.module)
            if (!function.isDeclaration()) RaceChecks(compilation, function, barriers_only, waits).run();
    }

  private:
    bool of_all_;
};

}  // namespace

const jit::Instrumentation& race_checks() {
    static const RaceCheckInstrumentation instrumentation(false);
    return instrumentation;
}

const jit::Instrumentation& race_checks_of_all() {
    static const RaceCheckInstrumentation instrumentation(true);
    return instrumentation;
}

}  // namespace cudasim::checks
