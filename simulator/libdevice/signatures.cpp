// See signatures.h: read off the C++ types of functions.def.
#include "simulator/libdevice/signatures.h"

#include <cstdint>
#include <type_traits>

namespace cudasim::libdevice {
namespace {

template <class T>
constexpr ValueKind kind_of() {
    if constexpr (std::is_void_v<T>)
        return ValueKind::none;
    else if constexpr (std::is_same_v<T, float>)
        return ValueKind::float32;
    else if constexpr (std::is_same_v<T, double>)
        return ValueKind::float64;
    else
        return sizeof(T) == 2 ? ValueKind::int16 : sizeof(T) == 4 ? ValueKind::int32 : ValueKind::int64;
}

template <class Function>
struct TypesOf;

template <class Result, class... Parameters>
struct TypesOf<Result(Parameters...)> {
    static constexpr Parameter parameters[] = {
        {kind_of<std::remove_pointer_t<Parameters>>(), std::is_pointer_v<Parameters>}...};
    static constexpr Signature named(std::string_view name) { return {name, kind_of<Result>(), parameters}; }
};

constexpr Signature rows[] = {
#define LIBDEVICE(name, type, function, lowering) TypesOf<type>::named(#name),
#include "simulator/libdevice/functions.def"
#undef LIBDEVICE
};

}  // namespace

std::span<const Signature> signatures() {
    return rows;
}

}  // namespace cudasim::libdevice
