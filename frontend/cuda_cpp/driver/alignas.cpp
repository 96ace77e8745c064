// respell_alignas(): see patched_sources.h.
#include <string_view>

#include "frontend/cuda_cpp/driver/patched_sources.h"

namespace cudasim::nvcc {

bool respell_alignas(PatchedSources& sources, const std::string& messages) {
    constexpr std::string_view word = "alignas";
    bool changed = false;
    // The first is for types that are keywords, the second for types with a name.
    const std::vector<std::string> texts{"error: an attribute list cannot appear here",
                                         "error: 'alignas' attribute cannot be applied to types"};
    // Of the places of a macro and its arguments one has the word.
    for (const MessagePlace& place : places_of(texts, messages, Expansions::all)) {
        PatchedSources::Copy* copy = sources.copy_at(place);
        if (copy == nullptr) continue;
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
