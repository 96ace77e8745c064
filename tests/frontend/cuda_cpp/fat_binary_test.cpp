// Fat binaries written here by the description in fat_binary.h: what is found in them, and that none of a
// million damaged ones does more than be refused. Those of nvcc itself are tested in test_fat_binaries.py.
#include "frontend/cuda_cpp/images/fat_binary.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <cstring>
#include <random>

#include "frontend/cuda_cpp/images/lz4_block.h"
#include "simulator/image/byte_stream.h"

namespace cudasim::cuda_cpp {
namespace {

const std::string ptx = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry _Z5twicePf(.param .u64 p)
{
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p];
    st.global.u32 [%rd1], 7;
    ret;
}
)";

struct Entry {
    unsigned kind = 1, architecture = 80;
    std::uint64_t flags = 0;
    std::string payload;
    std::uint64_t plain_bytes = 0;
};

std::vector<std::byte> fat_binary(const std::vector<Entry>& entries) {
    image::ByteWriter body;
    for (const Entry& entry : entries) {
        const std::uint64_t padding = (8 - entry.payload.size() % 8) % 8;
        body.number(entry.kind, 2);
        body.number(0x101, 2);
        body.number(64, 4);
        body.number(entry.payload.size() + padding, 8);
        body.number(entry.plain_bytes ? entry.payload.size() : 0, 4);
        body.number(0, 4);
        body.number(9, 4);
        body.number(entry.architecture, 4);
        body.number(0, 8);
        body.number(entry.flags, 8);
        body.number(0, 8);
        body.number(entry.plain_bytes, 8);
        body.raw(entry.payload.data(), entry.payload.size());
        body.number(0, static_cast<unsigned>(padding));
    }
    image::ByteWriter whole;
    whole.number(0xBA55ED50, 4);
    whole.number(1, 2);
    whole.number(16, 2);
    whole.number(body.bytes().size(), 8);
    whole.raw(body.bytes().data(), body.bytes().size());
    return whole.bytes();
}

Entry with_zstd(const std::string& text, unsigned architecture = 80) {
    std::string packed(ZSTD_compressBound(text.size()), '\0');
    packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
    return {1, architecture, 0x8011, packed, text.size()};
}

/// Literals only, but for one match at the beginning: "ababab".
Entry with_lz4(const std::string& text, unsigned architecture = 80) {
    std::string packed{'\x20', 'a', 'b', '\x02', '\x00'};  // two literals, then four from two back
    std::string length;
    std::size_t rest = text.size() - 15;
    for (; rest >= 255; rest -= 255) length += '\xFF';
    length += static_cast<char>(rest);
    packed += '\xF0' + length + text;
    return {1, architecture, 0x2011, packed, text.size() + 6};
}

TEST(FatBinary, PtxIsReadPlainAndCompressed) {
    for (const Entry& entry : {Entry{.payload = ptx}, with_zstd(ptx)}) {
        const auto bytes = fat_binary({entry});
        EXPECT_EQ(ptx_of(best_ptx(bytes, 90)), ptx);
        EXPECT_NE(read_fat_binary(bytes, 90).find("_Z5twicePf"), nullptr);
    }
    EXPECT_EQ(ptx_of(best_ptx(fat_binary({with_lz4(ptx)}), 90)), "ababab" + ptx);
}

TEST(FatBinary, TheHighestArchitectureThatTheDeviceHasIsTaken) {
    const auto bytes = fat_binary({{.architecture = 75, .payload = "75"},
                                   {.kind = 2, .architecture = 90, .payload = "machine code"},
                                   {.architecture = 86, .payload = "86"},
                                   {.architecture = 80, .payload = "80"},
                                   {.architecture = 100, .payload = "100"}});
    EXPECT_EQ(ptx_of(best_ptx(bytes, 90)), "86");
    EXPECT_EQ(ptx_of(best_ptx(bytes, 80)), "80");
    EXPECT_EQ(ptx_of(best_ptx(bytes, 120)), "100");
}

