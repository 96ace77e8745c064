// A call of a function of calls/, as its code generation sees it.
#pragma once

#include <cstddef>
#include <vector>

#include "frontend/pykernel/emit/emission.h"
#include "frontend/pykernel/infer/callable.h"

namespace cudasim::pykernel {

struct CallEmission {
    FunctionEmitter& emitter;
    const Callable& callable;
    const Instruction& call;
    std::vector<Emitted> arguments;  ///< type null where left out

    [[nodiscard]] const Emitted& operator[](std::size_t i) const { return arguments[i]; }
    [[nodiscard]] bool has(std::size_t i) const { return i < arguments.size() && arguments[i].type; }
};

}  // namespace cudasim::pykernel
