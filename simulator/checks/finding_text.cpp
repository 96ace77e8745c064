// See finding_text.h.
#include "simulator/checks/finding_text.h"

#include <cstdio>

namespace cudasim::checks {

std::string hexadecimal(std::uint64_t value, std::uint32_t bytes) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%0*llx", static_cast<int>(2 * bytes),
                  static_cast<unsigned long long>(value));
    return text;
}

std::string object_text(const std::optional<findings::MemoryObject>& object, std::uint64_t address) {
    if (!object) return "address " + hexadecimal(address, 8);
    if (!object->element.empty()) return object->element + " in " + object->space + " memory";
    return object->space + " memory" + (object->name.empty() ? "" : " '" + object->name + "'") + " at byte " +
           std::to_string(object->offset);
}

std::string place_text(const findings::CallChain& chain) {
    if (chain.empty() || chain.front().line == 0) return "";
    return " at " + chain.front().file + ":" + std::to_string(chain.front().line);
}

}  // namespace cudasim::checks
