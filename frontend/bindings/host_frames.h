// Where the host's program stands, on this thread: cudasim.reports.host_frames.
#pragma once

#include <vector>

#include "simulator/findings/finding.h"

namespace cudasim::bindings {

/// The program's own frames, innermost first. Empty where Python cannot say. Takes the GIL.
[[nodiscard]] std::vector<findings::SourceLocation> host_frames();

}  // namespace cudasim::bindings
