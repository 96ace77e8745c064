#include "gpu_backend/comparison/report_json.h"

#include <llvm/Support/JSON.h>

#include <cmath>

#include "gpu_backend/comparison/value_text.h"

namespace cudasim::comparison {
namespace {

namespace json = llvm::json;

std::string utf8(std::string_view text) {
    const llvm::StringRef bytes(text.data(), text.size());
    return json::isUTF8(bytes) ? bytes.str() : json::fixUTF8(bytes);
}

json::Value number(double value) {
    if (std::isfinite(value)) return value;
    return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
}

template <class T>
json::Value optional(const std::optional<T>& value) {
    if (!value) return nullptr;
    if constexpr (std::is_floating_point_v<T>)
        return number(*value);
    else
        return *value;
}

json::Array numbers(const std::vector<std::uint64_t>& values) {
    json::Array array;
    for (const std::uint64_t value : values) array.push_back(value);
    return array;
}

json::Value to_json(const Value& value) {
    return json::Object{{"value", utf8(value.text)}, {"bits", value.bits}};
}

json::Object to_json(const Difference& difference) {
    json::Object object{{"index", numbers(difference.index)},
                        {"address", difference.address},
                        {"bytes", difference.bytes},
                        {"simulated", to_json(difference.simulated)},
                        {"gpu", to_json(difference.gpu)},
                        {"absolute", optional(difference.absolute)},
                        {"relative", optional(difference.relative)},
                        {"ulp", optional(difference.ulp)}};
    if (!difference.field.empty()) object["field"] = utf8(difference.field);
    return object;
}

json::Value optional_difference(const std::optional<Difference>& difference) {
    if (!difference) return nullptr;
    return to_json(*difference);
}

json::Value to_json(const Tolerance& tolerance) {
    return json::Object{{"exact", tolerance.exact},
                        {"rtol", optional(tolerance.rtol)},
                        {"atol", optional(tolerance.atol)},
                        {"ulp", optional(tolerance.ulp)}};
}

json::Value to_json(const MismatchMap& map) {
    if (map.rows == 0) return nullptr;
    json::Array rows;
    for (std::uint64_t row = 0; row < map.rows; ++row) {
        json::Array counts;
        for (std::uint64_t column = 0; column < map.columns; ++column)
            counts.push_back(map.counts[row * map.columns + column]);
        rows.push_back(std::move(counts));
    }
    return json::Object{{"cell", json::Array{map.cell_rows, map.cell_columns}}, {"counts", std::move(rows)}};
}

json::Value to_json(const ArrayComparison& array) {
    json::Array elements;
    for (const Difference& difference : array.first) elements.push_back(to_json(difference));
    json::Value unchanged = nullptr;
    if (array.unchanged_simulated && array.unchanged_gpu)
        unchanged = json::Object{{"simulated", *array.unchanged_simulated}, {"gpu", *array.unchanged_gpu}};
    return json::Object{{"name", utf8(array.name)},
                        {"address", array.address},
                        {"dtype", utf8(array.type)},
                        {"shape", numbers(array.shape)},
                        {"verdict", utf8(name_of(array.verdict()))},
                        {"tolerance", to_json(array.tolerance)},
                        {"count", array.elements},
                        {"mismatched", array.mismatched},
                        {"close", array.close()},
                        {"nan", json::Object{{"simulated", array.nan_simulated},
                                             {"gpu", array.nan_gpu},
                                             {"other_bits", array.nan_bits}}},
                        {"zero_signs", array.zero_signs},
                        {"unchanged", std::move(unchanged)},
                        {"greatest", json::Object{{"absolute", optional_difference(array.greatest_absolute)},
                                                  {"relative", optional_difference(array.greatest_relative)},
                                                  {"ulp", optional_difference(array.greatest_ulp)}}},
                        {"map", to_json(array.map)},
                        {"elements", std::move(elements)}};
}

void add_runs(const BytesComparison& memory, json::Array& outside) {
    for (const ByteRun& run : memory.first)
        outside.push_back(json::Object{{"near", utf8(memory.label)},
                                       {"address", run.address},
                                       {"bytes", run.bytes},
                                       {"simulated", hexadecimal(run.simulated)},
                                       {"gpu", hexadecimal(run.gpu)}});
}

json::Array lines(const std::vector<std::string>& texts) {
    json::Array array;
    for (const std::string& text : texts) array.push_back(utf8(text));
    return array;
}

json::Value to_json(const std::optional<PrintedComparison>& printed) {
    if (!printed) return nullptr;
    return json::Object{
        {"verdict", utf8(name_of(printed->verdict()))},
        {"lines", json::Object{{"simulated", printed->lines_simulated}, {"gpu", printed->lines_gpu}}},
        {"only_count",
         json::Object{{"simulated", printed->only_simulated_count}, {"gpu", printed->only_gpu_count}}},
        {"only_simulated", lines(printed->only_simulated)},
        {"only_gpu", lines(printed->only_gpu)},
        {"other_order", printed->other_order}};
}

}  // namespace

std::string to_json(const Comparison& comparison) {
    json::Array arrays, outside;
    for (const ArrayComparison& array : comparison.arrays) arrays.push_back(to_json(array));
    std::uint64_t runs = 0, bytes = 0;
    for (const BytesComparison& memory : comparison.outside) {
        add_runs(memory, outside);
        runs += memory.runs;
        bytes += memory.differing;
    }
    json::Value report = json::Object{{"verdict", utf8(name_of(comparison.verdict()))},
                                      {"arrays", std::move(arrays)},
                                      {"outside", std::move(outside)},
                                      {"outside_count", json::Object{{"runs", runs}, {"bytes", bytes}}},
                                      {"printed", to_json(comparison.printed)}};
    std::string text;
    llvm::raw_string_ostream(text) << report;
    return text;
}

}  // namespace cudasim::comparison
