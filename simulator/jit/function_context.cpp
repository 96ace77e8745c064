// See function_context.h.
#include "simulator/jit/function_context.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>

#include "simulator/image/declared_checks.h"
#include "simulator/jit/abi.h"
#include "simulator/jit/compilation.h"

namespace cudasim::jit {

using namespace llvm;

void mark_internal(Instruction& access) {
    access.setMetadata(marks::internal, MDNode::get(access.getContext(), {}));
}

/// Only the compiler's copy reads a parameter that is passed by value (copy_parameters_by_value()). The
/// optimiser makes loads without a mark of it.
static bool reads_parameter_by_value(const Instruction& access) {
    const auto* load = dyn_cast<LoadInst>(&access);
    if (load == nullptr) return false;
    const auto* argument = dyn_cast<Argument>(getUnderlyingObject(load->getPointerOperand()));
    return argument != nullptr && argument->hasByValAttr();
}

bool needs_no_memory_check(const Instruction& access) {
    return access.getMetadata(marks::internal) != nullptr ||
           access.getMetadata(image::in_bounds_mark) != nullptr || reads_parameter_by_value(access);
}

Instruction* FunctionContext::head() {
    return last_ ? last_->getNextNode() : &*function_.getEntryBlock().getFirstInsertionPt();
}

Value* FunctionContext::field(Value* base, unsigned offset, Type* type, bool invariant) {
    IRBuilder<> builder(head());
    builder.SetCurrentDebugLocation({});
    Value* address = offset == 0 ? base : builder.CreateConstGEP1_32(builder.getInt8Ty(), base, offset);
    LoadInst* load = builder.CreateLoad(type, address);
    if (invariant) load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(load->getContext(), {}));
    mark_internal(*load);
    last_ = load;
    return load;
}

Value* FunctionContext::block() {
    if (!block_) {
        block_ = field(function_.getArg(0), offsetof(ThreadContext, block),
                       PointerType::get(function_.getContext(), 0), true);
        block_->setName("block");
        // So that loads of its fields may be made where the source has none: out of loops, in front of
        // branches.
        LLVMContext& context = function_.getContext();
        const auto number = [&](std::uint64_t value) {
            return MDNode::get(context,
                               ConstantAsMetadata::get(ConstantInt::get(Type::getInt64Ty(context), value)));
        };
        cast<LoadInst>(block_)->setMetadata(LLVMContext::MD_dereferenceable, number(sizeof(BlockContext)));
        cast<LoadInst>(block_)->setMetadata(LLVMContext::MD_align, number(alignof(BlockContext)));
    }
    return block_;
}

Value* FunctionContext::block_field(unsigned offset, Type* type) {
    auto& known = block_fields_[offset];
    if (!known) known = field(block(), offset, type, true);
    return known;
}

Value* FunctionContext::thread_field(unsigned offset, Type* type) {
    auto& known = thread_fields_[offset];
    if (!known) known = field(function_.getArg(0), offset, type, false);
    return known;
}

}  // namespace cudasim::jit
