// Limits of the process as they are found in /proc, and an arena that leaves address space to others.
#include "simulator/memory/host_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <string>

#include "simulator/memory/arena.h"
#include "tests/simulator/address_limits.h"

namespace cudasim::memory {
namespace {

constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;

class Limit {
  public:
    Limit(__rlimit_resource_t resource, std::uint64_t bytes) : resource_(resource) {
        getrlimit(resource_, &before_);
        const rlimit limit{bytes, before_.rlim_max};
        EXPECT_EQ(setrlimit(resource_, &limit), 0);
    }
    ~Limit() { setrlimit(resource_, &before_); }
    Limit(const Limit&) = delete;
    Limit& operator=(const Limit&) = delete;

  private:
    __rlimit_resource_t resource_;
    rlimit before_{};
};

TEST(HostMemory, what_is_available_is_less_than_what_the_process_may_use) {
    EXPECT_GT(host_memory_available(), 0U);
    EXPECT_LE(host_memory_available(), host_memory_limit());
    EXPECT_NE(describe_host_memory().find("this host can give"), std::string::npos);
}

TEST(HostMemory, a_limit_of_the_address_space_is_found_with_what_is_left) {
    if (!address_limits_are_kept()) GTEST_SKIP() << "the address space cannot be limited here";
    const std::uint64_t bytes = (std::uint64_t{1} << 44) + 16 * gibibyte;
    const Limit limited(RLIMIT_AS, bytes);
    const auto before = address_limit();
    ASSERT_TRUE(before.has_value());
    EXPECT_EQ(before->limit, bytes);
    EXPECT_STREQ(before->name, "ulimit -v");
    void* taken = mmap(nullptr, gibibyte, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(taken, MAP_FAILED);
    EXPECT_EQ(address_limit()->left, before->left - gibibyte);
    munmap(taken, gibibyte);
}

TEST(HostMemory, the_tighter_of_two_limits_counts) {
    if (!address_limits_are_kept()) GTEST_SKIP() << "the address space cannot be limited here";
    const Limit address(RLIMIT_AS, std::uint64_t{1} << 46),
        data(RLIMIT_DATA, (std::uint64_t{1} << 44) + 1024 * gibibyte);
    EXPECT_STREQ(address_limit()->name, "ulimit -d");
    EXPECT_NE(describe_host_memory().find("this host can give"), std::string::npos) << "the host has less";
}

TEST(HostMemory, an_arena_takes_half_of_a_limited_address_space) {
    if (!address_limits_are_kept()) GTEST_SKIP() << "the address space cannot be limited here";
    const Limit limited(RLIMIT_AS, (std::uint64_t{1} << 44) + 16 * gibibyte);
    const std::uint64_t left = address_limit()->left;
    const Arena arena(std::uint64_t{1} << 46);
    EXPECT_LE(arena.capacity(), left / 2);
    EXPECT_GE(address_limit()->left, left / 2);
}

}  // namespace
}  // namespace cudasim::memory
