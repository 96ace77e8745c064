// The table, made of functions.def.
#include "gpu_backend/libcuda/functions.h"

#include <array>

namespace cudasim::libcuda {
namespace {

constexpr std::array table{
#define FUNCTION(name, version, need, parameters)                                     \
    FunctionRow{#name #version, Need::need,                                           \
                [](Functions& functions, void* address) {                             \
                    functions.name = reinterpret_cast<Result(*) parameters>(address); \
                },                                                                    \
                [](const Functions& functions) { return functions.name != nullptr; }},
#include "gpu_backend/libcuda/functions.def"
#undef FUNCTION
};

}  // namespace

std::span<const FunctionRow> function_rows() {
    return table;
}

std::vector<std::string> missing_symbols(const Functions& functions, Need need) {
    std::vector<std::string> missing;
    for (const auto& row : table)
        if (row.need == need && !row.is_there(functions)) missing.emplace_back(row.symbol);
    return missing;
}

}  // namespace cudasim::libcuda
