// The words of errors.
#include "simulator/driver/error.h"

#include <array>
#include <cstdio>

namespace cudasim::driver {

std::string error_text(std::string_view call, CudaResult code, std::string_view reason) {
    std::string text;
    if (!call.empty()) text.append("Call to ").append(call).append(" results in ");
    text += findings::info(code).name;
    text += ": ";
    text += reason;
    return text;
}

std::string hexadecimal(std::uint64_t address) {
    std::array<char, 32> text{};
    (void)std::snprintf(text.data(), text.size(), "%#llx", static_cast<unsigned long long>(address));
    return text.data();
}

}  // namespace cudasim::driver
