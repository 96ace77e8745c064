// See compared_launch.h.
#include "gpu_backend/launches/compared_launch.h"

#include <string>
#include <vector>

namespace cudasim::gpu_launches {
namespace {

std::string label_of(const driver::RecordedMemory& range, bool has_arrays) {
    std::string label = range.globals         ? "global variables of the kernel's module"
                        : range.label.empty() ? "an allocation"
                                              : range.label;
    return has_arrays ? label + ", outside of the arrays" : label;
}

}  // namespace

comparison::Comparison compare_launch(const driver::LaunchRecord& record, const GpuOutcome& outcome,
                                      std::span<const ComparedArray> arrays,
                                      const comparison::Limits& limits) {
    comparison::Comparison result;
    for (std::size_t i = 0; i < record.memory.size(); ++i) {
        const auto& range = record.memory[i];
        if (i >= outcome.after.size() || !outcome.after[i]) continue;
        if (!range.before || !range.after)
            throw driver::RecordError("the record does not have the memory after the launch");
        const auto simulated = range.after->bytes(), gpu = outcome.after[i]->bytes();
        std::vector<comparison::ArrayView> views;
        for (const ComparedArray& array : arrays) {
            if (array.view.address < range.address || array.view.address - range.address >= range.bytes)
                continue;
            views.push_back(array.view);
            views.back().offset = array.view.address - range.address;
            result.arrays.push_back(comparison::compare(views.back(), simulated, gpu, range.before->bytes(),
                                                        array.tolerance, limits));
        }
        auto outside = comparison::compare_outside(label_of(range, !views.empty()), range.address, views,
                                                   simulated, gpu, limits);
        if (views.empty() || outside.differing != 0) result.outside.push_back(std::move(outside));
    }
    if (!record.outcome.printed.empty() || !outcome.result.printed.empty())
        result.printed = comparison::compare_printed(record.outcome.printed, outcome.result.printed, limits);
    return result;
}

}  // namespace cudasim::gpu_launches
