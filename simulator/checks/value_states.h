// States of values in registers: for each bit, whether it was never written (1). A state has the type of its
// value with integers in place of everything else.
#pragma once

#include <llvm/IR/IRBuilder.h>

namespace cudasim::checks {

/// nullptr for types that have none.
[[nodiscard]] llvm::Type* state_type(llvm::Type& type, const llvm::DataLayout& layout);
/// All bits unwritten. @param type a state's
[[nodiscard]] llvm::Constant* all_unwritten(llvm::Type& type);
/// An i1: some bit is unwritten.
[[nodiscard]] llvm::Value* any_unwritten(llvm::IRBuilderBase& builder, llvm::Value& state);

/// The state of a value of `type` that has just been loaded. @param states where those of its bytes are
[[nodiscard]] llvm::Value* load_state(llvm::IRBuilderBase& builder, llvm::Type& type, llvm::Value& states);
/// Writes the state of a value of `type`. @param state nullptr: it is initialised
void store_state(llvm::IRBuilderBase& builder, llvm::Type& type, llvm::Value* state, llvm::Value& states);

/// The load that a value comes from without any choice, if there is one.
[[nodiscard]] llvm::LoadInst* load_behind(llvm::Value* value);
/// Which instructions carry the state of an operand to their result, instead of using its value.
[[nodiscard]] bool carries_state(const llvm::Use& operand);
/// The state of such an instruction's result, inserted behind it. Phis are the caller's.
/// @param state_of gives the state of an operand, zero where it is initialised
[[nodiscard]] llvm::Value* carried_state(llvm::IRBuilderBase& builder, llvm::Instruction& instruction,
                                         llvm::function_ref<llvm::Value*(llvm::Value&)> state_of);

/// A value that stands for what a variable has before anything is assigned to it, of a type that registers
/// have; replace_nothing() takes all of them away again.
[[nodiscard]] llvm::Value* make_nothing(llvm::IRBuilderBase& builder, llvm::Type& type);
/// Whether it is one of these, or a word that is filled with one.
[[nodiscard]] bool is_nothing(const llvm::Value& value);
void replace_nothing(llvm::Module& module);

}  // namespace cudasim::checks
