#include "gpu_backend/libcuda/outcomes.h"

namespace cudasim::libcuda {

std::string_view name_of(Outcome outcome) {
    switch (outcome) {
        case Outcome::found:
            return "found";
        case Outcome::no_driver:
            return "no-driver";
        case Outcome::broken_driver:
            return "broken-driver";
        case Outcome::no_device:
            return "no-device";
        case Outcome::too_old:
            return "too-old";
    }
    return "broken-driver";
}

int exit_code(Outcome outcome) {
    switch (outcome) {
        case Outcome::found:
            return 0;
        case Outcome::no_driver:
            return 10;
        case Outcome::broken_driver:
            return 11;
        case Outcome::no_device:
            return 12;
        case Outcome::too_old:
            return 13;
    }
    return 11;
}

}  // namespace cudasim::libcuda
