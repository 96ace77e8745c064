// A condition, or another expression, that a front end has made a kernel of. The kernel's parameters are an
// array of one element, which gets the value (of a condition: 1 where it holds), and then the expression's
// variables, which are copied out of the frame record of the thread that comes by, or out of other bytes. The
// code is compiled as every kernel is, so that it has the kernel's own semantics and its checks; what the
// checks find ends the evaluation instead of the thread.
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

/// Evaluations that run end, with a failure: those whose loops go on for longer than some microseconds. Any
/// host thread calls it.
void interrupt_compiled_evaluations();

/// An expression's value in a thread that is stopped. Immutable.
class KernelExpression {
  public:
    static constexpr std::size_t most_result_bytes = 16;
    virtual ~KernelExpression() = default;
    /// @param variables what the offsets of the variables' places count in
    /// @param result gets the value
    /// @return why there is none; empty: there is
    [[nodiscard]] virtual std::string value(std::span<const std::byte> variables,
                                            const jit::BlockContext& block, std::uint32_t thread,
                                            std::span<std::byte> result) const = 0;
};
/// What value() says of an evaluation that was interrupted.
inline constexpr std::string_view interrupted_text = "interrupted";

/// The same conditions as kernel_predicate().
[[nodiscard]] std::shared_ptr<const KernelExpression> kernel_expression(
    const image::KernelImage& image, std::string_view kernel, std::span<const VariablePlace> variables,
    bool by_thread, std::string& why);

/// On a thread with a large stack (image::on_large_stack). @param variables the other parameters. A
/// parameter has the variable's name, or begins with it and a dot where it is a part of one. @param by_thread
/// false: it does not ask which thread of the block it is
/// @return null where the kernel does what an expression must not do; `why` says what
[[nodiscard]] std::shared_ptr<const Predicate> kernel_predicate(const image::KernelImage& image,
                                                                std::string_view kernel,
                                                                std::span<const VariablePlace> variables,
                                                                bool by_thread, std::string& why);

}  // namespace cudasim::debugger
