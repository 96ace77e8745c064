// name_type_of_extents(): see patched_sources.h.
#include <string_view>

#include "frontend/cuda_cpp/driver/patched_sources.h"

namespace cudasim::nvcc {

bool name_type_of_extents(PatchedSources& sources, const std::string& messages) {
    bool changed = false;
    for (const MessagePlace& place :
         places_of({"error: expected expression"}, messages, Expansions::innermost)) {
        PatchedSources::Copy* copy = sources.copy_at(place);
        if (copy == nullptr) continue;
        const std::string_view text = copy->lines[place.line - 1];
        const std::size_t column = place.column - 1;
        if (column >= text.size() || text[column] != '{') continue;
        const std::size_t open = text.rfind("<<<", column), before = text.find_last_not_of(" \t", column - 1);
        if (open == text.npos || column == 0) continue;
        const bool first = before == open + 2, second = before != text.npos && text[before] == ',';
        if (!first && !second) continue;
        copy->insert(place.line - 1, column, "dim3");
        changed = true;
    }
    if (changed) sources.write();
    return changed;
}

}  // namespace cudasim::nvcc
