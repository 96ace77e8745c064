// Lowers calls of libdevice/functions.def and intrinsics.def. What is then unknown is refused
// (known_functions.cpp): LLVM would abort the process over a left-over llvm.nvvm.* and link a stray name to
// anything. Atomics and fences keep their order and scope, for instrumentations (sync_scopes.cpp).
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <string_view>
#include <unordered_map>

#include "simulator/image/asynchronous_copy.h"
#include "simulator/image/sync_scopes.h"
#include "simulator/jit/address_spaces.h"
#include "simulator/jit/asynchronous_copies.h"
#include "simulator/jit/c_types.h"
#include "simulator/jit/clusters.h"
#include "simulator/jit/function_context.h"
#include "simulator/jit/hook_calls.h"
#include "simulator/jit/host_symbols.h"
#include "simulator/jit/lowering.h"
#include "simulator/jit/nvvm_intrinsics.h"
#include "simulator/jit/source_places.h"
#include "simulator/jit/synchronisation.h"

namespace cudasim::jit {
namespace {
using namespace llvm;

/// One call being lowered.
struct Site {
    CallInst& call;
    IRBuilder<>& builder;
    Compilation& compilation;
    [[nodiscard]] Value* argument(unsigned index) const { return call.getArgOperand(index); }
    [[nodiscard]] Type* type() const { return call.getArgOperand(0)->getType(); }
};

using Emitter = Value* (*)(Site&);

// Floating point -------------------------------------------------------------------------------------------

/// PTX min/max: a NaN loses against a number, -0 is less than +0.
Value* choose(Site& at, Intrinsic::ID ordered) {
    Value* x = at.argument(0);
    Value* y = at.argument(1);
    Value* result = at.builder.CreateBinaryIntrinsic(ordered, x, y);
    result = at.builder.CreateSelect(at.builder.CreateFCmpUNO(y, y), x, result);
    return at.builder.CreateSelect(at.builder.CreateFCmpUNO(x, x), y, result);
}
Value* float_minimum(Site& at) {
    return choose(at, Intrinsic::minimum);
}
Value* float_maximum(Site& at) {
    return choose(at, Intrinsic::maximum);
}

Value* classify(Site& at, FPClassTest classes) {
    return at.builder.CreateZExt(at.builder.createIsFPClass(at.argument(0), classes), at.call.getType());
}
Value* is_nan(Site& at) {
    return classify(at, fcNan);
}
Value* is_infinite(Site& at) {
    return classify(at, fcInf);
}
Value* is_finite(Site& at) {
    return classify(at, fcFinite);
}
Value* same_bits(Site& at) {
    return at.builder.CreateBitCast(at.argument(0), at.call.getType());
}
Value* sign_bit(Site& at) {
    const unsigned bits = at.type()->getPrimitiveSizeInBits();
    Value* word = at.builder.CreateBitCast(at.argument(0), at.builder.getIntNTy(bits));
    Value* negative = at.builder.CreateICmpSLT(word, ConstantInt::get(word->getType(), 0));
    return at.builder.CreateZExt(negative, at.call.getType());
}
/// [0, 1]; NaN gives 0 (PTX .sat).
Value* saturate(Site& at) {
    Value* x = at.argument(0);
    Value* zero = ConstantFP::get(at.type(), 0.0);
    Value* one = ConstantFP::get(at.type(), 1.0);
    Value* positive = at.builder.CreateSelect(at.builder.CreateFCmpOGT(x, zero), x, zero);
    return at.builder.CreateSelect(at.builder.CreateFCmpOGT(positive, one), one, positive);
}
Value* sum(Site& at) {
    return at.builder.CreateFAdd(at.argument(0), at.argument(1));
}
Value* difference(Site& at) {
    return at.builder.CreateFSub(at.argument(0), at.argument(1));
}
Value* product(Site& at) {
    return at.builder.CreateFMul(at.argument(0), at.argument(1));
}
Value* quotient(Site& at) {
    return at.builder.CreateFDiv(at.argument(0), at.argument(1));
}
Value* reciprocal(Site& at) {
    return at.builder.CreateFDiv(ConstantFP::get(at.type(), 1.0), at.argument(0));
}

Function* declare_host(Module& module, StringRef name, FunctionType* type) {
    auto* function = cast<Function>(module.getOrInsertFunction(name, type).getCallee());
    function->setDoesNotThrow();
    function->setWillReturn();
    function->setDoesNotAccessMemory();
    function->setNoSync();
    return function;
}

Value* call_host(Site& at, StringRef name, Type* result, ArrayRef<Value*> arguments) {
    SmallVector<Type*, 2> types;
    for (Value* argument : arguments) types.push_back(argument->getType());
    auto* type = FunctionType::get(result, types, false);
    return at.builder.CreateCall(declare_host(*at.compilation.module, name, type), arguments);
}

Value* store_both(Site& at, StringRef first, StringRef second) {
    at.builder.CreateStore(call_host(at, first, at.type(), {at.argument(0)}), at.argument(1));
    at.builder.CreateStore(call_host(at, second, at.type(), {at.argument(0)}), at.argument(2));
    return nullptr;
}
Value* sine_and_cosine(Site& at) {
    return at.type()->isFloatTy() ? store_both(at, "__nv_sinf", "__nv_cosf")
                                  : store_both(at, "__nv_sin", "__nv_cos");
}
Value* sine_and_cosine_of_pi_times(Site& at) {
    return at.type()->isFloatTy() ? store_both(at, "__nv_sinpif", "__nv_cospif")
                                  : store_both(at, "__nv_sinpi", "__nv_cospi");
}

/// modf: both parts have the sign of x; infinity has fraction 0.
Value* split_fraction(Site& at) {
    Value* x = at.argument(0);
    Value* whole = at.builder.CreateUnaryIntrinsic(Intrinsic::trunc, x);
    at.builder.CreateStore(whole, at.argument(1));
    Value* infinite = at.builder.createIsFPClass(x, fcInf);
    Value* fraction =
        at.builder.CreateSelect(infinite, ConstantFP::get(at.type(), 0.0), at.builder.CreateFSub(x, whole));
    return at.builder.CreateBinaryIntrinsic(Intrinsic::copysign, fraction, x);
}

Value* split_exponent(Site& at) {
    Type* wide = at.builder.getDoubleTy();
    Value* x = at.builder.CreateFPCast(at.argument(0), wide);
    at.builder.CreateStore(call_host(at, "cudasim.frexp.exponent", at.builder.getInt32Ty(), {x}),
                           at.argument(1));
    return at.builder.CreateFPCast(call_host(at, "cudasim.frexp.mantissa", wide, {x}), at.type());
}

Value* split_quotient(Site& at) {
    const bool narrow = at.type()->isFloatTy();
    Value* operands[] = {at.argument(0), at.argument(1)};
    at.builder.CreateStore(call_host(at, narrow ? "cudasim.remquo.quotient.f" : "cudasim.remquo.quotient.d",
                                     at.builder.getInt32Ty(), operands),
                           at.argument(2));
    return call_host(at, narrow ? "__nv_remainderf" : "__nv_remainder", at.type(), operands);
}

// Conversions ----------------------------------------------------------------------------------------------

Value* signed_to_float(Site& at) {
    return at.builder.CreateSIToFP(at.argument(0), at.call.getType());
}
Value* unsigned_to_float(Site& at) {
    return at.builder.CreateUIToFP(at.argument(0), at.call.getType());
}
Value* float_cast(Site& at) {
    return at.builder.CreateFPCast(at.argument(0), at.call.getType());
}
Value* to_half(Site& at) {
    Value* word = call_host(at, "cudasim.half.of", at.builder.getInt32Ty(), {at.argument(0)});
    return at.builder.CreateTrunc(word, at.call.getType());
}
Value* from_half(Site& at) {
    Value* word = at.builder.CreateZExt(at.argument(0), at.builder.getInt32Ty());
    return call_host(at, "cudasim.half.to", at.call.getType(), {word});
}

// Integers -------------------------------------------------------------------------------------------------

Value* absolute(Site& at) {
    return at.builder.CreateBinaryIntrinsic(Intrinsic::abs, at.argument(0), at.builder.getFalse());
}
Value* population_count(Site& at) {
    Value* count = at.builder.CreateUnaryIntrinsic(Intrinsic::ctpop, at.argument(0));
    return at.builder.CreateZExtOrTrunc(count, at.call.getType());
}
Value* leading_zeros(Site& at) {
    Value* count = at.builder.CreateBinaryIntrinsic(Intrinsic::ctlz, at.argument(0), at.builder.getFalse());
    return at.builder.CreateZExtOrTrunc(count, at.call.getType());
}
/// 1 + index of the lowest set bit, 0 when there is none.
Value* first_set(Site& at) {
    Value* zeros = at.builder.CreateBinaryIntrinsic(Intrinsic::cttz, at.argument(0), at.builder.getFalse());
    Value* found = at.builder.CreateAdd(zeros, ConstantInt::get(at.type(), 1));
    Value* none = at.builder.CreateICmpEQ(at.argument(0), ConstantInt::get(at.type(), 0));
    Value* result = at.builder.CreateSelect(none, ConstantInt::get(at.type(), 0), found);
    return at.builder.CreateZExtOrTrunc(result, at.call.getType());
}
Value* high_product(Site& at, bool is_signed) {
    const unsigned bits = at.type()->getIntegerBitWidth();
    Type* wide = at.builder.getIntNTy(bits * 2);
    Value* x = at.builder.CreateIntCast(at.argument(0), wide, is_signed);
    Value* y = at.builder.CreateIntCast(at.argument(1), wide, is_signed);
    return at.builder.CreateTrunc(at.builder.CreateLShr(at.builder.CreateMul(x, y), bits), at.type());
}
Value* signed_high_product(Site& at) {
    return high_product(at, true);
}
Value* unsigned_high_product(Site& at) {
    return high_product(at, false);
}

// Threads and memory ---------------------------------------------------------------------------------------

Value* barrier_number(Site& at) {
    const auto* number = dyn_cast<ConstantInt>(at.argument(0));
    if (number && number->getValue().uge(barriers_per_block)) refuse(at.call, "a block has barriers 0 to 15");
    return at.argument(0);
}
/// A predicate, or a word that is true where it is not 0, as hooks take it.
Value* as_vote(Site& at, Value* predicate) {
    if (!predicate->getType()->isIntegerTy(1))
        predicate = at.builder.CreateICmpNE(predicate, ConstantInt::get(predicate->getType(), 0));
    return at.builder.CreateZExt(predicate, at.builder.getInt32Ty());
}
Value* barrier_answer(Site& at, Value* answer) {
    if (at.call.getType()->isVoidTy()) return nullptr;
    return at.call.getType()->isIntegerTy(1) ? at.builder.CreateICmpNE(answer, at.builder.getInt32(0))
                                             : answer;
}
Value* emit_named_barrier(Site& at, BarrierKind kind, Value* number, Value* threads, Value* vote) {
    IRBuilder<>& b = at.builder;
    auto* call = call_hook(b, Hook::named_barrier,
                           {b.getInt32(static_cast<std::uint32_t>(kind)), number, threads, vote});
    call->setMetadata(marks::barrier, MDNode::getDistinct(*at.compilation.context, {}));
    return call;
}
/// All threads of the block, or of the grid, wait for each other, whichever of the block's barriers it is:
/// unless some threads of the block may come to that one alone.
/// @param vote  i32, 0 or 1
Value* emit_barrier(Site& at, BarrierKind kind, Value* number, Value* vote) {
    const auto* known = dyn_cast<ConstantInt>(number);
    const bool named = kind != BarrierKind::grid &&
                       (!known || (at.compilation.named_barriers >> known->getZExtValue() & 1) != 0);
    if (named) return emit_named_barrier(at, kind, number, at.builder.getInt32(all_threads), vote);
    auto* call =
        call_hook(at.builder, Hook::barrier, {at.builder.getInt32(static_cast<std::uint32_t>(kind)), vote});
    auto* operand = ConstantAsMetadata::get(cast<ConstantInt>(number));
    call->setMetadata(marks::barrier, MDNode::getDistinct(*at.compilation.context, {operand}));
    return call;
}
/// Barrier 0 of the block.
template <BarrierKind kind>
Value* barrier(Site& at) {
    Value* vote = at.call.arg_size() == 1 ? as_vote(at, at.argument(0)) : at.builder.getInt32(0);
    return barrier_answer(at, emit_barrier(at, kind, at.builder.getInt32(0), vote));
}
template <BarrierKind kind>
Value* barrier_numbered(Site& at) {
    Value* vote = at.call.arg_size() == 2 ? as_vote(at, at.argument(1)) : at.builder.getInt32(0);
    return barrier_answer(at, emit_barrier(at, kind, barrier_number(at), vote));
}
template <BarrierKind kind>
Value* barrier_of_some_threads(Site& at) {
    const auto* threads = dyn_cast<ConstantInt>(at.argument(1));
    if (threads && (threads->isZero() || threads->getZExtValue() % warp_size != 0))
        refuse(at.call, "the number of threads at a barrier has to be a positive multiple of 32");
    Value* vote = at.call.arg_size() == 3 ? as_vote(at, at.argument(2)) : at.builder.getInt32(0);
    return barrier_answer(at, emit_named_barrier(at, kind, barrier_number(at), at.argument(1), vote));
}

/// Scope 1 is the grid (cudaCGScope of CUDA's device runtime), and there are no groups of several devices.
Value* group_handle(Site& at) {
    const auto* scope = dyn_cast<ConstantInt>(at.argument(0));
    if (!scope || !scope->isOne()) refuse(at.call, "the only cooperative group here is that of the grid");
    at.compilation.cooperative = true;
    // In a launch that is not cooperative the group is not valid.
    FunctionContext head(*at.call.getFunction());
    Value* cooperative = head.block_field(offsetof(BlockContext, cooperative), at.builder.getInt32Ty());
    return at.builder.CreateZExt(cooperative, at.call.getType());
}
/// Gives cudaSuccess.
Value* barrier_group(Site& at) {
    at.compilation.cooperative = true;
    emit_barrier(at, BarrierKind::grid, at.builder.getInt32(0), at.builder.getInt32(0));
    return at.builder.getInt32(0);
}

// Warps ----------------------------------------------------------------------------------------------------

/// The hook's 64-bit result.
Value* warp_call(Site& at, WarpKind kind, Value* mask, Value* value, Value* operand) {
    IRBuilder<>& b = at.builder;
    auto* call = call_hook(
        b, Hook::warp,
        {b.getInt32(static_cast<std::uint32_t>(kind)), mask,
         value ? b.CreateZExt(value, b.getInt64Ty()) : b.getInt64(0), operand ? operand : b.getInt32(0)});
    call->setMetadata(marks::barrier, MDNode::getDistinct(*at.compilation.context, {}));
    return call;
}
/// The result as the call's type wants it: a word, a float, a predicate, or word and predicate.
Value* warp_result(Site& at, Value* result) {
    IRBuilder<>& b = at.builder;
    Value* word = b.CreateTrunc(result, b.getInt32Ty());
    Value* predicate = b.CreateICmpNE(b.CreateAnd(result, b.getInt64(warp_predicate)), b.getInt64(0));
    Type* type = at.call.getType();
    if (type->isIntegerTy(1)) return predicate;
    if (type->isFloatTy()) return b.CreateBitCast(word, type);
    if (!type->isStructTy()) return word;
    Value* both = b.CreateInsertValue(PoisonValue::get(type), word, 0);
    return b.CreateInsertValue(both, predicate, 1);
}
Value* warp_sync(Site& at) {
    return warp_call(at, WarpKind::sync, at.argument(0), nullptr, nullptr), nullptr;
}
Value* warp_active(Site& at) {
    return warp_result(at, warp_call(at, WarpKind::active, at.builder.getInt32(-1), nullptr, nullptr));
}
template <Reduction reduction>
Value* reduce_lanes(Site& at) {
    Value* how = at.builder.getInt32(static_cast<std::uint32_t>(reduction));
    return warp_result(at, warp_call(at, WarpKind::reduce, at.argument(1), at.argument(0), how));
}
template <WarpKind kind>
Value* shuffle(Site& at) {
    IRBuilder<>& b = at.builder;
    Value* word = b.CreateBitCast(at.argument(1), b.getInt32Ty());
    Value* operand = b.CreateOr(b.CreateShl(at.argument(3), shuffle_clamp_shift),
                                b.CreateAnd(at.argument(2), b.getInt32(warp_size - 1)));
    return warp_result(at, warp_call(at, kind, at.argument(0), word, operand));
}
/// Votes and matches.
template <WarpKind kind>
Value* compare_lanes(Site& at) {
    return warp_result(at, warp_call(at, kind, at.argument(0), at.argument(1), nullptr));
}

/// membar is PTX's fence.sc (PTX ISA, "membar, fence").
template <image::Scope scope>
Value* fence(Site& at) {
    at.builder.CreateFence(AtomicOrdering::SequentiallyConsistent,
                           image::sync_scope(*at.compilation.context, scope));
    return nullptr;
}
template <std::uint64_t bytes>
Value* copy_to_shared(Site& at) {
    auto& b = at.builder;
    Value *target = at.argument(0), *source = at.argument(1);
    Value* wanted = at.call.arg_size() > 2 ? at.argument(2) : nullptr;
    Value* read = image::copy_at_once(b, target, source, bytes, wanted);
    mark_copy(b, {CopyStep::begin, target, source, b.getInt64(bytes), read, nullptr});
    return nullptr;
}
Value* commit_copies(Site& at) {
    return mark_copy(at.builder, {CopyStep::commit}), nullptr;
}
Value* wait_for_groups(Site& at, Value* groups) {
    CopyMark mark{CopyStep::wait};
    mark.groups = groups;
    return mark_copy(at.builder, mark), nullptr;
}
Value* wait_for_copies(Site& at) {
    return wait_for_groups(at, at.argument(0));
}
Value* wait_for_all_copies(Site& at) {
    return wait_for_groups(at, at.builder.getInt32(~std::uint32_t{0}));
}

Value* let_others_run(Site& at) {
    return call_hook(at.builder, Hook::sleep, {}), nullptr;
}

/// CUDA's system call (PTX writer's guide to interoperability, "System Calls").
Value* print_formatted(Site& at) {
    at.compilation.prints = true;
    Type* word = at.builder.getInt64Ty();
    return call_hook(
        at.builder, Hook::vprintf,
        {at.builder.CreatePtrToInt(at.argument(0), word), at.builder.CreatePtrToInt(at.argument(1), word)});
}

Value* heap_allocation(Site& at) {
    Value* address = call_hook(at.builder, Hook::heap_allocate, {at.argument(0)});
    return at.builder.CreateIntToPtr(address, at.call.getType());
}
Value* heap_release(Site& at) {
    Type* word = at.builder.getInt64Ty();
    return call_hook(at.builder, Hook::heap_free, {at.builder.CreatePtrToInt(at.argument(0), word)}), nullptr;
}
Value* failed_assertion(Site& at) {
    const auto address = [&](unsigned argument) {
        return at.builder.CreatePtrToInt(at.argument(argument), at.builder.getInt64Ty());
    };
    return call_hook(at.builder, Hook::assert_fail, {address(0), address(1), address(3), at.argument(2)}),
           nullptr;
}

/// PTX's exit, in whatever function.
Value* thread_end(Site& at) {
    return call_hook(at.builder, Hook::exit, {});
}

/// PTX's %dynamic_smem_size, for which LLVM has no intrinsic.
Value* dynamic_shared_bytes(Site& at) {
    FunctionContext head(*at.call.getFunction());
    return head.block_field(offsetof(BlockContext, dynamic_shared_bytes), at.builder.getInt32Ty());
}

/// PTX's %total_smem_size: static and dynamic shared memory, as a multiple of what a GPU allocates it by.
Value* total_shared_bytes(Site& at) {
    constexpr std::uint32_t unit = 128;  // docs/gpu_results.md, "Limits and refusals"
    // Dynamic shared memory begins at a multiple of 16 bytes.
    const auto before = static_cast<std::uint32_t>(alignTo(at.compilation.shared.static_bytes, 16));
    Value* all = at.builder.CreateAdd(dynamic_shared_bytes(at), at.builder.getInt32(before + unit - 1));
    return at.builder.CreateAnd(all, at.builder.getInt32(~(unit - 1)));
}

Value* shared_base(Site& at) {
    FunctionContext head(*at.call.getFunction());
    return at.builder.CreatePtrToInt(
        head.block_field(offsetof(BlockContext, shared_base), at.builder.getPtrTy()), at.call.getType());
}

template <BarrierKind kind>
Value* cluster_barrier(Site& at) {
    Value* none = at.builder.getInt32(0);
    return emit_named_barrier(at, kind, none, at.builder.getInt32(all_threads), none), nullptr;
}
Value* rank_of_address(Site& at) {
    return rank_in_cluster(at.builder, at.argument(0));
}
Value* is_shared_of_cluster(Site& at) {
    return is_shared_in_cluster(at.builder, at.argument(0));
}
Value* map_address(Site& at) {
    return mapped_address(at.builder, at.argument(0), at.argument(1), at.call.getType());
}

Value* is_shared(Site& at) {
    return lies_in_shared_memory(at.builder, at.compilation, at.argument(0));
}
Value* is_local(Site& at) {
    return lies_in_local_memory(at.builder, at.argument(0));
}
Value* is_global(Site& at) {
    return at.builder.CreateNot(at.builder.CreateOr(is_shared(at), is_local(at)));
}
/// PTX's atom without an order is relaxed.
template <AtomicRMWInst::BinOp operation, image::Scope scope>
Value* atomic_update(Site& at) {
    return at.builder.CreateAtomicRMW(operation, at.argument(0), at.argument(1), MaybeAlign(),
                                      AtomicOrdering::Monotonic,
                                      image::sync_scope(*at.compilation.context, scope));
}
template <image::Scope scope>
Value* atomic_compare(Site& at) {
    constexpr auto relaxed = AtomicOrdering::Monotonic;
    auto* pair =
        at.builder.CreateAtomicCmpXchg(at.argument(0), at.argument(1), at.argument(2), MaybeAlign(), relaxed,
                                       relaxed, image::sync_scope(*at.compilation.context, scope));
    return at.builder.CreateExtractValue(pair, 0);
}

// The table ------------------------------------------------------------------------------------------------

struct Row {
    FunctionType* (*type)(LLVMContext&);
    bool host;
    Intrinsic::ID intrinsic;
    Emitter emitter;
};

const std::unordered_map<std::string_view, Row>& table() {
    static const std::unordered_map<std::string_view, Row> rows = {
#define CALLED true, Intrinsic::not_intrinsic, nullptr
#define LLVM(intrinsic) false, Intrinsic::intrinsic, nullptr
#define EMIT(emitter) false, Intrinsic::not_intrinsic, &emitter
#define LIBDEVICE(name, type, function, lowering) {"__nv_" #name, {&FunctionTypeOf<type>::get, lowering}},
#include "simulator/libdevice/functions.def"
#undef LIBDEVICE
#undef CALLED
#undef LLVM
#undef EMIT
#define HOST(name, type, function) \
    {name, {&FunctionTypeOf<type>::get, true, Intrinsic::not_intrinsic, nullptr}},
#define LLVM(name, type, intrinsic) \
    {name, {&FunctionTypeOf<type>::get, false, Intrinsic::intrinsic, nullptr}},
#define EMIT(name, type, emitter) \
    {name, {&FunctionTypeOf<type>::get, false, Intrinsic::not_intrinsic, &emitter}},
#include "simulator/jit/intrinsics.def"
#undef HOST
#undef LLVM
#undef EMIT
    };
    return rows;
}

/// llvm.nvvm.ptr.gen.to.shared and the like: address spaces are all one by now.
bool is_address_space_cast(const Function& function) {
    return function.getName().starts_with("llvm.nvvm.ptr.");
}

void lower_call(CallInst& call, Compilation& compilation) {
    Function* callee = call.getCalledFunction();
    IRBuilder<> builder(&call);
    if (is_address_space_cast(*callee)) {
        call.replaceAllUsesWith(call.getArgOperand(0));
        call.eraseFromParent();
        return;
    }
    const auto found = table().find(std::string_view(callee->getName()));
    if (found == table().end()) {
        const auto value = lowered_by_name(call, builder, compilation);
        if (!value) return;
        call.replaceAllUsesWith(*value);
        call.eraseFromParent();
        return;
    }
    const Row& row = found->second;
    if (call.getFunctionType() != row.type(*compilation.context)) {
        refuse(call, "'" + callee->getName().str() + "' is called with a type that is not its own");
    }
    if (row.host) {
        declare_host(*compilation.module, callee->getName(), callee->getFunctionType());
        return;
    }
    Value* result = nullptr;
    if (row.emitter) {
        Site site{call, builder, compilation};
        result = row.emitter(site);
    } else {
        SmallVector<Value*, 3> arguments(call.args());
        result = builder.CreateIntrinsic(row.intrinsic, {call.getType()}, arguments);
    }
    if (!call.getType()->isVoidTy()) call.replaceAllUsesWith(result);
    call.eraseFromParent();
}

/// Which barriers of the block are, or may be, for some of its threads.
void find_named_barriers(Compilation& compilation) {
    for (const Function& function : *compilation.module) {
        const auto row = table().find(std::string_view(function.getName()));
        if (!function.isDeclaration() || row == table().end()) continue;
        const Emitter emitter = row->second.emitter;
        constexpr Emitter of_some[] = {
            &barrier_of_some_threads<BarrierKind::plain>, &barrier_of_some_threads<BarrierKind::arrive>,
            &barrier_of_some_threads<BarrierKind::count>, &barrier_of_some_threads<BarrierKind::all>,
            &barrier_of_some_threads<BarrierKind::any>};
        constexpr Emitter of_all[] = {
            &barrier_numbered<BarrierKind::plain>, &barrier_numbered<BarrierKind::count>,
            &barrier_numbered<BarrierKind::all>, &barrier_numbered<BarrierKind::any>};
        const bool some = is_contained(of_some, emitter);
        const bool numbered = some || is_contained(of_all, emitter);
        if (!numbered) continue;
        for (const User* user : function.users()) {
            const auto* call = dyn_cast<CallInst>(user);
            if (!call || call->getCalledFunction() != &function || call->arg_empty()) continue;
            const auto* number = dyn_cast<ConstantInt>(call->getArgOperand(0));
            if (!number)
                compilation.named_barriers = ~std::uint32_t{0};
            else if (some && number->getValue().ult(barriers_per_block))
                compilation.named_barriers |= std::uint32_t{1} << number->getZExtValue();
        }
    }
}

}  // namespace

void lower_intrinsics(Compilation& compilation) {
    find_named_barriers(compilation);
    for (Function& function : *compilation.module) {
        if (function.isDeclaration()) continue;
        for (Instruction& instruction : make_early_inc_range(instructions(function))) {
            auto* call = dyn_cast<CallInst>(&instruction);
            if (!call || !call->getCalledFunction() || !call->getCalledFunction()->isDeclaration()) continue;
            if (call->getIntrinsicID() == Intrinsic::fmuladd) {
                lower_multiply_add(cast<IntrinsicInst>(*call), compilation.options.fma_contraction);
            } else {
                lower_call(*call, compilation);
            }
        }
    }
}

}  // namespace cudasim::jit
