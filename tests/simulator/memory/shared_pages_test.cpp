// Sharing of an arena's memory: what another mapping of the file sees, neighbours, freeing, fork().
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "simulator/memory/arena.h"
#include "simulator/memory/shadow.h"

namespace cudasim::memory {
namespace {

constexpr std::uint64_t mebibyte = 1 << 20, page = 4096;

char* at(std::uint64_t address) {
    return reinterpret_cast<char*>(address);
}

/// The shared range as another process would have it.
class Mapping {
  public:
    explicit Mapping(const SharedPages::Place& place)
        : bytes_(place.bytes),
          pages_(mmap(nullptr, place.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, place.file,
                      static_cast<off_t>(place.offset))),
          data_(static_cast<char*>(pages_) + place.inside) {
        EXPECT_NE(pages_, MAP_FAILED);
    }
    ~Mapping() { munmap(pages_, bytes_); }
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    char& operator[](std::size_t offset) { return data_[offset]; }

  private:
    std::uint64_t bytes_;
    void* pages_;
    char* data_;
};

TEST(SharedPages, both_sides_see_the_same_bytes) {
    Arena arena(64 * mebibyte);
    for (const std::uint64_t bytes : {std::uint64_t{100}, page, 3 * page + 17, mebibyte}) {
        const auto address = arena.allocate(bytes, "shared", true);
        at(*address)[0] = 1;
        at(*address)[bytes - 1] = 2;
        const auto place = arena.share(*address);
        ASSERT_TRUE(place);
        Mapping other(*place);
        EXPECT_EQ(other[0], bytes == 1 ? 2 : 1);
        EXPECT_EQ(other[bytes - 1], 2);
        other[bytes / 2] = 3;
        EXPECT_EQ(at(*address)[bytes / 2], 3);
        at(*address)[0] = 4;
        EXPECT_EQ(other[0], 4);
        EXPECT_EQ(arena.share(*address)->offset, place->offset);  // again is the same
    }
}

TEST(SharedPages, neighbours_on_one_page_keep_their_bytes) {
    Arena arena(64 * mebibyte);
    const auto before = arena.allocate(300, "before", true), shared = arena.allocate(300, "shared", true),
               also = arena.allocate(300, "also shared", true),
               after = arena.allocate(3 * page, "after", true);
    for (const auto& each : {before, shared, also, after})
        std::memset(at(*each), static_cast<int>(*each >> 8), 300);
    Mapping first(*arena.share(*shared)), second(*arena.share(*also)), third(*arena.share(*after));
    for (const auto& each : {before, shared, also, after})
        for (int i = 0; i < 300; ++i) ASSERT_EQ(at(*each)[i], static_cast<char>(*each >> 8));
    third[2 * page] = 9;
    EXPECT_EQ(at(*after)[2 * page], 9);
    EXPECT_TRUE(arena.free(*shared));
    second[5] = 77;  // still on a page of the file
    EXPECT_EQ(at(*also)[5], 77);
    EXPECT_EQ(at(*before)[299], static_cast<char>(*before >> 8));
}

TEST(SharedPages, what_comes_after_freeing_is_not_seen) {
    Arena arena(64 * mebibyte);
    const auto address = arena.allocate(40 * mebibyte, "large", false);  // too large for the quarantine
    const auto place = arena.share(*address);
    Mapping other(*place);
    at(*address)[20 * mebibyte] = 5;
    ASSERT_TRUE(arena.free(*address));
    const auto next = arena.allocate(40 * mebibyte, "next", false);
    ASSERT_EQ(*next, *address);
    std::memset(at(*next), 1, 40 * mebibyte);
    EXPECT_EQ(other[20 * mebibyte], 0);
    other[7] = 3;
    EXPECT_EQ(at(*next)[7], 1);
    EXPECT_EQ(lseek(place->file, static_cast<off_t>(place->offset), SEEK_DATA),
              static_cast<off_t>(place->offset));  // written again
}

TEST(SharedPages, freed_memory_is_a_hole_in_the_file) {
    Arena arena(64 * mebibyte);
    const auto address = arena.allocate(3 * page, "gone", true);
    const auto place = arena.share(*address);
    EXPECT_EQ(lseek(place->file, static_cast<off_t>(place->offset), SEEK_DATA),
              static_cast<off_t>(place->offset));
    ASSERT_TRUE(arena.free(*address));
    EXPECT_EQ(lseek(place->file, static_cast<off_t>(place->offset), SEEK_DATA), -1);
}

TEST(SharedPages, a_forked_child_has_a_copy) {
    Arena arena(64 * mebibyte);
    const auto address = arena.allocate(5 * page, "shared", true);
    const auto neighbour = arena.allocate(64, "neighbour", true);
    Mapping other(*arena.share(*address));
    at(*address)[page] = 1;
    at(*neighbour)[0] = 1;
    const pid_t child = fork();
    if (child == 0) {
        const bool same = at(*address)[page] == 1 && at(*neighbour)[0] == 1;
        at(*address)[page] = 2;
        at(*neighbour)[0] = 2;
        const auto again = arena.share(*address);  // a file of its own
        _exit(same && again && other[page] == 1 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(at(*address)[page], 1);
    EXPECT_EQ(at(*neighbour)[0], 1);
    at(*address)[page] = 6;
    EXPECT_EQ(other[page], 6);  // the parent goes on sharing
}

TEST(AdoptedMemory, is_open_to_kernels_until_it_is_freed) {
    Arena arena(64 * mebibyte);
    alignas(8) static char host[64];
    const auto address = reinterpret_cast<std::uint64_t>(host);
    const Shadow& shadow = Shadow::instance();
    EXPECT_FALSE(shadow.allows(address, 1, false));
    ASSERT_TRUE(arena.adopt(address, 20, "host"));
    EXPECT_TRUE(shadow.allows(address, 20, true));
    EXPECT_FALSE(shadow.allows(address, 21, true));
    EXPECT_NE(arena.containing(address + 4, 16), nullptr);
    EXPECT_EQ(arena.in_use(), 0U);
    EXPECT_FALSE(arena.adopt(address + 16, 8, "overlaps"));
    EXPECT_FALSE(arena.adopt(address - 4, 8, "overlaps"));
    EXPECT_FALSE(arena.share(address));
    EXPECT_TRUE(arena.near_adopted(address + 24, 8));
    EXPECT_FALSE(arena.near_adopted(address + 24, 2));
    EXPECT_TRUE(arena.free(address));
    EXPECT_FALSE(shadow.allows(address, 1, false));
    EXPECT_FALSE(arena.near_adopted(address, 8));
}

TEST(AdoptedMemory, may_begin_inside_a_granule) {
    Arena arena(64 * mebibyte);
    alignas(8) static char host[64];
    const auto address = reinterpret_cast<std::uint64_t>(host) + 5;
    ASSERT_TRUE(arena.adopt(address, 10, "host"));
    EXPECT_TRUE(Shadow::instance().allows(address, 10, true));
    EXPECT_FALSE(Shadow::instance().allows(address, 11, true));
    EXPECT_TRUE(arena.free(address));
    EXPECT_FALSE(Shadow::instance().allows(address + 9, 1, false));
    const auto device = arena.allocate(8, "device", true);
    EXPECT_FALSE(arena.adopt(*device, 8, "in the arena"));
    EXPECT_FALSE(arena.adopt(address, 0, "nothing"));
    EXPECT_FALSE(arena.adopt(~std::uint64_t{0} - 4, 8, "wraps"));
}

TEST(HostMemory, is_not_counted) {
    Arena arena(64 * mebibyte);
    const auto address = arena.allocate(10 * mebibyte, "mapped", false, false, false);
    ASSERT_TRUE(address);
    EXPECT_EQ(arena.in_use(), 0U);
    EXPECT_TRUE(arena.free(*address));
    EXPECT_EQ(arena.in_use(), 0U);
}

}  // namespace
}  // namespace cudasim::memory
