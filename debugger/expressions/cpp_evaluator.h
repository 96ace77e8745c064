// The debugger's own expressions (cpp_program.h) as an Evaluator, for kernels of C++ and where nobody else
// evaluates, and as conditions.
#pragma once

#include <mutex>

#include "debugger/control/evaluator.h"
#include "debugger/control/expression_compiler.h"
#include "debugger/values/type.h"

namespace cudasim::debugger {

class CppEvaluator final : public Evaluator {
  public:
    Evaluation evaluate(execution::StoppedLaunch& launch, execution::ThreadRef thread, std::uint32_t frame,
                        const std::string& expression) override;
    /// Numbers and pointers, in variables, parts of them, and memory.
    Evaluation assign(execution::StoppedLaunch& launch, execution::ThreadRef thread, std::uint32_t frame,
                      const std::string& target, const std::string& value) override;
    std::vector<findings::SourceLocation> host_frames() override { return {}; }
};

class CppExpressionCompiler final : public ExpressionCompiler {
  public:
    [[nodiscard]] ExpressionNames names(const std::string& expression, const findings::SourceLocation& place,
                                        std::span<const std::string> types) override;
    [[nodiscard]] std::shared_ptr<const Predicate> compile(const std::string& expression,
                                                           std::span<const VariablePlace> variables,
                                                           const findings::SourceLocation& place,
                                                           std::string& error) override;
};

}  // namespace cudasim::debugger
