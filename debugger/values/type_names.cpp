// See type_names.h.
#include "debugger/values/type_names.h"

#include <algorithm>
#include <set>

namespace cudasim::debugger {
namespace {

/// "a::b::c" → "a::b" and "c".
std::pair<std::string_view, std::string_view> split(std::string_view name) {
    const std::size_t at = name.rfind("::");
    return at == std::string_view::npos ? std::pair(std::string_view(), name)
                                        : std::pair(name.substr(0, at), name.substr(at + 2));
}

/// Calls visit(type) for each of the types until that is true.
class TypeWalk {
  public:
    template <typename Visit>
    bool any(const TypePtr& type, const Visit& visit) {
        if (!type || !seen_.insert(type.get()).second) return false;
        if (visit(type) || any(type->of, visit)) return true;
        return std::ranges::any_of(type->members, [&](const Member& each) { return any(each.type, visit); });
    }

  private:
    std::set<const Type*> seen_;
};

}  // namespace

std::optional<NamedConstant> enumerator_in(std::span<const TypePtr> types, std::string_view name) {
    const auto [scope, last] = split(name);
    std::optional<NamedConstant> found;
    TypeWalk walk;
    const auto visit = [&, scope = scope, last = last](const TypePtr& type) {
        const auto known = std::ranges::find(type->enumerators, last, &Enumerator::name);
        if (known == type->enumerators.end()) return false;
        if (type->is_scoped && split(scope).second != type->name) return false;
        found = {type, known->value};
        return true;
    };
    for (const TypePtr& type : types)
        if (walk.any(type, visit)) break;
    return found;
}

TypePtr type_in(std::span<const TypePtr> types, std::string_view name) {
    TypePtr found;
    TypeWalk walk;
    const auto visit = [&, last = split(name).second](const TypePtr& type) {
        if (type->name != last) return false;
        found = type;
        return true;
    };
    for (const TypePtr& type : types)
        if (walk.any(type, visit)) break;
    return found;
}

}  // namespace cudasim::debugger
