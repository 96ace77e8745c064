// Looks up rows and binds arguments to their parameters.
#include "frontend/pykernel/calls/callables.h"

#include <algorithm>
#include <unordered_map>

namespace cudasim::pykernel {

const Callable* find_callable(std::string_view name) {
    static const auto table = [] {
        std::unordered_map<std::string_view, const Callable*> rows;
        for (auto family :
             {builtin_callables(), sequence_callables(), math_callables(),       libdevice_callables(),
              cuda_callables(),    warp_callables(),     group_callables(),      bit_callables(),
              memory_callables(),  atomic_callables(),   array_callables(),      reduction_callables(),
              ufunc_callables(),   number_callables(),   operator_callables(),   iteration_callables(),
              print_callables(),   vector_callables(),   cache_hint_callables(), half_callables(),
              foreign_callables()}) {
            for (const Callable& row : family) rows.emplace(row.name, &row);
        }
        return rows;
    }();
    const auto found = table.find(name);
    return found != table.end() ? found->second : nullptr;
}

std::vector<std::uint32_t> bind_call(const Callable& callable, const Instruction& call) {
    const std::size_t given = call.operands.size() - 1;
    const std::size_t positional = given - call.keywords.size();
    const std::string shown = std::string(callable.name) + "()";
    std::vector<std::uint32_t> operands;
    std::string_view rest = callable.parameters;
    if (rest.starts_with("self")) {  // a method: the callee is its object
        operands.push_back(0);
        rest.remove_prefix(std::min<std::size_t>(rest.size(), 5));
    }
    const std::size_t own = operands.size();
    if (rest == "*") {
        if (!call.keywords.empty() && callable.name == "print")
            refuse_unsupported("print() has no keyword arguments in kernels", call.location,
                               Standing::not_gpu_code);
        if (!call.keywords.empty()) refuse_typing(shown + " takes no keyword arguments", call.location);
        for (std::size_t i = 1; i <= given; ++i) operands.push_back(static_cast<std::uint32_t>(i));
        return operands;
    }
    std::size_t used_keywords = 0;
    while (!rest.empty()) {
        std::string_view name = rest.substr(0, rest.find(' '));
        rest.remove_prefix(std::min(rest.size(), name.size() + 1));
        const bool optional = name.ends_with('=');
        if (optional) name.remove_suffix(1);
        const auto keyword = std::ranges::find(call.keywords, name);
        const std::size_t index = operands.size() - own;
        if (keyword != call.keywords.end()) {
            if (index < positional)
                refuse_typing(shown + " gets argument '" + std::string(name) + "' twice", call.location);
            ++used_keywords;
            operands.push_back(
                static_cast<std::uint32_t>(positional + 1 + (keyword - call.keywords.begin())));
        } else if (index < positional) {
            operands.push_back(static_cast<std::uint32_t>(index + 1));
        } else if (optional) {
            operands.push_back(nothing);
        } else {
            refuse_typing(shown + " needs an argument '" + std::string(name) + "'", call.location);
        }
    }
    if (positional > operands.size() - own) {
        refuse_typing(shown + " takes at most " + std::to_string(operands.size() - own) + " arguments, but " +
                          std::to_string(positional) + " are given",
                      call.location);
    }
    if (used_keywords != call.keywords.size())
        refuse_typing(shown + " does not know one of these keyword arguments", call.location);
    return operands;
}

std::vector<std::uint32_t> bind_fields(const Instruction& call, const std::vector<std::string>& names) {
    const std::size_t given = call.operands.size() - 1;
    const std::size_t positional = given - call.keywords.size();
    std::vector<std::uint32_t> operands(names.size(), nothing);
    if (positional > names.size())
        refuse_typing(
            "too many positional arguments: the named tuple has " + std::to_string(names.size()) + " fields",
            call.location);
    for (std::size_t i = 0; i < positional; ++i) operands[i] = static_cast<std::uint32_t>(i + 1);
    for (std::size_t k = 0; k < call.keywords.size(); ++k) {
        const auto field = std::ranges::find(names, call.keywords[k]);
        if (field == names.end())
            refuse_typing("got an unexpected keyword argument '" + call.keywords[k] + "'", call.location);
        std::uint32_t& operand = operands[static_cast<std::size_t>(field - names.begin())];
        if (operand != nothing)
            refuse_typing("multiple values for argument '" + call.keywords[k] + "'", call.location);
        operand = static_cast<std::uint32_t>(positional + k + 1);
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (operands[i] == nothing)
            refuse_typing("missing a required argument: '" + names[i] + "'", call.location);
    }
    return operands;
}

void CallTyping::refuse(const std::string& reason, Standing standing) const {
    refuse_typing(std::string(callable.name) + ": " + reason, call.location, standing);
}

void CallTyping::no_match(const std::string& because) const {
    std::vector<std::string> types_given;
    for (TypeRef argument : arguments) types_given.push_back(argument ? argument->name : "omitted");
    const std::string full(callable.name);
    const bool is_intrinsic = full.starts_with("cuda."), is_numpy = full.starts_with("numpy.");
    const std::string name = is_intrinsic ? full.substr(5) : full.substr(full.find('.') + 1);
    refuse_no_implementation(is_intrinsic ? "<intrinsic " + name + ">"
                             : is_numpy   ? "<ufunc '" + name + "'>"
                                          : "<built-in function " + name + ">",
                             name, types_given, call.location, because);
}

}  // namespace cudasim::pykernel
