// threadIdx, blockIdx, blockDim, gridDim, laneid and warpsize of a thread, as values.
#pragma once

#include <string>
#include <vector>

#include "debugger/control/control.h"
#include "debugger/values/value.h"

namespace cudasim::debugger {

struct SpecialRegister {
    std::string name;
    Value value;
};
[[nodiscard]] std::vector<SpecialRegister> special_registers(
    const execution::LaunchConfiguration& configuration, execution::ThreadRef thread);
[[nodiscard]] inline std::vector<SpecialRegister> special_registers(const Control& control,
                                                                    execution::ThreadRef thread) {
    return special_registers(control.configuration(), thread);
}

}  // namespace cudasim::debugger
