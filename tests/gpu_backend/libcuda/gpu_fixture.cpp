#include "tests/gpu_backend/libcuda/gpu_fixture.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace cudasim::libcuda {
namespace {

/// In the test that runs.
int failures() {
    const auto& result = *testing::UnitTest::GetInstance()->current_test_info()->result();
    int count = 0;
    for (int i = 0; i < result.total_part_count(); ++i) count += result.GetTestPartResult(i).failed() ? 1 : 0;
    return count;
}

std::string contents_of(std::FILE* file) {
    std::string contents;
    std::rewind(file);
    for (int c; (c = std::fgetc(file)) != EOF;) contents += static_cast<char>(c);
    std::fclose(file);
    return contents;
}

}  // namespace

TestGpu::TestGpu() : driver_(Driver::open({.named = CUDASIM_STAND_IN_DRIVER})) {
    driver_.initialise();
    Context context = nullptr;
    driver_.require("cuDevicePrimaryCtxRetain", functions().cuDevicePrimaryCtxRetain(&context, 0));
    driver_.require("cuCtxSetCurrent", functions().cuCtxSetCurrent(context));
}

void TestGpu::map(DevicePointer address, std::uint64_t bytes) const {
    const AllocationProperties properties{.type = AllocationType::pinned,
                                          .requested_handle_types = HandleType::none,
                                          .location = {LocationType::device, 0}};
    const AccessDescription access{{LocationType::device, 0}, AccessFlags::read_write};
    DevicePointer got = 0;
    AllocationHandle handle = 0;
    constexpr std::uint64_t area = std::uint64_t{1} << 40;  // addresses of a few pages are not to be had
    const DevicePointer base = address / area * area;
    ASSERT_EQ(functions().cuMemAddressReserve(&got, area, 0, base, 0), Result::success);
    if (got != base)  // the test has it already
        ASSERT_EQ(functions().cuMemAddressFree(got, area), Result::success);
    ASSERT_EQ(functions().cuMemCreate(&handle, bytes, &properties, 0), Result::success);
    ASSERT_EQ(functions().cuMemMap(address, bytes, 0, handle, 0), Result::success);
    ASSERT_EQ(functions().cuMemRelease(handle), Result::success);
    ASSERT_EQ(functions().cuMemSetAccess(address, bytes, &access, 1), Result::success);
}

Module TestGpu::module(const std::string& body) const {
    char errors[4096] = "";
    JitOption names[] = {JitOption::error_log_buffer, JitOption::error_log_buffer_size_bytes};
    void* values[] = {errors, reinterpret_cast<void*>(sizeof errors)};
    Module module = nullptr;
    EXPECT_EQ(functions().cuModuleLoadDataEx(&module, ptx(body).c_str(), 2, names, values), Result::success)
        << errors;
    return module;
}

Function TestGpu::kernel(const std::string& body, const char* name) const {
    Function function = nullptr;
    EXPECT_EQ(functions().cuModuleGetFunction(&function, module(body), name), Result::success);
    return function;
}

Result TestGpu::launch(Function function, Shape shape, std::vector<std::uint64_t> parameters) const {
    std::vector<void*> pointers;
    for (auto& each : parameters) pointers.push_back(&each);
    LaunchAttribute cooperative{.id = LaunchAttributeId::cooperative, .padding = {}, .value = {}};
    cooperative.value.cooperative = 1;
    const LaunchConfig config{shape.grid,
                              1,
                              1,
                              shape.block,
                              1,
                              1,
                              shape.shared_bytes,
                              nullptr,
                              &cooperative,
                              shape.cooperative ? 1U : 0U};
    return functions().cuLaunchKernelEx(&config, function, pointers.data(), nullptr);
}

Result TestGpu::run(Function function, Shape shape, std::vector<std::uint64_t> parameters) const {
    const Result result = launch(function, shape, std::move(parameters));
    return result != Result::success ? result : functions().cuCtxSynchronize();
}

std::string ptx(const std::string& body, const char* target, const char* version) {
    return std::string(".version ") + version + "\n.target " + target + "\n.address_size 64\n" + body;
}

Outside outside(const std::string& settings, const std::function<void()>& body) {
    std::FILE *printed = std::tmpfile(), *errors = std::tmpfile();
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        dup2(fileno(printed), STDOUT_FILENO);
        dup2(fileno(errors), STDERR_FILENO);
        setenv("CUDASIM_TEST_LIBCUDA", settings.c_str(), 1);
        const int before = failures();
        body();
        std::fflush(nullptr);
        std::exit(failures() > before ? 1 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return {.passed = WIFEXITED(status) && WEXITSTATUS(status) == 0,
            .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
            .printed = contents_of(printed),
            .errors = contents_of(errors)};
}

Outside expect_outside(const std::string& settings, const std::function<void(const TestGpu& gpu)>& body) {
    auto done = outside(settings, [&] { body(TestGpu()); });
    EXPECT_TRUE(done.passed) << "signal " << done.signal << "\n" << done.printed << done.errors;
    return done;
}

}  // namespace cudasim::libcuda