std::string refusal(const std::vector<std::byte>& bytes, unsigned capability) {
    try {
        (void)best_ptx(bytes, capability);
    } catch (const NoPtxError& error) {
        return error.what();
    }
    return "";
}

TEST(FatBinary, WithoutPtxForTheDeviceTheErrorNamesTheFlag) {
    const std::string flag = "-gencode arch=compute_90,code=compute_90";
    const std::string of_code = refusal(fat_binary({{.kind = 2, .payload = "ELF"}}), 90);
    EXPECT_NE(of_code.find("machine code (SASS) for sm_80"), std::string::npos) << of_code;
    EXPECT_NE(of_code.find(flag), std::string::npos) << of_code;
    const std::string too_high = refusal(fat_binary({{.architecture = 100, .payload = "100"}}), 90);
    EXPECT_NE(too_high.find("PTX for compute_100, which a device of compute capability 9.0"),
              std::string::npos)
        << too_high;
    EXPECT_NE(refusal(fat_binary({{.kind = 64}}), 90).find("link-time optimisation"), std::string::npos);
    EXPECT_NE(refusal(fat_binary({}), 90).find("is empty"), std::string::npos);
}

TEST(FatBinary, WhatDoesNotFitIsRefused) {
    Entry entry = with_zstd(ptx);
    entry.plain_bytes -= 1;
    EXPECT_THROW((void)ptx_of(best_ptx(fat_binary({entry}), 90)), FatBinaryError);
    entry.plain_bytes = std::uint64_t{1} << 60;  // no attempt to allocate that
    EXPECT_THROW((void)ptx_of(best_ptx(fat_binary({entry}), 90)), FatBinaryError);
    entry = with_lz4(ptx);
    entry.plain_bytes -= 1;
    EXPECT_THROW((void)ptx_of(best_ptx(fat_binary({entry}), 90)), FatBinaryError);
    auto bytes = fat_binary({{.payload = ptx}});
    bytes.resize(bytes.size() - 1);
    EXPECT_THROW((void)best_ptx(bytes, 90), FatBinaryError);
}

/// In a program's own mapping a size that goes beyond it is not believed.
TEST(FatBinary, TheHeadersSizeEndsWithTheProgram) {
    alignas(8) static unsigned char data[64] = {0x50, 0xED, 0x55, 0xBA, 1, 0, 16, 0, 32};
    EXPECT_EQ(fat_binary_at(data).size(), 48U);
    data[14] = 1;
    EXPECT_THROW((void)fat_binary_at(data), FatBinaryError);
}

TEST(FatBinary, AMillionDamagedOnesAreReadOrRefused) {
    const std::vector<std::vector<std::byte>> sound = {
        fat_binary({with_lz4(ptx, 75), {.kind = 2, .payload = "ELF"}}),
        fat_binary({{.payload = ptx}, with_zstd(ptx, 90)}), fat_binary({with_lz4(ptx), with_zstd(ptx, 75)})};
    std::mt19937_64 random(17);
    unsigned read = 0, refused = 0;
    for (unsigned i = 0; i < 1'000'000; ++i) {
        std::vector<std::byte> bytes = sound[random() % sound.size()];
        for (unsigned change = 0; change <= random() % 4; ++change) {
            // Headers are rare among the bytes: every other change is in one of the first two.
            const std::size_t place = random() % (random() % 2 ? bytes.size() : 80);
            bytes[place] = random() % 2 ? bytes[place] ^ std::byte(1 << random() % 8) : std::byte(random());
        }
        if (random() % 8 == 0) bytes.resize(random() % bytes.size());
        bytes.shrink_to_fit();
        try {
            for (const FatBinaryEntry& entry : fat_binary_entries(bytes))
                if (entry.kind == FatBinaryEntry::Kind::ptx && entry.plain_bytes < 1 << 16)
                    (void)ptx_of(entry);
            ++read;
        } catch (const FatBinaryError&) {
            ++refused;
        }
    }
    EXPECT_GT(read, 10'000U);
    EXPECT_GT(refused, 100'000U);
}

}  // namespace
}  // namespace cudasim::cuda_cpp
