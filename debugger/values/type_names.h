// Names that the types of variables bring along: of enumerators, and of the types themselves. Debug
// information tells the debugger no others.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "debugger/values/type.h"

namespace cudasim::debugger {

struct NamedConstant {
    TypePtr type;
    std::int64_t value = 0;
};

/// "red", or "Colour::red", with or without the namespaces around it; an `enum class` needs its name.
[[nodiscard]] std::optional<NamedConstant> enumerator_in(std::span<const TypePtr> types,
                                                         std::string_view name);

/// The type of that name among these, those of their members and of what they point to; null where
/// there is none.
[[nodiscard]] TypePtr type_in(std::span<const TypePtr> types, std::string_view name);

}  // namespace cudasim::debugger
