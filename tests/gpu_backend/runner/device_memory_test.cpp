// A GPU's memory at given addresses, on the stand-in driver.
#include "gpu_backend/runner/device_memory.h"

#include <cstdlib>
#include <functional>

#include "gpu_backend/runner/failures.h"
#include "tests/gpu_backend/runner/test_launch.h"

namespace cudasim::runner {
namespace {

using libcuda::unit;
using records::GpuMemory;
using Ranges = std::vector<GpuMemory>;

/// The stand-in driver with a current context, for DeviceMemory alone.
struct Device {
    Device() : driver(libcuda::Driver::open({.named = CUDASIM_STAND_IN_DRIVER})) {
        driver.initialise();
        libcuda::Context context = nullptr;
        driver.require("cuDevicePrimaryCtxRetain", driver.functions().cuDevicePrimaryCtxRetain(&context, 0));
        driver.require("cuCtxSetCurrent", driver.functions().cuCtxSetCurrent(context));
    }
    [[nodiscard]] std::uint64_t memory_in_use() const {
        std::size_t free = 0, total = 0;
        EXPECT_EQ(driver.functions().cuMemGetInfo(&free, &total), libcuda::Result::success);
        return total - free;
    }
    libcuda::Driver driver;
};

void outside(const std::string& settings, const std::function<void(Device& device)>& body) {
    const auto done = libcuda::outside(settings, [&] {
        Device device;
        body(device);
    });
    EXPECT_TRUE(done.passed) << settings << ": signal " << done.signal << "\n" << done.printed << done.errors;
}

GpuMemory range(std::uint64_t address, std::uint64_t bytes) {
    return {.address = address, .bytes = bytes, .before = {}};
}

/// Byte i of range r is i * 3 + r.
void fill(DeviceMemory& memory, const Ranges& ranges) {
    Bytes bytes;
    memory.fill(ranges, [&](std::size_t r) {
        bytes.resize(ranges[r].bytes);
        for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(i * 3 + r);
        return std::span<const std::byte>(bytes);
    });
}

void expect_filled(const DeviceMemory& memory, const Ranges& ranges) {
    for (std::size_t r = 0; r < ranges.size(); ++r) {
        Bytes bytes(ranges[r].bytes);
        memory.read(ranges[r], bytes);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < bytes.size(); ++i) wrong += bytes[i] == std::byte(i * 3 + r) ? 0 : 1;
        EXPECT_EQ(wrong, 0U) << "range " << r;
    }
}

const Ranges three{range(some_address + 256, 1000), range(some_address + 4096, 1),
                   range(0x5000'0000'0000 + unit - 8, 16)};

TEST(DeviceMemory, has_the_ranges_at_their_addresses) {
    outside("", [](Device& device) {
        DeviceMemory memory(device.driver, 0);
        memory.place(three);
        EXPECT_TRUE(memory.at_same_addresses());
        fill(memory, three);
        expect_filled(memory, three);
        EXPECT_EQ(memory.relocated(some_address + 5), some_address + 5);
        EXPECT_EQ(memory.relocated(0), 0U);
        // What a kernel would see there.
        std::uint8_t byte = 0;
        ASSERT_EQ(device.driver.functions().cuMemcpyDtoH(&byte, some_address + 257, 1),
                  libcuda::Result::success);
        EXPECT_EQ(byte, 3);
        const std::vector<std::uint64_t> gaps{some_address, some_address + 1256, some_address + unit - 1,
                                              0x5000'0000'0000, 0x5000'0000'0000 + unit + 8};
        for (const std::uint64_t gap : gaps) {
            ASSERT_EQ(device.driver.functions().cuMemcpyDtoH(&byte, gap, 1), libcuda::Result::success);
            EXPECT_EQ(byte, DeviceMemory::pattern) << std::hex << gap;
        }
        EXPECT_EQ(device.memory_in_use(), 3 * unit);
    });
}

TEST(DeviceMemory, finds_writes_between_and_around_the_ranges) {
    outside("", [](Device& device) {
        DeviceMemory memory(device.driver, 0);
        memory.place(three);
        fill(memory, three);
        std::uint64_t bytes = 7;
        EXPECT_TRUE(memory.stray_writes(three, 16, bytes).empty());
        EXPECT_EQ(bytes, 0U);
        const auto write = [&](std::uint64_t address, std::uint64_t count, unsigned char value) {
            ASSERT_EQ(device.driver.functions().cuMemsetD8(address, value, count), libcuda::Result::success);
        };
        write(some_address, 1, 0);             // the first byte of the pages
        write(some_address + 255, 1002, 1);    // a range, and one byte on both of its sides
        write(some_address + 4097, 3, 2);      // right behind a range of one byte
        write(some_address + unit - 1, 1, 3);  // the last one
        write(0x5000'0000'0000 + 2 * unit - 2, 2, 4);
        write(some_address + 9000, 5, DeviceMemory::pattern);  // cannot be seen
        const auto found = memory.stray_writes(three, 16, bytes);
        EXPECT_EQ(bytes, 1U + 2 + 3 + 1 + 2);
        const std::vector<std::pair<std::uint64_t, std::uint64_t>> expected{
            {some_address, 1},        {some_address + 255, 1},      {some_address + 1256, 1},
            {some_address + 4097, 3}, {some_address + unit - 1, 1}, {0x5000'0000'0000 + 2 * unit - 2, 2}};
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
            EXPECT_EQ(found[i].address, expected[i].first) << i;
            EXPECT_EQ(found[i].bytes, expected[i].second) << i;
        }
        EXPECT_EQ(memory.stray_writes(three, 2, bytes).size(), 2U);
        EXPECT_EQ(bytes, 9U);
    });
}

