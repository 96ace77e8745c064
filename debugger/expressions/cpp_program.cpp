// See cpp_program.h: types. What the nodes do is in cpp_nodes.cpp.
#include <algorithm>
#include <array>
#include <set>

#include "debugger/expressions/cpp_nodes.h"
#include "debugger/values/type_names.h"

namespace cudasim::debugger {
namespace {

using Node = CppProgram::Node;
using Made = std::unique_ptr<Node>;
using Syntax = CppSyntax::Kind;

constexpr std::array<std::pair<std::string_view, CppSpecial>, 6> special_names{{
    {"threadIdx", CppSpecial::thread_index},
    {"blockIdx", CppSpecial::block_index},
    {"blockDim", CppSpecial::block_extent},
    {"gridDim", CppSpecial::grid_extent},
    {"laneid", CppSpecial::lane},
    {"warpsize", CppSpecial::warp_size},
}};

const std::pair<std::string_view, CppSpecial>* special(std::string_view name) {
    const auto found = std::ranges::find(special_names, name == "warpSize" ? "warpsize" : name,
                                         &std::pair<std::string_view, CppSpecial>::first);
    return found != special_names.end() ? &*found : nullptr;
}

TypePtr fundamental(TypeKind kind, std::uint64_t bytes, const char* name) {
    auto type = std::make_shared<Type>();
    type->kind = kind;
    type->bytes = bytes;
    type->name = name;
    return type;
}

const TypePtr& type_named(std::string_view name) {
    static const std::array types{fundamental(TypeKind::signed_number, 1, "int8"),
                                  fundamental(TypeKind::signed_number, 2, "int16"),
                                  fundamental(TypeKind::signed_number, 4, "int"),
                                  fundamental(TypeKind::signed_number, 8, "long"),
                                  fundamental(TypeKind::unsigned_number, 1, "uint8"),
                                  fundamental(TypeKind::unsigned_number, 2, "uint16"),
                                  fundamental(TypeKind::unsigned_number, 4, "unsigned int"),
                                  fundamental(TypeKind::unsigned_number, 8, "unsigned long"),
                                  fundamental(TypeKind::floating, 4, "float"),
                                  fundamental(TypeKind::floating, 8, "double"),
                                  fundamental(TypeKind::boolean, 1, "bool")};
    constexpr std::array<std::string_view, 11> names{"int8",   "int16",  "int32", "int64",  "uint8", "uint16",
                                                     "uint32", "uint64", "float", "double", "bool"};
    return types[static_cast<std::size_t>(std::ranges::find(names, name) - names.begin())];
}

TypePtr pointer_to(const TypePtr& type) {
    auto pointer = std::make_shared<Type>();
    pointer->kind = TypeKind::pointer;
    pointer->bytes = sizeof(std::uint64_t);
    pointer->of = type;
    pointer->name = "pointer to " + type->name;
    return pointer;
}

std::string shown(const TypePtr& type) {
    return type->name.empty() ? "an unnamed type" : type->name;
}

class Binder {
  public:
    explicit Binder(const std::vector<CppVariable>& variables) : variables_(variables) {}

    Made bind(const CppSyntax& syntax) {
        switch (syntax.kind) {
            case Syntax::integer:
            case Syntax::real:
            case Syntax::boolean:
                return literal(syntax);
            case Syntax::name:
                return name(syntax);
            case Syntax::member:
                return member(syntax);
            case Syntax::index:
                return index(syntax);
            case Syntax::unary:
                return unary(syntax);
            case Syntax::binary:
                return binary(syntax);
            case Syntax::conditional:
                return conditional(syntax);
            case Syntax::cast:
                return cast(syntax);
            case Syntax::size_of:
                return size_of(syntax);
        }
        throw ExpressionError("it cannot be evaluated");
    }

    /// A bit-field is promoted to int where that has all of its values ([conv.prom]).
    static TypePtr type_of_value(const TypePtr& type) {
        if (type->bits == 0) return type;
        if (type->kind != TypeKind::boolean && type->bits < 32) return type_named("int32");
        Type plain = *type;
        plain.bits = 0;
        return std::make_shared<Type>(std::move(plain));
    }

