// The filters of setExceptionBreakpoints: all errors of kernels, calls of `breakpoint()`, and each kind of
// error that can end a thread (docs/findings.md).
#pragma once

#include <llvm/ADT/StringRef.h>
#include <llvm/Support/JSON.h>

#include <optional>

#include "simulator/findings/finding.h"

namespace cudasim::debugger {

/// For the answer to `initialize` (Debug Adapter Protocol, ExceptionBreakpointsFilter).
[[nodiscard]] llvm::json::Array exception_filters();
/// @param filter the stable name of a kind, as "integer-division"; nothing for what is no error of a kernel
[[nodiscard]] std::optional<findings::FindingKind> error_kind_named(llvm::StringRef filter);

}  // namespace cudasim::debugger