TEST(DeviceMemory, keeps_pages_from_launch_to_launch) {
    outside("", [](Device& device) {
        DeviceMemory memory(device.driver, 0);
        memory.place(three);
        setenv("CUDASIM_TEST_LIBCUDA", "cuMemCreate=2;cuMemAddressReserve=2", 1);
        memory.place(three);  // needs none
        memory.place({});
        memory.place(three);
        fill(memory, three);
        expect_filled(memory, three);
        const Ranges other{range(0x6000'0000'0000, 1)};
        EXPECT_THROW(memory.place(other), DriverFailure);
        setenv("CUDASIM_TEST_LIBCUDA", "", 1);
        memory.place(other);
        EXPECT_EQ(device.memory_in_use(), 4 * unit);  // those of `three` stay
        // Others that overlap take their place.
        const Ranges longer{range(some_address + unit - 1, 2)};
        memory.place(longer);
        fill(memory, longer);
        expect_filled(memory, longer);
        EXPECT_EQ(device.memory_in_use(), 5 * unit);
    });
}

TEST(DeviceMemory, gives_pages_back_that_are_long_unused) {
    outside("", [](Device& device) {
        DeviceMemory memory(device.driver, 0);
        const std::uint64_t bytes = 300 * mebibyte;
        for (std::uint64_t i = 0; i < 6; ++i)
            memory.place(Ranges{range(some_address + i * (1ULL << 32), bytes)});
        EXPECT_LE(device.memory_in_use(), DeviceMemory::kept_bytes + bytes);
        EXPECT_GE(device.memory_in_use(), 3 * bytes);
    });
}

TEST(DeviceMemory, gives_unused_pages_back_where_memory_is_short) {
    outside("memory=8388608", [](Device& device) {
        DeviceMemory memory(device.driver, 0);
        memory.place(Ranges{range(some_address, 6 * mebibyte)});
        const Ranges other{range(0x5000'0000'0000, 6 * mebibyte)};
        memory.place(other);
        fill(memory, other);
        expect_filled(memory, other);
        EXPECT_THROW(memory.place(Ranges{range(0x5000'0000'0000, 10 * mebibyte)}), DriverFailure);
        EXPECT_EQ(device.memory_in_use(), 0U);
        memory.place(other);
    });
}

