// See debug_types.h.
#include "simulator/jit/debug_types.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/Constants.h>
#include <llvm/Support/JSON.h>

#include <algorithm>
#include <set>

namespace cudasim::jit {
namespace {

using namespace llvm;

/// Types that contain themselves (linked nodes) end here.
constexpr unsigned deepest = 12;
/// Larger enumerations, as those of errors, are numbers.
constexpr unsigned most_enumerators = 200;

const char* kind_of(const DIBasicType& type) {
    switch (type.getEncoding()) {
        case dwarf::DW_ATE_boolean:
            return "bool";
        case dwarf::DW_ATE_signed:
        case dwarf::DW_ATE_signed_char:
            return "signed";
        case dwarf::DW_ATE_unsigned:
            return "unsigned";
        case dwarf::DW_ATE_float:
            return "float";
        case dwarf::DW_ATE_complex_float:
            return "complex";
        case dwarf::DW_ATE_unsigned_char:
            if (type.getName() == "unsigned char") return "unsigned";  // C++ counts with it
            return "character";
        case dwarf::DW_ATE_UTF:
            return "character";
        default:
            return "unknown";
    }
}

std::int64_t bytes_of(const DIType& type) {
    return static_cast<std::int64_t>(type.getSizeInBits() / 8);
}

json::Object describe(const DIType* type, unsigned depth);

/// How many elements an array has along each axis, the outermost first; one axis with all where that is not
/// said.
SmallVector<std::uint64_t> extents_of(const DICompositeType& type, std::uint64_t length) {
    SmallVector<std::uint64_t> extents;
    std::uint64_t product = 1;
    for (const DINode* node : type.getElements()) {
        const auto* range = dyn_cast_or_null<DISubrange>(node);
        const auto* count = range ? dyn_cast_if_present<ConstantInt*>(range->getCount()) : nullptr;
        if (!count || count->getZExtValue() == 0) return {length};
        extents.push_back(count->getZExtValue());
        product *= extents.back();
    }
    return extents.empty() || product != length ? SmallVector<std::uint64_t>{length} : extents;
}

/// Of several dimensions: a sequence of sequences.
json::Object describe_array(ArrayRef<std::uint64_t> extents, const DIType* element, unsigned depth) {
    json::Object of = extents.size() > 1 ? describe_array(extents.drop_front(), element, depth)
                                         : describe(element, depth + 1);
    return json::Object{
        {"kind", "sequence"}, {"length", static_cast<std::int64_t>(extents.front())}, {"of", std::move(of)}};
}

const DICompositeType* composite_of(const DIType* type) {
    while (const auto* derived = dyn_cast_or_null<DIDerivedType>(type)) {
        if (derived->getTag() == dwarf::DW_TAG_pointer_type) return nullptr;
        type = derived->getBaseType();
    }
    return dyn_cast_or_null<DICompositeType>(type);
}

/// A bit-field lies in the unit of its type's size that has its first bit, as C++'s ABIs lay it out. The
/// offset is counted in bits.
json::Array describe_bit_field(const DIDerivedType& member, json::Object type, std::int64_t offset) {
    const auto unit = std::max<std::int64_t>(8, 8 * type.getInteger("bytes").value_or(0));
    const std::int64_t bit = offset % unit;
    const auto bits = static_cast<std::int64_t>(member.getSizeInBits());
    if (bit + bits > unit) type = json::Object{{"kind", "unknown"}, {"name", "a bit-field of several units"}};
    type["bits"] = bits;
    type["bit"] = bit;
    return json::Array{member.getName(), (offset - bit) / 8, std::move(type)};
}

struct Inside {
    std::int64_t offset;
    unsigned depth;
};

/// Those of base classes and of unnamed unions and structures are named as if they were its own, where it has
/// no other of that name. In the order of their addresses.
void add_members(const DICompositeType& type, Inside inside, json::Array& members,
                 std::set<StringRef>& names) {
    if (inside.depth > deepest) return;
    const auto is_named = [](const DIDerivedType& member) { return !member.getName().empty(); };
    const auto is_part = [](const DIDerivedType& member) {
        return (member.getTag() == dwarf::DW_TAG_member && !member.isStaticMember()) ||
               (member.getTag() == dwarf::DW_TAG_inheritance &&
                (member.getFlags() & DINode::FlagVirtual) == 0);
    };
    std::set<const DINode*> own;  // which hide those of the parts
    for (const DINode* node : type.getElements())
        if (const auto* member = dyn_cast_or_null<DIDerivedType>(node);
            member && is_part(*member) && is_named(*member) && names.insert(member->getName()).second)
            own.insert(node);
    for (const DINode* node : type.getElements()) {
        const auto* member = dyn_cast_or_null<DIDerivedType>(node);
        if (!member || !is_part(*member)) continue;
        const std::int64_t offset = inside.offset + static_cast<std::int64_t>(member->getOffsetInBits() / 8);
        if (is_named(*member)) {
            if (!own.contains(node)) continue;
            json::Object of = describe(member->getBaseType(), inside.depth + 1);
            if (member->isBitField())
                members.push_back(describe_bit_field(
                    *member, std::move(of),
                    8 * inside.offset + static_cast<std::int64_t>(member->getOffsetInBits())));
            else
                members.push_back(json::Array{member->getName(), offset, std::move(of)});
        } else if (const DICompositeType* part = composite_of(member->getBaseType())) {
            add_members(*part, {offset, inside.depth + 1}, members, names);
        }
    }
}

void add_enumerators(const DICompositeType& type, json::Object& described) {
    if (type.getElements().empty() || type.getElements().size() > most_enumerators) return;
    json::Array all;
    for (const DINode* node : type.getElements())
        if (const auto* each = dyn_cast_or_null<DIEnumerator>(node);
            each && each->getValue().getBitWidth() <= 64)
            all.push_back(
                json::Array{each->getName(), each->isUnsigned()
                                                 ? static_cast<std::int64_t>(each->getValue().getZExtValue())
                                                 : each->getValue().getSExtValue()});
    described["enumerators"] = std::move(all);
    if ((type.getFlags() & DINode::FlagEnumClass) != 0) described["scoped"] = true;
}

json::Object describe_composite(const DICompositeType& type, unsigned depth) {
    if (type.getTag() == dwarf::DW_TAG_array_type) {
        const DIType* element = type.getBaseType();
        const std::uint64_t element_bits = element ? element->getSizeInBits() : 0;
        const std::uint64_t length = element_bits ? type.getSizeInBits() / element_bits : 0;
        return describe_array(extents_of(type, length), element, depth);
    }
    if (type.getTag() == dwarf::DW_TAG_enumeration_type) {
        json::Object number = describe(type.getBaseType(), depth + 1);
        json::Object described =
            type.getBaseType()
                ? json::Object{{"kind", "alias"}, {"name", type.getName()}, {"of", std::move(number)}}
                : json::Object{{"kind", "signed"}, {"name", type.getName()}, {"bytes", bytes_of(type)}};
        add_enumerators(type, described);
        return described;
    }
    json::Array members;
    std::set<StringRef> names;
    add_members(type, {0, depth}, members, names);
    return json::Object{{"kind", "struct"},
                        {"name", type.getName()},
                        {"bytes", bytes_of(type)},
                        {"members", std::move(members)}};
}

json::Object reference_to(json::Object type) {
    return json::Object{{"kind", "pointer"}, {"reference", true}, {"to", std::move(type)}};
}

json::Object describe(const DIType* type, unsigned depth) {
    if (!type || depth > deepest)
        return json::Object{{"kind", "unknown"}, {"name", type ? type->getName() : ""}};
    if (const auto* basic = dyn_cast<DIBasicType>(type))
        return json::Object{
            {"kind", kind_of(*basic)}, {"name", basic->getName()}, {"bytes", bytes_of(*basic)}};
    if (const auto* composite = dyn_cast<DICompositeType>(type)) return describe_composite(*composite, depth);
    const auto* derived = dyn_cast<DIDerivedType>(type);
    if (!derived) return json::Object{{"kind", "unknown"}, {"name", type->getName()}};
    json::Object base = describe(derived->getBaseType(), depth + 1);
    const bool is_qualified = derived->getTag() == dwarf::DW_TAG_const_type ||
                              derived->getTag() == dwarf::DW_TAG_volatile_type ||
                              derived->getTag() == dwarf::DW_TAG_restrict_type;
    if (is_qualified && derived->getBaseType()) return base;
    if (derived->getTag() == dwarf::DW_TAG_reference_type ||
        derived->getTag() == dwarf::DW_TAG_rvalue_reference_type)
        return reference_to(std::move(base));
    if (derived->getTag() == dwarf::DW_TAG_pointer_type)
        return json::Object{{"kind", "pointer"}, {"to", std::move(base)}};
    return json::Object{{"kind", "alias"}, {"name", derived->getName()}, {"of", std::move(base)}};
}

const DIDerivedType* member_of(const DICompositeType& type, StringRef name) {
    for (const DINode* node : type.getElements()) {
        const auto* member = dyn_cast_or_null<DIDerivedType>(node);
        if (member && member->getName() == name) return member;
    }
    return nullptr;
}

std::uint64_t pointed_bytes(const DIType* type) {
    const auto* pointer = dyn_cast_or_null<DIDerivedType>(type);
    if (!pointer || pointer->getTag() != dwarf::DW_TAG_pointer_type || !pointer->getBaseType()) return 0;
    return pointer->getBaseType()->getSizeInBits() / 8;
}

}  // namespace

std::string type_description(const DIType* type) {
    std::string text;
    raw_string_ostream stream(text);
    stream << json::Value(describe(type, 0));
    return text;
}

std::string reference_description(const DIType* type) {
    std::string text;
    raw_string_ostream stream(text);
    const auto* array = dyn_cast_or_null<DICompositeType>(type);
    const bool is_endless = array != nullptr && array->getTag() == dwarf::DW_TAG_array_type &&
                            array->getSizeInBits() == 0 && array->getBaseType() != nullptr;
    stream << json::Value(is_endless
                              ? json::Object{{"kind", "pointer"}, {"to", describe(array->getBaseType(), 1)}}
                              : reference_to(describe(type, 0)));
    return text;
}

std::optional<ReferredMemory> referred_memory(const DIType* type) {
    if (const std::uint64_t bytes = pointed_bytes(type)) return ReferredMemory{0, bytes};
    const auto* composite = dyn_cast_or_null<DICompositeType>(type);
    if (!composite || composite->getTag() == dwarf::DW_TAG_array_type) return std::nullopt;
    const auto *data = member_of(*composite, "data"), *shape = member_of(*composite, "shape");
    if (!data || !shape || !member_of(*composite, "strides")) return std::nullopt;
    const std::uint64_t bytes = pointed_bytes(data->getBaseType());
    if (bytes == 0) return std::nullopt;
    return ReferredMemory{static_cast<std::uint32_t>(shape->getBaseType()->getSizeInBits() / 64), bytes};
}

}  // namespace cudasim::jit
