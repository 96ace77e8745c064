// The reader of PTX under the sanitizers: whole programs, and the same spoiled at random, are read or refused
// with a line. What instructions mean is tested from Python (test_instructions.py beside this file).
#include "frontend/ptx/reader.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace cudasim::ptx {
namespace {

const std::string head = ".version 8.0\n.target sm_80\n.address_size 64\n.file 1 \"program.cu\"\n";

const std::string calls = head + R"(
.func (.param .b32 back) plus(.param .b32 a, .param .b32 b)
{
    .reg .b32 %r<4>;
    ld.param.u32 %r1, [a];
    ld.param.u32 %r2, [b];
    add.u32 %r3, %r1, %r2;
    st.param.b32 [back], %r3;
    ret;
}
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 v);
.global .align 8 .u64 table[3] = {plus, 0, generic(text)+1};
.global .align 8 .u64 one = table;
.const .align 4 .f32 weights[2] = {0f3F800000, 1.5};
.global .align 1 .b8 text[4] = {37, 100, 10, 0};
.visible .func (.param .align 8 .b8 back[16]) choose(.param .b32 which, .param .align 8 .b8 pair[16])
{
    .local .align 8 .b8 depot[16];
    .shared .align 16 .b8 tile[64];
    .reg .pred %p<3>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<9>, %SP;
    .loc 1 10 5
    mov.u64 %SP, depot;
    ld.param.u32 %r1, [which];
    ld.param.v2.u64 {%rd1, %rd2}, [pair];
    mul.wide.u32 %rd3, %r1, 8;
    mov.u64 %rd4, table;
    add.s64 %rd4, %rd4, %rd3;
    ld.global.u64 %rd5, [%rd4+8];
    {
    .param .b32 p0;
    .param .b32 p1;
    .param .b32 back0;
    st.param.b32 [p0], %r1;
    st.param.b32 [p1], -10;
    form : .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _) .noreturn;
    call (back0), %rd5, (p0, p1), form;
    ld.param.b32 %r3, [back0];
    }
    {
    form : .calltargets plus;
    call.uni (%r3), %rd5, (%r1, 7), form;
    call (%r3), plus, (%r3, %r1);
    call (%r4), vprintf, (%rd5, %SP);
    }
    setp.lt.and.s32 %p1|%p2, %r3, 100, !%p0;
    places: .branchtargets $one, $two, $one;
    @!%p1 brx.idx %r3, places;
$two: bar.red.popc.u32 %r4, 0, %p2;
    @%p1 bra $one;
    st.local.v2.u32 [%SP+8], {%r3, %r4};
$one: st.param.v2.u64 [back], {%rd1, %rd2};
    ret;
}
)";

const std::string instructions = head + R"(
.visible .func (.param .b32 back) f(.param .b32 a, .param .b64 b)
{
    .reg .f32 %f<4>;
    .reg .f64 %d<3>;
    .reg .f16 %h<3>;
    .reg .f16x2 %x<3>;
    .reg .b16 %s<3>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<9>;
    .reg .pred %p, %q;
    ld.param.u32 %r1, [a];
    ld.param.u64 %rd1, [b];
    add.ftz.f32 %f1, 0f00000001, -1.5;
    fma.rn.f64 %d1, 0d3FF0000000000000, %d1, %d1;
    cvt.rn.f16x2.f32 %x1, %f1, %f1;
    set.gt.u32.f16x2 %r2, %x1, %x1;
    setp.ge.f16x2 %p|%q, %x1, %x1;
    cvt.rni.s32.f32 %r3, %f1;
    lop3.b32 %r4, %r1, %r2, %r3, 0xCA;
    prmt.b32 %r5, %r1, %r2, 0x5140;
    bfe.s32 %r5, %r1, 3, 5;
    add.cc.u32 %r6, %r1, %r2;
    addc.u32 %r7, %r1, 0;
    mad.wide.u32 %rd2, %r1, 4, %rd1;
    mov.b64 {%r1, %r2}, %rd2;
    cvta.to.global.u64 %rd3, %rd1;
    isspacep.global %p, %rd1;
    ld.global.nc.v4.f32 {%f0, %f1, %f2, %f3}, [%rd3+16];
    atom.global.cas.b16 %s1, [%rd3], %s1, %s2;
    atom.global.add.noftz.f16 %h1, [%rd3+2], %h2;
    red.relaxed.gpu.global.add.f64 [%rd3], %d1;
    atom.acq_rel.gpu.global.inc.u32 %r1, [%rd3], 9;
    activemask.b32 %r8;
    redux.sync.add.s32 %r1, %r1, %r8;
    shfl.sync.bfly.b32 %r2|%p, %r1, 1, 31, %r8;
    vote.sync.ballot.b32 %r3, %p, %r8;
    match.all.sync.b32 %r4|%q, %r1, %r8;
    mov.u32 %r5, %envreg1;
    mov.u64 %rd4, %clock64;
    testp.finite.f32 %p, %f1;
    @%p trap;
    st.param.b32 [back], %r1;
    ret;
}
)";

/// Anything but PtxError would end the test.
bool is_read(const std::string& text) {
    try {
        (void)read(text, "test.ptx");
        return true;
    } catch (const PtxError& error) {
        EXPECT_GE(error.line, 0) << text;
        EXPECT_STRNE(error.what(), "") << text;
        return false;
    }
}

/// Words, numbers and marks: [begin, end).
std::vector<std::pair<std::size_t, std::size_t>> words(const std::string& text) {
    std::vector<std::pair<std::size_t, std::size_t>> found;
    const auto in_word = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '%' || c == '$' || c == '.';
    };
    for (std::size_t i = 0; i < text.size();) {
        std::size_t end = i + 1;
        while (in_word(text[i]) && end < text.size() && in_word(text[end])) ++end;
        if (!std::isspace(static_cast<unsigned char>(text[i]))) found.emplace_back(i, end);
        i = end;
    }
    return found;
}

/// One to three words exchanged, dropped or replaced; some texts end early.
std::string spoiled(std::string text, std::mt19937& random) {
    const auto any = [&](std::size_t count) { return random() % count; };
    for (std::size_t changes = 1 + any(3); changes > 0; --changes) {
        const auto all = words(text);
        const auto [begin, end] = all[any(all.size())];
        const auto [other, other_end] = all[any(all.size())];
        const std::string replacements[] = {"",
                                            text.substr(other, other_end - other),
                                            "0",
                                            "-1",
                                            "0xFFFFFFFFFFFFFFFF",
                                            "{",
                                            "}",
                                            ".pred",
                                            "_",
                                            "("};
        text.replace(begin, end - begin, replacements[any(std::size(replacements))]);
    }
    if (any(10) == 0) text.resize(any(text.size()));
    return text;
}

TEST(PtxReader, whole_programs_are_read) {
    for (const auto& text : {calls, instructions}) EXPECT_NO_THROW((void)read(text, "test.ptx"));
}

TEST(PtxReader, spoiled_text_is_read_or_refused) {
    std::mt19937 random(20);
    int read = 0, refused = 0;
    for (int i = 0; i < 1500; ++i)
        ++(is_read(spoiled(i % 2 ? calls : instructions, random)) ? read : refused);
    EXPECT_GT(read, 20);
    EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace cudasim::ptx
