// Child processes and temporary files of nvcc. SIGINT and SIGTERM end what waits here with Interrupted, so
// that destructors remove temporary files.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace cudasim::nvcc {

using Command = std::vector<std::string>;

struct Interrupted {
    int signal;
};

void watch_signals();
/// @throws Interrupted if a signal has come
void check_signals();

/// A temporary folder, removed with what is in it.
class TemporaryFolder {
  public:
    TemporaryFolder();
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

/// A child process. It is ended by the destructor if nobody has waited for it.
class Process {
  public:
    enum class Errors { shown, read };
    /// @param errors read: error_output() is a pipe from its standard error output
    /// @throws Fatal if there is no such program
    Process(const Command& command, Errors errors);
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    [[nodiscard]] int error_output() const { return error_output_; }
    /// @return the exit status, or 128 + signal @throws Interrupted
    int wait();
    void end();

  private:
    pid_t process_ = 0;
    int error_output_ = -1;
};

/// Starts a command and waits for it. @return the exit status @throws Interrupted, Fatal
int run(const Command& command);

/// A command as one could type it.
[[nodiscard]] std::string shell_text(const Command& command);

}  // namespace cudasim::nvcc
