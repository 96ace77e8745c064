// See approximating_functions.h.
#include "gpu_backend/approximating_functions.h"

#include <algorithm>

namespace cudasim::gpu_backend {
namespace {

constexpr ApproximatingFunction table[] = {
#define APPROXIMATING(name, instructions) {#name, instructions},
#include "gpu_backend/approximating_functions.def"
#undef APPROXIMATING
};

}  // namespace

std::span<const ApproximatingFunction> approximating_functions() {
    return table;
}

std::string_view approximate_instructions(std::string_view name) {
    constexpr std::string_view prefix = "__nv_";
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
    const auto* found = std::ranges::find(table, name, &ApproximatingFunction::name);
    return found == std::end(table) ? std::string_view() : found->instructions;
}

}  // namespace cudasim::gpu_backend
