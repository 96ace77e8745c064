// The devices that a program sees (CUDA Driver API, "Device Management").
#include "simulator/driver/devices.h"

#include <gtest/gtest.h>

#include "tests/simulator/driver/driver_errors.h"
#include "tests/simulator/driver/test_context.h"

namespace cudasim::driver {
namespace {

using testing::context_on;
using testing::message_of;
using testing::result_of;

TEST(Devices, are_known_by_their_ordinals) {
    Devices& devices = Devices::of_this_process();
    const auto first = context_on(0), second = context_on(1);
    const auto before = devices.exchange({first, second});
    EXPECT_EQ(devices.count(), 2);
    EXPECT_EQ(devices.get(0, "cuDeviceGet"), first);
    EXPECT_EQ(devices.get(1, "cuDeviceGet"), second);
    for (const std::int64_t wrong : {-1LL, 2LL, 1LL << 40})
        EXPECT_EQ(result_of([&] { (void)devices.get(wrong, "cuDeviceGet"); }), CudaResult::invalid_device);
    EXPECT_EQ(
        message_of([&] { (void)devices.get(2, "cuDeviceGetName"); }),
        "Call to cuDeviceGetName results in CUDA_ERROR_INVALID_DEVICE: there is no device 2; the simulated "
        "devices that the program sees are 0, 1");
    EXPECT_EQ(devices.exchange(before).size(), 2U);
}

TEST(Devices, say_what_they_are_by_attributes) {
    const auto device = context_on(0);
    EXPECT_EQ(device_get_attribute(*device, 1), 1024);  // MAX_THREADS_PER_BLOCK
    EXPECT_EQ(device_get_attribute(*device, 16), 132);  // MULTIPROCESSOR_COUNT
    for (const std::int64_t wrong : {-1LL, 0LL, 1LL << 32, (1LL << 32) + 1})
        EXPECT_EQ(result_of([&] { (void)device_get_attribute(*device, wrong); }), CudaResult::invalid_value);
}

TEST(Devices, may_all_be_hidden) {
    const std::vector<std::string> keys{"h100", "a100"};
    EXPECT_EQ(require_visible_devices("1", keys), std::vector<std::size_t>{1});
    EXPECT_EQ(require_visible_devices(std::nullopt, keys).size(), 2U);
    EXPECT_EQ(result_of([&] { (void)require_visible_devices("", keys); }), CudaResult::no_device);
    EXPECT_NE(message_of([&] { (void)require_visible_devices("7", keys); }).find("CUDA_VISIBLE_DEVICES='7'"),
              std::string::npos);
}

}  // namespace
}  // namespace cudasim::driver
