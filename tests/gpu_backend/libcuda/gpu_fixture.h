// A GPU for tests: the stand-in driver in a process of its own, through the table of its functions.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gpu_backend/libcuda/driver.h"

namespace cudasim::libcuda {

inline constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
/// What virtual memory is managed in.
inline constexpr std::uint64_t unit = 2 * mebibyte;
/// An address that drivers honour as a hint.
inline constexpr DevicePointer some_address = 0x2000'0000'0000;

/// The driver with a current context.
class TestGpu {
  public:
    TestGpu();

    [[nodiscard]] const Functions& functions() const { return driver_.functions(); }
    const Functions* operator->() const { return &driver_.functions(); }

    /// Reserves, creates, maps and gives access at this address, with bytes of 0. A test failure where the
    /// driver refuses.
    void map(DevicePointer address, std::uint64_t bytes = unit) const;
    /// Loads PTX whose directives in front are added, and looks an entry up.
    [[nodiscard]] Function kernel(const std::string& body, const char* name = "kernel") const;
    [[nodiscard]] Module module(const std::string& body) const;

    struct Shape {
        unsigned grid = 1, block = 1, shared_bytes = 0;
        bool cooperative = false;
    };
    /// Does not wait.
    [[nodiscard]] Result launch(Function function, Shape shape, std::vector<std::uint64_t> parameters) const;
    /// Waits. @return of the launch, or else of cuCtxSynchronize
    [[nodiscard]] Result run(Function function, Shape shape, std::vector<std::uint64_t> parameters) const;

    template <typename Value>
    [[nodiscard]] Value read(DevicePointer address) const {
        Value value{};
        EXPECT_EQ(functions().cuMemcpyDtoH(&value, address, sizeof value), Result::success);
        return value;
    }
    template <typename Value>
    void write(DevicePointer address, Value value) const {
        EXPECT_EQ(functions().cuMemcpyHtoD(address, &value, sizeof value), Result::success);
    }

  private:
    Driver driver_;
};

/// PTX with the directives that begin a module.
[[nodiscard]] std::string ptx(const std::string& body, const char* target = "sm_90",
                              const char* version = "7.8");

/// What a process of its own has done.
struct Outside {
    bool passed = false;  ///< it ended by itself, and no expectation of GoogleTest failed in it
    int signal = 0;       ///< that ended it
    std::string printed;  ///< its standard output
    std::string errors;   ///< its standard error
};

/// Does something in a process of its own, with CUDASIM_TEST_LIBCUDA set: faults of GPUs last.
[[nodiscard]] Outside outside(const std::string& settings, const std::function<void()>& body);
/// The same, and a test failure unless it passed.
Outside expect_outside(const std::string& settings, const std::function<void(const TestGpu& gpu)>& body);

}  // namespace cudasim::libcuda