    /// The value of what may be a place. Arrays become pointers to their first elements.
    static Made value(Made node) {
        if (!node->is_place) return node;
        if (node->type->kind == TypeKind::sequence) {
            TypePtr type = pointer_to(node->type->of);
            return make(Op::address, std::move(type), std::move(node));
        }
        if (!is_scalar_type(*node->type)) return node;
        TypePtr type = type_of_value(node->type);
        return make(Op::load, std::move(type), std::move(node));
    }

    static Made make(Op op, TypePtr type, Made first = nullptr, Made second = nullptr, Made third = nullptr) {
        auto node = std::make_unique<Node>();
        node->op = op;
        node->type = std::move(type);
        node->first = std::move(first);
        node->second = std::move(second);
        node->third = std::move(third);
        return node;
    }

  private:
    static Made literal(const CppSyntax& syntax) {
        if (syntax.kind == Syntax::real) {
            Made node = make(Op::constant, type_named(syntax.is_float ? "float" : "double"));
            node->constant.real = syntax.real;
            return node;
        }
        const bool is_long =
            syntax.is_long || syntax.integer > (syntax.is_unsigned ? 0xffffffff : 0x7fffffff);
        const char* name = syntax.kind == Syntax::boolean ? "bool"
                           : syntax.is_unsigned           ? (is_long ? "uint64" : "uint32")
                                                          : (is_long ? "int64" : "int32");
        Made node = make(Op::constant, type_named(name));
        node->constant.bits = syntax.integer;
        return node;
    }

    static Made place(Op op, TypePtr type, Made base, Made index = nullptr) {
        Made node = make(op, std::move(type), std::move(base), std::move(index));
        return as_place(std::move(node));
    }
    /// A reference is what it refers to.
    static Made as_place(Made node) {
        node->is_place = true;
        if (!node->type->is_reference) return node;
        TypePtr reference = node->type, target = reference->of;
        node =
            make(Op::dereference, std::move(target), make(Op::load, std::move(reference), std::move(node)));
        node->is_place = true;
        return node;
    }

    Made name(const CppSyntax& syntax) {
        for (std::size_t i = 0; i < variables_.size(); ++i) {
            if (variables_[i].name != syntax.text) continue;
            Made variable = make(Op::variable, variables_[i].type);
            variable->number = static_cast<std::int64_t>(i);
            return as_place(std::move(variable));
        }
        if (const auto* known = special(syntax.text)) {
            if (known->second < CppSpecial::lane)
                throw ExpressionError("'" + syntax.text + "' has the members x, y and z");
            Made node = make(Op::special, type_named("int32"));
            node->number = static_cast<std::int64_t>(known->second);
            return node;
        }
        // A member of the object whose function this is.
        if (const CppSyntax* object = &this_; has_this()) {
            Made self = value(name(*object));
            if (self->type->kind == TypeKind::pointer && self->type->of->member(syntax.text) != nullptr)
                return member_at(dereferenced(std::move(self)), syntax.text);
        }
        if (const auto known = enumerator_in(types(), syntax.text)) {
            Made node = make(Op::constant, known->type);
            node->constant.bits = static_cast<std::uint64_t>(known->value);
            return node;
        }
        throw ExpressionError("there is no variable '" + syntax.text + "' here");
    }
    [[nodiscard]] bool has_this() const {
        return std::ranges::find(variables_, "this", &CppVariable::name) != variables_.end();
    }

    Made member(const CppSyntax& syntax) {
        const CppSyntax& object = *syntax.parts[0];
        if (!syntax.is_arrow && object.kind == Syntax::name) {
            const auto* known = special(object.text);
            const bool is_variable =
                std::ranges::find(variables_, object.text, &CppVariable::name) != variables_.end();
            if (known != nullptr && known->second < CppSpecial::lane && !is_variable) {
                const std::size_t axis = std::string_view("xyz").find(syntax.text);
                if (syntax.text.size() != 1 || axis == std::string_view::npos)
                    throw ExpressionError("'" + object.text + "' has the members x, y and z");
                Made node = make(Op::special, type_named("uint32"));
                node->number = static_cast<std::int64_t>(known->second);
                node->axis = static_cast<unsigned>(axis);
                return node;
            }
        }
        Made base = bind(object);
        if (syntax.is_arrow || (base->is_place && base->type->kind == TypeKind::pointer &&
                                base->type->of->kind == TypeKind::structure))
            base = dereferenced(value(std::move(base)));
        return member_at(std::move(base), syntax.text);
    }

