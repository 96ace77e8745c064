// What launches left on the simulator and on a GPU, compared (gpu_backend/comparison). Contents are read
// where they lie.
#include <pybind11/stl.h>

#include <memory>
#include <optional>

#include "frontend/bindings/bindings.h"
#include "frontend/bindings/contiguous_buffer.h"
#include "frontend/bindings/released_gil.h"
#include "gpu_backend/comparison/comparison.h"
#include "gpu_backend/comparison/report_json.h"

namespace cudasim::bindings {

namespace py = pybind11;

namespace {

/// The buffers of one call.
class Buffers {
  public:
    /// The memory of an object; nothing for None.
    std::span<const std::byte> of(py::handle object) {
        if (object.is_none()) return {};
        const auto& buffer = held_.emplace_back(std::make_unique<ContiguousBuffer>(object, false));
        return {static_cast<const std::byte*>(buffer->data()), buffer->size()};
    }

  private:
    std::vector<std::unique_ptr<ContiguousBuffer>> held_;
};

template <class T>
T member(const py::dict& from, const char* name, T otherwise) {
    return from.contains(name) ? from[name].cast<T>() : std::move(otherwise);
}

py::object member(const py::dict& from, const char* name) {
    return from.contains(name) ? py::object(from[name]) : py::none();
}

struct Array {
    comparison::ArrayView view;
    std::span<const std::byte> simulated, gpu, before;
    comparison::Tolerance tolerance;
};

Array array_of(const py::dict& from, Buffers& buffers) {
    using Number = std::optional<double>;
    return {.view = {.name = from["name"].cast<std::string>(),
                     .address = member<std::uint64_t>(from, "address", 0),
                     .offset = member<std::uint64_t>(from, "offset", 0),
                     .type = comparison::parse_element_type(from["dtype"].cast<std::string>()),
                     .shape = from["shape"].cast<std::vector<std::uint64_t>>(),
                     .strides = member<std::vector<std::int64_t>>(from, "strides", {})},
            .simulated = buffers.of(from["simulated"]),
            .gpu = buffers.of(from["gpu"]),
            .before = buffers.of(member(from, "before")),
            .tolerance = {.exact = member(from, "exact", false),
                          .rtol = member<Number>(from, "rtol", {}),
                          .atol = member<Number>(from, "atol", {}),
                          .ulp = member<Number>(from, "ulp", {})}};
}

struct Memory {
    std::string label;
    std::uint64_t address = 0;
    std::span<const std::byte> simulated, gpu;
    std::vector<comparison::ArrayView> views;
};

Memory memory_of(const py::dict& from, const std::vector<Array>& arrays, Buffers& buffers) {
    Memory memory{.label = from["label"].cast<std::string>(),
                  .address = from["address"].cast<std::uint64_t>(),
                  .simulated = buffers.of(from["simulated"]),
                  .gpu = buffers.of(from["gpu"])};
    for (const std::size_t index : member<std::vector<std::size_t>>(from, "arrays", {})) {
        if (index >= arrays.size())
            throw py::index_error("'arrays' of memory '" + memory.label + "' names array " +
                                  std::to_string(index) + " of " + std::to_string(arrays.size()));
        memory.views.push_back(arrays[index].view);
    }
    return memory;
}

std::string compare_launch(const std::vector<py::dict>& arrays, const std::vector<py::dict>& memory,
                           const std::optional<std::pair<std::string, std::string>>& printed,
                           std::size_t elements) {
    Buffers buffers;
    std::vector<Array> read_arrays;
    for (const py::dict& array : arrays) read_arrays.push_back(array_of(array, buffers));
    std::vector<Memory> read_memory;
    for (const py::dict& one : memory) read_memory.push_back(memory_of(one, read_arrays, buffers));
    const ReleasedGil release;
    const comparison::Limits limits{.elements = elements};
    comparison::Comparison result;
    for (const Array& one : read_arrays)
        result.arrays.push_back(
            comparison::compare(one.view, one.simulated, one.gpu, one.before, one.tolerance, limits));
    for (const Memory& one : read_memory)
        result.outside.push_back(
            comparison::compare_outside(one.label, one.address, one.views, one.simulated, one.gpu, limits));
    if (printed) result.printed = comparison::compare_printed(printed->first, printed->second, limits);
    return comparison::to_json(result);
}

}  // namespace

void bind_comparison(py::module_& module) {
    using namespace py::literals;
    module.def("compare_launch", &compare_launch, "arrays"_a, "memory"_a = std::vector<py::dict>(),
               "printed"_a = py::none(), "elements"_a = comparison::Limits{}.elements,
               "What a launch left on the simulator and on a GPU, compared, as JSON: the members verdict, "
               "arrays, outside, outside_count and printed of a launch in "
               "cudasim/comparing/report_schema.json. An array has "
               "name, dtype (str() of NumPy's), shape, simulated, gpu, and may have strides, address, offset "
               "in the contents, before, exact, rtol, atol, ulp. Memory has label, address, simulated, gpu, "
               "and the arrays (their numbers) that lie in it: the rest is compared byte by byte. printed is "
               "(simulated, gpu). elements is how many mismatched elements of an array are listed.");
}

}  // namespace cudasim::bindings
