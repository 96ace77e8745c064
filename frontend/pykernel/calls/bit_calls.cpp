// What CUDA has as single instructions: cuda.popc, clz, ffs, brev, selp, fma, cbrt, nanosleep;
// and a call of the debugger.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "frontend/pykernel/calls/callables.h"

namespace cudasim::pykernel {
namespace {

/// popc and clz give the type of their argument; bools and floats become int8 (numba-cuda's first signature).
TypeRef type_bits(const CallTyping& call) {
    if (!call[0]->is_number()) call.no_match();
    return call[0]->is(TypeKind::integer) ? call.types().without_literal(call[0]) : call.types().int8;
}

Emitted emit_popc(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    llvm::Value* x = e.convert(call[0], call.call.type).value();
    return e.number(e.builder.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, x), call.call.type);
}

Emitted emit_clz(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    llvm::Value* x = e.convert(call[0], call.call.type).value();
    return e.number(e.builder.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, x, e.builder.getFalse()),
                    call.call.type);
}

TypeRef type_ffs(const CallTyping& call) {
    if (!call[0]->is_integral()) call.no_match();
    return call.types().uint32;
}

/// Counts bits from 1; gives 0 when no bit is set.
Emitted emit_ffs(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef wide = e.types().uint64;
    llvm::Value* x = e.convert(call[0], wide).value();
    llvm::Value* zeros = e.builder.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, x, e.builder.getFalse());
    llvm::Value* position = e.builder.CreateAdd(zeros, e.builder.getInt64(1));
    llvm::Value* none = e.builder.CreateICmpEQ(x, e.builder.getInt64(0));
    llvm::Value* result = e.builder.CreateSelect(none, e.builder.getInt64(0), position);
    return e.convert(e.number(result, wide), call.call.type);
}

TypeRef type_brev(const CallTyping& call) {
    if (!call[0]->is_number()) call.no_match();
    return call[0] == call.types().uint64 ? call.types().uint64 : call.types().uint32;
}

Emitted emit_brev(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    llvm::Value* x = e.convert(call[0], call.call.type).value();
    return e.number(e.builder.CreateUnaryIntrinsic(llvm::Intrinsic::bitreverse, x), call.call.type);
}

TypeRef type_selp(const CallTyping& call) {
    const TypeRef type = call.types().without_literal(call[1]);
    const bool wide_number =
        type->is_number() && type->bits >= 16 && type != call.types().uint16 && type != call.types().float16;
    if (!call[0]->is_number() || !wide_number || type != call.types().without_literal(call[2]))
        call.no_match();
    return type;
}

Emitted emit_selp(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef type = call.call.type;
    llvm::Value* chosen = e.builder.CreateSelect(e.truth(call[0]), e.convert(call[1], type).value(),
                                                 e.convert(call[2], type).value());
    return e.number(chosen, type);
}

/// float32 where that holds all arguments, else float64.
TypeRef type_float(const CallTyping& call) {
    const TypeTable& t = call.types();
    const Signature overloads[] = {{std::vector<TypeRef>(call.size(), t.float32), t.float32},
                                   {std::vector<TypeRef>(call.size(), t.float64), t.float64}};
    const Signature* best = best_signature(overloads, call.arguments);
    if (!best) call.no_match();
    return best->result;
}

Emitted emit_fma(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef type = call.call.type;
    llvm::SmallVector<llvm::Value*> values;
    for (const Emitted& argument : call.arguments) values.push_back(e.convert(argument, type).value());
    return e.number(e.builder.CreateIntrinsic(llvm::Intrinsic::fma, {values[0]->getType()}, values), type);
}

Emitted emit_cbrt(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    llvm::Value* x = e.convert(call[0], call.call.type).value();
    return e.number(e.call(call.call.type->bits == 32 ? "__nv_cbrtf" : "__nv_cbrt", x->getType(), {x}),
                    call.call.type);
}

TypeRef type_nanosleep(const CallTyping& call) {
    if (!call[0]->is_number()) call.no_match();
    return call.types().none;
}

Emitted emit_nanosleep(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    e.builder.CreateIntrinsic(llvm::Intrinsic::nvvm_nanosleep, {},
                              {e.convert(call[0], e.types().uint32).value()});
    return {call.call.type, {}};
}

TypeRef type_breakpoint(const CallTyping& call) {
    return call.types().none;
}

/// Where a debugger stops; nothing where there is none (simulator/image/checks.def).
Emitted emit_breakpoint(CallEmission& call) {
    call.emitter.call("__cudasim_breakpoint", call.emitter.builder.getVoidTy(), {});
    return {call.call.type, {}};
}

constexpr Callable rows[] = {
    {"debugger.breakpoint", "", type_breakpoint, emit_breakpoint},
    {"cuda.popc", "x", type_bits, emit_popc},
    {"cuda.clz", "x", type_bits, emit_clz},
    {"cuda.ffs", "x", type_ffs, emit_ffs},
    {"cuda.brev", "x", type_brev, emit_brev},
    {"cuda.selp", "a b c", type_selp, emit_selp},
    {"cuda.fma", "a b c", type_float, emit_fma},
    {"cuda.cbrt", "a", type_float, emit_cbrt},
    {"cuda.nanosleep", "ns", type_nanosleep, emit_nanosleep},
};

}  // namespace

std::span<const Callable> bit_callables() {
    return rows;
}

}  // namespace cudasim::pykernel
