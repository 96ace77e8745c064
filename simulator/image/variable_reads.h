// Reads of variables in images: both what the compiler knows to be in the variable, and
// a load of what is in memory.
//
//   %x.now = load i64, ptr %x
//   %x.read = call i64 @__cudasim_variable.i64(i64 %stored, i64 %x.now)
//
// `T @__cudasim_variable.NAME(T stored, T loaded) memory(none) nounwind willreturn`, NAME any word, has the
// value of both operands, which are equal as long as nothing but the program writes the variable. A front end
// that knows the last value stored writes its reads so: code in which a debugger may set variables (E13)
// takes the loaded value, all other code the stored one, and is the code that it would be if the front end
// had used the stored value itself.
#pragma once

#include <cstdint>
#include <string_view>

namespace llvm {
class CallInst;
class Module;
class User;
class Value;
}  // namespace llvm

namespace cudasim::image {

inline constexpr std::string_view variable_read_prefix = "__cudasim_variable.";

enum class VariableReads : std::uint8_t { stored, loaded };

/// Puts one of its operands in the place of each such call, and removes what only the other one needed.
/// @returns the first use of such a function that is no call of this form, which
/// stays; nullptr when there is none
[[nodiscard]] llvm::User* resolve_variable_reads(llvm::Module& module, VariableReads reads);

/// The value as a call of this form; nullptr for any other value.
[[nodiscard]] llvm::CallInst* as_variable_read(llvm::Value* value);

/// What is known to be in the variable, or in the variable whose value was stored there, and so
/// on; any other value as it is.
[[nodiscard]] llvm::Value* stored_value(llvm::Value* value);

}  // namespace cudasim::image
