// Specialisations, globals' types and the binding of arguments.
#include "frontend/pykernel/infer/program.h"

#include <algorithm>
#include <cctype>
#include <tuple>

#include "frontend/pykernel/graph/flow_graph_builder.h"

namespace cudasim::pykernel {

Resolution& Resolutions::put(ValueId id, Resolution resolution) {
    if (id >= places_.size()) places_.resize(id + 1, nothing);
    std::uint32_t& place = places_[id];
    if (place != nothing) return found_[place] = std::move(resolution);
    place = static_cast<std::uint32_t>(found_.size());
    return found_.emplace_back(std::move(resolution));
}

Program::Program(const Request& request) : request(request) {}

Specialisation& Program::make(std::uint32_t function, const std::vector<TypeRef>& arguments) {
    const FunctionSource& source = this->source(function);
    specialisations_.push_back({.function = function, .arguments = arguments});
    Specialisation& specialisation = specialisations_.back();
    specialisation.symbol = mangle(source.syntax.name, arguments);
    build(specialisation);
    return specialisation;
}

std::uint32_t Program::inner_function(const FunctionSource& outer, const FunctionSyntax& syntax,
                                      const std::set<std::string>& outer_locals) {
    const auto [entry, is_new] = inner_numbers_.try_emplace(
        &syntax, static_cast<std::uint32_t>(first_inner + inner_functions_.size()));
    if (!is_new) return entry->second;
    FunctionSource inner = outer;
    inner.syntax = syntax;
    inner.defaults.clear();
    inner.signatures.clear();
    inner.outer_locals = outer_locals;
    for (const Expression& value : syntax.defaults) {
        const auto folded = fold_literals(value);
        if (!folded)
            refuse_unsupported(
                "the default value of a parameter of a function inside a kernel that is passed on must "
                "be a constant",
                value.location, Standing::not_gpu_code);
        inner.defaults.push_back(*folded);
    }
    inner_functions_.push_back(std::move(inner));
    return entry->second;
}

void Program::build(Specialisation& specialisation) {
    const FunctionSource& source = this->source(specialisation.function);
    specialisation.resolutions = {};
    in_source(source, [&] {
        specialisation.graph = build_flow_graph(
            source, constants_, specialisation.unrolled,
            [&](const FunctionSyntax& inner, const std::set<std::string>& locals) {
                return inner_function(source, inner, locals);
            },
            request.cancellation);
        assign_versions(specialisation.graph);
    });
}

Specialisation& Program::root(const std::vector<TypeRef>& arguments, TypeRef result) {
    Specialisation& root = make(0, arguments);
    root.declared_result = result;
    infer(root, request.functions.front().syntax.location);
    return root;
}

Specialisation& Program::specialise(std::uint32_t function, const std::vector<TypeRef>& given,
                                    Location call) {
    const FunctionSource& source = this->source(function);
    for (TypeRef argument : given) {
        // Their state is the calling function's.
        if (argument->is_iterator())
            refuse_unsupported("passing an iterator (" + argument->name +
                                   ") to a function is not supported in kernels yet; pass what it runs over",
                               call);
    }
    TypeRef result = nullptr;
    std::vector<TypeRef> arguments = given;
    if (!source.signatures.empty()) std::tie(arguments, result) = declared(source, given, call);
    Specialisation*& known = known_[{function, arguments}];
    if (!known) {
        known = &make(function, arguments);
        known->symbol += function < first_inner ? "$" + std::to_string(function)
                                                : "$inner" + std::to_string(function - first_inner);
        known->declared_result = result;
    }
    Specialisation& specialisation = *known;
    if (specialisation.refusal) throw SourceError(*specialisation.refusal);
    if (specialisation.inferring) {
        const auto depth = std::ranges::find(inferring_, &specialisation) - inferring_.begin();
        std::size_t& lowest = inferring_.back()->lowest;
        lowest = std::min(lowest, static_cast<std::size_t>(depth));
    } else if (!specialisation.finished) {
        infer(specialisation, call);
    }
    if (!specialisation.finished) ++open_calls_;
    return specialisation;
}

Specialisation& Program::library(std::string_view name, const std::vector<TypeRef>& arguments,
                                 Location call) {
    auto found = library_.find(name);
    if (found == library_.end())
        found = library_.emplace(std::string(name), request.resolver->library_function(name)).first;
    return specialise(found->second, arguments, call);
}

Resolution Program::bound(std::uint32_t function, const Instruction& call,
                          const std::function<TypeRef(ValueId)>& type_of) {
    const FunctionSource& callee = source(function);
    const TypeRef called = type_of(call.operands[0]);
    const bool has_self = called->is(TypeKind::method);
    Resolution result{.sources = bind(callee, call, has_self), .callee = function};
    for (std::uint32_t place : result.sources) {
        const bool is_default = place >= default_base;
        TypeRef argument = is_default   ? this->type_of(callee.defaults[place - default_base], call.location)
                           : place == 0 ? called->element()
                                        : type_of(call.operands[place]);
        result.arguments.push_back(argument);
    }
    result.given = result.arguments;
    if (callee.binds_arguments) result.keywords = call.keywords;
    return result;
}

void Program::resolve(std::uint32_t function, Resolution& call, Location place) {
    if (!source(function).is_overloaded) {
        call.function = &specialise_plain_first(function, call, place);
        call.result = call.function->result;
        return;
    }
    const Choice& choice = chosen(function, call, place);
    if (choice.symbol.empty()) {
        if (!choice.takes_literals) {
            for (TypeRef& argument : call.arguments) argument = types.without_literal(argument);
        }
        call.function = &specialise(choice.function, call.arguments, place);
        call.result = call.function->result;
        return;
    }
    call.linked = &choice;
    for (const std::string& name : choice.signature.arguments) {
        call.parameters.push_back(types.parse(name));
        if (!call.parameters.back())
            refuse_unsupported("arguments of type " + name + " are not supported yet", place);
    }
    for (std::size_t i = 0; i < call.parameters.size() && i < call.arguments.size(); ++i)
        (void)ask_for_cast(call.arguments[i], call.parameters[i], place);
    call.result = types.parse(choice.signature.result);
    if (call.result && call.result->is(TypeKind::array)) {  // wherever it lies
        const Type& array = *call.result;
        call.result = types.array(array.element(), array.dimensions, array.layout, pointed_space,
                                  array.read_only, array.aligned);
    }
    if (!call.result)
        refuse_unsupported("results of type " + choice.signature.result + " are not supported yet", place);
}

Specialisation& Program::specialise_plain_first(std::uint32_t function, Resolution& call, Location place) {
    const std::vector<TypeRef> given = call.arguments;
    for (TypeRef& argument : call.arguments) argument = types.without_literal(argument);
    const bool has_literals = given != call.arguments && source(function).signatures.empty();
    if (!has_literals) return specialise(function, call.arguments, place);
    try {
        return specialise(function, call.arguments, place);
    } catch (const SourceError& refused) {
        if (refused.is_final) throw;
        call.arguments = given;
        try {
            return specialise(function, given, place);
        } catch (const SourceError& with_literals) {
            if (!with_literals.says_the_same_as(refused)) throw;
        }
        throw;
    }
}

const Extension* Program::extension(TypeRef type, const std::string& attribute) const {
    if (extensions_.empty()) return nullptr;
    const auto found = extensions_.find({type, attribute});
    return found == extensions_.end() ? nullptr : &found->second;
}

const Extension* Program::ask_for_extension(TypeRef type, const std::string& attribute, Location place) {
    try {
        const auto added = request.resolver->attribute(type->request_name(), attribute);
        return added ? &extensions_.insert_or_assign({type, attribute}, *added).first->second : nullptr;
    } catch (SourceError& error) {
        error.location = place;
        throw;
    }
}

std::optional<std::uint32_t> Program::operation(const std::string& name) {
    auto found = operations_.find(name);
    if (found == operations_.end())
        found = operations_.emplace(name, request.resolver->operation(name)).first;
    return found->second;
}

const GlobalValue& Program::member(const std::string& module, const std::string& name) {
    auto found = members_.find({module, name});
    if (found == members_.end())
        found = members_.emplace(std::pair{module, name}, request.resolver->member(module, name)).first;
    return found->second;
}

const Choice& Program::chosen(std::uint32_t function, const Resolution& call, Location place) {
    std::vector<std::string> names, shown;
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
        names.push_back(call.sources[i] >= default_base ? "omitted" : call.arguments[i]->request_name());
        const GlobalValue* named = call.arguments[i]->global;
        if (call.arguments[i]->is(TypeKind::object) && named->kind == GlobalKind::function)
            names.back() += "#" + std::to_string(named->integer);
        const std::size_t by_name = i + call.keywords.size();
        if (by_name >= call.sources.size())
            names.back().insert(0, call.keywords[by_name - call.sources.size()] + "=");
        shown.push_back(call.arguments[i]->name);
    }
    if (const auto known = choices_.find({function, names}); known != choices_.end()) return known->second;
    std::vector<std::string> reasons;
    try {
        if (auto choice = request.resolver->overload(function, names, reasons))
            return choices_.emplace(std::pair{function, std::move(names)}, std::move(*choice)).first->second;
    } catch (SourceError& error) {
        error.location = place;
        throw;
    }
    const std::string& name = source(function).syntax.name;
    try {
        refuse_no_implementation("<function " + name + ">", name, shown, place);
    } catch (SourceError& error) {
        error.reasons = std::move(reasons);
        error.is_final = true;
        throw;
    }
}