    static Made dereferenced(Made pointer) {
        if (pointer->type->kind != TypeKind::pointer)
            throw ExpressionError(shown(pointer->type) + " is no pointer");
        if (pointer->type->of->bytes == 0)
            throw ExpressionError("it is not known what a " + shown(pointer->type) + " points to");
        // What lies in a variable need not be read from memory.
        if (pointer->op == Op::address) {
            Made whole = std::move(pointer->first);
            if (whole->type->kind != TypeKind::sequence || pointer->type->of == whole->type) return whole;
            TypePtr type = whole->type->of;
            return place(Op::element, std::move(type), std::move(whole),
                         make(Op::constant, type_named("int64")));
        }
        TypePtr target = pointer->type->of;
        return place(Op::dereference, std::move(target), std::move(pointer));
    }

    static Made member_at(Made base, const std::string& name) {
        const Member* member = base->is_place ? base->type->member(name) : nullptr;
        if (member == nullptr) throw ExpressionError(shown(base->type) + " has no member '" + name + "'");
        const std::uint64_t offset = member->offset;
        TypePtr type = member->type;
        Made node = make(Op::member, std::move(type), std::move(base));
        node->number = static_cast<std::int64_t>(offset);
        return as_place(std::move(node));
    }

    Made index(const CppSyntax& syntax) {
        Made base = bind(*syntax.parts[0]);
        if (base->is_place && base->type->is_array()) return element_of_array(std::move(base), syntax);
        if (syntax.parts.size() != 2) throw ExpressionError("only arrays have several indices");
        Made at = value(bind(*syntax.parts[1]));
        if (!is_integral(*at->type)) throw ExpressionError("an index is an integer, not " + shown(at->type));
        at = convert(std::move(at), type_named(is_signed(*at->type) ? "int64" : "uint64"));
        if (base->is_place && base->type->kind == TypeKind::sequence) {
            TypePtr type = base->type->of;
            return place(Op::element, std::move(type), std::move(base), std::move(at));
        }
        base = value(std::move(base));
        if (base->type->kind != TypeKind::pointer)
            throw ExpressionError(shown(base->type) + " has no elements");
        TypePtr type = base->type;
        return dereferenced(make(Op::advance, std::move(type), std::move(base), std::move(at)));
    }

    Made element_of_array(Made base, const CppSyntax& syntax) {
        const Type& type = *base->type;
        const std::size_t dimensions = type.member("shape")->type->length;
        if (syntax.parts.size() - 1 != dimensions)
            throw ExpressionError("an array of " + std::to_string(dimensions) + " dimensions takes " +
                                  std::to_string(dimensions) + " indices, as in x[i" +
                                  (dimensions > 1 ? ", j" : "") + "]");
        TypePtr element = type.member("data")->type->of;
        Made node = make(Op::array_element, std::move(element), std::move(base));
        node->is_place = true;
        for (std::size_t axis = 0; axis < dimensions; ++axis) {
            Made at = value(bind(*syntax.parts[axis + 1]));
            if (!is_integral(*at->type))
                throw ExpressionError("an index is an integer, not " + shown(at->type));
            node->more.push_back(convert(std::move(at), type_named("int64")));
        }
        return node;
    }

