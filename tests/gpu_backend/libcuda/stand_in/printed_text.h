// What kernels print, until the program synchronises (CUDA C++ Programming Guide, "Formatted Output").
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

namespace cudasim::stand_in {

class PrintedText {
  public:
    /// Of an H200 (docs/gpu_results.md, "Printing"). cuCtxSetLimit changes it. A GPU keeps formats and
    /// arguments there, this keeps texts.
    static constexpr std::size_t default_bytes = 8448 << 10;

    void add(std::string_view text);
    /// Writes everything to the process's standard output.
    void flush();
    [[nodiscard]] std::size_t limit() const;
    void set_limit(std::size_t bytes);

  private:
    mutable std::mutex mutex_;
    std::string text_;
    std::size_t limit_ = default_bytes;
};

}  // namespace cudasim::stand_in