/// A function that is entered again and again, each time with other types, would never end; a chain of calls
/// of different functions does.
void Program::check_depth(const Specialisation& specialisation, Location call) const {
    static constexpr std::ptrdiff_t most_types = 100;
    static constexpr std::size_t deepest = 2000;
    const auto entered = std::ranges::count(inferring_, specialisation.function, &Specialisation::function);
    if (entered >= most_types)
        refuse_typing("cannot type infer runaway recursion: each call has other types than the last", call);
    if (inferring_.size() >= deepest) {
        refuse_unsupported("calls of device functions nested more than " + std::to_string(deepest) +
                               " deep are not supported: have one function do the work of several",
                           call, Standing::not_gpu_code);
    }
}

/// Recursion: a call of a function that is being inferred gets the type of its returns so far; the function
/// that began the cycle is inferred again until nothing changes, and its members with it.
void Program::infer(Specialisation& specialisation, Location call) {
    check_depth(specialisation, call);
    const std::size_t depth = inferring_.size();
    specialisation.inferring = true;
    specialisation.lowest = depth;
    inferring_.push_back(&specialisation);
    try {
        infer_to_fixpoint(specialisation);
        inferring_.pop_back();
        specialisation.inferring = false;
        if (specialisation.lowest == depth) return finish_with_cycle(specialisation, depth);
    } catch (const SourceError& error) {
        abandon(specialisation, depth);
        specialisation.refusal = error;
        throw;
    }
    inferring_.back()->lowest = std::min(inferring_.back()->lowest, specialisation.lowest);
    if (std::ranges::find(unfinished_, &specialisation) == unfinished_.end())
        unfinished_.push_back(&specialisation);
}