    Made unary(const CppSyntax& syntax) {
        const char operation = syntax.text[0];
        if (operation == '&') {
            Made operand = bind(*syntax.parts[0]);
            if (!operand->is_place) throw ExpressionError("& needs something that lies in memory");
            if (operand->type->bits != 0) throw ExpressionError("a bit-field has no address");
            TypePtr type = pointer_to(operand->type);
            return make(Op::address, std::move(type), std::move(operand));
        }
        Made operand = value(bind(*syntax.parts[0]));
        if (operation == '*') return dereferenced(std::move(operand));
        if (operation == '!') return make(Op::logical_not, type_named("bool"), condition(std::move(operand)));
        if (operation == '~') {
            if (!is_integral(*operand->type)) throw ExpressionError("~ needs an integer");
            operand = promoted(std::move(operand));
            TypePtr type = operand->type;
            return make(Op::complement, std::move(type), std::move(operand));
        }
        operand = promoted(std::move(operand));
        if (operation == '+') return operand;
        TypePtr type = operand->type;
        return make(Op::negate, std::move(type), std::move(operand));
    }

    static Made condition(Made operand) {
        if (!is_scalar_type(*operand->type))
            throw ExpressionError(shown(operand->type) + " is neither true nor false");
        return convert(std::move(operand), type_named("bool"));
    }

    static Made convert(Made node, const TypePtr& type) {
        if (node->type->kind == type->kind && node->type->bytes == type->bytes) return node;
        return make(Op::convert, type, std::move(node));
    }

    static Made promoted(Made node) {
        if (!is_number(*node->type)) throw ExpressionError(shown(node->type) + " is no number");
        if (node->type->kind == TypeKind::floating) return node;
        if (node->type->bytes < 4) return convert(std::move(node), type_named("int32"));
        if (node->type->enumerators.empty()) return node;
        const bool is_long = node->type->bytes == 8;
        TypePtr number = is_signed(*node->type) ? type_named(is_long ? "int64" : "int32")
                                                : type_named(is_long ? "uint64" : "uint32");
        return make(Op::convert, std::move(number), std::move(node));
    }

    /// Both have the type that C++'s usual arithmetic conversions give.
    static void make_alike(Made& left, Made& right) {
        left = promoted(std::move(left));
        right = promoted(std::move(right));
        const Type &a = *left->type, &b = *right->type;
        const char* name = nullptr;
        if (a.kind == TypeKind::floating || b.kind == TypeKind::floating) {
            const bool is_double = (a.kind == TypeKind::floating && a.bytes == 8) ||
                                   (b.kind == TypeKind::floating && b.bytes == 8);
            name = is_double ? "double" : "float";
        } else {
            const std::uint64_t bytes = std::max(a.bytes, b.bytes);
            const bool is_unsigned =
                (!is_signed(a) && a.bytes == bytes) || (!is_signed(b) && b.bytes == bytes);
            name = bytes == 8 ? (is_unsigned ? "uint64" : "int64") : (is_unsigned ? "uint32" : "int32");
        }
        left = convert(std::move(left), type_named(name));
        right = convert(std::move(right), type_named(name));
    }

    Made binary(const CppSyntax& syntax) {
        static const std::array<std::pair<std::string_view, Op>, 18> operations{{
            {"||", Op::logical_or},
            {"&&", Op::logical_and},
            {"|", Op::bit_or},
            {"^", Op::bit_xor},
            {"&", Op::bit_and},
            {"==", Op::equal},
            {"!=", Op::unequal},
            {"<", Op::less},
            {">", Op::greater},
            {"<=", Op::less_or_equal},
            {">=", Op::at_least},
            {"<<", Op::shift_left},
            {">>", Op::shift_right},
            {"+", Op::add},
            {"-", Op::subtract},
            {"*", Op::multiply},
            {"/", Op::divide},
            {"%", Op::remainder},
        }};
        const Op op =
            std::ranges::find(operations, syntax.text, &std::pair<std::string_view, Op>::first)->second;
        Made left = value(bind(*syntax.parts[0])), right = value(bind(*syntax.parts[1]));
        if (op == Op::logical_or || op == Op::logical_and)
            return make(op, type_named("bool"), condition(std::move(left)), condition(std::move(right)));
        const bool compares = op >= Op::equal && op <= Op::at_least;
        const bool of_pointers =
            left->type->kind == TypeKind::pointer || right->type->kind == TypeKind::pointer;
        if (of_pointers) return with_pointers(op, compares, std::move(left), std::move(right));
        if (op == Op::shift_left || op == Op::shift_right) {
            if (!is_integral(*left->type) || !is_integral(*right->type))
                throw ExpressionError("integers are shifted, by integers");
            left = promoted(std::move(left));
            right = promoted(std::move(right));
            TypePtr type = left->type;
            return make(op, std::move(type), std::move(left), std::move(right));
        }
        make_alike(left, right);
        if (!is_integral(*left->type) &&
            (op == Op::remainder || op == Op::bit_or || op == Op::bit_and || op == Op::bit_xor))
            throw ExpressionError("'" + syntax.text + "' takes integers only");
        TypePtr type = compares ? type_named("bool") : left->type;
        return make(op, std::move(type), std::move(left), std::move(right));
    }

