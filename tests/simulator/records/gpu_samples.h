// A launch, its code and its result, with every member set.
#pragma once

#include "simulator/records/gpu_launch.h"

namespace cudasim::records::testing {

inline GpuCode sample_code() {
    return {.ptx = ".version 7.8\n.target sm_80\n",
            .entry = "kernel",
            .architecture = "sm_80",
            .parameters = {{.offset = 0, .size = 8, .is_address = true}, {.offset = 8, .size = 4}},
            .cooperative = true,
            .has_addresses = true,
            .fault_sites = "sites",
            .libdevice = "a1b2",
            .refusal = "no reason"};
}

inline GpuLaunch sample_launch() {
    GpuLaunch launch{.number = 7,
                     .kernel = "saxpy",
                     .code = {.bytes = 5, .runs = {{3, 1}}},
                     .refusal = "lent",
                     .grid = {2, 3, 4},
                     .block = {32, 2, 1},
                     .dynamic_shared_bytes = 65536,
                     .simulated_error = "a race"};
    for (unsigned i = 0; i < 12; ++i) launch.parameters.push_back(std::byte(i));
    launch.memory.push_back({.address = 0x2000'0000'0000,
                             .bytes = 4000,
                             .label = "x",
                             .holds_addresses = true,
                             .before = {.bytes = 4000, .runs = {{0, 1}}}});
    launch.memory.push_back({.address = 0x2000'0000'1000, .bytes = 1, .label = "\xff", .before = {}});
    return launch;
}

inline GpuResult sample_result() {
    GpuResult result{.number = 7,
                     .kernel = "saxpy",
                     .status = GpuStatus::faulted,
                     .code = -700,
                     .function = "cuEventQuery",
                     .message = "an illegal address",
                     .gpu = "NVIDIA H100",
                     .capability_major = 9,
                     .capability_minor = 1,
                     .driver_major = 13,
                     .driver_minor = 2,
                     .same_addresses = false,
                     .milliseconds = 0.125,
                     .printed = std::string("a\0b", 3),
                     .faults = {std::byte{1}, std::byte{2}},
                     .stray = {{.address = 0x10, .bytes = 3}},
                     .stray_bytes = 99};
    result.changes = {{{.offset = 0, .content = {.bytes = 65536, .runs = {{0, 1}}}},
                       {.offset = 131072, .content = {.bytes = 1, .runs = {{4, 1}}}}},
                      {}};
    return result;
}

}  // namespace cudasim::records::testing
