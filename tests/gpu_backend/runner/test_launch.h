// Launches for a GPU, made by hand, and the stand-in for one.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "gpu_backend/runner/execution.h"
#include "gpu_backend/runner/runner_process.h"
#include "simulator/records/gpu_launch.h"
#include "tests/gpu_backend/libcuda/gpu_fixture.h"

namespace cudasim::runner {

using Bytes = std::vector<std::byte>;
using libcuda::mebibyte;
using libcuda::some_address;

/// A launch with its memory. Parameters are added in their order; each is 8 bytes.
struct TestLaunch {
    records::GpuLaunch launch{.number = 3, .kernel = "test", .grid = {1, 1, 1}, .block = {1, 1, 1}};
    records::GpuCode code{.entry = "kernel", .architecture = "sm_80"};
    std::vector<Bytes> memory;  ///< before, and after run(), as the GPU left it

    TestLaunch& range(std::uint64_t address, Bytes content, const std::string& label = "x");
    TestLaunch& address(std::uint64_t value);
    TestLaunch& number(std::uint64_t value);

    [[nodiscard]] Contents contents();
    [[nodiscard]] records::GpuResult run(Gpu& gpu, const Limits& limits = {});
    [[nodiscard]] records::GpuResult run(RunnerProcess& gpu, const RunOptions& options = {});

    template <typename Value>
    [[nodiscard]] Value at(std::size_t range, std::uint64_t offset) const {
        Value value{};
        std::memcpy(&value, memory[range].data() + offset, sizeof value);
        return value;
    }

  private:
    TestLaunch& parameter(std::uint64_t value, bool is_address);
};

/// The kernel adds 1 to as many 32-bit words at its first parameter as there are threads.
[[nodiscard]] TestLaunch adding_one(std::uint64_t address = some_address, std::uint32_t words = 64);
/// A kernel of one thread with these instructions; %rd0 is its first parameter, an address, %rd1 the second,
/// a number.
[[nodiscard]] TestLaunch kernel_that(const std::string& instructions, std::uint64_t number = 0);

/// Words 0, 1, 2, ...
[[nodiscard]] Bytes counting(std::uint32_t words);

/// Does something with a GPU in a process of its own; a test failure unless all is well in it.
void with_gpu(const std::string& settings, const std::function<void(Gpu& gpu)>& body);

/// The program that was built, with the stand-in driver.
[[nodiscard]] RunnerSettings with_stand_in();

/// What the stand-in driver of child processes is told, while this lives.
class Planted {
  public:
    explicit Planted(const std::string& settings);
    ~Planted();
    Planted(const Planted&) = delete;
    Planted& operator=(const Planted&) = delete;
    /// For runners that run already, too.
    void change(const std::string& settings) const;

  private:
    std::filesystem::path file_;
};

}  // namespace cudasim::runner
