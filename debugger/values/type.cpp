// See type.h.
#include "debugger/values/type.h"

#include <llvm/ADT/StringSwitch.h>
#include <llvm/Support/JSON.h>

#include <algorithm>
#include <bit>

#include "debugger/values/number_text.h"

namespace cudasim::debugger {
namespace {

namespace json = llvm::json;

TypeKind basic_kind(llvm::StringRef name) {
    return llvm::StringSwitch<TypeKind>(name)
        .Case("signed", TypeKind::signed_number)
        .Case("unsigned", TypeKind::unsigned_number)
        .Case("float", TypeKind::floating)
        .Case("complex", TypeKind::complex)
        .Case("bool", TypeKind::boolean)
        .Case("character", TypeKind::character)
        .Default(TypeKind::unknown);
}

std::uint64_t number(const json::Object& object, llvm::StringRef name) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(object.getInteger(name).value_or(0), 0));
}

TypePtr type_of(const json::Value* value);

void add_members(Type& type, const json::Array& members) {
    for (const json::Value& each : members) {
        const json::Array* triple = each.getAsArray();
        if (triple == nullptr || triple->size() != 3) continue;
        type.members.push_back({(*triple)[0].getAsString().value_or("").str(),
                                static_cast<std::uint64_t>((*triple)[1].getAsInteger().value_or(0)),
                                type_of(&(*triple)[2])});
    }
}

/// Of a bit-field.
void set_bits(Type& type, const json::Object& object) {
    const std::uint64_t bits = number(object, "bits"), low = number(object, "bit");
    if (bits == 0 || type.bytes > sizeof(std::uint64_t) || low >= 8 * type.bytes ||
        bits > 8 * type.bytes - low)
        return;
    type.bits = static_cast<std::uint32_t>(bits), type.low_bit = static_cast<std::uint32_t>(low);
}

void set_enumerators(Type& type, const json::Object& object) {
    const json::Array* enumerators = object.getArray("enumerators");
    if (enumerators == nullptr) return;
    type.is_scoped = object.getBoolean("scoped").value_or(false);
    for (const json::Value& each : *enumerators) {
        const json::Array* pair = each.getAsArray();
        if (pair == nullptr || pair->size() != 2) continue;
        type.enumerators.push_back(
            {(*pair)[0].getAsString().value_or("").str(), (*pair)[1].getAsInteger().value_or(0)});
    }
}

TypePtr type_of(const json::Value* value) {
    auto type = std::make_shared<Type>();
    const json::Object* object = value != nullptr ? value->getAsObject() : nullptr;
    if (object == nullptr) return type;
    const llvm::StringRef kind = object->getString("kind").value_or("");
    type->name = object->getString("name").value_or("").str();
    if (kind == "alias") {
        Type alias = *type_of(object->get("of"));
        alias.name = type->name;
        set_bits(alias, *object);
        set_enumerators(alias, *object);
        return std::make_shared<Type>(std::move(alias));
    }
    if (kind == "struct") {
        type->kind = TypeKind::structure;
        type->bytes = number(*object, "bytes");
        if (const json::Array* members = object->getArray("members")) add_members(*type, *members);
    } else if (kind == "pointer") {
        type->kind = TypeKind::pointer;
        type->bytes = sizeof(std::uint64_t);
        type->of = type_of(object->get("to"));
        type->name = "pointer to " + type->of->name;
        type->is_reference = object->getBoolean("reference").value_or(false);
    } else if (kind == "sequence") {
        type->kind = TypeKind::sequence;
        type->length = number(*object, "length");
        type->of = type_of(object->get("of"));
        type->bytes = type->length * type->of->bytes;
        type->name = type->of->name + " x " + std::to_string(type->length);
    } else {
        type->kind = basic_kind(kind);
        type->bytes = number(*object, "bytes");
        set_bits(*type, *object);
        set_enumerators(*type, *object);
    }
    return type;
}

}  // namespace

std::uint64_t from_bit_field(const Type& type, std::uint64_t word) {
    const unsigned above = 64 - type.bits;
    word = word >> type.low_bit << above;
    return type.kind == TypeKind::signed_number
               ? static_cast<std::uint64_t>(static_cast<std::int64_t>(word) >> above)
               : word >> above;
}

std::uint64_t with_bit_field(const Type& type, std::uint64_t word, std::uint64_t number) {
    const std::uint64_t mask = ~std::uint64_t{0} >> (64 - type.bits) << type.low_bit;
    return (word & ~mask) | (number << type.low_bit & mask);
}

const Member* Type::member(std::string_view wanted) const {
    const auto found = std::ranges::find(members, wanted, &Member::name);
    return found != members.end() ? &*found : nullptr;
}

bool Type::is_array() const {
    const Member *data = member("data"), *shape = member("shape"), *strides = member("strides");
    return data != nullptr && shape != nullptr && strides != nullptr &&
           data->type->kind == TypeKind::pointer && shape->type->kind == TypeKind::sequence &&
           strides->type->kind == TypeKind::sequence && shape->type->length == strides->type->length;
}

std::string Type::enumerator_text(std::int64_t value) const {
    const auto named = [&](const Enumerator& each) {
        return is_scoped && !name.empty() ? name + "::" + each.name : each.name;
    };
    const auto found = std::ranges::find(enumerators, value, &Enumerator::value);
    if (found != enumerators.end()) return named(*found);
    std::uint64_t bits_of_all = 0;
    for (const Enumerator& each : enumerators) {
        const auto bit = static_cast<std::uint64_t>(each.value);
        if (each.value != 0 && (!std::has_single_bit(bit) || (bits_of_all & bit) != 0))
            return std::to_string(value);
        bits_of_all |= bit;
    }
    auto left = static_cast<std::uint64_t>(value);
    std::string text;
    for (const Enumerator& each : enumerators) {
        const auto bit = static_cast<std::uint64_t>(each.value);
        if ((left & bit) == 0) continue;
        text += (text.empty() ? "" : " | ") + named(each);
        left &= ~bit;
    }
    if (text.empty() || (left != 0 && value < 0)) return std::to_string(value);
    return "(" + text + (left != 0 ? " | unknown: " + hexadecimal(left) : "") + ")";
}

TypePtr Types::parse(const std::string& description) {
    TypePtr& type = known_[description];
    if (type) return type;
    llvm::Expected<json::Value> parsed = json::parse(description);
    if (parsed) {
        type = type_of(&*parsed);
    } else {
        llvm::consumeError(parsed.takeError());
        type = std::make_shared<Type>();
    }
    return type;
}

}  // namespace cudasim::debugger
