// Places of Python code as findings name them.
#pragma once

#include <Python.h>

#include <string>

#include "simulator/findings/finding.h"

namespace cudasim::pyfiber {

/// str(object) as UTF-8, where surrogates take three bytes, as cudasim._native expects it
/// (frontend/bindings/text_caster.h). Empty for null and where str() fails.
[[nodiscard]] std::string text_of(PyObject* object);

/// @param instruction offset in bytes
[[nodiscard]] findings::SourceLocation source_location(PyCodeObject* code, int instruction);

/// Whether it lies in the package's own device code, which reports leave out.
[[nodiscard]] inline bool is_own(const findings::SourceLocation& place) {
    return place.file.starts_with(findings::own_code);
}

}  // namespace cudasim::pyfiber
