#include "frontend/pykernel/types/number_limits.h"

#include <limits>

namespace cudasim::pykernel {
namespace {

struct IntegerFact {
    std::string_view name;
    std::int64_t of_float32, of_float64;
};

// NumPy's finfo: IEEE 754's parameters.
constexpr IntegerFact integer_facts[] = {
    {"bits", 32, 64},      {"iexp", 8, 11},         {"machep", -23, -52},
    {"maxexp", 128, 1024}, {"minexp", -126, -1022}, {"negep", -24, -53},
    {"nexp", 8, 11},       {"nmant", 23, 52},       {"precision", 6, 15},
};

}  // namespace

std::optional<double> real_limit(TypeRef type, std::string_view name) {
    const bool single = type->bits == 32;
    const double largest = single ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
    if (name == "max") return largest;
    if (name == "min") return -largest;
    if (name == "eps") return single ? 0x1p-23 : 0x1p-52;
    if (name == "epsneg") return single ? 0x1p-24 : 0x1p-53;
    if (name == "resolution") return single ? 1e-6 : 1e-15;
    if (name == "tiny") return single ? 0x1p-126 : 0x1p-1022;
    return std::nullopt;
}

std::optional<std::int64_t> integer_limit(TypeRef type, std::string_view name) {
    if (type->is(TypeKind::floating)) {
        for (const IntegerFact& fact : integer_facts) {
            if (fact.name == name) return type->bits == 32 ? fact.of_float32 : fact.of_float64;
        }
        return std::nullopt;
    }
    if (name == "bits") return type->bits;
    const std::uint64_t all = ~std::uint64_t{0} >> (64 - type->bits);
    const auto largest = static_cast<std::int64_t>(type->is_signed ? all >> 1 : all);
    if (name == "max") return largest;
    if (name == "min") return type->is_signed ? -largest - 1 : 0;
    return std::nullopt;
}

TypeRef limit_type(TypeTable& types, TypeRef limits, std::string_view name) {
    const TypeRef type = limits->element();
    if (type->is(TypeKind::floating) && real_limit(type, name)) return type;
    if (!integer_limit(type, name)) return nullptr;
    const bool unsigned_limit = type->is(TypeKind::integer) && !type->is_signed && name != "bits";
    return unsigned_limit ? types.uint64 : types.int64;
}

}  // namespace cudasim::pykernel
