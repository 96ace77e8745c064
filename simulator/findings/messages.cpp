// See messages.h.
#include "simulator/findings/messages.h"

namespace cudasim::findings {

const char* message_of(FindingKind kind) {
    switch (kind) {
        case FindingKind::integer_division:
            return "integer division or modulo by zero";
        case FindingKind::float_division:
            return "float division by zero";
        case FindingKind::shift_out_of_range:
            return "shift by as many bits as the number has, or more: nothing is left of it but signs";
        case FindingKind::float_to_integer:
            return "a float is converted to an integer that cannot hold it: the result is the nearest one, "
                   "or what "
                   "the hardware has for NaN";
        case FindingKind::not_finite:
            return "an operation on finite numbers gives infinity or NaN";
        case FindingKind::missing_lane:
            return "the mask of a warp operation does not name the lane that calls it";
        case FindingKind::device_assert:
            return "an assertion does not hold";
        case FindingKind::trap:
            return "the kernel executed a trap";
        case FindingKind::unreachable_code:
            return "the kernel reached code that its compiler was told is unreachable";
        case FindingKind::illegal_instruction:
            return "the kernel reached an illegal instruction";
        case FindingKind::stack_overflow:
            return "stack overflow: the thread's calls are nested too deeply";
        case FindingKind::invalid_call:
            return "call through a null or invalid function pointer";
        case FindingKind::null_pointer:
            return "access through a null pointer";
        default:
            return "the kernel faulted";
    }
}

std::string index_out_of_bounds(const IndexFault& fault) {
    const std::string index = fault.is_unsigned ? std::to_string(static_cast<std::uint64_t>(fault.index))
                                                : std::to_string(fault.index);
    return "index " + index + " is out of bounds for axis " + std::to_string(fault.axis) + " with size " +
           std::to_string(fault.size);
}

std::string wrapped_index(const IndexFault& fault) {
    return "index " + std::to_string(fault.index) + " wraps around to element " +
           std::to_string(fault.index + fault.size) + " of axis " + std::to_string(fault.axis) +
           " with size " + std::to_string(fault.size);
}

}  // namespace cudasim::findings
