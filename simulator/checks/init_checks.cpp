// See init_checks.h. Before local variables become registers they get a value that stands for nothing, so
// that it is still told from others when they are registers. The states of values are followed after that.
#include "simulator/checks/init_checks.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <map>
#include <set>
#include <vector>

#include "simulator/checks/access_roles.h"
#include "simulator/checks/init_hooks.h"
#include "simulator/checks/init_shadow.h"
#include "simulator/checks/value_states.h"
#include "simulator/jit/captured_variables.h"
#include "simulator/jit/function_context.h"
#include "simulator/jit/hook_calls.h"
#include "simulator/jit/kept_loads.h"
#include "simulator/jit/lowering.h"
#include "simulator/jit/memory_accesses.h"

namespace cudasim::checks {
namespace {

using namespace llvm;
using jit::Compilation;
using jit::Hook;
using jit::MemoryAccess;

/// States of larger local arrays would take too much of a thread's local memory.
constexpr std::uint64_t largest_local_array = 1 << 16;

std::uint64_t bytes_of(const AllocaInst& local) {
    const auto size = local.getAllocationSize(local.getDataLayout());
    return size ? size->getFixedValue() : 0;
}

/// Gives local variables nothing where they begin to exist.
void begin_with_nothing(AllocaInst& local, Instruction& before) {
    IRBuilder<> builder(&before);
    builder.SetCurrentDebugLocation({});
    const std::uint64_t bytes = bytes_of(local);
    Type* type = local.getAllocatedType();
    if (bytes == 0) return;
    if (type->isSingleValueType() && !local.isArrayAllocation())
        builder.CreateAlignedStore(make_nothing(builder, *type), &local, local.getAlign());
    else
        builder.CreateMemSet(&local, make_nothing(builder, *builder.getInt8Ty()), bytes, local.getAlign());
}

/// Variables begin where lowering fills them with poison: with their function, and with their scope.
void begin_with_nothing(Function& function) {
    std::vector<std::pair<AllocaInst*, Instruction*>> begins;
    std::vector<MemSetInst*> fillings;
    for (Instruction& instruction : instructions(function)) {
        auto* fill = dyn_cast<MemSetInst>(&instruction);
        if (fill && is_internal(*fill)) {
            if (auto* local = dyn_cast<AllocaInst>(fill->getDest())) {
                begins.emplace_back(local, fill);
                fillings.push_back(fill);
            }
        }
    }
    for (const auto& [local, before] : begins) begin_with_nothing(*local, *before);
    for (MemSetInst* each : fillings) each->eraseFromParent();
}

class InitChecks {
  public:
    InitChecks(Compilation& compilation, Function& function)
        : compilation_(compilation),
          function_(function),
          layout_(function.getDataLayout()),
          head_(function) {}

    void run() {
        for (BasicBlock* block : ReversePostOrderTraversal<Function*>(&function_))
            for (Instruction& instruction : *block) order_.push_back(&instruction);
        find_local_arrays();
        find_unclear();
        follow_states();
        const std::vector<Check> checks = needed_checks();
        for (Instruction* instruction : order_) write_states(*instruction);
        for (const Check& check : checks) insert(check);
    }

  private:
    struct Check {
        Value* value = nullptr;  ///< nullptr: what the atomic operation `at` finds in memory
        Instruction* at = nullptr;
        ValueUse use{};
    };

    // Local arrays -----------------------------------------------------------------------------------------

    void find_local_arrays() {
        std::vector<AllocaInst*> locals;
        for (Instruction* instruction : order_)
            if (auto* local = dyn_cast<AllocaInst>(instruction)) locals.push_back(local);
        for (AllocaInst* local : locals) {
            if (is_printed(*local)) printed_.insert(local);
            const std::uint64_t bytes = bytes_of(*local);
            if (bytes == 0 || bytes > largest_local_array || !stays_here(*local)) continue;
            note_addresses(*local);
            IRBuilder<> builder(local->getNextNode());
            builder.SetCurrentDebugLocation({});
            auto* states = builder.CreateAlloca(ArrayType::get(builder.getInt8Ty(), bytes));
            states->setAlignment(local->getAlign());
            jit::mark_internal(*states);
            places_[{local, false}] = places_[{local, true}] = states;
            jit::mark_internal(*builder.CreateMemSet(states, builder.getInt8(0), bytes, states->getAlign()));
        }
    }

