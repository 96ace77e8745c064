// Cooperative groups: cuda.cg.this_grid() and its sync(). They are calls into CUDA's device runtime
// (cudadevrt), as in numba-cuda: the simulator has them in its table of intrinsics, gpu_backend gives them a
// body.
#include "frontend/pykernel/calls/callables.h"
#include "frontend/pykernel/types/grid_group.h"

namespace cudasim::pykernel {
namespace {

/// cudaCGScopeGrid.
constexpr std::uint32_t grid_scope = 1;

/// All threads of a warp, or none, have to get there together (LLVM language reference, "convergent").
llvm::CallInst* call_runtime(FunctionEmitter& e, const char* name, llvm::Type* result,
                             llvm::ArrayRef<llvm::Value*> arguments) {
    auto* call = llvm::cast<llvm::CallInst>(e.call(name, result, arguments));
    call->getCalledFunction()->addFnAttr(llvm::Attribute::Convergent);
    call->addFnAttr(llvm::Attribute::Convergent);
    return call;
}

TypeRef type_this_grid(const CallTyping& call) {
    return grid_group(call.types());
}

Emitted emit_this_grid(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    auto& b = e.builder;
    return {call.call.type,
            {call_runtime(e, "cudaCGGetIntrinsicHandle", b.getInt64Ty(), {b.getInt32(grid_scope)})}};
}

TypeRef type_sync(const CallTyping& call) {
    return call.types().int32;
}

Emitted emit_sync(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    auto& b = e.builder;
    return e.number(call_runtime(e, "cudaCGSynchronize", b.getInt32Ty(), {call[0].value(), b.getInt32(0)}),
                    call.call.type);
}

constexpr Callable rows[] = {
    {"cuda.cg.this_grid", "", type_this_grid, emit_this_grid},
    {"GridGroup.sync", "self", type_sync, emit_sync},
};

}  // namespace

std::span<const Callable> group_callables() {
    return rows;
}

}  // namespace cudasim::pykernel
