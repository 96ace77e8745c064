// Accesses to watched memory are noticed and do what they would have done.
#include "simulator/streams/page_watch.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

namespace cudasim::streams {
namespace {

std::atomic<int> touched{-1};

class PageWatch : public testing::Test {
  protected:
    void SetUp() override {
        touched = -1;
        page_watch::on_touch([](int watch) { touched = watch; });
        memory = static_cast<volatile char*>(
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        memory[5] = 7;
    }
    void TearDown() override { munmap(const_cast<char*>(memory), bytes); }
    [[nodiscard]] std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(memory); }

    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), bytes = 4 * page;
    volatile char* memory = nullptr;
};

TEST_F(PageWatch, a_read_is_noticed_once_and_gives_the_value) {
    const int watch = page_watch::begin(address(), bytes, page_watch::Access::any, false);
    page_watch::protect_all();
    EXPECT_EQ(memory[5], 7);
    EXPECT_EQ(touched, watch);
    touched = -1;
    EXPECT_EQ(memory[3 * page], 0);
    EXPECT_EQ(touched, -1);
    EXPECT_TRUE(page_watch::end(watch));
}

TEST_F(PageWatch, untouched_memory_is_said_to_be) {
    const int watch = page_watch::begin(address(), bytes, page_watch::Access::any, false);
    page_watch::protect_all();
    EXPECT_FALSE(page_watch::end(watch));
    memory[5] = 8;
    EXPECT_EQ(touched, -1);
}

TEST_F(PageWatch, writes_alone_can_be_watched) {
    const int watch = page_watch::begin(address(), bytes, page_watch::Access::write, false);
    page_watch::protect_all();
    EXPECT_EQ(memory[5], 7);
    EXPECT_EQ(touched, -1);
    memory[5] = 9;
    EXPECT_EQ(touched, watch);
    EXPECT_EQ(memory[5], 9);
    EXPECT_TRUE(page_watch::end(watch));
}

TEST_F(PageWatch, opened_memory_is_anybodys_until_it_is_protected_again) {
    const int watch = page_watch::begin(address(), bytes, page_watch::Access::any, false);
    page_watch::protect_all();
    page_watch::open_all();
    memory[5] = 1;
    EXPECT_EQ(touched, -1);
    page_watch::protect_all();
    memory[5] = 2;
    EXPECT_EQ(touched, watch);
    EXPECT_TRUE(page_watch::end(watch));
}

TEST_F(PageWatch, a_range_is_watched_as_far_as_it_has_whole_pages) {
    EXPECT_EQ(page_watch::begin(address() + 8, page, page_watch::Access::any, false), -1);
    const int watch = page_watch::begin(address() + 8, 2 * page, page_watch::Access::any, false);
    page_watch::protect_all();
    memory[5] = 1;
    memory[2 * page] = 1;
    EXPECT_EQ(touched, -1);
    memory[page] = 1;
    EXPECT_EQ(touched, watch);
    EXPECT_TRUE(page_watch::end(watch));
}

TEST_F(PageWatch, memory_with_pages_of_its_own_is_watched_to_the_byte) {
    const int watch = page_watch::begin(address() + 64, 8, page_watch::Access::any, true);
    page_watch::protect_all();
    memory[5] = 1;
    memory[72] = 1;
    EXPECT_EQ(touched, -1);
    page_watch::protect_all();
    memory[71] = 1;
    EXPECT_EQ(touched, watch);
    EXPECT_TRUE(page_watch::end(watch));
}

TEST_F(PageWatch, other_faults_end_the_process_as_ever) {
    const int watch =
        page_watch::begin(address(), bytes, page_watch::Access::any, false);  // installs the handler
    page_watch::protect_all();
    EXPECT_FALSE(page_watch::end(watch));
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // whose handlers were there before
    EXPECT_DEATH(*reinterpret_cast<volatile int*>(8) = 1, "Sanitizer: SEGV");
#else
    EXPECT_EXIT(*reinterpret_cast<volatile int*>(8) = 1, testing::KilledBySignal(SIGSEGV), "");
#endif
}

}  // namespace
}  // namespace cudasim::streams
