// Kernels and options that put a launch on each of the carriers (E1): looping runners, coroutines, coroutines
// whose lanes meet, fibers.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "simulator/execution/loaded_image.h"
#include "tests/simulator/execution/ir_kernel.h"
#include "tests/simulator/execution/ir_lines.h"

namespace cudasim::execution {

enum class On { looping_runner, coroutines, lanes, fibers };

inline std::string name_of(On carrier) {
    constexpr std::array names = {"looping_runner", "coroutines", "lanes", "fibers"};
    return names[static_cast<std::size_t>(carrier)];
}
inline std::string carrier_name(const ::testing::TestParamInfo<On>& info) {
    return name_of(info.param);
}
inline const auto all_carriers = ::testing::Values(On::looping_runner, On::coroutines, On::lanes, On::fibers);

inline LaunchOptions options_on(On carrier) {
    LaunchOptions options;
    options.carrier = carrier == On::fibers ? Carrier::fiber : Carrier::automatic;
    options.compile.coroutines = carrier != On::looping_runner;
    return options;
}

/// The wait that makes a kernel one for this carrier.
inline std::string wait_on(On carrier) {
    return carrier == On::lanes ? "call void @llvm.nvvm.bar.warp.sync(i32 -1)"
                                : "call void @llvm.nvvm.barrier0()";
}

/// Puts a number behind those that are in `order`, whose first element counts them.
inline constexpr const char* append_function = R"(
define internal void @append(ptr %order, i32 %number) {
  %count = load i32, ptr %order, align 4
  %next = add i32 %count, 1
  store i32 %next, ptr %order, align 4
  %place = getelementptr i32, ptr %order, i32 %next
  store i32 %number, ptr %place, align 4
  ret void
}
)";

/// Threads put their numbers into `order`, one after another, wait, and do so again. @append is on lines 101
/// to 106, @k on lines 201 to 205, and waits on line 203.
inline image::KernelImage two_rounds(On carrier) {
    return with_lines(ir_image(std::string(append_function) + R"(
define void @k(ptr %order) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  call void @append(ptr %order, i32 %t)
  )" + wait_on(carrier) + R"(
  call void @append(ptr %order, i32 %t)
  ret void
})"));
}

/// Runs it; the numbers in their order.
inline std::vector<std::uint32_t> run_two_rounds(On carrier, std::uint32_t blocks, std::uint32_t threads,
                                                 const LaunchOptions& options) {
    DeviceArray<std::uint32_t> array(std::size_t{2} * blocks * threads + 1);
    const auto image = device().load(two_rounds(carrier));
    const std::uint64_t parameters[1] = {array.pointer()};
    const auto result =
        device().launch(*image, "k", {{blocks}, {threads}, 0}, std::as_bytes(std::span(parameters)), options);
    EXPECT_EQ(messages(result), "");
    std::vector<std::uint32_t> values = array.read();
    values.erase(values.begin());
    return values;
}

}  // namespace cudasim::execution
