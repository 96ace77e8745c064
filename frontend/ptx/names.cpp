// See names.h.
#include "frontend/ptx/names.h"

#include <charconv>

namespace cudasim::ptx {
namespace {

std::string unique(const std::string& name, std::size_t scope) {
    return scope == 0 ? name : name + "#" + std::to_string(scope);
}

void rename(std::vector<Operand>& operands, const std::string& from, const std::string& to) {
    for (Operand& operand : operands) {
        if (operand.kind == Operand::name && operand.text == from) operand.text = to;
        rename(operand.elements, from, to);
    }
}

/// Labels, and what is named like one: prototypes and lists of targets.
void rename_in(auto& named, const std::string& from, const std::string& to) {
    if (named.name == from) named.name = to;
}

void rename_in(Targets& targets, const std::string& from, const std::string& to) {
    if (targets.name == from) targets.name = to;
    rename(targets.names, from, to);
}

void rename_in(Instruction& instruction, const std::string& from, const std::string& to) {
    rename(instruction.operands, from, to);
}

/// Where the digits at the end of a name begin.
std::size_t digits_at(const std::string& name) {
    const std::size_t last = name.find_last_not_of("0123456789");
    return last == std::string::npos ? 0 : last + 1;
}

}  // namespace

void Names::declare(Variable variable, std::uint64_t family) {
    const std::string name = variable.name;
    scopes_.back().entries[name] = {std::move(variable), family};
}

void Names::close() {
    const Scope scope = std::move(scopes_.back());
    scopes_.pop_back();
    for (const std::string& label : scope.labels) {
        const std::string name = unique(label, scope.number);
        for (std::size_t i = scope.first; i < function_.body.size(); ++i)
            std::visit([&](auto& item) { rename_in(item, label, name); }, function_.body[i]);
    }
}

std::string Names::use(const Scope& scope, const Entry& entry, const std::string& name) {
    const std::string own = unique(name, scope.number);
    if (used_.try_emplace(own, function_.variables.size()).second) {
        function_.variables.push_back(entry.variable);
        function_.variables.back().name = own;
    }
    return own;
}

std::string Names::resolve(const std::string& name) {
    const std::size_t digits = digits_at(name);
    std::uint64_t number = 0;
    const bool numbered =
        digits < name.size() && digits > 0 &&
        std::from_chars(name.data() + digits, name.data() + name.size(), number).ec == std::errc{};
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
        if (auto found = scope->entries.find(name);
            found != scope->entries.end() && found->second.family == 0)
            return use(*scope, found->second, name);
        if (!numbered) continue;
        auto family = scope->entries.find(name.substr(0, digits));
        if (family != scope->entries.end() && number < family->second.family)
            return use(*scope, family->second, name);
    }
    return name;
}

}  // namespace cudasim::ptx
