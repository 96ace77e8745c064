// The folder that the object cache stands on: what is kept, what goes, and who is not believed.
#include "simulator/jit/cache_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "temporary_folder.h"

namespace cudasim::jit::testing {
namespace {

namespace fs = std::filesystem;

std::vector<std::byte> bytes_of(std::size_t count, int value = 7) {
    return std::vector<std::byte>(count, static_cast<std::byte>(value));
}

std::size_t files_in(const fs::path& folder) {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

/// So that two files differ in their time of use: file systems count in ticks of up to 10 ms.
void let_time_pass() {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

class CacheFolderTest : public ::testing::Test {
  protected:
    TemporaryFolder temporary;
    CacheFolder folder{temporary.path() / "deep" / "cache", 1000};
    fs::path path = temporary.path() / "deep" / "cache";
    void SetUp() override { folder.make(); }
};

TEST_F(CacheFolderTest, gives_back_what_was_written) {
    folder.write("a", bytes_of(10, 1));
    folder.write("b", bytes_of(0));
    EXPECT_EQ(folder.read("a"), bytes_of(10, 1));
    EXPECT_EQ(folder.read("b"), bytes_of(0));
    EXPECT_EQ(folder.read("c"), std::nullopt);
    folder.write("a", bytes_of(4, 2));
    EXPECT_EQ(folder.read("a"), bytes_of(4, 2));
    EXPECT_EQ(folder.usage().entries, 2U);
    EXPECT_EQ(folder.usage().bytes, 4U);
}

TEST_F(CacheFolderTest, folder_and_entries_are_the_users_alone) {
    const mode_t before = ::umask(0);
    folder.write("a", bytes_of(10));
    ::umask(before);
    struct stat status{};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700U);
    ASSERT_EQ(::stat((path / "a.kernel").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(CacheFolderTest, a_folder_that_others_may_write_is_not_used) {
    folder.write("a", bytes_of(10));
    for (const mode_t mode : {0770, 0707, 0777}) {
        ASSERT_EQ(::chmod(path.c_str(), mode), 0);
        ASSERT_TRUE(folder.problem());
        EXPECT_TRUE(folder.problem()->unsafe);
        EXPECT_NE(folder.problem()->what.find("chmod go-w " + path.string()), std::string::npos);
        EXPECT_EQ(folder.read("a"), std::nullopt);
        folder.write("b", bytes_of(10));
    }
    ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
    EXPECT_FALSE(folder.problem());
    EXPECT_EQ(folder.read("a"), bytes_of(10));
    EXPECT_EQ(folder.usage().entries, 1U);
}

TEST_F(CacheFolderTest, an_entry_that_others_may_write_is_removed) {
    folder.write("a", bytes_of(10));
    ASSERT_EQ(::chmod((path / "a.kernel").c_str(), 0620), 0);
    EXPECT_EQ(folder.read("a"), std::nullopt);
    EXPECT_FALSE(fs::exists(path / "a.kernel"));
}

TEST_F(CacheFolderTest, what_another_user_owns_is_not_read) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, to give a file away";
    folder.write("a", bytes_of(10));
    ASSERT_EQ(::chown((path / "a.kernel").c_str(), 12345, 12345), 0);
    EXPECT_EQ(folder.read("a"), std::nullopt);
    folder.write("a", bytes_of(10));
    ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
    EXPECT_EQ(folder.read("a"), std::nullopt);
    EXPECT_TRUE(folder.problem()->unsafe);
    EXPECT_NE(folder.problem()->what.find("12345"), std::string::npos);
}

TEST_F(CacheFolderTest, links_pipes_and_folders_in_the_place_of_entries_are_not_read) {
    std::ofstream(temporary.path() / "outside") << "0123456789";
    fs::permissions(temporary.path() / "outside", fs::perms::owner_read | fs::perms::owner_write);
    fs::create_symlink(temporary.path() / "outside", path / "link.kernel");
    ASSERT_EQ(::mkfifo((path / "pipe.kernel").c_str(), 0600), 0);
    fs::create_directory(path / "folder.kernel");
    for (const char* name : {"link", "pipe", "folder"}) EXPECT_EQ(folder.read(name), std::nullopt) << name;
    for (const char* name : {"link", "pipe"}) {
        folder.write(name, bytes_of(3));
        EXPECT_EQ(folder.read(name), bytes_of(3)) << name;
    }
    EXPECT_EQ(fs::file_size(temporary.path() / "outside"), 10U);
}

TEST_F(CacheFolderTest, entries_not_used_for_longest_go_first) {
    for (const char* name : {"a", "b", "c"}) {
        folder.write(name, bytes_of(300));
        let_time_pass();
    }
    EXPECT_TRUE(folder.read("a"));  // now the oldest is b
    let_time_pass();
    folder.write("d", bytes_of(300));
    EXPECT_EQ(folder.read("b"), std::nullopt);
    for (const char* name : {"a", "c", "d"}) EXPECT_TRUE(folder.read(name)) << name;
}

TEST_F(CacheFolderTest, stays_within_its_limit_whatever_the_number_of_writers) {
    std::vector<std::thread> writers;
    for (int writer = 0; writer < 4; ++writer) {
        writers.emplace_back([this, writer] {
            CacheFolder own(path, 1000);
            for (int i = 0; i < 200; ++i) own.write(std::to_string(writer * 1000 + i), bytes_of(37));
        });
    }
    for (auto& writer : writers) writer.join();
    folder.write("last", bytes_of(1));
    // Each writer looks at the folder after 32 writes at the latest.
    EXPECT_LE(folder.usage().bytes, 1000U + 4 * 33 * 37);
    CacheFolder(path, 1000).write("look", bytes_of(1));
    EXPECT_LE(folder.usage().bytes, 1000U);
    EXPECT_EQ(files_in(path), folder.usage().entries);
}

TEST_F(CacheFolderTest, an_entry_beyond_the_limit_is_not_kept) {
    folder.write("small", bytes_of(100));
    folder.write("large", bytes_of(1001));
    EXPECT_EQ(folder.usage().entries, 1U);
    EXPECT_TRUE(folder.read("small"));
}

TEST_F(CacheFolderTest, what_a_killed_writer_left_goes_after_an_hour) {
    for (const char* name : {"new-0000000000000001", "new-0000000000000002"})
        std::ofstream(path / name) << "part";
    fs::last_write_time(path / "new-0000000000000001",
                        fs::file_time_type::clock::now() - std::chrono::hours(2));
    folder.write("a", bytes_of(1));
    EXPECT_FALSE(fs::exists(path / "new-0000000000000001"));
    EXPECT_TRUE(fs::exists(path / "new-0000000000000002"));
}

TEST_F(CacheFolderTest, counts_hits_and_misses_until_cleared) {
    std::ofstream(path / "mine.txt") << "not the cache's";
    folder.write("a", bytes_of(5));
    for (const bool hit : {true, true, false}) folder.count(hit);
    EXPECT_EQ(folder.usage().hits, 2U);
    EXPECT_EQ(folder.usage().misses, 1U);
    EXPECT_EQ(folder.clear().entries, 1U);
    const FolderUsage after = folder.usage();
    EXPECT_EQ(after.entries + after.bytes + after.hits + after.misses, 0U);
    EXPECT_EQ(files_in(path), 1U);
    EXPECT_TRUE(fs::exists(path / "mine.txt"));
}

TEST_F(CacheFolderTest, a_folder_that_cannot_be_is_a_problem_and_no_more) {
    std::ofstream(temporary.path() / "file") << "x";
    CacheFolder impossible(temporary.path() / "file" / "cache", 1000);
    impossible.make();
    ASSERT_TRUE(impossible.problem());
    EXPECT_FALSE(impossible.problem()->unsafe);
    impossible.write("a", bytes_of(1));
    impossible.count(true);
    EXPECT_EQ(impossible.read("a"), std::nullopt);
    EXPECT_EQ(impossible.clear().entries, 0U);
}

TEST_F(CacheFolderTest, comes_back_after_it_was_removed_only_when_made_again) {
    folder.write("a", bytes_of(1));
    fs::remove_all(path);
    folder.write("a", bytes_of(1));
    EXPECT_EQ(folder.read("a"), std::nullopt);
    folder.make();
    folder.write("a", bytes_of(1));
    EXPECT_TRUE(folder.read("a"));
}

TEST_F(CacheFolderTest, a_limit_on_file_sizes_does_not_end_the_process) {
    const pid_t child = ::fork();
    if (child == 0) {
        const rlimit limit{100, 100};
        (void)::setrlimit(RLIMIT_FSIZE, &limit);
        folder.write("a", bytes_of(500));
        for (int i = 0; i < 150; ++i) folder.count(true);
        ::_exit(folder.usage().entries == 0 && folder.usage().hits == 100 ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST_F(CacheFolderTest, a_full_disk_keeps_nothing_and_leaves_nothing_half) {
    const fs::path disk = temporary.path() / "disk";
    fs::create_directory(disk);
    if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=64k,mode=0700") != 0)
        GTEST_SKIP() << "needs the right to mount a small tmpfs";
    CacheFolder full(disk, 1 << 20);
    for (int i = 0; i < 40; ++i) full.write(std::to_string(i), bytes_of(6000));
    const FolderUsage usage = full.usage();
    EXPECT_GT(usage.entries, 0U);
    EXPECT_LT(usage.entries, 40U);
    EXPECT_EQ(usage.bytes, usage.entries * 6000);
    EXPECT_EQ(files_in(disk), usage.entries);
    EXPECT_EQ(full.read("0"), bytes_of(6000));
    EXPECT_EQ(::umount2(disk.c_str(), MNT_DETACH), 0);
}

TEST_F(CacheFolderTest, a_folder_that_may_only_be_read_is_read) {
    folder.write("a", bytes_of(10));
    folder.count(true);
    if (::mount(path.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) != 0)
        GTEST_SKIP() << "needs the right to mount a folder read-only";
    ASSERT_EQ(::mount(nullptr, path.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr), 0);
    EXPECT_FALSE(folder.problem());
    EXPECT_EQ(folder.read("a"), bytes_of(10));
    folder.write("b", bytes_of(10));
    folder.remove("a");
    folder.count(false);
    EXPECT_EQ(folder.clear().entries, 0U);
    EXPECT_EQ(folder.usage().entries, 1U);
    EXPECT_EQ(::umount2(path.c_str(), MNT_DETACH), 0);
}

}  // namespace
}  // namespace cudasim::jit::testing
