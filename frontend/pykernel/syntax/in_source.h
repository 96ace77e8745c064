// Refusals learn of which function they are.
#pragma once

#include <utility>

#include "frontend/pykernel/syntax/request.h"
#include "frontend/pykernel/syntax/source_error.h"

namespace cudasim::pykernel {

/// Adds file, function and source line, unless the error has them: the innermost function knows best.
void name_place(SourceError& error, const FunctionSource& source);

/// Runs `body`; a SourceError leaving it gets the file and source line of `source`.
template <typename Body>
decltype(auto) in_source(const FunctionSource& source, Body&& body) {
    try {
        return std::forward<Body>(body)();
    } catch (SourceError& error) {
        name_place(error, source);
        throw;
    }
}

}  // namespace cudasim::pykernel
