// Compiles declared checks (simulator/image/checks.def) into a kernel for a GPU: a thread at which one fails
// writes that into the slot of the place (fault_slots.h) and ends.
#pragma once

#include <vector>

#include "gpu_backend/fault_slots.h"

namespace llvm {
class Module;
}

namespace cudasim::gpu_backend {

struct PtxOptions;

/// Replaces the checks and guards integer divisions, which a GPU answers with all ones where the simulator
/// reports a fault. Checks that do not end a thread (float division, negative indices in range), unless the
/// options say so, are left as they are. Adds the variable `__cudasim_faults` where there are sites.
/// @return a site for each slot
/// @throws PtxError for a check that names no exception of the module
[[nodiscard]] std::vector<FaultSite> report_faults(llvm::Module& module, const PtxOptions& options);

}  // namespace cudasim::gpu_backend
