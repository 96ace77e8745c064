// START HERE: a GPU of this machine, used from a process of its own, cudasim-gpu-run. CUDA wants a process
// ended after a kernel's fault, and a kernel that never ends can only be ended with its process: neither may
// be that of the user, nor that of PyTorch in it.
//
//   RunnerProcess gpu({.program = path});
//   GpuResult result = gpu.run(launch, code, before, after, {.seconds = 60});
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "simulator/records/gpu_launch.h"

namespace cudasim::runner {

/// The runner cannot be started, or there is no GPU; says which and what can be done.
struct NoRunner : std::runtime_error {
    NoRunner(const std::string& message, int status) : std::runtime_error(message), exit_status(status) {}
    int exit_status;  ///< libcuda::exit_code(); 1 where the program itself did not start
};

struct RunnerSettings {
    std::filesystem::path program;  ///< cudasim-gpu-run
    std::string libcuda;            ///< CUDASIM_LIBCUDA for it; empty: as in this process
};

struct RunOptions {
    double seconds = 60;  ///< for the kernel
    /// For what comes before and after the kernel: copies, and the compilation of PTX. The runner is ended
    /// when it has not answered after both.
    double spare_seconds = 120;
    /// Asked every 50 ms while the runner starts or works; true ends it. May throw, which ends it, too.
    std::function<bool()> stop;
};

/// The GPU that the program uses.
struct RunningGpu {
    std::string name;
    int capability_major = 0, capability_minor = 0;
};

/// Starts the program when the first launch comes, and again after one that CUDA does not survive. Several
/// threads may use it: their launches run one after another. A process that was forked starts a program of
/// its own.
class RunnerProcess {
  public:
    explicit RunnerProcess(RunnerSettings settings);
    ~RunnerProcess();
    RunnerProcess(const RunnerProcess&) = delete;
    RunnerProcess& operator=(const RunnerProcess&) = delete;

    /// Runs one launch. `before(i)` is the content of launch.memory[i]; after a launch that ran,
    /// `after(i, bytes)` gets what it is then, valid during the call only. Launches that did not run to their
    /// end have a status that says so.
    /// @throws NoRunner; records::RecordError where the runner answers what is no result; what `before`,
    ///     `after` and
    ///     options.stop throw
    [[nodiscard]] records::GpuResult run(
        const records::GpuLaunch& launch, const records::GpuCode& code,
        const std::function<std::span<const std::byte>(std::size_t)>& before,
        const std::function<void(std::size_t, std::span<const std::byte>)>& after, const RunOptions& options);
    /// Starts the program if it does not run yet. @throws NoRunner; what options.stop throws
    RunningGpu start(const RunOptions& options = {});
    /// Process id; 0: it does not run.
    [[nodiscard]] int process() const { return process_; }

  private:
    void start_locked(const RunOptions& options);
    void forget_other_process();
    void end(bool at_once);
    [[nodiscard]] bool wait_for_answer(const RunOptions& options, double seconds);

    struct Shared;
    std::mutex mutex_;
    RunnerSettings settings_;
    std::atomic<int> process_ = 0;  ///< written with the mutex
    int socket_ = -1;
    long owner_ = 0;  ///< the process that `socket_`, `process_` and `shared_` belong to
    RunningGpu gpu_;
    std::unique_ptr<Shared> shared_;
};

/// cudasim-gpu-run beside the engine's library, or where a build folder has it; empty: not there.
[[nodiscard]] std::filesystem::path find_runner();

}  // namespace cudasim::runner
