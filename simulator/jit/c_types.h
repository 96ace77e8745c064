// LLVM types of C++ function types, so that hooks and host functions are declared from one source.
#pragma once

#include <llvm/IR/DerivedTypes.h>

#include <cstdint>
#include <type_traits>

namespace cudasim::jit {

/// What PTX gives as d|p: a word and a predicate.
struct WordAndPredicate {
    std::int32_t word;
    bool predicate;
};

template <class T>
llvm::Type* llvm_type(llvm::LLVMContext& context) {
    if constexpr (std::is_void_v<T>) {
        return llvm::Type::getVoidTy(context);
    } else if constexpr (std::is_same_v<T, WordAndPredicate>) {
        return llvm::StructType::get(llvm::Type::getInt32Ty(context), llvm::Type::getInt1Ty(context));
    } else if constexpr (std::is_pointer_v<T>) {
        return llvm::PointerType::get(context, 0);
    } else if constexpr (std::is_same_v<T, float>) {
        return llvm::Type::getFloatTy(context);
    } else if constexpr (std::is_same_v<T, double>) {
        return llvm::Type::getDoubleTy(context);
    } else if constexpr (std::is_same_v<T, bool>) {
        return llvm::Type::getInt1Ty(context);
    } else {
        static_assert(std::is_integral_v<T>);
        return llvm::Type::getIntNTy(context, sizeof(T) * 8);
    }
}

template <class Function>
struct FunctionTypeOf;

template <class Result, class... Parameters>
struct FunctionTypeOf<Result(Parameters...)> {
    static llvm::FunctionType* get(llvm::LLVMContext& context) {
        return llvm::FunctionType::get(llvm_type<Result>(context), {llvm_type<Parameters>(context)...},
                                       false);
    }
};

}  // namespace cudasim::jit
