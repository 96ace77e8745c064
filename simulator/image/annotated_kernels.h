// Which functions are kernels by their annotations ("NVVM IR Specification", "Global Property Annotation").
#pragma once

#include <set>

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace cudasim::image {

/// Functions that `!nvvm.annotations` calls kernels: !{ptr @f, !"kernel", i32 1, more name-value pairs...}.
[[nodiscard]] std::set<const llvm::Function*> annotated_kernels(const llvm::Module& module);

}  // namespace cudasim::image
