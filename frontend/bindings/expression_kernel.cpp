// Expressions of the debugger that Python has made kernels of, for Python: debugging/compiled_expressions.py.
#include <pybind11/stl.h>

#include <array>
#include <cstring>

#include "debugger/expressions/kernel_predicate.h"
#include "frontend/bindings/bindings.h"
#include "frontend/bindings/released_gil.h"
#include "frontend/bindings/stop_view.h"
#include "simulator/image/large_stack.h"

namespace py = pybind11;

namespace cudasim::bindings {
namespace {

using debugger::KernelExpression;
using debugger::VariablePlace;

/// The variables' bytes lie one after another, each at a multiple of 16.
class ExpressionKernel {
  public:
    ExpressionKernel(const image::KernelImage& image, const std::string& name,
                     const std::vector<std::pair<std::string, std::uint32_t>>& variables,
                     std::size_t result_bytes, bool by_thread)
        : result_bytes_(result_bytes) {
        if (result_bytes > KernelExpression::most_result_bytes)
            throw py::value_error("the expression's value is no number");
        std::vector<VariablePlace> places;
        for (const auto& [variable, bytes] : variables) {
            places.push_back({variable, "", bytes, jit::PartSource::record, bytes_, 0});
            bytes_ += (bytes + std::size_t{15}) & ~std::size_t{15};
        }
        places_ = places;
        std::string why;
        image::on_large_stack([&](const image::Cancellation&) {
            try {
                expression_ = debugger::kernel_expression(image, name, places, by_thread, why);
            } catch (const std::exception& error) {
                why = error.what();
            }
        });
        if (!expression_) throw py::value_error(why);
    }

    /// Bytes: the value. A text: why there is none. None: the thread's block is not on the device.
    [[nodiscard]] py::object value(const StopView& view, StopView::Thread thread,
                                   const std::vector<py::bytes>& values) const {
        const jit::BlockContext* block = view.launch().context(thread.first);
        if (block == nullptr) return py::none();
        if (values.size() != places_.size()) throw py::value_error("each variable needs a value");
        std::vector<std::byte> variables(bytes_);
        for (std::size_t i = 0; i < values.size(); ++i) {
            const auto bytes = static_cast<std::string_view>(values[i]);
            if (bytes.size() != places_[i].bytes) throw py::value_error("a value has another size");
            std::memcpy(variables.data() + places_[i].offset, bytes.data(), bytes.size());
        }
        alignas(16) std::array<std::byte, KernelExpression::most_result_bytes> result{};
        std::string why;
        {
            const ReleasedGil release(false);
            why =
                expression_->value(variables, *block, thread.second, std::span(result).first(result_bytes_));
        }
        if (!why.empty()) return py::str(why);
        return py::bytes(reinterpret_cast<const char*>(result.data()), result_bytes_);
    }

  private:
    std::size_t result_bytes_, bytes_ = 0;
    std::vector<VariablePlace> places_;
    std::shared_ptr<const KernelExpression> expression_;
};

}  // namespace

void bind_expression_kernel(py::module_& module) {
    py::class_<ExpressionKernel>(
        module, "ExpressionKernel",
        "An expression of the debugger, compiled (cudasim.debugging.compiled_expressions).")
        .def(py::init<const image::KernelImage&, const std::string&,
                      const std::vector<std::pair<std::string, std::uint32_t>>&, std::size_t, bool>(),
             py::arg("image"), py::arg("name"), py::arg("variables"), py::arg("result_bytes"),
             py::arg("by_thread"), "ValueError where it does what an expression must not do.")
        .def("value", &ExpressionKernel::value, py::arg("launch"), py::arg("thread"), py::arg("values"));
}

}  // namespace cudasim::bindings