TEST(DeviceMemory, that_moved_is_found) {
    outside("refuse_hints=1", [](Device& device) {
        DeviceMemory memory(device.driver, 0);
        memory.place(three);
        EXPECT_FALSE(memory.at_same_addresses());
        fill(memory, three);
        expect_filled(memory, three);
        const auto moved = memory.relocated(some_address + 256);
        EXPECT_NE(moved, some_address + 256);
        EXPECT_EQ(memory.relocated(some_address + 4096), moved + 4096 - 256);
        // One past the end of everything is an address of it, too; what is beyond is none.
        EXPECT_EQ(memory.relocated(some_address + unit), moved - 256 + unit);
        EXPECT_EQ(memory.relocated(some_address + unit + 1), some_address + unit + 1);
        EXPECT_EQ(memory.relocated(some_address - 1), some_address - 1);
        ASSERT_EQ(device.driver.functions().cuMemsetD8(moved - 1, 1, 1), libcuda::Result::success);
        std::uint64_t bytes = 0;
        const auto found = memory.stray_writes(three, 16, bytes);
        ASSERT_EQ(found.size(), 1U);
        EXPECT_EQ(found[0].address, some_address + 255);  // as the record has it
        // Addresses that are free later are taken then.
        setenv("CUDASIM_TEST_LIBCUDA", "", 1);
        memory.place(three);
        EXPECT_TRUE(memory.at_same_addresses());
    });
}

TEST(DeviceMemory, is_where_it_is_wanted_although_others_have_addresses_nearby) {
    outside("", [](Device& device) {
        const auto& functions = device.driver.functions();
        libcuda::DevicePointer other = 0;  // of another library of the process
        constexpr std::uint64_t place = 0x2000'4000'0000, bytes = 64 << 20;
        ASSERT_EQ(functions.cuMemAddressReserve(&other, bytes, 0, place, 0), libcuda::Result::success);
        ASSERT_EQ(other, place);
        DeviceMemory memory(device.driver, 0);
        memory.place(three);
        EXPECT_TRUE(memory.at_same_addresses());
        fill(memory, three);
        expect_filled(memory, three);
        memory.place(Ranges{range(some_address + 5 * unit, 1), range(place + unit, 1)});
        const auto moved = memory.moved();
        ASSERT_TRUE(moved);
        EXPECT_EQ(moved->wanted, place + unit);
    });
}

TEST(DeviceMemory, after_a_call_that_failed_works_again_and_has_lost_nothing) {
    outside("", [](Device& device) {
        DeviceMemory memory(device.driver, 0);
        int failures = 0;
        bool failed = true;
        // Reservations that fail are made elsewhere, or smaller; the others are told.
        for (int call = 1; call <= 20; ++call) {
            const Ranges ranges{range(some_address + call * (1ULL << 32), 3 * unit),
                                range(0x6000'0000'0000, 1)};
            setenv("CUDASIM_TEST_LIBCUDA", ("call@" + std::to_string(call) + "=999").c_str(), 1);
            failed = false;
            try {
                memory.place(ranges);
                fill(memory, ranges);
            } catch (const DriverFailure& failure) {
                EXPECT_EQ(static_cast<int>(failure.result), 999);
                EXPECT_TRUE(failure.function.starts_with("cuMem")) << failure.function;
                failed = true;
            }
            setenv("CUDASIM_TEST_LIBCUDA", "", 1);
            memory.place(ranges);
            fill(memory, ranges);
            expect_filled(memory, ranges);
            EXPECT_TRUE(memory.at_same_addresses());
            if (failed) ++failures;
        }
        EXPECT_FALSE(failed);
        EXPECT_GE(failures, 5);
        memory.place({});
        EXPECT_LE(device.memory_in_use(), (20 * 3 + 1) * unit);
    });
}

}  // namespace
}  // namespace cudasim::runner
