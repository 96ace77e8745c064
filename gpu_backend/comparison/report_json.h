// Comparisons as JSON, a part of the report whose schema is
// frontend/python/cudasim/comparing/report_schema.json.
#pragma once

#include <string>

#include "gpu_backend/comparison/comparison.h"

namespace cudasim::comparison {

/// The members "verdict", "arrays", "outside", "outside_count" and "printed" of a launch in the report.
/// Numbers that JSON has no form for are strings: "inf". Names and texts that are not UTF-8 are repaired.
[[nodiscard]] std::string to_json(const Comparison& comparison);

}  // namespace cudasim::comparison
