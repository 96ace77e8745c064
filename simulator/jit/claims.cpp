// See claims.h.
#include "simulator/jit/claims.h"

#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

#include "simulator/image/declared_checks.h"
#include "simulator/image/defined_arithmetic.h"
#include "simulator/jit/captured_variables.h"
#include "simulator/jit/function_context.h"
#include "simulator/jit/lowering.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

bool carries_meaning(const Attribute& attribute, bool alignment_too) {
    if (attribute.hasAttribute(Attribute::Alignment)) return alignment_too;
    for (auto kind :
         {Attribute::ByVal, Attribute::StructRet, Attribute::ZExt, Attribute::SExt, Attribute::ImmArg}) {
        if (attribute.hasAttribute(kind)) return true;
    }
    return false;
}

AttributeSet meaningful(LLVMContext& context, AttributeSet set, bool is_access) {
    AttrBuilder builder(context);
    const bool alignment_too =
        is_access || set.hasAttribute(Attribute::ByVal) || set.hasAttribute(Attribute::StructRet);
    for (const Attribute& attribute : set) {
        if (carries_meaning(attribute, alignment_too)) builder.addAttribute(attribute);
    }
    return AttributeSet::get(context, builder);
}

/// @param is_access  a copy of an object: its addresses have to be aligned, as those of loads and stores
AttributeList meaningful(LLVMContext& context, AttributeList list, unsigned parameters, bool is_access) {
    SmallVector<AttributeSet, 8> sets;
    for (unsigned i = 0; i < parameters; ++i)
        sets.push_back(meaningful(context, list.getParamAttrs(i), is_access));
    AttrBuilder function(context);
    return AttributeList::get(context, AttributeSet::get(context, function),
                              meaningful(context, list.getRetAttrs(), false), sets);
}

void strip_function(Function& function) {
    auto& context = function.getContext();
    const unsigned parameters = function.arg_size();
    function.setAttributes(meaningful(context, function.getAttributes(), parameters, false));
    function.setDoesNotThrow();
    function.addFnAttr(Attribute::NullPointerIsValid);
    // Runaway recursion is to overflow the stack and be reported, not to become an endless loop.
    function.addFnAttr("disable-tail-calls", "true");
    function.setComdat(nullptr);
    function.setPersonalityFn(nullptr);
    function.setSection("");
}

bool says_nothing_at_run_time(const Instruction& instruction) {
    const auto* call = dyn_cast<IntrinsicInst>(&instruction);
    return call && (call->isLifetimeStartOrEnd() || call->isAssumeLikeIntrinsic()) &&
           call->getType()->isVoidTy();
}

bool only_forwards_its_operand(const Instruction& instruction) {
    const auto* call = dyn_cast<IntrinsicInst>(&instruction);
    if (!call) return false;
    switch (call->getIntrinsicID()) {
        case Intrinsic::expect:
        case Intrinsic::expect_with_probability:
        case Intrinsic::launder_invariant_group:
        case Intrinsic::strip_invariant_group:
        case Intrinsic::ptr_annotation:
        case Intrinsic::annotation:
        case Intrinsic::ssa_copy:
            return true;
        default:
            return false;
    }
}

void strip_instruction(Instruction& instruction, const CompileOptions& options) {
    const DebugLoc place = instruction.getDebugLoc();
    const char* const kept[] = {marks::internal, image::in_bounds_mark, image::meant_mark,
                                image::cut_conversion_mark};
    MDNode* nodes[std::size(kept)];
    for (std::size_t i = 0; i < std::size(kept); ++i) nodes[i] = instruction.getMetadata(kept[i]);
    instruction.dropUnknownNonDebugMetadata();
    for (std::size_t i = 0; i < std::size(kept); ++i)
        if (nodes[i]) instruction.setMetadata(kept[i], nodes[i]);
    instruction.setDebugLoc(place);
    const bool floating = isa<FPMathOperator>(instruction);
    const FastMathFlags flags = floating ? instruction.getFastMathFlags() : FastMathFlags();
    instruction.dropPoisonGeneratingFlags();
    if (floating) {  // fast-math is what was asked for, contraction is an option (V5)
        FastMathFlags kept = flags;
        if (!options.fma_contraction) kept.setAllowContract(false);
        instruction.copyFastMathFlags(kept);  // setFastMathFlags would only add
    }
    if (auto* call = dyn_cast<CallBase>(&instruction); call && !call->isInlineAsm()) {
        call->setAttributes(
            meaningful(call->getContext(), call->getAttributes(), call->arg_size(), isa<MemIntrinsic>(call)));
        call->setCallingConv(CallingConv::C);
    }
}

}  // namespace

/// Whoever asks for scopes sees the variable filled with poison where its scope begins.
static void begin_scope(Instruction& marker) {
    auto* call = dyn_cast<IntrinsicInst>(&marker);
    if (!call || call->getIntrinsicID() != Intrinsic::lifetime_start) return;
    auto* local = dyn_cast<AllocaInst>(call->getArgOperand(1)->stripPointerCasts());
    const auto bytes = local ? local->getAllocationSize(local->getDataLayout()) : std::nullopt;
    if (!bytes) return;
    IRBuilder<> builder(&marker);
    builder.SetCurrentDebugLocation({});
    mark_internal(*builder.CreateMemSet(local, builder.getInt8(local_poison), bytes->getFixedValue(),
                                        local->getAlign()));
}

void strip_claims(Compilation& compilation) {
    const bool scopes = any_of(compilation.options.instrumentations,
                               [](const Instrumentation* each) { return each->needs_scopes(); });
    for (Function& function : *compilation.module) {
        if (function.isIntrinsic()) continue;
        strip_function(function);
        function.setCallingConv(CallingConv::C);
        if (!function.isDeclaration()) gather_variable_descriptions(function);
        for (Instruction& instruction : make_early_inc_range(instructions(function))) {
            if (says_nothing_at_run_time(instruction)) {
                if (scopes) begin_scope(instruction);
                instruction.eraseFromParent();
                continue;
            }
            if (only_forwards_its_operand(instruction)) {
                instruction.replaceAllUsesWith(cast<CallInst>(instruction).getArgOperand(0));
                instruction.eraseFromParent();
                continue;
            }
            strip_instruction(instruction, compilation.options);
        }
    }
}

}  // namespace cudasim::jit
