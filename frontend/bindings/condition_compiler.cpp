// See condition_compiler.h.
#include "frontend/bindings/condition_compiler.h"

#include <pybind11/stl.h>

#include <optional>

#include "debugger/expressions/kernel_predicate.h"
#include "frontend/bindings/bindings.h"
#include "frontend/bindings/released_gil.h"
#include "simulator/image/large_stack.h"

namespace py = pybind11;

namespace cudasim::bindings {

using debugger::ExpressionNames;
using debugger::Predicate;
using debugger::VariablePlace;

std::string text_of(const py::error_already_set& error) {
    const auto name = py::cast<std::string>(error.type().attr("__name__"));
    const auto message = py::cast<std::string>(py::str(error.value()));
    return message.empty() ? name : name + ": " + message;
}

namespace {

/// What Python has made of a condition.
struct ConditionKernel {
    image::KernelImage image;
    std::string name;
    bool by_thread = false;
};

class ConditionCompiler final : public debugger::ExpressionCompiler {
  public:
    explicit ConditionCompiler(py::object object) : object_(std::move(object)) {}

    [[nodiscard]] ExpressionNames names(const std::string& expression, const findings::SourceLocation& place,
                                        std::span<const std::string> /*types*/) override {
        ExpressionNames result;
        if (interpreter_is_ending()) return result;
        const cpython::HeldGil held;
        try {
            const py::object found = object_.attr("names_in")(expression, place_of(place));
            for (const auto& [text, known] : py::cast<std::vector<std::pair<std::string, bool>>>(found))
                result.names.push_back({text, known});
        } catch (const py::error_already_set& error) {
            result.error = text_of(error);
        } catch (const py::cast_error& error) {  // text that UTF-8 cannot have
            result.error = error.what();
        }
        return result;
    }

    [[nodiscard]] std::shared_ptr<const Predicate> compile(const std::string& expression,
                                                           std::span<const VariablePlace> variables,
                                                           const findings::SourceLocation& place,
                                                           std::string& error) override {
        const auto kernel = kernel_of(expression, variables, place, error);
        if (!kernel) return nullptr;
        std::string why;  // it is left to the evaluator, which may have nothing against it
        std::shared_ptr<const Predicate> predicate;
        image::on_large_stack([&](const image::Cancellation&) {
            try {
                predicate = debugger::kernel_predicate(kernel->image, kernel->name, variables,
                                                       kernel->by_thread, why);
            } catch (const std::exception& failure) {
                why = failure.what();
            }
        });
        return predicate;
    }

  private:
    std::optional<ConditionKernel> kernel_of(const std::string& expression,
                                             std::span<const VariablePlace> variables,
                                             const findings::SourceLocation& place, std::string& error) {
        if (interpreter_is_ending()) return std::nullopt;
        const cpython::HeldGil held;
        try {
            py::list descriptions;
            for (const VariablePlace& variable : variables)
                descriptions.append(py::make_tuple(variable.name, variable.type));
            const py::tuple made = object_.attr("compile")(expression, descriptions, place_of(place));
            return ConditionKernel{py::cast<image::KernelImage>(made[0]), py::cast<std::string>(made[1]),
                                   py::cast<bool>(made[2])};
        } catch (const py::error_already_set& failure) {
            if (!failure.matches(object_.attr("left_to_python"))) error = text_of(failure);
        } catch (const py::cast_error& failure) {
            error = failure.what();
        }
        return std::nullopt;
    }

    static py::tuple place_of(const findings::SourceLocation& place) {
        return py::make_tuple(place.file, place.function, place.line);
    }

    py::object object_;
};

}  // namespace

debugger::ExpressionCompiler* new_condition_compiler(py::object compiler) {
    return new ConditionCompiler(std::move(compiler));
}

}  // namespace cudasim::bindings
