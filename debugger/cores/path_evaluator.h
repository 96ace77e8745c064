// The evaluator of a server without a front end: what names a variable or a part of one
// (debugger/values/path.h) has a value, and all other expressions are refused.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "debugger/control/evaluator.h"
#include "debugger/values/type.h"

namespace cudasim::debugger {

class PathEvaluator final : public Evaluator {
  public:
    Evaluation evaluate(execution::StoppedLaunch& launch, execution::ThreadRef thread, std::uint32_t frame,
                        const std::string& expression) override;
    Evaluation assign(execution::StoppedLaunch& launch, execution::ThreadRef thread, std::uint32_t frame,
                      const std::string& target, const std::string& value) override;
    std::vector<findings::SourceLocation> host_frames() override { return {}; }

  private:
    Types types_;
};

}  // namespace cudasim::debugger
