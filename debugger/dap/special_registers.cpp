// See special_registers.h.
#include "debugger/dap/special_registers.h"

#include <array>

#include "simulator/jit/abi.h"

namespace cudasim::debugger {
namespace {

const TypePtr& number_type() {
    static const TypePtr type = [] {
        Type number;
        number.kind = TypeKind::signed_number;
        number.name = "int32";
        number.bytes = 4;
        return std::make_shared<const Type>(std::move(number));
    }();
    return type;
}

const TypePtr& point_type() {
    static const TypePtr type = [] {
        Type point;
        point.kind = TypeKind::structure;
        point.name = "Dim3";
        point.bytes = 12;
        point.members = {{"x", 0, number_type()}, {"y", 4, number_type()}, {"z", 8, number_type()}};
        return std::make_shared<const Type>(std::move(point));
    }();
    return type;
}

SpecialRegister point(const char* name, const findings::Dim3& value) {
    const std::array numbers{value.x, value.y, value.z};
    return {name, value_from(point_type(), std::as_bytes(std::span(numbers)))};
}

SpecialRegister number(const char* name, std::uint32_t value) {
    return {name, value_from(number_type(), std::as_bytes(std::span(&value, 1)))};
}

}  // namespace

std::vector<SpecialRegister> special_registers(const execution::LaunchConfiguration& configuration,
                                               execution::ThreadRef thread) {
    const findings::Dim3 grid = configuration.grid, block = configuration.block;
    return {point("threadIdx", coordinates_in(block, thread.thread)),
            point("blockIdx", coordinates_in(grid, thread.block)),
            point("blockDim", block),
            point("gridDim", grid),
            number("laneid", thread.thread % jit::warp_size),
            number("warpsize", jit::warp_size)};
}

}  // namespace cudasim::debugger
