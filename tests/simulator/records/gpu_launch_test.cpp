// What goes to a GPU and comes back, as bytes: read as it was written, refused where anything is wrong with
// it.
#include "simulator/records/gpu_launch.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <set>

#include "tests/simulator/records/gpu_samples.h"

namespace cudasim::records {
namespace {

using testing::sample_code;
using testing::sample_launch;
using testing::sample_result;

std::string refusal_of(const std::function<void()>& read) {
    try {
        read();
    } catch (const RecordError& error) {
        return error.what();
    }
    return "it was read";
}

TEST(GpuLaunches, are_read_as_they_were_written) {
    const auto written = sample_launch();
    const auto read = launch_from(to_bytes(written));
    EXPECT_EQ(read.number, written.number);
    EXPECT_EQ(read.kernel, written.kernel);
    EXPECT_EQ(read.code, written.code);
    EXPECT_EQ(read.refusal, written.refusal);
    EXPECT_EQ(read.grid, written.grid);
    EXPECT_EQ(read.block, written.block);
    EXPECT_EQ(read.dynamic_shared_bytes, written.dynamic_shared_bytes);
    EXPECT_EQ(read.parameters, written.parameters);
    EXPECT_EQ(read.simulated_error, written.simulated_error);
    ASSERT_EQ(read.memory.size(), written.memory.size());
    for (std::size_t i = 0; i < read.memory.size(); ++i) {
        EXPECT_EQ(read.memory[i].address, written.memory[i].address);
        EXPECT_EQ(read.memory[i].bytes, written.memory[i].bytes);
        EXPECT_EQ(read.memory[i].label, written.memory[i].label);
        EXPECT_EQ(read.memory[i].holds_addresses, written.memory[i].holds_addresses);
        EXPECT_EQ(read.memory[i].before, written.memory[i].before);
    }
    EXPECT_EQ(to_bytes(read), to_bytes(written));
}

TEST(GpuLaunches, codes_are_read_as_they_were_written) {
    EXPECT_EQ(code_from(to_bytes(sample_code())), sample_code());
    EXPECT_EQ(code_from(to_bytes(GpuCode{})), GpuCode{});
}

TEST(GpuLaunches, results_are_read_as_they_were_written) {
    const auto written = sample_result();
    const auto read = result_from(to_bytes(written));
    EXPECT_EQ(read.number, written.number);
    EXPECT_EQ(read.kernel, written.kernel);
    EXPECT_EQ(read.status, written.status);
    EXPECT_EQ(read.code, written.code);
    EXPECT_EQ(read.function, written.function);
    EXPECT_EQ(read.message, written.message);
    EXPECT_EQ(read.gpu, written.gpu);
    EXPECT_EQ(read.capability_major, 9U);
    EXPECT_EQ(read.capability_minor, 1U);
    EXPECT_EQ(read.driver_major, 13U);
    EXPECT_EQ(read.driver_minor, 2U);
    EXPECT_FALSE(read.same_addresses);
    EXPECT_EQ(read.milliseconds, 0.125);
    EXPECT_EQ(read.printed, written.printed);
    EXPECT_EQ(read.faults, written.faults);
    ASSERT_EQ(read.changes.size(), 2U);
    ASSERT_EQ(read.changes[0].size(), 2U);
    EXPECT_EQ(read.changes[0][1].offset, 131072U);
    EXPECT_EQ(read.changes[0][1].content, written.changes[0][1].content);
    ASSERT_EQ(read.stray.size(), 1U);
    EXPECT_EQ(read.stray[0].address, 0x10U);
    EXPECT_EQ(read.stray[0].bytes, 3U);
    EXPECT_EQ(read.stray_bytes, 99U);
    EXPECT_EQ(to_bytes(read), to_bytes(written));
}

TEST(GpuLaunches, every_status_has_a_name_of_its_own) {
    std::set<std::string_view> names;
    for (int status = 0; status <= static_cast<int>(GpuStatus::lost); ++status)
        names.insert(name_of(static_cast<GpuStatus>(status)));
    EXPECT_EQ(names.size(), 6U);
    EXPECT_FALSE(names.contains("unknown"));
}

/// What reading a launch says after it was changed.
std::string changed_launch(const std::function<void(GpuLaunch&)>& change) {
    auto launch = sample_launch();
    change(launch);
    return refusal_of([&] { (void)launch_from(to_bytes(launch)); });
}

void expect_in(const std::string& part, const std::string& whole) {
    EXPECT_NE(whole.find(part), std::string::npos) << whole;
}

TEST(GpuLaunches, that_do_not_fit_together_are_refused) {
    EXPECT_EQ(changed_launch([](GpuLaunch&) {}), "it was read");
    for (unsigned i = 0; i < 3; ++i) {
        expect_in("an extent of its grid or block is 0",
                  changed_launch([i](auto& each) { each.grid[i] = 0; }));
        expect_in("an extent of its grid or block is 0",
                  changed_launch([i](auto& each) { each.block[i] = 0; }));
    }
    expect_in("its 67108865 bytes of shared memory",
              changed_launch([](auto& each) { each.dynamic_shared_bytes = (64 << 20) + 1; }));
    expect_in("more parameters than a kernel can have",
              changed_launch([](auto& each) { each.parameters.resize((1 << 20) + 1); }));
    const std::string impossible = "no possible size or address";
    const auto first = [](const std::function<void(GpuMemory&)>& change) {
        return changed_launch([&](GpuLaunch& each) {
            each.memory[0].before = {};
            change(each.memory[0]);
        });
    };
    expect_in(impossible, first([](auto& range) { range.bytes = 0; }));
    expect_in(impossible, first([](auto& range) { range.bytes = ~std::uint64_t{0}; }));
    expect_in(impossible, first([](auto& range) { range.bytes = ~std::uint64_t{0} - range.address + 1; }));
    expect_in(impossible, first([](auto& range) { range.address = ~std::uint64_t{0} - 4000; }));
    expect_in(impossible, first([](auto& range) { range.address = (std::uint64_t{1} << 57) - 3999; }));
    expect_in("overlap, or are not in order", first([](auto& range) { range.bytes = 4097; }));
    expect_in("overlap, or are not in order", first([](auto& range) { range.address += 0x10000; }));
    expect_in("content is not of its size",
              changed_launch([](auto& each) { each.memory[0].before.bytes = 3999; }));
}

TEST(GpuLaunches, codes_with_a_character_0_are_refused) {
    for (const auto member : {&GpuCode::ptx, &GpuCode::entry}) {
        auto code = sample_code();
        (code.*member) += '\0';
        expect_in("a character 0", refusal_of([&] { (void)code_from(to_bytes(code)); }));
    }
}

TEST(GpuLaunches, parameters_outside_of_their_bytes_are_refused) {
    const auto refusal = [](GpuParameter parameter) {
        auto code = sample_code();
        code.parameters = {parameter};
        return refusal_of([&] { check_together(sample_launch(), code); });
    };
    EXPECT_EQ(refusal({.offset = 8, .size = 4}), "it was read");
    EXPECT_EQ(refusal({.offset = 12, .size = 0}), "it was read");
    const std::string outside = "lies outside of the parameters' bytes";
    expect_in(outside, refusal({.offset = 8, .size = 5}));
    expect_in(outside, refusal({.offset = 13, .size = 0}));
    expect_in(outside, refusal({.offset = 4, .size = ~std::uint32_t{0}}));
    expect_in(outside, refusal({.offset = ~std::uint32_t{0}, .size = 8}));
    expect_in("an address has not eight bytes", refusal({.offset = 0, .size = 4, .is_address = true}));
}

TEST(GpuLaunches, results_that_make_no_sense_are_refused) {
    const auto refusal = [](const std::function<void(GpuResult&)>& change) {
        auto result = sample_result();
        change(result);
        return refusal_of([&] { (void)result_from(to_bytes(result)); });
    };
    expect_in("no known status", refusal([](auto& each) { each.status = static_cast<GpuStatus>(6); }));
    for (const double time : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()})
        expect_in("time is no time", refusal([&](auto& each) { each.milliseconds = time; }));
    const std::string overlap = "changes of memory overlap, or are not in order";
    expect_in(overlap, refusal([](auto& each) { std::swap(each.changes[0][0], each.changes[0][1]); }));
    expect_in(overlap, refusal([](auto& each) { each.changes[0][1].offset = 65535; }));
    expect_in(overlap, refusal([](auto& each) { each.changes[0][1].offset = ~std::uint64_t{0}; }));
}

template <typename Read>
void expect_all_beginnings_refused(const std::vector<std::byte>& bytes, Read read) {
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_NE(refusal_of([&] { (void)read(std::span(bytes).first(size)); }), "it was read") << size;
    auto more = bytes;
    more.push_back(std::byte{});
    expect_in("bytes follow its end", refusal_of([&] { (void)read(std::span<const std::byte>(more)); }));
}

TEST(GpuLaunches, cut_anywhere_or_with_more_behind_they_are_refused) {
    expect_all_beginnings_refused(to_bytes(sample_launch()), &launch_from);
    expect_all_beginnings_refused(to_bytes(sample_code()), &code_from);
    expect_all_beginnings_refused(to_bytes(sample_result()), &result_from);
}

TEST(GpuLaunches, flags_are_0_or_1) {
    auto code = to_bytes(GpuCode{});
    code[3 * 8 + 8] = std::byte{2};  // behind three empty texts and an empty list: cooperative
    expect_in("neither 0 nor 1", refusal_of([&] { (void)code_from(code); }));
}

/// Bytes of the heap now.
std::size_t heap() {
    return mallinfo2().uordblks + mallinfo2().hblkhd;
}

/// Whatever the bytes are, it is read or refused, and takes memory in proportion to them.
template <typename Read>
void read_changed(const std::vector<std::byte>& sample, Read read, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::size_t read_well = 0;
    for (int round = 0; round < 20000; ++round) {
        auto bytes = sample;
        if (round % 4 == 0) {
            bytes.resize(random() % 300);
            for (auto& each : bytes) each = std::byte(random() >> 13);
        }
        for (std::uint64_t change = 0; change <= random() % 3 && !bytes.empty(); ++change) {
            auto& place = bytes[random() % bytes.size()];
            if (random() % 2 == 0)
                place ^= std::byte{1} << (random() % 8);
            else
                place = random() % 2 == 0 ? std::byte{0xff} : std::byte{0};
        }
        try {
            const auto whole = read(bytes);
            EXPECT_EQ(to_bytes(whole), bytes);
            ++read_well;
        } catch (const RecordError&) {
        }
    }
    EXPECT_GT(read_well, 100U);
}

TEST(GpuLaunches, with_random_changes_are_read_or_refused) {
    const std::size_t before = heap();
    read_changed(to_bytes(sample_launch()), &launch_from, 1);
    read_changed(to_bytes(sample_code()), &code_from, 2);
    read_changed(to_bytes(sample_result()), &result_from, 3);
    EXPECT_LT(heap(), before + (1 << 20));
}

TEST(GpuLaunches, lists_that_are_longer_than_the_bytes_are_refused_before_memory_is_taken) {
    for (const std::uint64_t length : {std::uint64_t{1} << 20, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
        auto bytes = to_bytes(GpuCode{});
        for (unsigned i = 0; i < 8; ++i) bytes[3 * 8 + i] = std::byte(length >> (8 * i));  // of parameters
        expect_in("a list is longer than the rest", refusal_of([&] { (void)code_from(bytes); }));
        bytes = to_bytes(GpuCode{});
        for (unsigned i = 0; i < 8; ++i) bytes[i] = std::byte(length >> (8 * i));  // of the PTX
        expect_in("cut short", refusal_of([&] { (void)code_from(bytes); }));
    }
}

}  // namespace
}  // namespace cudasim::records