    static Made with_pointers(Op op, bool compares, Made left, Made right) {
        const bool both = left->type->kind == right->type->kind;
        if (compares &&
            (both || (op <= Op::unequal && is_integral(*left->type)) || is_integral(*right->type))) {
            left = convert(std::move(left), type_named("uint64"));
            right = convert(std::move(right), type_named("uint64"));
            return make(op, type_named("bool"), std::move(left), std::move(right));
        }
        if (op == Op::subtract && both && left->type->of->bytes != 0) {
            const auto bytes = static_cast<std::int64_t>(left->type->of->bytes);
            Made node = make(Op::distance, type_named("int64"), std::move(left), std::move(right));
            node->number = bytes;
            return node;
        }
        if (op == Op::add && right->type->kind == TypeKind::pointer) std::swap(left, right);
        if ((op == Op::add || op == Op::subtract) && is_integral(*right->type)) {
            right = convert(std::move(right), type_named("int64"));
            if (op == Op::subtract) right = make(Op::negate, type_named("int64"), std::move(right));
            TypePtr type = left->type;
            return make(Op::advance, std::move(type), std::move(left), std::move(right));
        }
        throw ExpressionError("pointers cannot be combined like that");
    }

    Made conditional(const CppSyntax& syntax) {
        Made test = condition(value(bind(*syntax.parts[0])));
        Made yes = value(bind(*syntax.parts[1])), no = value(bind(*syntax.parts[2]));
        if (yes->type->kind == TypeKind::pointer && no->type->kind == TypeKind::pointer) {
            TypePtr type = yes->type;
            return make(Op::choose, std::move(type), std::move(test), std::move(yes), std::move(no));
        }
        const bool are_alike = yes->type->kind == no->type->kind && yes->type->bytes == no->type->bytes;
        if (!are_alike || !is_number(*yes->type)) make_alike(yes, no);
        TypePtr type = yes->type;
        return make(Op::choose, std::move(type), std::move(test), std::move(yes), std::move(no));
    }

    Made cast(const CppSyntax& syntax) {
        Made operand = value(bind(*syntax.parts[0]));
        if (!is_scalar_type(*operand->type))
            throw ExpressionError(shown(operand->type) + " cannot be converted");
        TypePtr type = named_type(syntax);
        if (!is_scalar_type(*type)) throw ExpressionError("nothing is converted to " + shown(type));
        if (type->kind == TypeKind::pointer && operand->type->kind == TypeKind::floating)
            throw ExpressionError("a floating-point number is no address");
        if (type->kind == TypeKind::pointer) return make(Op::convert, std::move(type), std::move(operand));
        if (!type->enumerators.empty() || !operand->type->enumerators.empty())
            return make(Op::convert, std::move(type), std::move(operand));
        return convert(std::move(operand), type);
    }

    [[nodiscard]] std::vector<TypePtr> types() const {
        std::vector<TypePtr> all;
        for (const CppVariable& variable : variables_) all.push_back(variable.type);
        return all;
    }

    /// Of a cast, or of sizeof.
    [[nodiscard]] TypePtr named_type(const CppSyntax& syntax) const {
        TypePtr type = syntax.is_of_program ? type_in(types(), syntax.text) : type_named(syntax.text);
        if (!type) throw ExpressionError("no variable here has to do with a type '" + syntax.text + "'");
        for (unsigned i = 0; i < syntax.pointers; ++i) type = pointer_to(type);
        return type;
    }

