// See array_arguments.h.
#include "simulator/driver/array_arguments.h"

#include <llvm/ADT/StringRef.h>

#include <cstring>
#include <optional>

namespace cudasim::driver {

namespace {

/// "array(float32, 2d, C)" → 2
std::optional<unsigned> dimensions_of(llvm::StringRef type) {
    if (!type.consume_front("array(")) return std::nullopt;
    // The element's type may have commas of its own: the last two are those of the array.
    const llvm::StringRef without_layout = type.rsplit(',').first;
    llvm::StringRef dimensions = without_layout.rsplit(',').second.trim();
    unsigned count = 0;
    if (dimensions.consumeInteger(10, count) || !dimensions.starts_with("d")) return std::nullopt;
    return count;
}

/// How many parameters an argument is that is no array; nullopt: not known.
std::optional<std::size_t> parameters_of(llvm::StringRef type) {
    if (type.starts_with("complex")) return 2;
    if (type.contains('(')) return std::nullopt;
    return 1;
}

}  // namespace

std::vector<execution::NamedArray> array_arguments(const LaunchPlan& plan,
                                                   std::span<const std::byte> parameters) {
    const image::Kernel* kernel = plan.image.find(plan.kernel);
    return kernel != nullptr ? array_arguments(*kernel, plan.arguments, parameters)
                             : std::vector<execution::NamedArray>();
}

std::vector<execution::NamedArray> array_arguments(const image::Kernel& kernel,
                                                   std::span<const Argument> arguments,
                                                   std::span<const std::byte> parameters) {
    std::vector<execution::NamedArray> arrays;
    std::size_t next = 0;
    const auto take = [&]() -> std::optional<std::int64_t> {
        if (next >= kernel.parameters.size()) return std::nullopt;
        const image::Parameter& parameter = kernel.parameters[next++];
        std::int64_t value = 0;
        if (parameter.size != sizeof value || parameter.offset + sizeof value > parameters.size())
            return std::nullopt;
        std::memcpy(&value, parameters.data() + parameter.offset, sizeof value);
        return value;
    };
    for (const Argument& argument : arguments) {
        const auto dimensions = dimensions_of(argument.type);
        if (!dimensions) {
            const auto count = parameters_of(argument.type);
            if (!count) return arrays;
            next += *count;
            continue;
        }
        execution::NamedArray array;
        array.name = argument.name;
        const llvm::StringRef type = argument.type;
        array.element_type = type.substr(type.find('(') + 1).split(',').first.str();
        array.parameter = next;
        const auto address = take();
        if (!address) return arrays;
        array.address = static_cast<std::uint64_t>(*address);
        for (auto* numbers : {&array.extents, &array.strides}) {
            for (unsigned axis = 0; axis < *dimensions; ++axis) {
                const auto number = take();
                if (!number) return arrays;
                numbers->push_back(*number);
            }
        }
        arrays.push_back(std::move(array));
    }
    return arrays;
}

}  // namespace cudasim::driver
