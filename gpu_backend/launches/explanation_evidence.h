// What experiments and the kernel's code say about a launch that differs on a GPU.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu_backend/approximations.h"
#include "gpu_backend/launches/experiments.h"
#include "gpu_backend/launches/explanation.h"

namespace cudasim::gpu_launches {

/// Who wrote the differing elements, from a sample of them.
struct Writers {
    bool known = false;
    bool all_atomic = false;    ///< atomic operations have written them, and nothing else has
    bool reads_atomic = false;  ///< what they wrote depends on what atomic operations returned
    bool reads_shared = false;
    std::vector<execution::AddressRange> read;  ///< objects in global memory, as recorded
};

struct Evidence {
    std::uint64_t differing = 0;
    std::string impossible;  ///< why the launch cannot be repeated; empty: it can be
    bool out_of_time = false;
    ElementSet unstable;  ///< what changes when nothing is changed
    std::vector<findings::Finding> races, uninitialised;
    bool races_known = false;         ///< they were looked for to the end
    std::vector<bool> race_has_part;  ///< for each race: whether differing elements can depend on it
    Effect order;                     ///< of other orders of threads, together
    Writers writers;                  ///< of elements that depend on the order; of all where none does
    Effect zeros, fma, libdevice, no_fast_math, ptx, gpu;
    bool fma_was_on = false;
    /// Of the kernel's code. As functions, all of libdevice's that it calls.
    std::vector<gpu_backend::DifferencePlace> places;
};

/// Makes the experiments. Those for which there is no time are left out.
[[nodiscard]] Evidence gather_evidence(const driver::LaunchRecord& record, const GpuOutcome& outcome,
                                       std::span<const ComparedArray> arrays, const ExplainOptions& options);

}  // namespace cudasim::gpu_launches
