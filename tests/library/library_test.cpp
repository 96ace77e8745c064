// A C++ program that is linked with libcudasim.so and nothing else: it runs, checks and translates a kernel.
#include "library/library.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>
#include <string_view>

#include "gpu_backend/ptx.h"
#include "tests/simulator/execution/ir_kernel.h"

namespace cudasim {
namespace {

/// Names of files of which this process has executable pages and whose name has `part` in it.
std::set<std::string> mapped_files(std::string_view part) {
    std::set<std::string> files;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
        if (line.find(" r-xp ") != std::string::npos && line.find('/') != std::string::npos &&
            line.find(part, line.rfind('/')) != std::string::npos)
            files.insert(line.substr(line.find('/')));
    return files;
}

image::KernelImage doubling() {
    return execution::ir_image(R"(
define void @k(ptr %data) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %place = getelementptr i32, ptr %data, i32 %t
  %value = load i32, ptr %place, align 4
  %twice = shl i32 %value, 1
  store i32 %twice, ptr %place, align 4
  ret void
})");
}

execution::LaunchResult launch(const image::KernelImage& image, unsigned threads,
                               execution::DevicePointer data) {
    const auto loaded = execution::device().load(image);
    return execution::device().launch(*loaded, "k", {{1}, {threads}, 0}, std::as_bytes(std::span(&data, 1)),
                                      {});
}

TEST(Library, says_which_build_it_is) {
    EXPECT_STREQ(library::version(), CUDASIM_VERSION);
    EXPECT_EQ(std::string(library::llvm_version()).substr(0, 3), "19.");
    EXPECT_EQ(library::build_id().size(), 40U);
    EXPECT_EQ(library::build_id().find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST(Library, is_mapped_once_and_brings_its_own_llvm) {
    EXPECT_EQ(mapped_files("libcudasim").size(), 1U);
    EXPECT_EQ(mapped_files("libLLVM").size(), 0U);
}

TEST(Library, runs_a_kernel) {
    execution::DeviceArray<int> data(32, 21);
    EXPECT_EQ(execution::messages(launch(doubling(), 32, data.pointer())), "");
    for (const int value : data.read()) EXPECT_EQ(value, 42);
}

TEST(Library, reports_an_access_outside_of_the_array) {
    execution::DeviceArray<int> data(32, 21);
    const auto result = launch(doubling(), 33, data.pointer());
    ASSERT_FALSE(result.findings.empty());
    EXPECT_NE(execution::messages(result).find("[32, 0, 0]"), std::string::npos)
        << execution::messages(result);
}

TEST(Library, writes_ptx) {
    EXPECT_NE(gpu_backend::to_ptx(doubling(), "k").find(".entry k("), std::string::npos);
}

TEST(Library, its_exceptions_are_caught_by_their_types) {
    EXPECT_THROW((void)image::KernelImage::from_ir_text("define"), image::ImageError);
    EXPECT_THROW((void)gpu_backend::to_ptx(doubling(), "absent"), gpu_backend::PtxError);
}

}  // namespace
}  // namespace cudasim
