// A CUDA C++ file as an image: compiled by clang with no CUDA toolkit in sight, run by the engine, and made
// into PTX. It keeps the image neutral: nothing here comes from the Python front end.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "gpu_backend/ptx.h"
#include "simulator/execution/device.h"
#include "tests/simulator/kept_image.h"

namespace cudasim {
namespace {

namespace fs = std::filesystem;
using execution::Device;
using execution::DevicePointer;

const std::string folder = CUDASIM_CU_FOLDER;
constexpr int block_threads = 64;

std::string run(const std::string& command) {
    std::string output;
    FILE* pipe = popen((command + " 2>&1").c_str(), "r");
    std::array<char, 4096> buffer;
    while (const auto size = fread(buffer.data(), 1, buffer.size(), pipe)) output.append(buffer.data(), size);
    const int status = pclose(pipe);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw std::runtime_error(command + "\n" + output);
    return output;
}

std::string read(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

/// --cuda-path names an empty folder, so that no installed toolkit is found. The passes are left to
/// simulator/jit, which instruments first (C0).
image::KernelImage compile(const std::string& file) {
    const fs::path work = fs::temp_directory_path() / ("cudasim_images_" + std::to_string(getpid()));
    fs::create_directories(work / "no-toolkit");
    const std::string source = folder + "/" + file, output = (work / "image.bc").string();
    run(std::string(CUDASIM_CLANG) +
        " -x cuda --cuda-device-only --cuda-gpu-arch=sm_75 --cuda-path=" + (work / "no-toolkit").string() +
        " -nocudainc -nocudalib -Xclang -target-feature -Xclang +ptx78 -std=c++20 -O1 -Xclang "
        "-disable-llvm-passes"
        " -g -Xclang -debug-info-kind=limited -fno-finite-loops -fno-delete-null-pointer-checks"
        " -emit-llvm -c " +
        source + " -o " + output);
    auto image = test_images::kept(image::KernelImage::from_bitcode(read(output), {{source, read(source)}}));
    fs::remove_all(work);
    return image;
}

class Images : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        if (!std::string_view(CUDASIM_CLANG).empty()) image_ = new image::KernelImage(compile("smooth.cu"));
    }
    static void TearDownTestSuite() {
        delete image_;
        image_ = nullptr;
    }
    void SetUp() override {
        if (!image_) GTEST_SKIP() << "clang++-19 was not found when this test was configured";
    }

    struct Answer {
        execution::LaunchResult launch;
        std::vector<float> result;
        std::vector<int> counters;
    };

    /// Launches smooth(values, result, n, use_smooth), then read_counters. `result_size` may be a lie.
    static Answer smooth(const std::vector<float>& values, std::size_t result_size, bool use_smooth,
                         const execution::LaunchOptions& options = {}) {
        Device device(execution::h100());
        const DevicePointer input = device.allocate(values.size() * 4, {.label = "values"});
        const DevicePointer result = device.allocate(result_size * 4, {.label = "result"});
        const DevicePointer counters = device.allocate(16, {.label = "counters"});
        device.copy_to_device(input, values.data(), values.size() * 4);
        struct {
            DevicePointer values, result;
            int n, use_smooth;
        } parameters{input, result, static_cast<int>(values.size()), use_smooth};
        const auto image = device.load(*image_);
        const auto blocks = static_cast<std::uint32_t>((values.size() + block_threads - 1) / block_threads);
        Answer answer;
        answer.launch = device.launch(*image, "smooth", {{blocks, 1, 1}, {block_threads, 1, 1}, 0},
                                      std::as_bytes(std::span(&parameters, 1)), options);
        answer.result.resize(result_size);
        device.copy_from_device(answer.result.data(), result, result_size * 4);
        const auto read = device.launch(*image, "read_counters", {{1, 1, 1}, {4, 1, 1}, 0},
                                        std::as_bytes(std::span(&counters, 1)), {});
        EXPECT_TRUE(read.findings.empty());
        answer.counters.resize(4);
        device.copy_from_device(answer.counters.data(), counters, 16);
        return answer;
    }

    static image::KernelImage* image_;
};

image::KernelImage* Images::image_ = nullptr;

std::vector<float> ramp(int size) {
    std::vector<float> values(size);
    for (int i = 0; i < size; ++i) values[i] = static_cast<float>(2 * i);
    return values;
}

TEST_F(Images, a_cu_file_has_its_kernels_and_their_parameters) {
    const std::vector<image::Parameter>& parameters = image_->find("smooth")->parameters;
    ASSERT_EQ(parameters.size(), 4u);
    EXPECT_EQ(parameters[1].offset, 8u);
    EXPECT_EQ(parameters[3].offset, 20u);
    EXPECT_EQ(image_->kernels().size(), 2u);
}

TEST_F(Images, a_cu_file_computes_what_a_gpu_would) {
    const auto values = ramp(150);
    for (const auto carrier : {execution::Carrier::automatic, execution::Carrier::fiber}) {
        execution::LaunchOptions options;
        options.carrier = carrier;
        const auto answer = smooth(values, 150, true, options);
        ASSERT_EQ(answer.launch.error(), nullptr) << answer.launch.error()->message;
        for (int i = 0; i < 150; ++i) {
            const float left = values[std::max(i - 1, 0)], right = values[std::min(i + 1, 149)];
            const float filtered = 0.25f * left + 0.5f * values[i] + 0.25f * right;
            ASSERT_EQ(answer.result[i], std::min(filtered, 100.0f)) << i;
        }
        // 2 i > 100 for i in 51..149; each thread counts itself at i % 3.
        EXPECT_EQ(answer.counters, (std::vector<int>{50, 50, 50, 99}));
    }
}

TEST_F(Images, a_virtual_call_reaches_the_other_class) {
    const auto values = ramp(150);
    const auto answer = smooth(values, 150, false);
    for (int i = 0; i < 150; ++i) ASSERT_EQ(answer.result[i], std::min(values[i], 100.0f)) << i;
}

TEST_F(Images, a_store_out_of_bounds_is_reported_at_file_and_line) {
    const std::string source = read(folder + "/smooth.cu");
    const auto position = source.find("result[i] =");
    const auto line = std::count(source.begin(), source.begin() + position, '\n') + 1;
    const auto answer = smooth(ramp(150), 140, true);
    const auto* error = answer.launch.error();
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(error->kind, findings::FindingKind::out_of_bounds_global);
    EXPECT_EQ(findings::coordinates(error->thread), "tid=[12, 0, 0] ctaid=[2, 0, 0]");  // 2 * 64 + 12 = 140
    ASSERT_FALSE(error->location.empty());
    EXPECT_EQ(error->location.front().file, folder + "/smooth.cu");
    EXPECT_EQ(error->location.front().line, line);
    EXPECT_EQ(error->location.front().function, "smooth");
    EXPECT_EQ(error->threads, 10u);
    ASSERT_TRUE(error->object.has_value());
    EXPECT_EQ(error->object->name, "result");
    EXPECT_EQ(error->object->bytes, 560u);
    EXPECT_EQ(error->object->offset, 560);
    EXPECT_EQ(answer.result[139], 100.0f);  // the other threads ran on
}

TEST_F(Images, the_same_image_becomes_ptx) {
    const auto ptx = gpu_backend::to_ptx(*image_, "smooth");
    EXPECT_NE(ptx.find(".entry smooth("), std::string::npos);
    EXPECT_NE(ptx.find("weights"), std::string::npos);
    EXPECT_EQ(ptx.find("read_counters"), std::string::npos);
}

}  // namespace
}  // namespace cudasim
