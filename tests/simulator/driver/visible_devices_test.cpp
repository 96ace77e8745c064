// CUDA_VISIBLE_DEVICES (CUDA C++ Programming Guide, "CUDA Environment Variables"), and the devices' UUIDs.
#include "simulator/driver/visible_devices.h"

#include <gtest/gtest.h>

#include <cctype>
#include <map>

namespace cudasim::driver {
namespace {

using Places = std::vector<std::size_t>;

const std::vector<std::string> three{"h100", "a10", "h100"};

TEST(VisibleDevices, are_all_where_nothing_is_said) {
    EXPECT_EQ(visible_devices(std::nullopt, three), (Places{0, 1, 2}));
}

TEST(VisibleDevices, are_named_by_number_up_to_the_first_wrong_name) {
    EXPECT_EQ(visible_devices("2, 0", three), (Places{2, 0}));
    EXPECT_EQ(visible_devices("1,7,0", three), (Places{1}));
    EXPECT_EQ(visible_devices("1,1", three), (Places{1}));
    EXPECT_EQ(visible_devices("99999999999999999999", three), Places{});
    for (const char* none : {"", "-1", "none", ",0"})
        EXPECT_EQ(visible_devices(none, three), Places{}) << none;
}

TEST(VisibleDevices, are_named_by_the_beginning_of_a_uuid_that_is_one_devices_only) {
    const std::string second = device_uuid("a10", 1), third = device_uuid("h100", 2);
    EXPECT_EQ(visible_devices(third + "," + second.substr(0, 12), three), (Places{2, 1}));
    std::string capitals = second;
    for (char& letter : capitals) letter = static_cast<char>(std::toupper(letter));
    EXPECT_EQ(visible_devices(capitals, three), (Places{1}));
    EXPECT_EQ(visible_devices("GPU-", three), Places{});
}

TEST(VisibleDevices, a_beginning_that_two_uuids_have_names_none) {
    const std::vector<std::string> many(17, "h100");  // more than there are hexadecimal digits
    std::map<std::string, std::vector<std::size_t>> by_beginning;
    for (std::size_t place = 0; place < many.size(); ++place)
        by_beginning[device_uuid(many[place], place).substr(0, 5)].push_back(place);
    bool shared = false;
    for (const auto& [beginning, places] : by_beginning) {
        EXPECT_EQ(visible_devices(beginning, many), places.size() == 1 ? places : Places{}) << beginning;
        shared = shared || places.size() > 1;
    }
    EXPECT_TRUE(shared);
}

TEST(VisibleDevices, uuids_are_names_in_the_namespace_of_urls) {
    // python3 -c "import uuid; print(uuid.uuid5(uuid.NAMESPACE_URL, 'cudasim:h100:0'))"
    EXPECT_EQ(device_uuid("h100", 0), "GPU-965352a5-7a10-51af-908e-ded9a09a9ee4");
    EXPECT_NE(device_uuid("h100", 0), device_uuid("h100", 1));
}

}  // namespace
}  // namespace cudasim::driver
