// What the device forbids (E8): codes of the CUDA driver, and the limit in the message.
#include "simulator/execution/launch_limits.h"
#include "simulator/jit/abi.h"
#include "tests/simulator/execution/engine_fixture.h"

namespace cudasim::execution {
namespace {

void nothing(ThreadHandle&) {}

void expect_refused(const LaunchConfiguration& configuration, const std::string& limit) {
    try {
        (void)launch_function(nothing, configuration, {});
        FAIL() << "the launch was not refused";
    } catch (const CudaError& error) {
        EXPECT_EQ(error.code, CudaResult::invalid_value);
        EXPECT_NE(std::string(error.what()).find(limit), std::string::npos) << error.what();
    }
}

TEST(Limits, blocks_of_more_than_1024_threads_are_refused) {
    expect_refused({{1}, {2048}}, "1024");
    expect_refused({{1}, {32, 33}}, "1024");
    expect_refused({{1}, {1, 1, 65}}, "64");
    EXPECT_EQ(launch_function(nothing, {{1}, {1024}}, {}).blocks_run, 1U);
}

TEST(Limits, grids_beyond_the_limits_and_zero_extents_are_refused) {
    expect_refused({{1, 65536}, {1}}, "65535");
    expect_refused({{0}, {1}}, "at least 1");
    expect_refused({{1}, {1, 0}}, "at least 1");
}

TEST(Limits, no_device_allows_extents_that_compiled_code_does_not_count_on) {
    DeviceProfile huge = h100();
    huge.max_block = {1U << 20, 1U << 20, 1U << 20};
    huge.max_threads_per_block = 1U << 31;
    huge.max_grid = {~0U, ~0U, ~0U};
    EXPECT_NO_THROW(check_configuration(huge, {{jit::largest_grid_extent}, {jit::largest_block_extent}, 0}));
    EXPECT_THROW(check_configuration(huge, {{1}, {jit::largest_block_extent + 1}, 0}), CudaError);
    EXPECT_THROW(check_configuration(huge, {{1}, {1, 1, jit::largest_block_extent + 1}, 0}), CudaError);
    EXPECT_THROW(check_configuration(huge, {{jit::largest_grid_extent + 1}, {1}, 0}), CudaError);
}

TEST(Limits, shared_memory_of_480_kib_is_refused_227_kib_runs) {
    expect_refused({{1}, {1}, 480 * 1024}, "232448");
    EXPECT_EQ(launch_function(nothing, {{1}, {1}, 227 * 1024}, {}).blocks_run, 1U);
}

TEST(Limits, occupancy_is_limited_by_threads_blocks_and_shared_memory) {
    const auto per_multiprocessor = [](const char* key, std::uint64_t threads, std::uint64_t shared) {
        const DeviceProfile& profile = *find_profile(key);
        return occupancy(profile, threads, shared) / profile.multiprocessors;
    };
    EXPECT_EQ(per_multiprocessor("h100", 1024, 0), 2U);
    EXPECT_EQ(per_multiprocessor("h100", 32, 0), 32U);
    EXPECT_EQ(per_multiprocessor("a10", 1024, 0), 1U);
    EXPECT_EQ(per_multiprocessor("a10", 768, 0), 2U);
    EXPECT_EQ(per_multiprocessor("a10", 1, 0), 16U);
    // Compute capability 8.0 and up keep 1 KiB of every block's shared memory for the system, 7.5 does not.
    EXPECT_EQ(per_multiprocessor("h100", 32, 114 * 1024), 1U);
    EXPECT_EQ(per_multiprocessor("h100", 32, 113 * 1024), 2U);
    EXPECT_EQ(per_multiprocessor("rtx2080ti", 32, 32 * 1024), 2U);
}

TEST(Limits, every_profile_is_found_by_its_key) {
    for (const DeviceProfile& profile : profiles()) EXPECT_EQ(find_profile(profile.key), &profile);
    EXPECT_EQ(find_profile("gtx"), nullptr);
    EXPECT_EQ(&h100(), find_profile("h100"));
}

TEST(Limits, out_of_memory_names_what_was_asked_for_and_what_is_there) {
    try {
        (void)device().allocate(std::uint64_t{1} << 50);
        FAIL();
    } catch (const CudaError& error) {
        EXPECT_EQ(error.code, CudaResult::out_of_memory);
        EXPECT_NE(std::string(error.what()).find("1073741824 MiB asked for"), std::string::npos)
            << error.what();
    }
}

TEST(Limits, copies_outside_an_allocation_and_double_frees_are_refused) {
    const DevicePointer pointer = device().allocate(64);
    char host[128] = {};
    EXPECT_THROW(device().copy_to_device(pointer, host, 65), CudaError);
    EXPECT_THROW(device().copy_from_device(host, pointer + 32, 64), CudaError);
    EXPECT_THROW(device().copy_to_device(pointer - 8, host, 8), CudaError);
    device().free(pointer);
    EXPECT_THROW(device().free(pointer), CudaError);
    EXPECT_THROW(device().copy_to_device(pointer, host, 8), CudaError);
}

}  // namespace
}  // namespace cudasim::execution
