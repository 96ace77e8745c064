// Findings: coordinates, the text report to the letter, and JSON that a parser reads back.

#include "simulator/findings/writers.h"

#include <gtest/gtest.h>
#include <llvm/Support/JSON.h>

#include <filesystem>
#include <fstream>

namespace cudasim::findings {
namespace {

const std::vector<image::SourceFile> sources{
    {"scale.py", "import x\n\n\ndef invert(x):\n\tx[i] = 1 / x[i]\n"}};

Finding index_error() {
    Finding finding;
    finding.kind = FindingKind::out_of_bounds_index;
    finding.message = "index 10 is out of bounds for axis 0 with size 10";
    finding.kernel = "invert";
    finding.thread = {0, 10, {0, 0, 0}, {10, 0, 0}};
    finding.location = {{"scale.py", "divide", 5, 13}, {"scale.py", "invert", 4, 1}};
    finding.count = finding.threads = 22;
    return finding;
}

TEST(Findings, coordinates_are_written_x_y_z) {
    EXPECT_EQ(coordinates({7, 3, {4, 5, 6}, {1, 2, 3}}), "tid=[1, 2, 3] ctaid=[4, 5, 6]");
}

TEST(Findings, ranges_are_inclusive) {
    EXPECT_EQ(ranges({{0, 31}, {40, 40}, {64, 95}}), "0-31, 40, 64-95");
    EXPECT_EQ(ranges({}), "");
}

TEST(Findings, threads_are_ordered_by_block_then_thread) {
    const ThreadCoordinate early{0, 31, {}, {}}, late{1, 0, {}, {}};
    EXPECT_LT(early, late);
    EXPECT_LT((ThreadCoordinate{1, 0, {}, {}}), (ThreadCoordinate{1, 1, {}, {}}));
}

TEST(Findings, the_table_gives_names_and_cuda_codes) {
    EXPECT_EQ(info(FindingKind::out_of_bounds_global).name, "out-of-bounds-global");
    EXPECT_EQ(info(FindingKind::out_of_bounds_global).cuda_error_code, 700);
    EXPECT_EQ(info(FindingKind::float_division).severity, Severity::warning);
    EXPECT_EQ(info(FindingKind::kernel_exception).python_exception, "Exception");
    EXPECT_EQ(info(FindingKind::not_guaranteed_complete).severity, Severity::warning);
}

TEST(TextReport, quotes_the_line_with_a_caret_and_the_call_chain) {
    EXPECT_EQ(text_report(index_error(), sources),
              "error: out-of-bounds-index: index 10 is out of bounds for axis 0 with size 10\n"
              "  at tid=[10, 0, 0] ctaid=[0, 0, 0] in kernel invert, and in 21 other threads\n"
              "  scale.py:5:13, in divide\n"
              "    5 | \tx[i] = 1 / x[i]\n"
              "      | \t           ^\n"
              "  called from scale.py:4:1, in invert\n");
}

TEST(TextReport, reads_a_source_that_the_image_does_not_carry_from_disk) {
    const auto path = std::filesystem::temp_directory_path() / "cudasim_writers_test.py";
    std::ofstream(path) << "first\nsecond line\n";
    auto finding = index_error();
    finding.location = {{path.string(), "k", 2, 1}};
    const auto report = text_report(finding, {});
    std::filesystem::remove(path);
    EXPECT_NE(report.find("    2 | second line\n      | ^\n"), std::string::npos) << report;
}

TEST(TextReport, says_nothing_of_a_line_it_cannot_quote) {
    auto finding = index_error();
    finding.location = {{"gone.py", "k", 2, 1}};
    EXPECT_EQ(text_report(finding, {}).find(" | "), std::string::npos);
    finding.location = {{"scale.py", "k", 900, 1}};
    EXPECT_EQ(text_report(finding, sources).find(" | "), std::string::npos);
}

TEST(TextReport, places_the_access_relative_to_its_object) {
    auto finding = index_error();
    const auto line = [&](std::int64_t offset) {
        finding.object = MemoryObject{"x", "global", 0x10000, 80, offset};
        const auto report = text_report(finding, {});
        return report.substr(report.find("  object"));
    };
    EXPECT_EQ(line(88),
              "  object: x, 80 bytes of global memory at 0x10000; the access is 8 bytes past its end\n");
    EXPECT_EQ(line(-4),
              "  object: x, 80 bytes of global memory at 0x10000; the access is 4 bytes before its start\n");
    EXPECT_EQ(line(7), "  object: x, 80 bytes of global memory at 0x10000; the access is at byte 7\n");
}

TEST(TextReport, names_who_waits_where_and_how_to_repeat_it) {
    auto finding = index_error();
    finding.kind = FindingKind::deadlock;
    finding.waiting.push_back(
        {"waiting at barrier", {{"scale.py", "invert", 5, 1}}, 2, {2, 0, 0}, {{0, 31}}});
    finding.reproduce = "cudasim run scale.py";
    const auto report = text_report(finding, {});
    EXPECT_NE(report.find("  threads 0-31 of ctaid=[2, 0, 0]: waiting at barrier, scale.py:5:1, in invert\n"
                          "  shown again by: cudasim run scale.py\n"),
              std::string::npos)
        << report;
}

TEST(JsonReport, carries_every_field) {
    auto finding = index_error();
    finding.object = MemoryObject{"x", "global", 0xFFFF'FFFF'FFFF'0000, 80, -8};
    finding.waiting.push_back({"running", {{"scale.py", "invert", 5, 1}}, 2, {2, 0, 0}, {{0, 31}, {33, 33}}});
    finding.reproduce = "cudasim run \"a b.py\"";
    auto parsed = llvm::json::parse(json_report(std::span(&finding, 1)));
    ASSERT_TRUE(static_cast<bool>(parsed)) << llvm::toString(parsed.takeError());
    const auto* all = parsed->getAsObject()->getArray("findings");
    ASSERT_EQ(all->size(), 1u);
    const auto& object = *(*all)[0].getAsObject();
    EXPECT_EQ(object.getString("kind"), "out-of-bounds-index");
    EXPECT_EQ(object.getString("severity"), "error");
    EXPECT_EQ(object.getString("exception_type"), "IndexError");
    EXPECT_EQ(object.getInteger("threads"), 22);
    EXPECT_EQ(object.getString("reproduce"), "cudasim run \"a b.py\"");
    EXPECT_EQ((*object.getObject("thread")->getArray("tid"))[0].getAsInteger(), 10);
    EXPECT_EQ((*object.getArray("location"))[0].getAsObject()->getInteger("column"), 13);
    EXPECT_EQ(object.getObject("object")->get("address")->getAsUINT64(), 0xFFFF'FFFF'FFFF'0000u);
    EXPECT_EQ(object.getObject("object")->getInteger("offset"), -8);
    const auto& group = *(*object.getArray("waiting"))[0].getAsObject();
    EXPECT_EQ((*(*group.getArray("threads"))[1].getAsArray())[1].getAsInteger(), 33);
}

TEST(JsonReport, bytes_that_are_not_utf8_stay_valid_json) {
    auto finding = index_error();
    finding.kernel = "k\xff\xfe";
    auto parsed = llvm::json::parse(json_report(std::span(&finding, 1)));
    EXPECT_TRUE(static_cast<bool>(parsed)) << llvm::toString(parsed.takeError());
}

TEST(JsonReport, no_findings_are_an_empty_list) {
    auto parsed = llvm::json::parse(json_report({}));
    ASSERT_TRUE(static_cast<bool>(parsed)) << llvm::toString(parsed.takeError());
    EXPECT_TRUE(parsed->getAsObject()->getArray("findings")->empty());
}

}  // namespace
}  // namespace cudasim::findings