    /// The operand is not evaluated.
    Made size_of(const CppSyntax& syntax) {
        TypePtr type;
        if (syntax.parts.empty()) {
            type = named_type(syntax);
        } else if (const CppSyntax& operand = *syntax.parts[0]; operand.kind == Syntax::name) {
            const bool is_known =
                std::ranges::find(variables_, operand.text, &CppVariable::name) != variables_.end() ||
                special(operand.text) != nullptr;
            if (!is_known) type = type_in(types(), operand.text);
        }
        if (!type) type = bind(*syntax.parts[0])->type;
        if (type->bits != 0) throw ExpressionError("a bit-field has no size");
        if (type->bytes == 0) throw ExpressionError("the size of " + shown(type) + " is not known");
        Made node = make(Op::constant, type_named("uint64"));
        node->constant.bits = type->bytes;
        return node;
    }

    const std::vector<CppVariable>& variables_;
    const CppSyntax this_ = [] {
        CppSyntax name;
        name.kind = Syntax::name;
        name.text = "this";
        return name;
    }();
};

std::size_t depth_of(const Node& node) {
    std::size_t deepest = 0;
    for (const Node* each : {node.first.get(), node.second.get(), node.third.get()})
        if (each != nullptr) deepest = std::max(deepest, depth_of(*each));
    for (const Made& each : node.more) deepest = std::max(deepest, depth_of(*each));
    return deepest + 1;
}

void add_names(const CppSyntax& syntax, std::vector<std::string>& names) {
    if (syntax.kind == Syntax::name && std::ranges::find(names, syntax.text) == names.end())
        names.push_back(syntax.text);
    for (const auto& part : syntax.parts) add_names(*part, names);
}

}  // namespace

CppProgram::CppProgram(std::string_view text, std::vector<CppVariable> variables)
    : variables_(std::move(variables)) {
    root_ = Binder(variables_).bind(*parse_cpp(text));
    if (!root_->is_place && !is_scalar_type(*root_->type)) throw ExpressionError("it has no value");
}

CppProgram::~CppProgram() = default;
CppProgram::CppProgram(CppProgram&&) noexcept = default;
CppProgram& CppProgram::operator=(CppProgram&&) noexcept = default;

const TypePtr& CppProgram::type() const {
    return root_->type;
}
bool CppProgram::is_place() const {
    return root_->is_place;
}
std::size_t CppProgram::depth() const {
    return depth_of(*root_);
}
bool CppProgram::is_scalar() const {
    return is_scalar_type(*root_->type);
}

CppFault CppProgram::place(const CppEnvironment& environment, CppPlace& result) const noexcept {
    return CppMachine(environment).place(*root_, result);
}

CppFault CppProgram::value(const CppEnvironment& environment, CppScalar& result) const noexcept {
    const CppMachine machine(environment);
    return root_->is_place ? machine.load(*root_, result) : machine.value(*root_, result);
}

CppFault CppProgram::truth(const CppEnvironment& environment, bool& result) const noexcept {
    CppScalar scalar;
    const CppFault fault = value(environment, scalar);
    result = root_->type->kind == TypeKind::floating ? scalar.real != 0 : scalar.bits != 0;
    return fault;
}

std::vector<std::byte> converted_bytes(const CppScalar& value, const TypePtr& from, const TypePtr& to) {
    if (!is_scalar_type(*to)) throw ExpressionError(shown(to) + " cannot be assigned as a whole");
    if (to->kind == TypeKind::pointer && from->kind == TypeKind::floating)
        throw ExpressionError("a floating-point number is no address");
    return bytes_of(converted(value, *from, *to), *to);
}

std::vector<std::string> names_in_cpp(std::string_view text) {
    std::vector<std::string> names;
    add_names(*parse_cpp(text), names);
    return names;
}

bool is_special_name(std::string_view name) {
    return special(name) != nullptr;
}

}  // namespace cudasim::debugger
