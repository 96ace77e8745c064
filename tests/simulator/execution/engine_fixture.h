// What the engine's tests share: a device, and one body run on both carriers, both policies and one or two
// workers.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "simulator/execution/device.h"

namespace cudasim::execution {

struct Mode {
    Carrier carrier;
    Policy policy;
    unsigned workers;
};

inline std::string mode_name(const ::testing::TestParamInfo<Mode>& info) {
    return std::string(info.param.carrier == Carrier::fiber ? "fibers" : "runner") +
           (info.param.policy == Policy::reverse  ? "_reverse_"
            : info.param.policy == Policy::random ? "_random_"
                                                  : "_forward_") +
           std::to_string(info.param.workers);
}

inline const auto all_modes = ::testing::Values(
    Mode{Carrier::automatic, Policy::forward, 1}, Mode{Carrier::automatic, Policy::forward, 2},
    Mode{Carrier::fiber, Policy::forward, 1}, Mode{Carrier::fiber, Policy::forward, 2},
    Mode{Carrier::automatic, Policy::reverse, 1}, Mode{Carrier::automatic, Policy::reverse, 2},
    Mode{Carrier::automatic, Policy::random, 1}, Mode{Carrier::fiber, Policy::random, 2});

/// One device for all tests of the process: 80 GiB of address space need not be reserved for each.
inline Device& device() {
    static Device instance(h100());
    return instance;
}

/// A C++ function as a kernel on device().
inline LaunchResult launch_function(std::function<void(ThreadHandle&)> function,
                                    const LaunchConfiguration& configuration, const LaunchOptions& options) {
    HostFunction kernel(std::move(function));
    return device().launch(kernel, configuration, options);
}

class EngineTest : public ::testing::TestWithParam<Mode> {
  protected:
    [[nodiscard]] LaunchOptions options() const {
        LaunchOptions options;
        options.carrier = GetParam().carrier;
        options.policy = GetParam().policy;
        options.workers = GetParam().workers;
        return options;
    }
    LaunchResult run(Dim3 grid, Dim3 block, std::function<void(ThreadHandle&)> function,
                     std::uint64_t shared = 0) {
        return launch_function(std::move(function), {grid, block, shared}, options());
    }
};

inline std::string messages(const LaunchResult& result) {
    std::string text;
    for (const auto& finding : result.findings)
        text += findings::coordinates(finding.thread) + ": " + finding.message + "\n";
    return text;
}

}  // namespace cudasim::execution
