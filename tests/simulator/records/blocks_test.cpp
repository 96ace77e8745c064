// Files of records: other versions and other formats are refused by name, and so is whatever is damaged.
#include "simulator/records/blocks.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <random>

#include "tests/simulator/records/gpu_samples.h"

namespace cudasim::records {
namespace {

constexpr FileFormat format{"TEST OF RECORDS\n", 3, 2, "file of a test", "AB"};
constexpr std::size_t header = 24, block_header = 9;

using Bytes = std::vector<std::byte>;

Bytes noise(std::size_t size, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Bytes bytes(size);
    for (auto& each : bytes) each = std::byte(random() >> 7);
    return bytes;
}

/// Stored once where equal, for tests with small numbers.
Hash hash_of(std::span<const std::byte> bytes) {
    std::uint64_t sum = bytes.size();
    for (const auto each : bytes) sum = sum * 1099511628211ULL + std::to_integer<unsigned>(each);
    return {sum, 0};
}

class Blocks : public ::testing::Test {
  protected:
    ~Blocks() override {
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
    }
    [[nodiscard]] Bytes file() const { return bytes_of(path_); }
    /// A content of 200,000 bytes, an 'A' that is "first" and an 'A' and 'B' that are "second" and "third".
    ChunkList write(bool close = true, BlockWriter::Hasher hasher = nullptr) const {
        BlockWriter writer(path_, format, hasher);
        ChunkList list = writer.chunks(content_);
        for (const auto& [kind, text] :
             {std::pair('A', "first"), std::pair('A', "second"), std::pair('B', "third")})
            writer.add(kind, std::as_bytes(std::span(text, std::strlen(text))));
        if (close) writer.close();
        return list;
    }

