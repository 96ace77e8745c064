// What both back ends ask of a use of a declared check (checks.def) before they expand it.
#pragma once

#include <string_view>

namespace llvm {
class CallInst;
class User;
}  // namespace llvm

namespace cudasim::image {

/// Metadata of an index check: a negative index is meant, and not reported.
inline constexpr const char* meant_mark = "cudasim.meant";
/// Metadata of an access that a declared check has guarded: it lies in its array. It is the kernel's own
/// access all the same.
inline constexpr const char* in_bounds_mark = "cudasim.in_bounds";

/// The use as a direct call of the type that the table names, written as LLVM writes it: "i64 (i64, i64,
/// i32)". nullptr for any other use: its address taken, another type, an invoke.
[[nodiscard]] llvm::CallInst* declared_check_call(llvm::User& user, std::string_view symbol,
                                                  std::string_view type);

}  // namespace cudasim::image
