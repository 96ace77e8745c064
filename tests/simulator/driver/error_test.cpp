// Errors of driver calls: the call, CUDA's code and the words.
#include "simulator/driver/error.h"

#include <gtest/gtest.h>

namespace cudasim::driver {
namespace {

TEST(Error, names_the_call_and_the_result) {
    const Error error("cuMemFree", CudaResult::invalid_value, "there is nothing to free");
    EXPECT_STREQ(error.what(),
                 "Call to cuMemFree results in CUDA_ERROR_INVALID_VALUE: there is nothing to free");
    EXPECT_EQ(error.code, CudaResult::invalid_value);
    EXPECT_EQ(error.call, "cuMemFree");
}

TEST(Error, what_the_engine_refuses_becomes_the_error_of_the_call) {
    execution::Device device(execution::h100());
    try {
        (void)in_call("cuMemAlloc", [&] { return device.allocate(0); });
        FAIL() << "nothing was allocated";
    } catch (const Error& error) {
        EXPECT_EQ(error.code, CudaResult::invalid_value);
        EXPECT_STREQ(
            error.what(),
            "Call to cuMemAlloc results in CUDA_ERROR_INVALID_VALUE: an allocation needs at least one "
            "byte");
    }
    const auto address = in_call("cuMemAlloc", [&] { return device.allocate(64); });
    EXPECT_TRUE(device.contains(address, 64));
}

TEST(Error, keeps_the_place_in_the_kernel) {
    const execution::CudaError refused(CudaResult::launch_out_of_resources, "too much",
                                       {{"k.py", "kernel", 3, 1}});
    try {
        in_call("cuLaunchKernel", [&] { throw refused; });
        FAIL() << "it was not thrown";
    } catch (const Error& error) {
        ASSERT_EQ(error.location.size(), 1U);
        EXPECT_EQ(error.location[0].line, 3U);
    }
}

}  // namespace
}  // namespace cudasim::driver