void Program::infer_to_fixpoint(Specialisation& specialisation) {
    for (bool settled = false; !settled;) {
        try {
            in_source(source(specialisation.function), [&] { infer_types(*this, specialisation); });
            settled = true;
        } catch (const UnrollNeeded& needed) {
            specialisation.unrolled[specialisation.graph.unrolled[needed.loop]] = needed.size;
            build(specialisation);
        }
    }
}

/// Called after an error, because the caller may go on with another specialisation.
void Program::abandon(Specialisation& specialisation, std::size_t depth) {
    inferring_.resize(depth);
    specialisation.inferring = false;
    std::erase_if(unfinished_, [&](Specialisation* member) { return member->lowest >= depth; });
}

/// Members that were only reached with types since widened may stay unfinished: nothing calls them.
void Program::finish_with_cycle(Specialisation& head, std::size_t depth) {
    in_source(source(head.function), [&] {
        if (!finish_types(*this, head)) refuse_untyped(head);
    });
    head.finished = true;
    std::erase_if(unfinished_, [&](Specialisation* member) {
        if (member->lowest < depth) return false;
        member->finished = finish_types(*this, *member);
        return true;
    });
}

TypeRef Program::type_of(const GlobalValue& value, Location place) {
    switch (value.kind) {
        case GlobalKind::integer: {
            const TypeRef type = types.scalar_named(value.type_name);
            return types.literal(type, value.integer);
        }
        case GlobalKind::real:
        case GlobalKind::complex:
            return types.scalar_named(value.type_name);
        case GlobalKind::boolean:
            return types.literal(types.boolean, value.integer);
        case GlobalKind::date:
            if (const TypeRef type = types.parse(value.type_name)) return type;
            refuse_unsupported("the type " + value.type_name + " is not supported in kernels yet", place);
        case GlobalKind::none:
            return types.none;
        case GlobalKind::ellipsis:
            return types.ellipsis();
        case GlobalKind::text:
            return types.text(value.text);
        case GlobalKind::bytes:
            return types.bytes_constant(value.bytes);
        case GlobalKind::tuple: {
            std::vector<TypeRef> elements;
            for (const GlobalValue& element : value.elements) elements.push_back(type_of(element, place));
            if (!value.text.empty()) return types.named_tuple(value.text, value.names, std::move(elements));
            return types.tuple(std::move(elements));
        }
        case GlobalKind::member:
            return types.member(value.type_name, types.without_literal(type_of(value.elements[0], place)));
        case GlobalKind::data_type:
            if (const TypeRef type = types.parse(value.type_name)) return types.data_type(type);
            refuse_unsupported("the type " + value.type_name + " is not supported in kernels yet", place);
        case GlobalKind::array: {
            const TypeRef element = types.parse(value.type_name);
            if (!element)
                refuse_unsupported("arrays of " + value.type_name + " are not supported in kernels yet",
                                   place);
            return types.array(element, static_cast<unsigned>(value.shape.size()), 'C', constant_space, true);
        }
        case GlobalKind::device_array:
            if (const TypeRef type = types.parse(value.type_name)) return type;
            refuse_unsupported("the type " + value.type_name + " is not supported in kernels yet", place);
        case GlobalKind::record:
            if (const TypeRef type = types.parse(value.type_name)) {
                if (!type->is(TypeKind::added)) return types.record_in(type, constant_space, true);
                if (!added_constants_.contains(value.bytes)) {
                    const auto number = operation("constant " + value.bytes);
                    if (!number)
                        refuse_unsupported("'" + value.text + "' cannot be a constant in a kernel", place);
                    Resolution call{.callee = *number};
                    resolve(*number, call, place);
                    added_constants_.emplace(value.bytes, std::move(call));
                }
                return type;
            }
            refuse_unsupported("the type " + value.type_name + " is not supported in kernels yet", place);
        case GlobalKind::intrinsic:
            if (value.text == "cuda.threadIdx" || value.text == "cuda.blockIdx" ||
                value.text == "cuda.blockDim" || value.text == "cuda.gridDim") {
                return types.dim3(value);
            }
            if (value.text == "cuda.laneid" || value.text == "cuda.warpsize") return types.int32;
            return types.object(value);
        case GlobalKind::function:
        case GlobalKind::foreign:
        case GlobalKind::exception:
        case GlobalKind::tuple_class:
        case GlobalKind::enumeration:
        case GlobalKind::module:
            return types.object(value);
        case GlobalKind::undefined:
        case GlobalKind::unsupported:
            break;
    }
    refuse_typing("this global is not usable in a kernel: " + value.text, place);
}

