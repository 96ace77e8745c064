// What a library in CUDA C++ (frontend/cuda_cpp/runtime) needs of the program that has loaded it, where that
// is a program in another language with devices of its own and its own way to report errors: Python.
#pragma once

#include <memory>
#include <vector>

#include "simulator/execution/device.h"

namespace cudasim::driver {

class HostLanguage {
  public:
    HostLanguage() = default;
    virtual ~HostLanguage() = default;
    HostLanguage(const HostLanguage&) = delete;
    HostLanguage& operator=(const HostLanguage&) = delete;

    /// Null in a program in C++. Never destroyed once it is set.
    [[nodiscard]] static HostLanguage* of_this_process();
    static void set(std::unique_ptr<HostLanguage> host);

    /// Makes what is missing: the program's devices (devices.h), and the engine of this one.
    /// @param ordinal of a device that the program may not have
    virtual void make_device(int ordinal) = 0;
    /// A launch of the library is over. Errors are told when the program synchronises next.
    /// @param sources that the kernel was compiled of
    virtual void launched(execution::LaunchResult result, const std::vector<image::SourceFile>& sources) = 0;
    /// Whole lines that a kernel has printed.
    virtual void printed(std::string_view text) = 0;
};

}  // namespace cudasim::driver
