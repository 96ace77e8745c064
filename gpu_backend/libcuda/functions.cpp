// The table, made of functions.def, and the words of failures.
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

std::string text_of(const Functions& functions, Result result) {
    const char* name = nullptr;
    const char* text = nullptr;
    if (functions.cuGetErrorName == nullptr || functions.cuGetErrorName(result, &name) != Result::success)
        name = nullptr;
    if (functions.cuGetErrorString == nullptr || functions.cuGetErrorString(result, &text) != Result::success)
        text = nullptr;
    const int number = static_cast<int>(result);
    std::string shown_name = name != nullptr ? name : "";
    std::string shown_text = text != nullptr ? text : "";
    if (const auto known = findings::cuda_result(number)) {
        if (shown_name.empty()) shown_name = findings::info(*known).name;
        if (shown_text.empty()) shown_text = findings::info(*known).text;
    }
    if (shown_name.empty()) return "code " + std::to_string(number);
    return shown_name + " (" + std::to_string(number) + (shown_text.empty() ? ")" : "): " + shown_text);
}

}  // namespace cudasim::libcuda
