// What a kernel prints: the driver writes it to the process's standard output when the host waits for the
// kernel (CUDA C++ Programming Guide, "Formatted Output").
#pragma once

#include <string>

namespace cudasim::runner {

/// Standard output goes to a file in memory while this lives.
class CapturedOutput {
  public:
    /// @throws std::system_error
    CapturedOutput();
    ~CapturedOutput();
    CapturedOutput(const CapturedOutput&) = delete;
    CapturedOutput& operator=(const CapturedOutput&) = delete;

    /// What has been written so far. @throws std::system_error
    [[nodiscard]] std::string text() const;

  private:
    int file_ = -1, before_ = -1;
};

}  // namespace cudasim::runner
