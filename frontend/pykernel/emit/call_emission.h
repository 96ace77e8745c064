// A call of a function of calls/, or an operator, as its code generation sees it.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <vector>

#include "frontend/pykernel/emit/emission.h"
#include "frontend/pykernel/infer/callable.h"

namespace cudasim::pykernel {

struct CallEmission {
    FunctionEmitter& emitter;
    const Rule& callable;
    const Instruction& call;
    const Resolution& resolution;
    std::vector<Emitted> arguments;  ///< type null where left out

    [[nodiscard]] const Emitted& operator[](std::size_t i) const { return arguments[i]; }
    [[nodiscard]] bool has(std::size_t i) const { return i < arguments.size() && arguments[i].type; }
    /// Operation `i` of those that the rule has found.
    [[nodiscard]] Emitted apply(std::size_t i, std::initializer_list<Emitted> operands) {
        return emitter.apply(resolution.inner[i], call, operands);
    }
};

}  // namespace cudasim::pykernel
