// The table of CUDA's results: numbers, names and texts as CUDA's documentation has them.
#include "simulator/findings/cuda_result.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace cudasim::findings {
namespace {

TEST(CudaResults, have_the_numbers_names_and_texts_of_the_driver) {
    EXPECT_EQ(static_cast<int>(CudaResult::illegal_address), 700);
    EXPECT_EQ(info(CudaResult::success).name, "CUDA_SUCCESS");
    EXPECT_EQ(info(CudaResult::success).text, "no error");
    EXPECT_EQ(info(CudaResult::host_memory_not_registered).name, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED");
    EXPECT_EQ(info(CudaResult::launch_failed).text, "unspecified launch failure");
    EXPECT_EQ(cuda_result(2), CudaResult::out_of_memory);
    EXPECT_EQ(cuda_result(9), std::nullopt);
    EXPECT_EQ(cuda_result(-1), std::nullopt);
    EXPECT_EQ(cuda_result(1000), std::nullopt);
}

TEST(CudaResults, faults_of_kernels_are_sticky_and_refusals_are_not) {
    for (const int number : {700, 702, 710, 714, 715, 716, 717, 718, 719})
        EXPECT_EQ(info(*cuda_result(number)).lasting, Lasting::sticky) << number;
    for (const int number : {0, 1, 2, 3, 101, 201, 400, 500, 600, 701, 704, 712, 720, 800, 999})
        EXPECT_EQ(info(*cuda_result(number)).lasting, Lasting::passing) << number;
}

TEST(CudaResults, no_two_have_one_name) {
    std::set<std::string_view> names;
    for (const auto& row : cuda_results()) {
        EXPECT_TRUE(names.insert(row.name).second) << row.name;
        EXPECT_FALSE(row.text.empty()) << row.name;
        EXPECT_EQ(cuda_result(static_cast<int>(row.result)), row.result) << row.name;
    }
    EXPECT_GT(names.size(), 90U);
}

}  // namespace
}  // namespace cudasim::findings
