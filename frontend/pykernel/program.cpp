// Specialisations, globals' types and the binding of arguments.
#include "frontend/pykernel/program.h"

#include <algorithm>
#include <cctype>

namespace cudasim::pykernel {

Program::Program(const Request& request) : request(request) {}

void Program::name_place(SourceError& error, const FunctionSource& source) {
    if (!error.file.empty()) return;  // the innermost function knows best
    error.file = source.file;
    error.function = source.syntax.name;
    const int index = error.location.line - source.first_line;
    if (index >= 0 && index < static_cast<int>(source.lines.size())) error.source_line = source.lines[index];
}

Specialisation& Program::specialise(std::uint32_t function, const std::vector<TypeRef>& arguments,
                                    Location call) {
    const FunctionSource& source = request.functions.at(function);
    auto [entry, is_new] = known_.try_emplace({function, arguments}, nullptr);
    if (!is_new) {
        if (!entry->second->result) {
            refuse_unsupported(
                "recursion: '" + source.syntax.name + "' calls itself, which kernels cannot do yet", call);
        }
        return *entry->second;
    }
    specialisations_.push_back({.function = function, .arguments = arguments});
    Specialisation& specialisation = specialisations_.back();
    entry->second = &specialisation;
    specialisation.symbol = mangle(source.syntax.name, arguments);
    if (function != 0) specialisation.symbol += "$" + std::to_string(function);
    in_source(source, [&] {
        specialisation.graph = build_flow_graph(source, constants_);
        assign_versions(specialisation.graph);
        infer_types(*this, specialisation);
        specialisation.result = specialisation.graph.return_type;
    });
    return specialisation;
}

TypeRef Program::type_of(const GlobalValue& value, Location place) {
    switch (value.kind) {
        case GlobalKind::integer: {
            const TypeRef type = types.scalar_named(value.type_name);
            return types.literal(type, value.integer);
        }
        case GlobalKind::real:
            return types.scalar_named(value.type_name);
        case GlobalKind::boolean:
            return types.literal(types.boolean, value.integer);
        case GlobalKind::none:
            return types.none;
        case GlobalKind::ellipsis:
            return types.ellipsis();
        case GlobalKind::text:
            return types.text(value.text);
        case GlobalKind::tuple: {
            std::vector<TypeRef> elements;
            for (const GlobalValue& element : value.elements) elements.push_back(type_of(element, place));
            return types.tuple(std::move(elements));
        }
        case GlobalKind::data_type:
            if (const TypeRef type = types.parse(value.type_name)) return types.data_type(type);
            refuse_unsupported("the type " + value.type_name + " is not supported in kernels yet", place);
        case GlobalKind::array: {
            const TypeRef element = types.scalar_named(value.type_name);
            if (!element)
                refuse_unsupported("arrays of " + value.type_name + " are not supported in kernels yet",
                                   place);
            return types.array(element, static_cast<unsigned>(value.shape.size()), 'C', constant_space, true);
        }
        case GlobalKind::intrinsic:
            if (value.text == "cuda.threadIdx" || value.text == "cuda.blockIdx" ||
                value.text == "cuda.blockDim" || value.text == "cuda.gridDim") {
                return types.dim3(value);
            }
            if (value.text == "cuda.laneid" || value.text == "cuda.warpsize") return types.int32;
            return types.object(value);
        case GlobalKind::function:
        case GlobalKind::exception:
        case GlobalKind::module:
            return types.object(value);
        case GlobalKind::undefined:
        case GlobalKind::unsupported:
            break;
    }
    refuse_typing("this global is not usable in a kernel: " + value.text, place);
}

std::vector<std::uint32_t> Program::bind(const FunctionSource& callee, const Instruction& call) const {
    const auto& parameters = callee.syntax.parameters;
    const std::string name = callee.syntax.name + "()";
    const std::size_t given = call.operands.size() - 1;
    const std::size_t positional = given - call.keywords.size();
    if (positional > parameters.size()) {
        refuse_typing(name + " takes " + std::to_string(parameters.size()) + " arguments, but " +
                          std::to_string(positional) + " are given",
                      call.location);
    }
    std::vector<std::uint32_t> sources(parameters.size(), nothing);
    for (std::size_t i = 0; i < positional; ++i) sources[i] = static_cast<std::uint32_t>(i + 1);
    for (std::size_t k = 0; k < call.keywords.size(); ++k) {
        const auto found = std::ranges::find(parameters, call.keywords[k], &ParameterSyntax::name);
        if (found == parameters.end()) {
            refuse_typing(name + " has no parameter '" + call.keywords[k] + "'", call.location);
        }
        std::uint32_t& source = sources[static_cast<std::size_t>(found - parameters.begin())];
        if (source != nothing)
            refuse_typing(name + " gets parameter '" + call.keywords[k] + "' twice", call.location);
        source = static_cast<std::uint32_t>(positional + k + 1);
    }
    const std::size_t first_default = parameters.size() - callee.defaults.size();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        if (sources[i] != nothing) continue;
        if (i < first_default)
            refuse_typing(name + " needs an argument for parameter '" + parameters[i].name + "'",
                          call.location);
        sources[i] = default_base + static_cast<std::uint32_t>(i - first_default);
    }
    return sources;
}

std::string mangle(std::string_view name, const std::vector<TypeRef>& arguments) {
    static constexpr char digits[] = "0123456789abcdef";
    auto append = [](std::string& symbol, std::string_view text) {
        bool gap = false;
        for (char c : text) {
            const auto byte = static_cast<unsigned char>(c);
            if (std::isalnum(byte) && byte < 128) {
                if (gap) symbol += '_';
                gap = false;
                symbol += c;
            } else if (byte >= 128) {
                symbol += {'u', digits[byte >> 4], digits[byte & 15]};
            } else {
                gap = true;
            }
        }
    };
    std::string symbol;
    for (char c : name) {
        if (c == '_')
            symbol += '_';
        else if (c == '<' || c == '>')
            symbol += '_';
        else
            append(symbol, std::string_view(&c, 1));
    }
    if (symbol.empty() || std::isdigit(static_cast<unsigned char>(symbol[0]))) symbol.insert(0, "_");
    for (TypeRef argument : arguments) {
        symbol += '$';
        append(symbol, argument->name);
        if (argument->is(TypeKind::array) && argument->address_space != global_space) {
            symbol += "_s" + std::to_string(argument->address_space);
        }
    }
    return symbol;
}

}  // namespace cudasim::pykernel