    Bytes content_ = noise(200'000, 5);
    std::filesystem::path path_ = std::filesystem::temp_directory_path() /
                                  ("blocks_test." + std::to_string(getpid()) + "." +
                                   ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

std::string refusal_of(const std::function<void()>& read) {
    try {
        read();
    } catch (const RecordError& error) {
        return error.what();
    }
    return "it was read";
}

std::string refusal_of(const Bytes& bytes, const FileFormat& expected = format) {
    return refusal_of([&] { const BlockReader reader(bytes, expected); });
}

void expect_in(const std::string& part, const std::string& whole) {
    EXPECT_NE(whole.find(part), std::string::npos) << whole;
}

TEST_F(Blocks, are_read_by_kind_in_their_order) {
    const ChunkList list = write();
    const BlockReader reader(path_, format);
    EXPECT_TRUE(reader.finished());
    EXPECT_EQ(reader.count('A'), 2U);
    EXPECT_EQ(reader.count('B'), 1U);
    EXPECT_EQ(reader.count('C'), 0U);  // chunks are no blocks that can be asked for
    EXPECT_EQ(reader.read('A', 0).text(), "first");
    EXPECT_EQ(reader.read('A', 1).text(), "second");
    EXPECT_EQ(reader.read('B', 0).text(), "third");
    EXPECT_TRUE(std::ranges::equal(reader.content(list).bytes(), content_));
    expect_in("the file of a test has 1", refusal_of([&] { (void)reader.read('B', 1); }));
    EXPECT_EQ(reader.content({}).size(), 0U);
}

TEST_F(Blocks, keep_equal_chunks_once_where_they_are_hashed) {
    content_ = noise(chunk_bytes, 1);
    for (int i = 0; i < 3; ++i)
        content_.insert(content_.end(), content_.begin(), content_.begin() + chunk_bytes);
    const ChunkList list = write(true, &hash_of);
    const std::vector<std::pair<std::uint32_t, std::uint32_t>> four_times{{0, 1}, {0, 1}, {0, 1}, {0, 1}};
    EXPECT_EQ(list.runs, four_times);
    EXPECT_LT(file().size(), chunk_bytes + 4096U);
    EXPECT_TRUE(std::ranges::equal(BlockReader(path_, format).content(list).bytes(), content_));
}

TEST_F(Blocks, of_an_older_version_are_read_as_far_as_the_format_goes_back) {
    write();
    auto bytes = file();
    const auto of_version = [&](unsigned version) {
        bytes[16] = std::byte(version);
        return refusal_of(bytes);
    };
    EXPECT_EQ(of_version(2), "it was read");
    EXPECT_EQ(of_version(3), "it was read");
    EXPECT_EQ(of_version(1), "the file of a test has version 1, this cudasim reads version 3");
    EXPECT_EQ(of_version(4),
              "the file of a test has version 4, this cudasim reads version 3: a newer one wrote it");
    EXPECT_EQ(of_version(0), "the file of a test has version 0, this cudasim reads version 3");
}

/// A file without blocks but its end.
Bytes empty_file(const std::filesystem::path& path, const FileFormat& of) {
    BlockWriter(path, of, nullptr).close();
    return bytes_of(path);
}

TEST_F(Blocks, of_versions_that_come_later_are_refused_by_name) {
    auto records = empty_file(path_, launch_format);
    EXPECT_EQ(refusal_of(records, launch_format), "it was read");
    records[16] = std::byte{1};
    EXPECT_EQ(refusal_of(records, launch_format), "it was read");
    records[16] = std::byte{3};
    EXPECT_EQ(refusal_of(records, launch_format),
              "the file of records has version 3, this cudasim reads version 2: a newer one wrote it");
    auto results = empty_file(path_, result_format);
    results[16] = std::byte{2};
    EXPECT_EQ(
        refusal_of(results, result_format),
        "the file of a GPU's results has version 2, this cudasim reads version 1: a newer one wrote it");
}

TEST_F(Blocks, of_another_format_are_refused_by_what_they_are) {
    expect_in("is a file of a GPU's results, not a file of records",
              refusal_of(empty_file(path_, result_format), launch_format));
    expect_in("is a file of records, not a file of a GPU's results",
              refusal_of(empty_file(path_, launch_format), result_format));
    expect_in("this is not a file of records, or it is damaged: at byte 0",
              refusal_of(Bytes(100, std::byte{'x'}), launch_format));
    expect_in("at byte 0", refusal_of(Bytes{}, launch_format));
}

TEST_F(Blocks, cut_anywhere_they_are_not_finished) {
    write();
    const auto whole = file();
    for (std::size_t size = 0; size < whole.size(); size += size < 64 || size + 64 > whole.size() ? 1 : 997) {
        const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        if (size < header) {
            EXPECT_NE(refusal_of(cut), "it was read") << size;
            continue;
        }
        const BlockReader reader(cut, format);
        EXPECT_FALSE(reader.finished()) << size;
        for (std::size_t i = 0; i < reader.count('A'); ++i) EXPECT_FALSE(reader.read('A', i).text().empty());
    }
}

TEST_F(Blocks, behind_the_end_there_is_nothing) {
    write();
    auto bytes = file();
    bytes.push_back(std::byte{'A'});
    expect_in("something follows the end", refusal_of(bytes));
}

/// A header and one block.
Bytes file_with(char kind, std::uint32_t raw, std::uint32_t stored, const Bytes& content) {
    Bytes bytes(header + block_header);
    std::memcpy(bytes.data(), format.magic.data(), 16);
    bytes[16] = std::byte{3};
    bytes[header] = std::byte(kind);
    std::memcpy(bytes.data() + header + 1, &raw, 4);
    std::memcpy(bytes.data() + header + 5, &stored, 4);
    bytes.insert(bytes.end(), content.begin(), content.end());
    return bytes;
}

TEST_F(Blocks, of_impossible_kinds_and_sizes_are_refused) {
    const Bytes four(4);
    expect_in("at byte 24, a block is of no known kind", refusal_of(file_with('D', 4, 4, four)));
    expect_in("a block is of no known kind", refusal_of(file_with('\0', 4, 4, four)));
    expect_in("a chunk has no possible size", refusal_of(file_with('C', 0, 4, four)));
    expect_in("a chunk has no possible size", refusal_of(file_with('C', chunk_bytes + 1, 4, four)));
    expect_in("a block has no possible size", refusal_of(file_with('A', most_block_bytes + 1, 4, four)));
    // Larger than what is there: like a file that was cut short.
    EXPECT_FALSE(BlockReader(file_with('A', 4, 0xffff'ffff, four), format).finished());
    EXPECT_EQ(BlockReader(file_with('A', 4, 0xffff'ffff, four), format).count('A'), 0U);
}

TEST_F(Blocks, whose_frames_are_not_what_they_announce_are_refused) {
    const auto refusal = [](const Bytes& bytes) {
        return refusal_of([&] { (void)BlockReader(bytes, format).read('A', 0); });
    };
    expect_in("size is not what its frame says", refusal(file_with('A', 4, 4, Bytes(4))));
    expect_in("size is not what its frame says", refusal(file_with('A', most_block_bytes, 4, Bytes(4))));
    write();
    auto bytes = file();
    const Bytes last(bytes.end() - 100, bytes.end());
    // The frame of "third", with the block's own size changed.
    const BlockReader reader(bytes, format);
    auto changed = bytes;
    const std::string_view kind_b("B\x05\0\0\0", 5);
    const auto at =
        std::search(changed.begin(), changed.end(), reinterpret_cast<const std::byte*>(kind_b.begin()),
                    reinterpret_cast<const std::byte*>(kind_b.end()));
    ASSERT_NE(at, changed.end());
    *(at + 1) = std::byte{6};
    const BlockReader other(changed, format);
    expect_in("size is not what its frame says", refusal_of([&] { (void)other.read('B', 0); }));
    EXPECT_EQ(other.read('A', 0).text(), "first");
}

TEST_F(Blocks, with_a_changed_bit_are_refused_or_whole) {
    const ChunkList list = write();
    const auto whole = file();
    std::mt19937_64 random(3);
    std::size_t refused = 0;
    for (int round = 0; round < 2000; ++round) {
        auto changed = whole;
        // Half of the changes beyond the chunks, which are most of the file.
        const std::size_t at =
            round % 2 == 0 ? random() % changed.size() : changed.size() - 1 - random() % 120;
        changed[at] ^= std::byte{1} << (random() % 8);
        try {
            const BlockReader reader(changed, format);
            if (!reader.finished() || reader.count('A') != 2 || reader.count('B') != 1) {
                ++refused;
                continue;
            }
            const bool same = reader.read('A', 0).text() == "first" &&
                              reader.read('A', 1).text() == "second" &&
                              reader.read('B', 0).text() == "third" &&
                              std::ranges::equal(reader.content(list).bytes(), content_);
            EXPECT_TRUE(same) << "a changed byte at " << at << " went unnoticed";
        } catch (const RecordError&) {
            ++refused;
        }
    }
    EXPECT_GT(refused, 1700U);
}

TEST_F(Blocks, chunks_that_are_not_in_the_file_are_refused) {
    write();
    const BlockReader reader(path_, format);  // has four chunks
    const auto refusal = [&](const ChunkList& list) {
        return refusal_of([&] { (void)reader.content(list); });
    };
    EXPECT_EQ(refusal({200'000, {{0, 4}}}), "it was read");
    EXPECT_EQ(refusal({chunk_bytes, {{2, 1}}}), "it was read");
    const std::string absent = "names chunks that are not in the file";
    expect_in(absent, refusal({200'000, {{0, 5}}}));
    expect_in(absent, refusal({200'000, {{4, 1}}}));
    expect_in(absent, refusal({200'000, {{0xffff'ffff, 1}}}));
    expect_in(absent, refusal({200'000, {{1, 0xffff'ffff}}}));
    expect_in(absent, refusal({0, {{0, 0}}}));
    const std::string sum = "do not add up to its size";
    expect_in(sum, refusal({200'001, {{0, 4}}}));
    expect_in(sum, refusal({199'999, {{0, 4}}}));
    expect_in(sum, refusal({200'000, {}}));
    expect_in(sum, refusal({~std::uint64_t{0}, {{0, 4}}}));
    expect_in(sum, refusal({1, {{0, 4}, {0, 4}, {0, 4}}}));
}

TEST_F(Blocks, of_more_memory_than_the_host_has_are_refused_before_it_is_taken) {
    content_ = Bytes(chunk_bytes);
    write();
    const BlockReader reader(path_, format);
    ChunkList list;
    for (int i = 0; i < 1 << 22; ++i) list.runs.emplace_back(0, 1);  // 256 GiB
    list.bytes = std::uint64_t{list.runs.size()} * chunk_bytes;
    expect_in("is more than this host can give", refusal_of([&] { (void)reader.content(list); }));
}

TEST_F(Blocks, that_are_too_large_are_not_written) {
    BlockWriter writer(path_, format, nullptr);
    const Content large(most_block_bytes + 1);
    expect_in("too many allocations", refusal_of([&] { writer.add('A', large.bytes()); }));
    writer.close();
    EXPECT_TRUE(BlockReader(path_, format).finished());
}

TEST_F(Blocks, after_the_end_nothing_is_written) {
    BlockWriter writer(path_, format, nullptr);
    writer.close();
    writer.close();
    expect_in("is closed", refusal_of([&] { writer.add('A', content_); }));
}

TEST_F(Blocks, that_cannot_be_written_name_the_file_and_the_reason) {
    expect_in("cannot write /nowhere/file: No such file or directory",
              refusal_of([] { BlockWriter writer("/nowhere/file", format, nullptr); }));
    if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "there is no /dev/full";
    expect_in("cannot write /dev/full: No space left on device",
              refusal_of([] { BlockWriter writer("/dev/full", format, nullptr); }));
}

TEST_F(Blocks, are_read_from_regular_files_only) {
    const auto refusal = [](const std::filesystem::path& path) {
        return refusal_of([&] { const BlockReader reader(path, format); });
    };
    expect_in("cannot read /dev/null: it is not a regular file", refusal("/dev/null"));
    expect_in("cannot read /nowhere: No such file", refusal("/nowhere"));
    ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
    expect_in("it is not a regular file", refusal(path_));  // and nobody waits for a writer
}

}  // namespace
}  // namespace cudasim::records