    /// Whether all that is done with the address is understood.
    static bool stays_here(const Value& address) {
        std::set<const Value*> seen{&address};
        return stays_here(address, seen);
    }

    static bool stays_here(const Value& address, std::set<const Value*>& seen) {
        return all_of(address.uses(), [&](const Use& use) {
            const auto* user = cast<Instruction>(use.getUser());
            if (gives_address(*user) && use->getType() == user->getType())
                return !seen.insert(user).second || stays_here(*user, seen);
            if (isa<LoadInst, ICmpInst, MemIntrinsic>(user) || jit::is_capture(*user)) return true;
            if (isa<StoreInst>(user)) return use.getOperandNo() == StoreInst::getPointerOperandIndex();
            return false;
        });
    }

    /// Computes an address from others.
    static bool gives_address(const Value& value) {
        return isa<GetElementPtrInst, PHINode, SelectInst>(value) && value.getType()->isPointerTy();
    }

    void note_addresses(const Value& address) {
        if (!local_addresses_.insert(&address).second) return;
        for (const User* user : address.users())
            if (gives_address(*user)) note_addresses(*user);
    }

    /// Whether it holds the arguments of a printf.
    static bool is_printed(const Value& address) {
        return any_of(address.users(), [](const User* user) {
            if (jit::hook_called_by(*cast<Instruction>(user)) == Hook::vprintf) return true;
            return isa<PtrToIntInst, GetElementPtrInst>(user) && is_printed(*user);
        });
    }

    /// Whether the address may lead into a local array that has states.
    bool is_followed(const Value* address) const { return local_addresses_.contains(address); }

    /// The place of the states of an address that is_followed().
    Value* local_place(Value* address, bool write) {
        if (Value* known = places_[{address, write}]) return known;
        auto& instruction = *cast<Instruction>(address);
        Instruction* place = instruction.clone();
        place->insertAfter(&instruction);
        places_[{address, write}] = place;
        if (auto* phi = dyn_cast<PHINode>(place)) {
            for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i) {
                IRBuilder<> builder(phi->getIncomingBlock(i)->getTerminator());
                phi->setIncomingValue(i, states_at(builder, phi->getIncomingValue(i), write));
            }
            return place;
        }
        for (Use& operand : place->operands()) {
            if (!operand->getType()->isPointerTy()) continue;
            IRBuilder<> builder(place);
            operand.set(states_at(builder, operand, write));
        }
        return place;
    }

    /// Memory that has no states: it counts as written.
    bool is_untracked(Value* address) const {
        const Value* object = getUnderlyingObject(address, 0);
        if (is_followed(address)) return false;
        if (isa<AllocaInst>(object)) return true;
        const auto variable = jit::variable_behind(address);
        if (variable && variable->space == jit::constant) return true;
        const auto* argument = dyn_cast<Argument>(object);
        return argument && argument->getParent() == compilation_.kernel &&
               (argument->getArgNo() < jit::body_parameters ||
                compilation_.by_value[argument->getArgNo() - jit::body_parameters]);
    }

    // The window -------------------------------------------------------------------------------------------

