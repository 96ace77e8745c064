// `match` as the `if`s that it means: values, constants, alternatives, captures and guards, what Numba
// compiles of it.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "frontend/bindings/text_caster.h"
#include "frontend/pykernel/syntax/syntax_tree.h"

namespace cudasim::bindings {

/// How the parts that `match` shares with other statements are converted.
struct MatchParts {
    std::function<pykernel::Expression(pybind11::handle)> expression;
    std::function<std::vector<pykernel::Statement>(pybind11::handle)> body;
    std::function<pykernel::Location(pybind11::handle)> place;
    std::size_t depth = 0;    ///< of the statement in the syntax tree
    std::size_t deepest = 0;  ///< what lies deeper is refused
    std::function<void(pybind11::handle)> refuse_depth;
};

/// @param node ast.Match. Patterns of sequences, mappings and classes become an unsupported construct.
[[nodiscard]] pykernel::Statement match_statement(pybind11::handle node, const MatchParts& parts);

}  // namespace cudasim::bindings
