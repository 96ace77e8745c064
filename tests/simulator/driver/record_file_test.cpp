// Files of records: what is written is read, equal memory is kept once, damaged and
// malicious files are refused.
#include "simulator/driver/record_file.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "simulator/driver/record_text.h"
#include "tests/simulator/driver/recording.h"

namespace cudasim::driver {
namespace {

using testing::Recording;
using testing::replayed;
using testing::texts;

class RecordFiles : public ::testing::Test {
  protected:
    ~RecordFiles() override {
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
    }
    [[nodiscard]] std::vector<std::byte> bytes() const {
        std::ifstream stream(path_, std::ios::binary);
        const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
        const auto all = std::as_bytes(std::span(text));
        return {all.begin(), all.end()};
    }
    void write(const std::vector<LaunchRecord>& records, bool close = true) const {
        RecordWriter writer(path_);
        for (const auto& record : records) writer.add(record);
        if (close) writer.close();
    }

    std::filesystem::path path_ =
        std::filesystem::temp_directory_path() /
        ("record_file_test." + std::to_string(getpid()) + "." +
         ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".cudasim");
};

LaunchRecord recorded(const CaptureOptions& options = {}) {
    Recording recording;
    return recording.record(options);
}

TEST_F(RecordFiles, give_back_what_was_written) {
    const LaunchRecord record = recorded({.keep_after = true});
    write({record, record});
    const RecordReader reader(path_);
    ASSERT_EQ(reader.launches(), 2U);
    EXPECT_TRUE(reader.finished());
    const LaunchRecord read = reader.read(1);
    EXPECT_EQ(read.kernel, "k");
    EXPECT_EQ(read.arguments, record.arguments);
    EXPECT_EQ(read.parameters, record.parameters);
    EXPECT_EQ(read.outcome.findings, record.outcome.findings);
    EXPECT_EQ(read.outcome.printed, record.outcome.printed);
    EXPECT_EQ(read.device.name, record.device.name);
    EXPECT_EQ(read.device.max_grid, record.device.max_grid);
    ASSERT_EQ(read.memory.size(), record.memory.size());
    for (std::size_t i = 0; i < read.memory.size(); ++i) {
        EXPECT_EQ(read.memory[i].address, record.memory[i].address);
        EXPECT_EQ(read.memory[i].label, record.memory[i].label);
        EXPECT_EQ(read.memory[i].kind, record.memory[i].kind);
        EXPECT_EQ(read.memory[i].after_hash, record.memory[i].after_hash);
        ASSERT_EQ(read.memory[i].before.has_value(), record.memory[i].before.has_value());
        if (read.memory[i].before) {
            EXPECT_TRUE(std::ranges::equal(read.memory[i].before->bytes(), record.memory[i].before->bytes()));
        }
    }
    EXPECT_EQ(texts(replayed(read).differences), "");
}

TEST_F(RecordFiles, keep_equal_memory_once) {
    LaunchRecord record = recorded();
    std::mt19937_64 random(1);
    Content noise(8 << 20);
    for (std::uint64_t at = 0; at < noise.size(); at += 8) {
        const std::uint64_t word = random();
        std::memcpy(noise.data() + at, &word, 8);
    }
    record.memory.front().bytes = noise.size();
    record.memory.front().before = noise;
    write({record});
    const auto once = std::filesystem::file_size(path_);
    write({record, record, record, record});
    EXPECT_LT(std::filesystem::file_size(path_), once + once / 10);
}

TEST_F(RecordFiles, keep_labels_that_are_not_utf8) {
    LaunchRecord record = recorded();
    record.memory.front().label = "\xff\xfe name";
    write({record});
    EXPECT_EQ(RecordReader(path_).read(0).memory.front().label, "\xff\xfe name");
}

TEST_F(RecordFiles, whose_writer_was_interrupted_have_what_was_whole) {
    const LaunchRecord record = recorded();
    write({record}, false);
    const RecordReader reader(path_);
    EXPECT_EQ(reader.launches(), 1U);
    EXPECT_FALSE(reader.finished());
    EXPECT_EQ(texts(replayed(reader.read(0)).differences), "");
    // Cut anywhere, it is either no record or one with fewer launches.
    const auto all = bytes();
    for (std::size_t size = 0; size < all.size(); size += 7) {
        try {
            const RecordReader cut(
                std::vector<std::byte>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(size)));
            EXPECT_FALSE(cut.finished());
            EXPECT_EQ(cut.launches(), 0U);
        } catch (const RecordError&) {
            EXPECT_LT(size, records::launch_format.magic.size() + 8);
        }
    }
}

TEST_F(RecordFiles, that_are_damaged_are_refused_wherever_the_damage_is) {
    write({recorded({.keep_after = true})});
    const auto whole = bytes();
    const RecordReader good(whole);
    const std::string expected = to_json(good.read(0), [](std::span<const std::byte> content) {
        return ChunkList{content.size(), {{static_cast<std::uint32_t>(hash_of(content)[0]), 1}}};
    });
    std::mt19937_64 random(7);
    std::size_t refused = 0, rounds = 3000;
    for (std::size_t round = 0; round < rounds; ++round) {
        auto changed = whole;
        const std::size_t at = round < 64 ? round : random() % changed.size();
        changed[at] ^= static_cast<std::byte>(1U << random() % 8);
        try {
            const RecordReader reader(changed);
            if (reader.launches() != 1 || !reader.finished()) {
                ++refused;  // readers see that it was not finished
                continue;
            }
            const std::string now = to_json(reader.read(0), [](std::span<const std::byte> content) {
                return ChunkList{content.size(), {{static_cast<std::uint32_t>(hash_of(content)[0]), 1}}};
            });
            EXPECT_EQ(now, expected) << "a changed byte at " << at << " went unnoticed";
        } catch (const RecordError&) {
            ++refused;
        }
    }
    EXPECT_GT(refused, rounds * 9 / 10);
}

/// The JSON of a good launch with one part replaced.
std::string malformed(const std::string& good, const std::string& part, const std::string& by) {
    std::string text = good;
    const auto at = text.find(part);
    EXPECT_NE(at, std::string::npos) << part;
    if (at != std::string::npos) text.replace(at, part.size(), by);
    return text;
}

TEST_F(RecordFiles, with_impossible_numbers_are_refused) {
    std::vector<Content> kept;
    const LaunchRecord record = recorded();
    const std::string good = to_json(record, [&](std::span<const std::byte> content) {
        kept.emplace_back(std::string_view(reinterpret_cast<const char*>(content.data()), content.size()));
        return ChunkList{content.size(), {{static_cast<std::uint32_t>(kept.size() - 1), 1}}};
    });
    const auto fetch = [&](const ChunkList& list) -> Content {
        if (list.runs.size() != 1 || list.runs[0].first >= kept.size()) throw RecordError("no such content");
        return kept[list.runs[0].first];
    };
    EXPECT_EQ(from_json(good, true, fetch).kernel, "k");
    const auto address = std::to_string(record.memory.front().address);
    for (const auto& [part, by] : std::initializer_list<std::pair<std::string, std::string>>{
             {"\"warp_size\":32", "\"warp_size\":0"},
             {"\"multiprocessors\":", "\"multiprocessors\":-"},
             {"\"max_threads_per_block\":1024", "\"max_threads_per_block\":4294967296"},
             {"\"address\":" + address, "\"address\":18446744073709551615"},
             {"\"address\":" + address, "\"address\":\"" + address + "\""},
             {"\"kind\":\"device\"", "\"kind\":\"devil\""},
             {"\"grid\":[1,1,1]", "\"grid\":[1,1]"},
             {"\"grid\":[1,1,1]", "\"grid\":[1,1,1e30]"},
             {"\"policy\":\"forward\"", "\"policy\":\"sideways\""},
             {"\"policy\":\"forward\"", "\"polcy\":\"forward\""},
             {"\"version\":\"test\"", "\"version\":7"},
             {"\"number\":1", "\"number\":1.5"},
             {"\"parameters\"", "\"parameter\""},
             {"\"memory\":[", "\"memory\":[[],"},
             {"\"arguments\":[", "\"arguments\":[3,"},
             {"\"number\":1", "\"number\":1,\"x\":" + std::string(100000, '[') + std::string(100000, ']')},
             {"\"number\":1", "\"number\":1," + std::string(1, '\0')},
         })
        EXPECT_THROW((void)from_json(malformed(good, part, by), true, fetch), RecordError)
            << part << " as " << by;
}

TEST_F(RecordFiles, of_a_newer_version_say_so) {
    write({recorded()});
    auto changed = bytes();
    changed[records::launch_format.magic.size()] = std::byte{9};
    try {
        const RecordReader reader(changed);
        FAIL() << "read";
    } catch (const RecordError& error) {
        EXPECT_STREQ(error.what(),
                     "the file of records has version 9, this cudasim reads version 2: a newer one wrote it");
    }
}

TEST_F(RecordFiles, that_cannot_be_opened_are_named) {
    for (const std::filesystem::path path : {"/nowhere/run.cudasim", "/"}) {
        try {
            const RecordReader reader(path);
            FAIL() << "read";
        } catch (const RecordError& error) {
            EXPECT_NE(std::string(error.what()).find("cannot read " + path.string()), std::string::npos)
                << error.what();
        }
        EXPECT_THROW(RecordWriter{path}, RecordError);
    }
}

}  // namespace
}  // namespace cudasim::driver
