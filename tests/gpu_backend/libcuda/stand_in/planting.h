// The failures of calls that settings.h plants, and which call, or launch, it is.
#pragma once

#include <optional>
#include <vector>

#include "gpu_backend/libcuda/types.h"
#include "tests/gpu_backend/libcuda/stand_in/settings.h"

namespace cudasim::stand_in {

/// To be asked once for each call of the library, before anything else. May not return.
/// @return what the call is to answer without doing anything; nullopt: what it does is its own
[[nodiscard]] std::optional<libcuda::Result> planted_in_call(const char* symbol);

/// What goes wrong in the launch that is made now. To be asked once for each launch.
[[nodiscard]] std::vector<PlantedLaunch> planted_in_launch();

}  // namespace cudasim::stand_in
