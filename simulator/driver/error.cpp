// The words of errors.
#include "simulator/driver/error.h"

namespace cudasim::driver {

std::string error_text(std::string_view call, CudaResult code, std::string_view reason) {
    std::string text = "Call to ";
    text += call;
    text += " results in ";
    text += findings::info(code).name;
    text += ": ";
    text += reason;
    return text;
}

}  // namespace cudasim::driver
