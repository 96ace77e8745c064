// Calls through function values. A value is a handle (image/function_handles.h); the compiled module holds a
// table of the functions that have one:
//
//   index = (handle - function_handle_base) rotated right by function_handle_shift: too large when misaligned
//   cudasim_functions[index] = { code address or null, number of the function's type }
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>

#include "simulator/image/function_handles.h"
#include "simulator/jit/function_context.h"
#include "simulator/jit/hook_calls.h"
#include "simulator/jit/lowering.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

class IndirectCalls {
  public:
    explicit IndirectCalls(Compilation& compilation)
        : compilation_(compilation),
          pointer_(PointerType::get(*compilation.context, 0)),
          word_(Type::getInt64Ty(*compilation.context)) {}

    void lower(CallInst& call) {
        IRBuilder<> builder(&call);
        Value* handle = builder.CreatePtrToInt(call.getCalledOperand(), word_);
        Value* distance = builder.CreateSub(handle, builder.getInt64(image::function_handle_base));
        Value* index = builder.CreateIntrinsic(
            Intrinsic::fshr, {word_}, {distance, distance, builder.getInt64(image::function_handle_shift)});
        refuse_when(builder.CreateICmpUGE(index, builder.getInt64(compilation_.layout.functions.size())),
                    call, handle);
        builder.SetInsertPoint(&call);
        Value* row = builder.CreateInBoundsGEP(row_type(), table(), {index});
        auto* code = builder.CreateLoad(pointer_, row);
        auto* type = builder.CreateLoad(builder.getInt32Ty(), builder.CreateStructGEP(row_type(), row, 1));
        mark_internal(*code);
        mark_internal(*type);
        Value* other_type = builder.CreateICmpNE(type, builder.getInt32(type_number(call.getFunctionType())));
        refuse_when(builder.CreateOr(builder.CreateIsNull(code), other_type), call, handle);
        call.setCalledOperand(code);
    }

  private:
    void refuse_when(Value* condition, CallInst& call, Value* handle) {
        Instruction* cold = branch_cold(condition, &call, false);
        IRBuilder<> builder(cold);
        builder.SetCurrentDebugLocation(call.getDebugLoc());
        call_hook(builder, Hook::bad_call, {handle});
    }

    StructType* row_type() {
        return StructType::get(*compilation_.context, {pointer_, Type::getInt32Ty(*compilation_.context)});
    }

    std::uint32_t type_number(FunctionType* type) {
        return types_.try_emplace(type, static_cast<std::uint32_t>(types_.size() + 1)).first->second;
    }

    llvm::GlobalVariable* table() {
        if (table_) return table_;
        std::vector<Constant*> rows;
        for (Function* function : compilation_.layout.functions) {
            auto* code = function ? static_cast<Constant*>(function) : ConstantPointerNull::get(pointer_);
            const std::uint32_t number = function ? type_number(function->getFunctionType()) : 0;
            rows.push_back(ConstantStruct::get(
                row_type(), {code, ConstantInt::get(Type::getInt32Ty(*compilation_.context), number)}));
        }
        auto* type = ArrayType::get(row_type(), rows.size());
        table_ = new llvm::GlobalVariable(*compilation_.module, type, true, GlobalValue::InternalLinkage,
                                          ConstantArray::get(type, rows), "cudasim_functions");
        return table_;
    }

    Compilation& compilation_;
    PointerType* pointer_;
    Type* word_;
    std::map<FunctionType*, std::uint32_t> types_;
    llvm::GlobalVariable* table_ = nullptr;
};

}  // namespace

void lower_indirect_calls(Compilation& compilation) {
    IndirectCalls calls(compilation);
    std::vector<CallInst*> found;
    for (Function& function : *compilation.module) {
        for (Instruction& instruction : instructions(function)) {
            auto* call = dyn_cast<CallInst>(&instruction);
            if (call && !isa<Function>(call->getCalledOperand())) found.push_back(call);
        }
    }
    for (CallInst* call : found) calls.lower(*call);
}

}  // namespace cudasim::jit
