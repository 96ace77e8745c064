// Memory of a GPU that another library of the process uses: with the stand-in driver as that library's.
#include "gpu_backend/libcuda/loaded_driver.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "tests/gpu_backend/libcuda/gpu_fixture.h"

namespace cudasim::libcuda {
namespace {

using Bytes = std::array<std::byte, 4>;

Bytes bytes_of(std::uint32_t value) {
    Bytes bytes{};
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

std::uint32_t value_at(const LoadedDriver& driver, DevicePointer address,
                       std::span<const Stream> streams = {}) {
    std::uint32_t value = 0;
    driver.read(std::as_writable_bytes(std::span(&value, 1)), address, streams);
    return value;
}

/// @return the code that a call is refused with; success where it is not
template <typename Call>
Result refused(const Call& call, const std::string& function) {
    try {
        call();
    } catch (const CallFailed& failure) {
        EXPECT_EQ(std::string(failure.what()).find(function + " fails with CUDA_ERROR_"), 0U)
            << failure.what();
        return failure.result;
    }
    return Result::success;
}

/// Memory with a value in it.
DevicePointer allocated(const TestGpu& gpu, std::uint32_t value) {
    DevicePointer address = 0;
    EXPECT_EQ(gpu->cuMemAlloc(&address, 4096), Result::success);
    gpu.write(address, value);
    return address;
}

TEST(LoadedDriver, is_not_loaded_by_looking_for_it) {
    EXPECT_TRUE(outside("", [] {
                    EXPECT_FALSE(LoadedDriver::find());
                    EXPECT_FALSE(LoadedDriver::find());
                    const TestGpu gpu;
                    ASSERT_TRUE(LoadedDriver::find());
                    EXPECT_EQ(LoadedDriver::find()->path(), CUDASIM_STAND_IN_DRIVER);
                }).passed);
}

TEST(LoadedDriver, of_an_old_kind_is_none) {
    expect_outside("missing=cuPointerGetAttribute",
                   [](const TestGpu&) { EXPECT_FALSE(LoadedDriver::find()); });
}

TEST(LoadedDriver, reads_and_writes_memory_that_it_knows) {
    expect_outside("", [](const TestGpu& gpu) {
        const DevicePointer address = allocated(gpu, 7);
        const auto driver = LoadedDriver::find();
        ASSERT_TRUE(driver);
        EXPECT_TRUE(driver->knows(address));
        EXPECT_TRUE(driver->knows(address + 4095));
        const int on_the_host = 0;
        EXPECT_FALSE(driver->knows(reinterpret_cast<DevicePointer>(&on_the_host)));
        EXPECT_FALSE(driver->knows(0));
        EXPECT_EQ(value_at(*driver, address), 7U);
        driver->write(address, bytes_of(8));
        EXPECT_EQ(gpu.read<std::uint32_t>(address), 8U);
    });
}

TEST(LoadedDriver, leaves_the_thread_the_context_that_it_had) {
    expect_outside("devices=2", [](const TestGpu& gpu) {
        const DevicePointer first = allocated(gpu, 1);
        gpu.map(some_address);
        gpu.write(some_address, 3U);
        Context one = nullptr, two = nullptr, now = nullptr;
        ASSERT_EQ(gpu->cuCtxGetCurrent(&one), Result::success);
        ASSERT_EQ(gpu->cuDevicePrimaryCtxRetain(&two, 1), Result::success);
        ASSERT_EQ(gpu->cuCtxSetCurrent(two), Result::success);
        const DevicePointer second = allocated(gpu, 2);
        const auto driver = LoadedDriver::find();
        ASSERT_TRUE(driver);
        for (const auto context : {one, two, Context{}}) {
            ASSERT_EQ(gpu->cuCtxSetCurrent(context), Result::success);
            EXPECT_EQ(value_at(*driver, first), 1U);
            EXPECT_EQ(value_at(*driver, second), 2U);
            EXPECT_EQ(value_at(*driver, some_address), 3U);
            driver->write(second, bytes_of(2));
            ASSERT_EQ(gpu->cuCtxGetCurrent(&now), Result::success);
            EXPECT_EQ(now, context);
        }
        std::thread([&] { EXPECT_EQ(value_at(*driver, first), 1U); }).join();
        // The contexts that it has retained are released: what is left is what this test has.
        ASSERT_EQ(gpu->cuCtxSetCurrent(one), Result::success);
        EXPECT_EQ(gpu->cuDevicePrimaryCtxRelease(0), Result::success);
        EXPECT_EQ(gpu->cuCtxSynchronize(), Result::context_is_destroyed);
    });
}

TEST(LoadedDriver, waits_for_the_streams_or_for_the_context) {
    expect_outside("", [](const TestGpu& gpu) {
        const DevicePointer address = allocated(gpu, 7);
        const auto driver = LoadedDriver::find();
        ASSERT_TRUE(driver);
        const std::array streams{reinterpret_cast<Stream>(1), reinterpret_cast<Stream>(2)};
        EXPECT_EQ(value_at(*driver, address, streams), 7U);
        setenv("CUDASIM_TEST_LIBCUDA", "cuStreamSynchronize@2=999", 1);
        EXPECT_EQ(refused([&] { value_at(*driver, address, streams); }, "cuStreamSynchronize"),
                  Result::unknown);
        setenv("CUDASIM_TEST_LIBCUDA", "cuCtxSynchronize=999", 1);
        EXPECT_EQ(value_at(*driver, address, streams), 7U);
        EXPECT_EQ(refused([&] { value_at(*driver, address); }, "cuCtxSynchronize"), Result::unknown);
        EXPECT_EQ(refused([&] { driver->write(address, bytes_of(1)); }, "cuCtxSynchronize"), Result::unknown);
    });
}

TEST(LoadedDriver, says_what_the_driver_says) {
    expect_outside("", [](const TestGpu& gpu) {
        const DevicePointer address = allocated(gpu, 7);
        const auto driver = LoadedDriver::find();
        ASSERT_TRUE(driver);
        for (const std::string function :
             {"cuPointerGetAttribute", "cuCtxGetCurrent", "cuMemcpyDtoH_v2", "cuMemcpyHtoD_v2"}) {
            setenv("CUDASIM_TEST_LIBCUDA", (function + "=700").c_str(), 1);
            const auto all = [&] {
                (void)driver->knows(address);
                value_at(*driver, address);
                driver->write(address, bytes_of(1));
            };
            EXPECT_EQ(refused(all, function.substr(0, function.find('_'))), Result::illegal_address);
        }
        setenv("CUDASIM_TEST_LIBCUDA", "", 1);
        EXPECT_EQ(refused([&] { value_at(*driver, address + (2 << 20) - 2); }, "cuMemcpyDtoH"),
                  Result::invalid_value);
        EXPECT_EQ(value_at(*driver, address), 7U);
    });
}

}  // namespace
}  // namespace cudasim::libcuda
