// Places of Python code as findings name them.
#pragma once

#include <Python.h>

#include <string>
#include <vector>

#include "frontend/pyfiber/reference.h"
#include "simulator/findings/finding.h"

namespace cudasim::pyfiber {

/// str(object) as UTF-8, where surrogates take three bytes, as cudasim._native expects it
/// (frontend/bindings/text_caster.h). Empty for null and where str() fails.
[[nodiscard]] std::string text_of(PyObject* object);

/// @param instruction offset in bytes
[[nodiscard]] findings::SourceLocation source_location(PyCodeObject* code, int instruction);

/// Whether it is the package's own device code, which reports leave out.
[[nodiscard]] bool is_own(PyCodeObject* code);

/// The frame and its callers, without those of the package's own code. Empty for null.
[[nodiscard]] std::vector<Reference> frames_from(Reference innermost);

/// Where the code of each frame is.
[[nodiscard]] findings::CallChain chain_of(const std::vector<Reference>& frames);

}  // namespace cudasim::pyfiber
