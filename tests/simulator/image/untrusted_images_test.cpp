// Bytes of unknown origin: whatever they are, the process lives, and it is an image or an ImageError.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>

#include "simulator/image/isolated_reading.h"
#include "untrusted_reading.h"

namespace cudasim::image::testing {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

std::vector<fs::path> seeds(const std::string& prefix = "") {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(CUDASIM_SEEDS))
        if (entry.path().filename().string().starts_with(prefix)) found.push_back(entry.path());
    std::sort(found.begin(), found.end());
    return found;
}

Bytes contents(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    return {first, first + text.size()};
}

std::string refusal(const std::function<std::string()>& read, const ReadingLimits& limits = {}) {
    try {
        (void)read_in_child_process("the bytes", read, limits);
    } catch (const ImageError& error) {
        return error.what();
    }
    return "not refused";
}

std::size_t open_files() {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

TEST(UntrustedImages, seeds_are_images) {
    ASSERT_GE(seeds("image-").size(), 6U);
    for (const auto& path : seeds("image-")) EXPECT_TRUE(try_reading(contents(path))) << path;
}

/// Each of these ended the process, by a signal or by exit(), when LLVM read it here.
TEST(UntrustedImages, what_crashed_llvm_is_refused) {
    ASSERT_GE(seeds("crash-").size(), 3U);
    for (const auto& path : seeds("crash-")) EXPECT_FALSE(try_reading(contents(path))) << path;
}

TEST(UntrustedImages, survives_mutations_of_its_seeds) {
    std::mt19937 random(std::random_device{}());
    const auto paths = seeds();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(4);
    int trials = 0;
    while (std::chrono::steady_clock::now() < end) {
        Bytes bytes = contents(paths[random() % paths.size()]);
        const unsigned changes = 1 + random() % 4;
        for (unsigned i = 0; i < changes && !bytes.empty(); ++i) {
            const std::size_t at = random() % bytes.size();
            if (random() % 16 == 0)
                bytes.resize(at);
            else
                bytes[at] ^= std::byte{1} << (random() % 8);
        }
        const bool serialised = bytes.size() > serialised_header_bytes && bytes[0] == std::byte{'C'};
        if (serialised && random() % 4 != 0) restamp(bytes);
        (void)try_reading(bytes);
        ++trials;
    }
    EXPECT_GT(trials, 20);
}

TEST(UntrustedImages, whatever_ends_the_child_is_a_refusal) {
    EXPECT_NE(refusal([]() -> std::string { std::abort(); }).find("crashed on it (Aborted)"),
              std::string::npos);
    EXPECT_NE(refusal([]() -> std::string { std::exit(0); }).find("gave up"), std::string::npos);
    EXPECT_NE(refusal([]() -> std::string { ::_exit(0); }).find("gave up"), std::string::npos);
    EXPECT_NE(refusal([]() -> std::string { throw 1; }).find("gave up"), std::string::npos);
    EXPECT_NE(refusal([]() -> std::string {
                  ::raise(SIGSEGV);
                  return "half";
              }).find("crashed"),
              std::string::npos);
    EXPECT_EQ(refusal([]() -> std::string { throw ImageError("its own words"); }), "its own words");
}

TEST(UntrustedImages, time_and_memory_are_limited) {
    const auto endless = []() -> std::string {
        volatile bool forever = true;
        while (forever) {
        }
        return "";
    };
    const auto asleep = []() -> std::string {
        for (;;) ::pause();
    };
    const auto greedy = []() -> std::string {
        std::string all;
        for (;;) all.append(1 << 26, 'x');
    };
    EXPECT_NE(refusal(endless, {.cpu_seconds = 1}).find("too long"), std::string::npos);
    EXPECT_NE(refusal(asleep, {.wall_seconds = 1}).find("too long"), std::string::npos);
    EXPECT_NE(refusal(greedy, {.bytes = 1 << 28}), "not refused");
}

TEST(UntrustedImages, results_of_any_size_come_back) {
    for (const std::size_t size : {0, 1, 70'000, 5'000'000}) {
        const std::string result(size, '.');
        EXPECT_EQ(read_in_child_process("the bytes", [&] { return result; }), result);
    }
}

TEST(UntrustedImages, nothing_of_the_child_reaches_the_parent) {
    static bool parent_handler_ran = false;
    std::atexit([] { parent_handler_ran = true; });
    const std::size_t before = open_files();
    ::testing::internal::CaptureStdout();
    std::printf("said once");
    (void)refusal([]() -> std::string {
        std::printf("by the child");
        std::exit(1);
    });
    (void)refusal([]() -> std::string {
        ::kill(::getpid(), SIGKILL);
        return "";
    });
    EXPECT_EQ(::testing::internal::GetCapturedStdout(), "said once");
    EXPECT_EQ(open_files(), before);
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left over";
    EXPECT_FALSE(parent_handler_ran);
}

TEST(UntrustedImages, children_of_other_threads_do_not_hold_each_other_up) {
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
        threads.emplace_back([thread] {
            for (int i = 0; i < 20; ++i) {
                const std::string text = std::to_string(thread * 100 + i);
                EXPECT_EQ(read_in_child_process("the bytes", [&] { return text; }), text);
                (void)refusal([]() -> std::string { std::abort(); });
            }
        });
    }
    for (auto& thread : threads) thread.join();
}

TEST(UntrustedImages, a_program_that_reaps_its_children_itself_reads_too) {
    const auto before = ::signal(SIGCHLD, SIG_IGN);
    EXPECT_EQ(read_in_child_process("the bytes", [] { return std::string("read"); }), "read");
    EXPECT_NE(refusal([]() -> std::string { std::abort(); }), "not refused");
    ::signal(SIGCHLD, before);
}

}  // namespace
}  // namespace cudasim::image::testing
