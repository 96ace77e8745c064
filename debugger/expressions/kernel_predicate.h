// A condition that a front end has made a kernel of. The kernel's parameters are an array of one byte, which
// gets 1 where the condition holds, and then the condition's variables, which are copied out of the frame
// record of the thread that comes by. The code is compiled as every kernel is, so that it has the kernel's
// own semantics and its checks; what the checks find ends the evaluation instead of the thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "debugger/control/expression_compiler.h"
#include "simulator/image/kernel_image.h"

namespace cudasim::debugger {

/// The name of the first parameter.
inline constexpr std::string_view result_parameter = "cudasim_condition_holds";

/// On a thread with a large stack (image::on_large_stack). @param variables the other parameters. A
/// parameter has the variable's name, or begins with it and a dot where it is a part of one. @param by_thread
/// false: it does not ask which thread of the block it is
/// @return null where the kernel does what a condition must not do; `why` says what
[[nodiscard]] std::shared_ptr<const Predicate> kernel_predicate(const image::KernelImage& image,
                                                                std::string_view kernel,
                                                                std::span<const VariablePlace> variables,
                                                                bool by_thread, std::string& why);

}  // namespace cudasim::debugger
