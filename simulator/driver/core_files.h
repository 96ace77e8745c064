// Core files: a record (launch_record.h) of each launch that fails, written when it has failed.
//
//   CoreFiles& cores = CoreFiles::of_this_process();
//   cores.set(core_settings("cores", 10, 4 << 30, version));
//   if (cores.wanted()) ...                 // the launch is captured: launch_capture.h, only_failures
//   CoreFile file = cores.write(record);    // what to tell the user
//
// A file appears under its name when it is whole. Nobody but the user may read it.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <span>
#include <string>

#include "simulator/driver/launch_capture.h"

namespace cudasim::driver {

struct CoreSettings {
    std::filesystem::path folder;  ///< empty: there are no core files
    /// Name of the first file, without ".cudasim": %h is the host's name, %p the process, %t the time in
    /// seconds since 1970, %k the kernel's name, %% a percent sign. Further files get a number behind it.
    std::string name = "core_%k_%p";
    std::uint64_t most_files = 10;  ///< of a process
    std::uint64_t most_bytes = 0;   ///< of memory that a launch can reach; 0: any
    std::string version;            ///< of the cudasim that writes them

    bool operator==(const CoreSettings&) const = default;
};

/// @param folder option `core`. Where it is empty, the variables of CUDA's own core dumps hold:
/// CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1 asks for files in the current folder, CUDA_COREDUMP_FILE names them.
[[nodiscard]] CoreSettings core_settings(const std::string& folder, std::uint64_t most_files,
                                         std::uint64_t most_bytes, const std::string& version);

/// What became of a core file.
struct CoreFile {
    std::filesystem::path path;  ///< absolute; empty: there is none
    std::string problem;         ///< why there is none, as a sentence without its end; empty: see `full`
    bool full = false;           ///< the process has left as many as it may
};

class CoreFiles {
  public:
    CoreFiles() = default;
    CoreFiles(const CoreFiles&) = delete;
    CoreFiles& operator=(const CoreFiles&) = delete;
    [[nodiscard]] static CoreFiles& of_this_process();

    void set(CoreSettings settings);
    [[nodiscard]] CoreSettings settings() const;
    /// Whether launches that begin now are to be captured.
    [[nodiscard]] bool wanted() const { return wanted_.load(std::memory_order_relaxed); }
    /// How the capture is to be made.
    [[nodiscard]] CaptureOptions capture_options() const;
    /// Writes a launch that failed.
    [[nodiscard]] CoreFile write(const LaunchRecord& record);

  private:
    mutable std::mutex mutex_;
    CoreSettings settings_;
    std::uint64_t written_ = 0;
    std::int64_t process_ = 0;  ///< that has written them: a forked one counts anew
    std::atomic<bool> wanted_{false};
};

/// Writes a file with this one launch, readable by its user only, in place of one that is there.
/// @throws RecordError
void write_core(const std::filesystem::path& path, const LaunchRecord& record);
/// The same for a launch that has not ended: of what it has done the file has its errors until now.
void write_core(const std::filesystem::path& path, LaunchRecord record,
                std::span<const findings::Finding> errors);

}  // namespace cudasim::driver