std::vector<std::uint32_t> Program::bind(const FunctionSource& callee, const Instruction& call,
                                         bool has_self) const {
    const auto& parameters = callee.syntax.parameters;
    const std::string name = callee.syntax.name + "()";
    const std::size_t given = call.operands.size() - (has_self ? 0 : 1);
    const std::size_t positional = given - call.keywords.size();
    const std::size_t first_operand = has_self ? 0 : 1;
    if (callee.binds_arguments) {
        std::vector<std::uint32_t> all;
        for (std::size_t i = first_operand; i < call.operands.size(); ++i)
            all.push_back(static_cast<std::uint32_t>(i));
        return all;
    }
    if (positional > parameters.size()) {
        refuse_typing(name + " takes " + std::to_string(parameters.size()) + " arguments, but " +
                          std::to_string(positional) + " are given",
                      call.location);
    }
    std::vector<std::uint32_t> sources(parameters.size(), nothing);
    for (std::size_t i = 0; i < positional; ++i) sources[i] = static_cast<std::uint32_t>(i + first_operand);
    for (std::size_t k = 0; k < call.keywords.size(); ++k) {
        const auto found = std::ranges::find(parameters, call.keywords[k], &ParameterSyntax::name);
        if (found == parameters.end()) {
            refuse_typing(name + " has no parameter '" + call.keywords[k] + "'", call.location);
        }
        std::uint32_t& source = sources[static_cast<std::size_t>(found - parameters.begin())];
        if (source != nothing)
            refuse_typing(name + " gets parameter '" + call.keywords[k] + "' twice", call.location);
        source = static_cast<std::uint32_t>(positional + k + first_operand);
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

void refuse_untyped(const Specialisation& specialisation) {
    for (BlockId id : specialisation.graph.order) {
        for (ValueId value : specialisation.graph.blocks[id].instructions) {
            const Instruction& in = specialisation.graph.instructions[value];
            if (in.type) continue;
            if (in.opcode == Opcode::call)
                refuse_typing("cannot type infer runaway recursion: no path returns without another call",
                              in.location);
            const std::string name =
                in.variable == nothing
                    ? "this value"
                    : "variable '" + specialisation.graph.variables[in.variable].name + "'";
            refuse_typing(
                "Cannot infer the type of " + name + ": it is used before any value is assigned to it",
                in.location);
        }
    }
    refuse_typing("the types of this function cannot be inferred",
                  specialisation.graph.source->syntax.location);
}

/// The beginning of a long name (a record's lists its fields), and a number that stands for all of it.
static std::string shortened(const std::string& name) {
    static constexpr std::size_t longest = 60, kept = 24;
    if (name.size() <= longest) return name;
    std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
    for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
    return name.substr(0, kept) + " " + std::to_string(hash);
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
        append(symbol, shortened(argument->name));
        if (argument->is(TypeKind::array) && argument->address_space != global_space) {
            symbol += "_s" + std::to_string(argument->address_space);
        }
    }
    return symbol;
}

}  // namespace cudasim::pykernel
