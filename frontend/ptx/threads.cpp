// Barriers, fences and what the lanes of a warp do together (PTX ISA, "Parallel Synchronization and
// Communication Instructions").
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "frontend/ptx/translation.h"

namespace cudasim::ptx {
namespace {

using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

bool is_number(const Operand& operand, std::uint64_t value) {
    return operand.kind == Operand::integer && operand.value == value;
}

/// A barrier as later versions of LLVM name it, which LLVM 19 has no intrinsic for
/// (simulator/jit/intrinsics.def).
llvm::CallInst* call_named_barrier(InstructionContext& at, const std::string& what, llvm::Type* result,
                                   llvm::ArrayRef<Value*> arguments) {
    const bool aligned = at.instruction.opcode.front() == "bar" || at.has("aligned");
    const std::string counted =
        arguments.size() > 1 && arguments[1]->getType()->isIntegerTy(32) ? "count" : "all";
    llvm::SmallVector<llvm::Type*> types;
    for (Value* argument : arguments) types.push_back(argument->getType());
    auto function = at.b.GetInsertBlock()->getModule()->getOrInsertFunction(
        "llvm.nvvm.barrier.cta." + what + (aligned ? ".aligned." : ".") + counted,
        llvm::FunctionType::get(result, types, false));
    auto* declared = llvm::cast<llvm::Function>(function.getCallee());
    declared->setConvergent();
    declared->setDoesNotThrow();
    return at.b.CreateCall(function, arguments);
}

/// bar.red{.popc, .and, .or} d, a{, b}, p
void translate_vote_at_barrier(InstructionContext& at) {
    auto& b = at.b;
    const std::size_t count = at.instruction.operands.size();
    if (count != 3 && count != 4) at.refuse();
    Value* holds = at.read(count - 1, predicate);
    if (count == 3 && is_number(at.operand(1), 0)) {
        const Intrinsic::ID id = at.has("popc")  ? Intrinsic::nvvm_barrier0_popc
                                 : at.has("and") ? Intrinsic::nvvm_barrier0_and
                                                 : Intrinsic::nvvm_barrier0_or;
        Value* result = b.CreateIntrinsic(id, {}, {b.CreateZExt(holds, b.getInt32Ty())});
        return at.write(at.has("popc") ? result : b.CreateIsNotNull(result));
    }
    llvm::SmallVector<Value*, 3> arguments{at.read(1, u32)};
    if (count == 4) arguments.push_back(at.read(2, u32));
    arguments.push_back(holds);
    const std::string operation = at.has("popc") ? "red.popc" : at.has("and") ? "red.and" : "red.or";
    llvm::Type* type = at.has("popc") ? static_cast<llvm::Type*>(b.getInt32Ty()) : b.getInt1Ty();
    at.write(call_named_barrier(at, operation, type, arguments));
}

/// Barriers of the whole block, or of a number of its threads (operand b).
void translate_barrier(InstructionContext& at) {
    auto& b = at.b;
    if (at.has("cluster")) {
        if (at.has("arrive") == at.has("wait")) at.refuse();
        const Intrinsic::ID id = at.has("wait")      ? Intrinsic::nvvm_barrier_cluster_wait
                                 : at.has("relaxed") ? Intrinsic::nvvm_barrier_cluster_arrive_relaxed
                                                     : Intrinsic::nvvm_barrier_cluster_arrive;
        return (void)b.CreateIntrinsic(id, {}, {});
    }
    if (at.has("warp")) return (void)b.CreateIntrinsic(Intrinsic::nvvm_bar_warp_sync, {}, {at.read(0, u32)});
    if (at.has("red")) return translate_vote_at_barrier(at);
    const std::size_t count = at.instruction.operands.size();
    if (at.has("arrive")) {
        if (count != 2) at.refuse();
        return (void)call_named_barrier(at, "arrive", b.getVoidTy(), {at.read(0, u32), at.read(1, u32)});
    }
    if (count == 1 && is_number(at.operand(0), 0))
        return (void)b.CreateIntrinsic(Intrinsic::nvvm_barrier0, {}, {});
    if (count == 1) return (void)b.CreateIntrinsic(Intrinsic::nvvm_bar_sync, {}, {at.read(0, u32)});
    if (count != 2) at.refuse();
    const bool aligned = at.instruction.opcode.front() == "bar" || at.has("aligned");
    b.CreateIntrinsic(aligned ? Intrinsic::nvvm_barrier : Intrinsic::nvvm_barrier_sync_cnt, {},
                      {at.read(0, u32), at.read(1, u32)});
}

/// The level of a membar is a scope.
void translate_membar(InstructionContext& at) {
    const Intrinsic::ID id = at.has("cta")  ? Intrinsic::nvvm_membar_cta
                             : at.has("gl") ? Intrinsic::nvvm_membar_gl
                                            : Intrinsic::nvvm_membar_sys;
    at.b.CreateIntrinsic(id, {}, {});
}

/// fence.proxy orders what goes through other proxies (textures, bulk copies, aliases of addresses), of which
/// there are none here: it orders no accesses of different threads.
void translate_fence(InstructionContext& at) {
    using llvm::AtomicOrdering;
    if (at.has("proxy"))
        return (void)at.b.CreateFence(AtomicOrdering::AcquireRelease, llvm::SyncScope::SingleThread);
    const AtomicOrdering ordering = at.has("sc")        ? AtomicOrdering::SequentiallyConsistent
                                    : at.has("acquire") ? AtomicOrdering::Acquire
                                    : at.has("release") ? AtomicOrdering::Release
                                                        : AtomicOrdering::AcquireRelease;
    at.b.CreateFence(ordering, sync_scope(at, image::Scope::system));
}

/// The deprecated forms without .sync have no mask; hardware since Volta does not have them.
void require_sync(const InstructionContext& at) {
    if (!at.has("sync")) at.refuse();
}

void translate_vote(InstructionContext& at) {
    require_sync(at);
    const Intrinsic::ID id = at.has("all")   ? Intrinsic::nvvm_vote_all_sync
                             : at.has("any") ? Intrinsic::nvvm_vote_any_sync
                             : at.has("uni") ? Intrinsic::nvvm_vote_uni_sync
                                             : Intrinsic::nvvm_vote_ballot_sync;
    at.write(at.b.CreateIntrinsic(id, {}, {at.read(2, u32), at.read(1, predicate)}));
}

void translate_shfl(InstructionContext& at) {
    require_sync(at);
    const Operand& target = at.operand(0);
    llvm::SmallVector<Value*> arguments = {at.read(4, u32), at.read(1, u32), at.read(2, u32),
                                           at.read(3, u32)};
    const bool paired = target.kind == Operand::list;
    const Intrinsic::ID id =
        at.has("up")     ? (paired ? Intrinsic::nvvm_shfl_sync_up_i32p : Intrinsic::nvvm_shfl_sync_up_i32)
        : at.has("down") ? (paired ? Intrinsic::nvvm_shfl_sync_down_i32p : Intrinsic::nvvm_shfl_sync_down_i32)
        : at.has("bfly") ? (paired ? Intrinsic::nvvm_shfl_sync_bfly_i32p : Intrinsic::nvvm_shfl_sync_bfly_i32)
                         : (paired ? Intrinsic::nvvm_shfl_sync_idx_i32p : Intrinsic::nvvm_shfl_sync_idx_i32);
    Value* result = at.b.CreateIntrinsic(id, {}, arguments);
    if (!paired) return at.write(result);
    at.function.write(target.elements[0], at.b.CreateExtractValue(result, 0));
    at.function.write(target.elements[1], at.b.CreateExtractValue(result, 1));
}

void translate_match(InstructionContext& at) {
    require_sync(at);
    const bool wide = at.type().width == 64;
    const Type type{Type::bits, at.type().width};
    llvm::SmallVector<Value*> arguments = {at.read(2, u32), at.read(1, type)};
    if (at.has("any")) {
        const Intrinsic::ID id =
            wide ? Intrinsic::nvvm_match_any_sync_i64 : Intrinsic::nvvm_match_any_sync_i32;
        return at.write(at.b.CreateIntrinsic(id, {}, arguments));
    }
    const Intrinsic::ID id = wide ? Intrinsic::nvvm_match_all_sync_i64p : Intrinsic::nvvm_match_all_sync_i32p;
    Value* result = at.b.CreateIntrinsic(id, {}, arguments);
    const Operand& target = at.operand(0);
    if (target.kind != Operand::list) return at.write(at.b.CreateExtractValue(result, 0));
    at.function.write(target.elements[0], at.b.CreateExtractValue(result, 0));
    at.function.write(target.elements[1], at.b.CreateExtractValue(result, 1));
}

/// elect.sync lane|p, mask: the lowest of them is elected.
void translate_elect(InstructionContext& at) {
    auto& b = at.b;
    require_sync(at);
    const Operand& target = at.operand(0);
    if (target.kind != Operand::list) at.refuse();
    Value* mask = at.read(1, u32);
    b.CreateIntrinsic(Intrinsic::nvvm_bar_warp_sync, {}, {mask});
    Value* elected = b.CreateBinaryIntrinsic(Intrinsic::cttz, mask, b.getFalse());
    Value* own = b.CreateIntrinsic(Intrinsic::nvvm_read_ptx_sreg_laneid, {}, {});
    at.function.write(target.elements[0], elected);
    at.function.write(target.elements[1], b.CreateICmpEQ(own, elected));
}

void translate_activemask(InstructionContext& at) {
    at.write(at.b.CreateIntrinsic(Intrinsic::nvvm_activemask, {}, {}));
}

void translate_nanosleep(InstructionContext& at) {
    at.b.CreateIntrinsic(Intrinsic::nvvm_nanosleep, {}, {at.read(0, u32)});
}

Value* combined(InstructionContext& at, Value* left, Value* right) {
    auto& b = at.b;
    const bool with_sign = at.type().kind == Type::signed_;
    if (at.has("add")) return b.CreateAdd(left, right);
    if (at.has("and")) return b.CreateAnd(left, right);
    if (at.has("or")) return b.CreateOr(left, right);
    if (at.has("xor")) return b.CreateXor(left, right);
    if (at.has("min"))
        return b.CreateBinaryIntrinsic(with_sign ? Intrinsic::smin : Intrinsic::umin, left, right);
    if (at.has("max"))
        return b.CreateBinaryIntrinsic(with_sign ? Intrinsic::smax : Intrinsic::umax, left, right);
    at.refuse();
}

/// redux.sync: every lane of the mask asks each of them for its value, the lowest one first.
void translate_redux(InstructionContext& at) {
    require_sync(at);
    if (at.type().kind == Type::real) at.refuse();
    auto& b = at.b;
    llvm::Type* word = b.getInt32Ty();
    llvm::Function* function = b.GetInsertBlock()->getParent();
    Value* mask = at.read(2, u32);
    Value* own = at.read(1);
    const auto value_of_lowest = [&](Value* lanes) {
        Value* lane = b.CreateBinaryIntrinsic(Intrinsic::cttz, lanes, b.getFalse());
        return b.CreateIntrinsic(Intrinsic::nvvm_shfl_sync_idx_i32, {}, {mask, own, lane, b.getInt32(31)});
    };
    const auto without_lowest = [&](Value* lanes) {
        return b.CreateAnd(lanes, b.CreateSub(lanes, b.getInt32(1)));
    };
    Value* first = value_of_lowest(mask);
    Value* others = without_lowest(mask);
    llvm::BasicBlock* before = b.GetInsertBlock();
    auto* loop = llvm::BasicBlock::Create(at.function.module.context, "reduce", function);
    auto* done = llvm::BasicBlock::Create(at.function.module.context, "reduced", function);
    b.CreateCondBr(b.CreateIsNull(others), done, loop);
    b.SetInsertPoint(loop);
    llvm::PHINode* lanes = b.CreatePHI(word, 2);
    llvm::PHINode* sum = b.CreatePHI(word, 2);
    Value* next_sum = combined(at, sum, value_of_lowest(lanes));
    Value* next_lanes = without_lowest(lanes);
    lanes->addIncoming(others, before);
    lanes->addIncoming(next_lanes, loop);
    sum->addIncoming(first, before);
    sum->addIncoming(next_sum, loop);
    b.CreateCondBr(b.CreateIsNull(next_lanes), done, loop);
    b.SetInsertPoint(done);
    llvm::PHINode* result = b.CreatePHI(word, 2);
    result->addIncoming(first, before);
    result->addIncoming(next_sum, loop);
    at.write(result);
}

constexpr Row rows[] = {
    {"bar", translate_barrier},   {"barrier", translate_barrier},
    {"membar", translate_membar}, {"fence", translate_fence},
    {"vote", translate_vote},     {"shfl", translate_shfl},
    {"match", translate_match},   {"activemask", translate_activemask},
    {"elect", translate_elect},   {"nanosleep", translate_nanosleep},
    {"redux", translate_redux},
};

}  // namespace

std::span<const Row> thread_rows() {
    return rows;
}

}  // namespace cudasim::ptx
