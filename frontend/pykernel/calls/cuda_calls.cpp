// Indices, barriers and fences: cuda.grid, cuda.gridsize, cuda.syncthreads and its forms, cuda.threadfence*.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "frontend/pykernel/calls/callables.h"

namespace cudasim::pykernel {
namespace {

using llvm::Intrinsic::ID;

/// cuda.grid(n), cuda.gridsize(n): int64 for n = 1, else n of them. n is a literal.
TypeRef type_grid(const CallTyping& call) {
    const TypeRef n = call[0];
    if (!n->is(TypeKind::integer) || !n->literal || *n->literal < 1 || *n->literal > 3) {
        const std::string reason = "argument can only be 1, 2, 3, known when the kernel is compiled";
        if (!n->literal) call.no_match("RequireLiteralValue: " + reason);
        throw SourceError(ErrorClass::value, std::string(call.callable.name) + ": " + reason,
                          call.call.location);
    }
    const TypeRef index = call.types().int64;
    if (*n->literal == 1) return index;
    return call.types().tuple(std::vector<TypeRef>(static_cast<std::size_t>(*n->literal), index));
}

llvm::Value* special(FunctionEmitter& e, ID id) {
    return e.builder.CreateZExt(e.builder.CreateIntrinsic(id, {}, {}), e.builder.getInt64Ty());
}

constexpr ID tid[] = {llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, llvm::Intrinsic::nvvm_read_ptx_sreg_tid_y,
                      llvm::Intrinsic::nvvm_read_ptx_sreg_tid_z};
constexpr ID ctaid[] = {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x,
                        llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y,
                        llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z};
constexpr ID ntid[] = {llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x, llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_y,
                       llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_z};
constexpr ID nctaid[] = {llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x,
                         llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_y,
                         llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_z};

Emitted emit_grid(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    Emitted result{call.call.type, {}};
    for (std::int64_t axis = 0; axis < *call[0].type->literal; ++axis) {
        llvm::Value* block = e.builder.CreateMul(special(e, ctaid[axis]), special(e, ntid[axis]));
        result.parts.push_back(e.builder.CreateAdd(block, special(e, tid[axis])));
    }
    return result;
}

Emitted emit_gridsize(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    Emitted result{call.call.type, {}};
    for (std::int64_t axis = 0; axis < *call[0].type->literal; ++axis) {
        result.parts.push_back(e.builder.CreateMul(special(e, ntid[axis]), special(e, nctaid[axis])));
    }
    return result;
}

TypeRef type_nothing(const CallTyping& call) {
    return call.types().none;
}

Emitted emit_syncthreads(CallEmission& call) {
    call.emitter.builder.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
    return {call.call.type, {}};
}

TypeRef type_sync_predicate(const CallTyping& call) {
    if (call[0]->is(TypeKind::boolean))
        call.refuse(
            "the predicate has to be an integer for Numba's CUDA target: write int32(...) around the "
            "condition");
    if (!call[0]->is(TypeKind::integer)) call.no_match();
    return call.types().int32;
}

Emitted emit_sync_predicate(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const std::string_view name = call.callable.name;
    const ID id = name.ends_with("_count") ? llvm::Intrinsic::nvvm_barrier0_popc
                  : name.ends_with("_and") ? llvm::Intrinsic::nvvm_barrier0_and
                                           : llvm::Intrinsic::nvvm_barrier0_or;
    llvm::Value* predicate = e.builder.CreateZExt(e.truth(call[0]), e.builder.getInt32Ty());
    return e.number(e.builder.CreateIntrinsic(id, {}, {predicate}), call.call.type);
}

Emitted emit_fence(CallEmission& call) {
    const std::string_view name = call.callable.name;
    const ID id = name.ends_with("_block")    ? llvm::Intrinsic::nvvm_membar_cta
                  : name.ends_with("_system") ? llvm::Intrinsic::nvvm_membar_sys
                                              : llvm::Intrinsic::nvvm_membar_gl;
    call.emitter.builder.CreateIntrinsic(id, {}, {});
    return {call.call.type, {}};
}

constexpr Callable rows[] = {
    {"cuda.grid", "ndim", type_grid, emit_grid},
    {"cuda.gridsize", "ndim", type_grid, emit_gridsize},
    {"cuda.syncthreads", "", type_nothing, emit_syncthreads},
    {"cuda.syncthreads_count", "predicate", type_sync_predicate, emit_sync_predicate},
    {"cuda.syncthreads_and", "predicate", type_sync_predicate, emit_sync_predicate},
    {"cuda.syncthreads_or", "predicate", type_sync_predicate, emit_sync_predicate},
    {"cuda.threadfence", "", type_nothing, emit_fence},
    {"cuda.threadfence_block", "", type_nothing, emit_fence},
    {"cuda.threadfence_system", "", type_nothing, emit_fence},
};

}  // namespace

std::span<const Callable> cuda_callables() {
    return rows;
}

}  // namespace cudasim::pykernel
