// respell_alignas(): see patched_sources.h.
#include <string_view>

#include "frontend/cuda_cpp/driver/patched_sources.h"

namespace cudasim::nvcc {

bool respell_alignas(PatchedSources& sources, const std::string& messages) {
    constexpr std::string_view word = "alignas";
    bool changed = false;
    for (const MessagePlace& place : places_of("error: an attribute list cannot appear here", messages)) {
        PatchedSources::Copy* copy = sources.copy_of(place.file);
        if (copy == nullptr || place.line > copy->lines.size()) continue;
        const std::size_t line = place.line - 1, column = place.column - 1;
        if (copy->lines[line].compare(column, word.size(), word) != 0) continue;
        copy->replace(line, column, 'A');
        copy->insert(line, column, "_");
        changed = true;
    }
    if (changed) sources.write();
    return changed;
}

}  // namespace cudasim::nvcc
