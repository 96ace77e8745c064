// Operations of a warp: cuda.syncwarp, the shuffles, votes and matches, cuda.activemask, cuda.lanemask_lt.
// Types are those of numba-cuda 0.30 (its typing, asked without a GPU).
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "frontend/pykernel/calls/callables.h"

namespace cudasim::pykernel {
namespace {

using llvm::Intrinsic::ID;

/// PTX's operand c: clamp to the last lane, one segment of 32 lanes; shfl.up clamps to the first.
constexpr std::uint32_t whole_warp = 0x1F, from_first_lane = 0;

void require_mask(const CallTyping& call) {
    if (call.size() > 0 && call[0] && !call[0]->is(TypeKind::integer)) call.no_match();
}

llvm::Value* mask_of(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    return e.convert(call[0], e.types().int32).value();
}

TypeRef type_syncwarp(const CallTyping& call) {
    if (call.size() > 0 && call[0] && !call[0]->is_number()) call.no_match();
    return call.types().none;
}

Emitted emit_syncwarp(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const bool given = call.has(0);
    llvm::Value* mask = given ? mask_of(call) : e.builder.getInt32(~std::uint32_t{0});
    e.builder.CreateIntrinsic(llvm::Intrinsic::nvvm_bar_warp_sync, {}, {mask});
    return {call.call.type, {}};
}

// Votes ----------------------------------------------------------------------------------------------------

TypeRef type_vote(const CallTyping& call) {
    require_mask(call);
    if (!call[1]->is_integral()) call.no_match();
    return call.callable.name.ends_with("ballot_sync") ? call.types().int32 : call.types().boolean;
}

Emitted emit_vote(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const std::string_view name = call.callable.name;
    const ID id = name.ends_with("all_sync")   ? llvm::Intrinsic::nvvm_vote_all_sync
                  : name.ends_with("any_sync") ? llvm::Intrinsic::nvvm_vote_any_sync
                  : name.ends_with("eq_sync")  ? llvm::Intrinsic::nvvm_vote_uni_sync
                                               : llvm::Intrinsic::nvvm_vote_ballot_sync;
    return e.number(e.builder.CreateIntrinsic(id, {}, {mask_of(call), e.truth(call[1])}), call.call.type);
}

// Shuffles -------------------------------------------------------------------------------------------------

TypeRef type_shuffle(const CallTyping& call) {
    require_mask(call);
    TypeTable& types = call.types();
    const TypeRef value = types.without_literal(call[1]);
    const bool known =
        value == types.int32 || value == types.int64 || value == types.float32 || value == types.float64;
    if (!known || !call[2]->is(TypeKind::integer)) call.no_match();
    return value;
}

ID shuffle_id(std::string_view name) {
    return name.ends_with("shfl_up_sync")     ? llvm::Intrinsic::nvvm_shfl_sync_up_i32
           : name.ends_with("shfl_down_sync") ? llvm::Intrinsic::nvvm_shfl_sync_down_i32
           : name.ends_with("shfl_xor_sync")  ? llvm::Intrinsic::nvvm_shfl_sync_bfly_i32
                                              : llvm::Intrinsic::nvvm_shfl_sync_idx_i32;
}

/// 64-bit values travel as two words, as in Numba.
Emitted emit_shuffle(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    auto& b = e.builder;
    const TypeRef type = call.call.type;
    const ID id = shuffle_id(call.callable.name);
    llvm::Value* mask = mask_of(call);
    llvm::Value* lane = e.convert(call[2], e.types().int32).value();
    llvm::Value* clamp =
        b.getInt32(id == llvm::Intrinsic::nvvm_shfl_sync_up_i32 ? from_first_lane : whole_warp);
    const auto move = [&](llvm::Value* word) { return b.CreateIntrinsic(id, {}, {mask, word, lane, clamp}); };
    llvm::Value* value = e.convert(call[1], type).value();
    llvm::Value* bits = b.CreateBitCast(value, b.getIntNTy(type->bits));
    if (type->bits == 32) return e.number(b.CreateBitCast(move(bits), value->getType()), type);
    llvm::Value* low = b.CreateZExt(move(b.CreateTrunc(bits, b.getInt32Ty())), b.getInt64Ty());
    llvm::Value* high =
        b.CreateZExt(move(b.CreateTrunc(b.CreateLShr(bits, 32), b.getInt32Ty())), b.getInt64Ty());
    return e.number(b.CreateBitCast(b.CreateOr(low, b.CreateShl(high, 32)), value->getType()), type);
}

// Matches --------------------------------------------------------------------------------------------------

TypeRef type_match(const CallTyping& call) {
    if (!call[0]->is_number() || !call[1]->is_number()) call.no_match();
    TypeTable& types = call.types();
    if (call.callable.name.ends_with("match_any_sync")) return types.int32;
    return types.tuple({types.int32, types.boolean});
}

Emitted emit_match(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    auto& b = e.builder;
    const TypeRef given = e.types().without_literal(call[1].type);
    const TypeRef type = given->is(TypeKind::boolean) ? e.types().int32 : given;
    const bool wide = type->bits == 64;
    llvm::Value* value = e.convert(call[1], type).value();
    llvm::Value* bits = b.CreateBitCast(value, b.getIntNTy(type->bits));
    if (type->bits < 32) bits = b.CreateIntCast(bits, b.getInt32Ty(), type->is_signed);
    if (call.callable.name.ends_with("match_any_sync")) {
        const ID id =
            wide ? llvm::Intrinsic::nvvm_match_any_sync_i64 : llvm::Intrinsic::nvvm_match_any_sync_i32;
        return e.number(b.CreateIntrinsic(id, {}, {mask_of(call), bits}), call.call.type);
    }
    const ID id =
        wide ? llvm::Intrinsic::nvvm_match_all_sync_i64p : llvm::Intrinsic::nvvm_match_all_sync_i32p;
    llvm::Value* both = b.CreateIntrinsic(id, {}, {mask_of(call), bits});
    return {call.call.type, {b.CreateExtractValue(both, 0), b.CreateExtractValue(both, 1)}};
}

// Who is there ---------------------------------------------------------------------------------------------

TypeRef type_lanes(const CallTyping& call) {
    return call.types().uint32;
}

Emitted emit_lanes(CallEmission& call) {
    const ID id = call.callable.name.ends_with("activemask")
                      ? llvm::Intrinsic::nvvm_activemask
                      : llvm::Intrinsic::nvvm_read_ptx_sreg_lanemask_lt;
    return call.emitter.number(call.emitter.builder.CreateIntrinsic(id, {}, {}), call.call.type);
}

constexpr Callable rows[] = {
    {"cuda.syncwarp", "mask=", type_syncwarp, emit_syncwarp},
    {"cuda.all_sync", "mask predicate", type_vote, emit_vote},
    {"cuda.any_sync", "mask predicate", type_vote, emit_vote},
    {"cuda.eq_sync", "mask predicate", type_vote, emit_vote},
    {"cuda.ballot_sync", "mask predicate", type_vote, emit_vote},
    {"cuda.shfl_sync", "mask value src_lane", type_shuffle, emit_shuffle},
    {"cuda.shfl_up_sync", "mask value delta", type_shuffle, emit_shuffle},
    {"cuda.shfl_down_sync", "mask value delta", type_shuffle, emit_shuffle},
    {"cuda.shfl_xor_sync", "mask value lane_mask", type_shuffle, emit_shuffle},
    {"cuda.match_any_sync", "mask value", type_match, emit_match},
    {"cuda.match_all_sync", "mask value", type_match, emit_match},
    {"cuda.activemask", "", type_lanes, emit_lanes},
    {"cuda.lanemask_lt", "", type_lanes, emit_lanes},
};

}  // namespace

std::span<const Callable> warp_callables() {
    return rows;
}

}  // namespace cudasim::pykernel