    Value* window_field(std::uint64_t offset, Type* type) {
        Value*& known = window_fields_[offset];
        if (known) return known;
        Value* window = head_.block_field(offsetof(jit::BlockContext, check_states[jit::init_state]),
                                          PointerType::get(function_.getContext(), 0));
        IRBuilder<> builder(head_.head());
        builder.SetCurrentDebugLocation({});
        LoadInst* load =
            builder.CreateLoad(type, builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), window, offset));
        load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(load->getContext(), {}));
        jit::mark_internal(*load);
        return known = load;
    }

    /// The place of the states of up to tail_bytes at an address.
    Value* states_at(IRBuilder<>& builder, Value* address, bool write) {
        if (isa<PoisonValue, UndefValue>(address)) return address;
        if (is_followed(address)) return local_place(address, write);
        builder.SetCurrentDebugLocation({});
        Type* i64 = builder.getInt64Ty();
        Value* low = window_field(offsetof(InitWindow, low), i64);
        Value* bytes = window_field(offsetof(InitWindow, bytes), i64);
        Value* shadow = window_field(offsetof(InitWindow, shadow), builder.getPtrTy());
        Value* offset = builder.CreateSub(builder.CreatePtrToInt(address, i64), low);
        Value* outside = write ? builder.CreateAdd(bytes, builder.getInt64(tail_bytes)) : bytes;
        offset = builder.CreateSelect(builder.CreateICmpULT(offset, bytes), offset, outside);
        return builder.CreateInBoundsGEP(builder.getInt8Ty(), shadow, offset);
    }

    // Values that may be unwritten -------------------------------------------------------------------------

    static Value* shuffled_value(const CallInst& call) { return call.getArgOperand(3); }

    static bool is_shuffle(const Instruction& instruction) {
        const auto warp = jit::warp_operation_at(instruction);
        return warp && warp->kind >= jit::WarpKind::shuffle_index && warp->kind <= jit::WarpKind::shuffle_xor;
    }

    bool has_state(const Value& value) const { return state_type(*value.getType(), layout_) != nullptr; }

    bool is_source(Instruction& instruction) const {
        if (is_nothing(instruction) || is_shuffle(instruction)) return true;
        auto* load = dyn_cast<LoadInst>(&instruction);
        return load && !is_internal(*load) && !is_untracked(load->getPointerOperand());
    }

    void find_unclear() {
        std::vector<Instruction*> open;
        for (Instruction* instruction : order_) {
            reached_.insert(instruction);
            if (is_source(*instruction) && has_state(*instruction)) open.push_back(instruction);
        }
        unclear_.insert(open.begin(), open.end());
        while (!open.empty()) {
            const Instruction* from = open.back();
            open.pop_back();
            for (const Use& use : from->uses()) {
                auto* user = cast<Instruction>(use.getUser());
                if (!carries_state(use) || !has_state(*user) || !reached_.contains(user)) continue;
                if (unclear_.insert(user).second) open.push_back(user);
            }
        }
    }

    Value* state_of(Value& value) const {
        const auto known = states_.find(&value);
        return known != states_.end() ? known->second
                                      : Constant::getNullValue(state_type(*value.getType(), layout_));
    }

    void follow_states() {
        std::vector<PHINode*> phis;
        for (Instruction* instruction : order_) {
            if (!unclear_.contains(instruction)) continue;
            if (auto* phi = dyn_cast<PHINode>(instruction)) {
                auto* states = PHINode::Create(state_type(*phi->getType(), layout_),
                                               phi->getNumIncomingValues(), "", phi->getIterator());
                states_[phi] = states;
                phis.push_back(phi);
                continue;
            }
            IRBuilder<> builder(instruction->getNextNode());
            builder.SetCurrentDebugLocation({});
            if (auto* load = dyn_cast<LoadInst>(instruction)) {
                states_[load] = load_state(builder, *load->getType(),
                                           *states_at(builder, load->getPointerOperand(), false));
            } else if (is_shuffle(*instruction)) {
                follow_shuffle(cast<CallInst>(*instruction));
            } else {
                states_[instruction] =
                    carried_state(builder, *instruction, [&](Value& operand) { return state_of(operand); });
            }
        }
        for (PHINode* phi : phis) {
            auto* states = cast<PHINode>(states_[phi]);
            for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i)
                states->addIncoming(state_of(*phi->getIncomingValue(i)), phi->getIncomingBlock(i));
        }
    }

    /// The states of a word's bits 2 to 31 travel above the word's predicate. Of bits 0 and 1 there is one
    /// state above it: whether one of the two is unwritten. Then bit 1 says which, and bit 0 has the other
    /// one's value. Where neither is written bit 1 counts as written.
    void follow_shuffle(CallInst& call) {
        constexpr std::uint64_t pair = 3, upper = 0xFFFF'FFFC, pair_state = std::uint64_t{1} << 33;
        IRBuilder<> builder(&call);
        builder.SetCurrentDebugLocation({});
        Value* const value = shuffled_value(call);
        Value* const given = state_of(*value);
        Value* const low_unwritten = builder.CreateIsNotNull(builder.CreateAnd(given, 1));
        Value* const any_unwritten = builder.CreateIsNotNull(builder.CreateAnd(given, pair));
        Value* const bit_1 = builder.CreateAnd(builder.CreateLShr(value, 1), 1);
        Value* told =
            builder.CreateSelect(low_unwritten, builder.CreateOr(bit_1, 2), builder.CreateAnd(value, 1));
        told = builder.CreateOr(told, builder.CreateAnd(value, ~pair));
        told = builder.CreateSelect(any_unwritten, builder.CreateOr(told, pair_state), value);
        call.setArgOperand(3, builder.CreateOr(told, builder.CreateShl(builder.CreateAnd(given, upper), 32)));
        builder.SetInsertPoint(call.getNextNode());
        auto* const first = cast<Instruction>(builder.CreateAnd(&call, jit::warp_predicate | 0xFFFF'FFFF));
        Value* const incomplete = builder.CreateIsNotNull(builder.CreateAnd(&call, pair_state));
        Value* const low_missing = builder.CreateIsNotNull(builder.CreateAnd(&call, 2));
        Value* const low = builder.CreateAnd(&call, 1);
        Value* const known = builder.CreateSelect(low_missing, builder.CreateOr(builder.CreateShl(low, 1), 1),
                                                  builder.CreateOr(low, 2));
        auto* const got = cast<Instruction>(builder.CreateSelect(
            incomplete, builder.CreateOr(builder.CreateAnd(first, ~pair), known), first));
        Value* state = builder.CreateAnd(builder.CreateLShr(&call, 32), upper);
        Value* const missing = builder.CreateSelect(low_missing, builder.getInt64(1), builder.getInt64(2));
        state = builder.CreateOr(state, builder.CreateSelect(incomplete, missing, builder.getInt64(0)));
        const std::set<const Value*> own = instructions_between(call, *cast<Instruction>(state));
        call.replaceUsesWithIf(got, [&](const Use& use) { return !own.contains(use.getUser()); });
        unclear_.insert(got);
        states_[got] = state;
        shuffled_[got] = call.getDebugLoc() ? call.getDebugLoc().getLine() : 0;
    }

    /// Those behind the first one, the last one included.
    static std::set<const Value*> instructions_between(const Instruction& first, const Instruction& last) {
        std::set<const Value*> between;
        for (const Instruction* next = first.getNextNode(); next != nullptr; next = next->getNextNode()) {
            between.insert(next);
            if (next == &last) break;
        }
        return between;
    }

    // Uses -------------------------------------------------------------------------------------------------

    static std::optional<ValueUse> use_of(const Use& operand) {
        const auto& user = *cast<Instruction>(operand.getUser());
        if (carries_state(operand) || jit::is_capture(user) || is_internal(user)) return std::nullopt;
        const unsigned index = operand.getOperandNo();
        if (isa<StoreInst>(user))
            return index == StoreInst::getPointerOperandIndex() ? std::optional(ValueUse::address)
                                                                : std::nullopt;
        if (isa<LoadInst, GetElementPtrInst>(user)) return ValueUse::address;
        if (isa<AtomicRMWInst, AtomicCmpXchgInst>(user))
            return index == 0 ? ValueUse::address : ValueUse::atomic;
        if (isa<CmpInst>(user)) return ValueUse::comparison;
        if (isa<ReturnInst>(user)) return ValueUse::result;
        if (user.isTerminator() || isa<SelectInst>(user)) return ValueUse::branch;
        if (const auto* fill = dyn_cast<MemSetInst>(&user); fill && index == 1) return std::nullopt;
        if (isa<MemIntrinsic>(user)) return ValueUse::address;
        if (const auto* call = dyn_cast<CallInst>(&user)) {
            if (isa<IntrinsicInst>(call))
                return call->getType()->isVoidTy() ? std::nullopt : std::optional(ValueUse::operand);
            const Function* callee = call->getCalledFunction();
            if (callee && jit::keeps_loads(*callee)) return std::nullopt;
            if (jit::any_hook_called_by(*call)) {
                if (is_shuffle(*call) && index == 3) return std::nullopt;
                const bool is_value = jit::barrier_at(*call) || jit::warp_operation_at(*call);
                return is_value ? std::optional(ValueUse::operand) : std::nullopt;
            }
            return ValueUse::argument;
        }
        return ValueUse::operand;
    }

    std::vector<Check> needed_checks() {
        std::vector<Check> checks;
        const DominatorTree dominance(function_);
        std::map<const Value*, std::vector<const Instruction*>> checked;
        for (Instruction* instruction : order_) {
            if (reads_by_atomic(*instruction)) checks.push_back({nullptr, instruction, ValueUse::atomic});
            for (const Use& operand : instruction->operands()) {
                Value* value = operand.get();
                if (!states_.contains(value)) continue;
                auto use = use_of(operand);
                const auto* store = dyn_cast<StoreInst>(instruction);
                if (store && operand.getOperandNo() == 0 && is_argument_of_print(*store))
                    use = ValueUse::printing;
                if (!use || is_nothing(*instruction)) continue;
                constexpr std::size_t most_compared = 32;
                std::vector<const Instruction*>& before = checked[value];
                if (any_of(before, [&](const Instruction* at) {
                        return at == instruction || dominance.dominates(at, instruction);
                    }))
                    continue;
                if (before.size() < most_compared) before.push_back(instruction);
                checks.push_back({value, instruction, *use});
            }
        }
        return checks;
    }

    bool is_argument_of_print(const StoreInst& store) const {
        return printed_.contains(getUnderlyingObject(store.getPointerOperand(), 0));
    }

    bool reads_by_atomic(const Instruction& instruction) const {
        if (const auto* update = dyn_cast<AtomicRMWInst>(&instruction))
            return (update->getOperation() != AtomicRMWInst::Xchg || !update->use_empty()) &&
                   !is_untracked(const_cast<Value*>(update->getPointerOperand()));
        const auto* exchange = dyn_cast<AtomicCmpXchgInst>(&instruction);
        return exchange && !is_untracked(const_cast<Value*>(exchange->getPointerOperand()));
    }

    void insert(const Check& check) {
        IRBuilder<> builder(check.at);
        builder.SetCurrentDebugLocation({});
        Value *state = nullptr, *address = builder.getInt64(0), *bytes = builder.getInt64(0);
        if (check.value != nullptr) {
            state = states_[check.value];
            if (LoadInst* load = load_behind(check.value);
                load && !isa<AllocaInst>(getUnderlyingObject(load->getPointerOperand(), 0)))
                set_origin(builder, load->getPointerOperand(), *load->getType(), address, bytes);
        } else {
            Value* memory = check.at->getOperand(0);
            Type* type = check.at->getOperand(1)->getType();
            state = load_state(builder, *type, *states_at(builder, memory, false));
            if (!is_followed(memory)) set_origin(builder, memory, *type, address, bytes);
        }
        IRBuilder<> cold(jit::branch_cold(any_unwritten(builder, *state), check.at, true));
        cold.SetCurrentDebugLocation(check.at->getDebugLoc());
        CallInst* call = jit::call_hook(
            cold,
            *hook("cudasim_hook_init_used",
                  {cold.getInt32Ty(), cold.getInt32Ty(), cold.getInt64Ty(), cold.getInt64Ty()}),
            {cold.getInt32(static_cast<std::uint32_t>(check.use)), cold.getInt32(shuffle_line(check.value)),
             address, bytes});
        call->setMemoryEffects(MemoryEffects::argMemOnly(ModRefInfo::Ref) |
                               MemoryEffects::inaccessibleMemOnly());
        call->addFnAttr(Attribute::Cold);
    }

    /// The line of a warp shuffle from which the value comes, whichever way it came; 0: also, or only, from
    /// elsewhere.
    std::uint32_t shuffle_line(const Value* value) const {
        std::uint32_t line = 0;
        std::set<const Value*> seen{value};
        std::vector<const Value*> open{value};
        while (!open.empty()) {
            const Value* from = open.back();
            open.pop_back();
            if (const auto shuffle = shuffled_.find(from); shuffle != shuffled_.end()) {
                line = shuffle->second;
                continue;
            }
            const auto* instruction = dyn_cast_or_null<Instruction>(from);
            if (!instruction || isa<LoadInst>(instruction) || is_nothing(*instruction)) return 0;
            for (const Use& operand : instruction->operands()) {
                if (carries_state(operand) && states_.contains(operand.get()) && seen.insert(operand).second)
                    open.push_back(operand);
            }
        }
        return line;
    }

    void set_origin(IRBuilder<>& builder, Value* memory, Type& type, Value*& address, Value*& bytes) {
        address = builder.CreatePtrToInt(memory, builder.getInt64Ty());
        bytes = builder.getInt64(layout_.getTypeStoreSize(&type).getFixedValue());
    }

    Function* hook(const char* name, ArrayRef<Type*> parameters) {
        LLVMContext& context = function_.getContext();
        SmallVector<Type*, 8> types{PointerType::get(context, 0)};
        types.append(parameters.begin(), parameters.end());
        types.push_back(Type::getInt32Ty(context));
        return jit::declare_hook(*function_.getParent(), name,
                                 FunctionType::get(Type::getVoidTy(context), types, false));
    }

    // What is written --------------------------------------------------------------------------------------

    void write_states(Instruction& instruction) {
        // Of what the engine itself writes, programs see the copies of parameters that are passed by value.
        if (is_internal(instruction) && !isa<MemCpyInst>(instruction)) return;
        IRBuilder<> builder(instruction.getContext());
        if (!instruction.isTerminator()) builder.SetInsertPoint(instruction.getNextNode());
        builder.SetCurrentDebugLocation({});
        if (auto* store = dyn_cast<StoreInst>(&instruction)) {
            set_states(builder, store->getPointerOperand(), *store->getValueOperand());
        } else if (isa<AtomicRMWInst, AtomicCmpXchgInst>(instruction)) {
            if (!is_untracked(instruction.getOperand(0)) && has_state(*instruction.getOperand(1)))
                store_state(builder, *instruction.getOperand(1)->getType(), nullptr,
                            *states_at(builder, instruction.getOperand(0), true));
        } else if (auto* fill = dyn_cast<MemSetInst>(&instruction)) {
            write_filling(builder, *fill);
        } else if (auto* copy = dyn_cast<MemTransferInst>(&instruction)) {
            write_copy(builder, *copy);
        }
    }

    void set_states(IRBuilder<>& builder, Value* address, Value& value) {
        if (is_untracked(address) || !has_state(value)) return;
        const auto known = states_.find(&value);
        store_state(builder, *value.getType(), known == states_.end() ? nullptr : known->second,
                    *states_at(builder, address, true));
    }

    void write_filling(IRBuilder<>& builder, MemSetInst& fill) {
        Value* target = fill.getRawDest();
        const bool nothing = is_nothing(*fill.getValue());
        if (is_untracked(target)) return;
        Value* length = builder.CreateZExtOrTrunc(fill.getLength(), builder.getInt64Ty());
        if (is_followed(target)) {
            const auto known = states_.find(fill.getValue());
            Value* byte = nothing || known == states_.end() ? builder.getInt8(nothing ? 0 : 0xFF)
                                                            : builder.CreateNot(known->second);
            jit::mark_internal(
                *builder.CreateMemSet(states_at(builder, target, true), byte, length, MaybeAlign()));
            return;
        }
        jit::call_hook(builder, *hook("cudasim_hook_init_fill", {builder.getInt64Ty(), builder.getInt64Ty()}),
                       {builder.CreatePtrToInt(target, builder.getInt64Ty()), length});
    }

    void write_copy(IRBuilder<>& builder, MemTransferInst& copy) {
        Value *target = copy.getRawDest(), *source = copy.getRawSource();
        if (is_untracked(target)) return;
        Type* i64 = builder.getInt64Ty();
        const auto* constant = dyn_cast<ConstantInt>(copy.getLength());
        if (constant && constant->getValue().ule(tail_bytes)) {
            Value* to = states_at(builder, target, true);
            if (is_untracked(source)) {
                jit::mark_internal(
                    *builder.CreateMemSet(to, builder.getInt8(0xFF), copy.getLength(), MaybeAlign()));
            } else {
                Value* from = states_at(builder, source, false);
                jit::mark_internal(
                    *builder.CreateMemMove(to, MaybeAlign(), from, MaybeAlign(), copy.getLength()));
            }
            return;
        }
        const auto known = [&](Value* address, bool write) -> Value* {
            return is_followed(address) ? builder.CreatePtrToInt(states_at(builder, address, write), i64)
                                        : builder.getInt64(0);
        };
        jit::call_hook(
            builder, *hook("cudasim_hook_init_copy", {i64, i64, i64, i64, i64}),
            {builder.CreatePtrToInt(target, i64), builder.CreatePtrToInt(source, i64), known(target, true),
             known(source, false), builder.CreateZExtOrTrunc(copy.getLength(), i64)});
    }

    Compilation& compilation_;
    Function& function_;
    const DataLayout& layout_;
    jit::FunctionContext head_;
    std::vector<Instruction*> order_;  ///< those that are reached, definitions before uses
    std::set<const Instruction*> reached_;
    std::set<const Value*> local_addresses_;                  ///< those that may lead into local arrays
    std::map<std::pair<const Value*, bool>, Value*> places_;  ///< of their states; true: to be written
    std::set<const Value*> printed_;
    std::map<std::uint64_t, Value*> window_fields_;
    std::set<const Value*> unclear_;
    std::map<const Value*, std::uint32_t> shuffled_;  ///< what shuffles give; their lines
    std::map<const Value*, Value*> states_;
};

class InitCheckInstrumentation final : public jit::Instrumentation {
  public:
    [[nodiscard]] std::string_view name() const override { return "init_checks"; }
    [[nodiscard]] std::uint32_t version() const override { return 2; }
    [[nodiscard]] std::span<const jit::HookAddress> hooks() const override { return init_hooks(); }
    [[nodiscard]] bool needs_scopes() const override { return true; }

    void values(Compilation& compilation) const override {
        for (Function& function : *compilation.module)
            if (!function.isDeclaration()) begin_with_nothing(function);
    }

    void late(Compilation& compilation) const override {
        for (Function& function : *compilation.module)
            if (!function.isDeclaration()) InitChecks(compilation, function).run();
        replace_nothing(*compilation.module);
    }
};

}  // namespace

const jit::Instrumentation& init_checks() {
    static const InitCheckInstrumentation instrumentation;
    return instrumentation;
}

}  // namespace cudasim::checks
