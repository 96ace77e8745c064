// See runner_process.h.
#include "gpu_backend/runner/runner_process.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "gpu_backend/runner/failures.h"
#include "gpu_backend/runner/messages.h"
#include "simulator/image/byte_stream.h"
#include "simulator/memory/host_memory.h"

namespace cudasim::runner {
namespace {

using records::GpuResult;
using records::GpuStatus;
using Clock = std::chrono::steady_clock;

/// For the driver's start, which takes 0.2 s on a GPU that nobody else uses.
constexpr double start_seconds = 60;
/// The descriptors that the program gets. Its standard streams are this process's, but input is empty.
constexpr int socket_there = 3, memory_there = 4;

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::vector<std::string> environment_with(const std::string& libcuda) {
    std::vector<std::string> result;
    for (char** entry = environ; *entry != nullptr; ++entry)
        if (libcuda.empty() || std::strncmp(*entry, "CUDASIM_LIBCUDA=", 16) != 0) result.emplace_back(*entry);
    if (!libcuda.empty()) result.push_back("CUDASIM_LIBCUDA=" + libcuda);
    return result;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (auto& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

/// In a process group of its own, so that Ctrl-C reaches this process alone. 0 and errno where it does not
/// start.
int spawn(const std::filesystem::path& program, const std::string& libcuda, int socket, int memory) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    // Standard input is an empty file: not every system has /dev/null.
    const int empty = memfd_create("cudasim-empty", MFD_CLOEXEC);
    posix_spawn_file_actions_adddup2(&actions, empty, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, socket, socket_there);
    posix_spawn_file_actions_adddup2(&actions, memory, memory_there);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes, 0);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    std::vector<std::string> arguments{program.string(), "--serve",
                                       std::to_string(socket_there) + "," + std::to_string(memory_there)};
    auto environment = environment_with(libcuda);
    pid_t process = 0;
    const int error = posix_spawn(&process, program.c_str(), &actions, &attributes,
                                  pointers_to(arguments).data(), pointers_to(environment).data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (empty >= 0) close(empty);
    errno = error;
    return error == 0 ? process : 0;
}

/// A copy of the descriptor above those that the program gets, so that none is closed by being put in its
/// place, and none is taken for a standard stream where those are closed.
int moved_up(int descriptor) {
    const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, memory_there + 1);
    close(descriptor);
    return moved;
}

/// So that a runner that does not read, or ends inside of a message, is noticed.
void limit_waiting(int socket) {
    const timeval limit{.tv_sec = static_cast<time_t>(start_seconds), .tv_usec = 0};
    (void)setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    (void)setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

/// The status of a process whose socket is closed, for which it gets a second; nullopt where it goes on, or
/// where others have waited for it.
std::optional<int> status_at_end(int process) {
    int status = 0;
    for (int attempt = 0; attempt < 1000; ++attempt) {
        const pid_t ended = waitpid(process, &status, WNOHANG);
        if (ended == process) return status;
        if (ended < 0 && errno != EINTR) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return std::nullopt;
}

/// Why the host cannot hold the memory of a launch, of which it holds `held` bytes already; empty: it can.
std::string lack_of_memory(std::uint64_t bytes, std::uint64_t held) {
    constexpr std::uint64_t little = 64 << 20;
    if (bytes <= held + little) return {};
    if (bytes - held + memory::host_reserve <= memory::host_memory_available()) return {};
    return "the launch's memory, " + memory::bytes_text(bytes) + ", is more than this host can give (" +
           memory::describe_host_memory() + ")";
}

std::string how_it_ended(int status) {
    if (WIFSIGNALED(status)) {
        const int signal = WTERMSIG(status);
        return "was ended by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
    }
    return "ended with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

struct RunnerProcess::Shared {
    explicit Shared(int descriptor) : file(descriptor), memory(descriptor) {}
    ~Shared() { close(file); }
    int file;
    SharedMemory memory;
};

std::filesystem::path find_runner() {
    Dl_info info{};
    if (dladdr(reinterpret_cast<const void*>(&find_runner), &info) == 0 || info.dli_fname == nullptr)
        return {};
    const auto folder = std::filesystem::path(info.dli_fname).parent_path();
    std::error_code error;
    for (const auto& place :
         {folder / "cudasim-gpu-run", folder / "../gpu_backend/runner/program/cudasim-gpu-run"})
        if (std::filesystem::exists(place, error)) return place.lexically_normal();
    return {};
}

RunnerProcess::RunnerProcess(RunnerSettings settings) : settings_(std::move(settings)) {}

RunnerProcess::~RunnerProcess() {
    end(false);
}

/// Of the process that this one was forked from: its runner and its memory are left alone.
void RunnerProcess::forget_other_process() {
    if (owner_ == 0 || owner_ == getpid()) return;
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
    process_ = 0;
    owner_ = 0;
    shared_.reset();
}

/// @param at_once false: it may end by itself
void RunnerProcess::end(bool at_once) {
    forget_other_process();
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
    const int process = process_.exchange(0);
    if (process == 0) return;
    const auto begin = Clock::now();
    for (bool killed = false; waitpid(process, nullptr, WNOHANG) == 0;) {
        if (!killed && (at_once || seconds_since(begin) > 1)) {
            kill(process, SIGKILL);
            killed = true;
        }
        if (seconds_since(begin) > 3) {
            // A process that is in the driver's part of the kernel may not end even then. It is left behind,
            // with the memory that it may still write to.
            shared_.reset();
            return;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

RunningGpu RunnerProcess::start(const RunOptions& options) {
    const std::lock_guard lock(mutex_);
    start_locked(options);
    return gpu_;
}

void RunnerProcess::start_locked(const RunOptions& options) {
    forget_other_process();
    if (process_ != 0) return;
    if (settings_.program.empty())
        throw NoRunner("the program cudasim-gpu-run is not installed beside cudasim's library", 1);
    owner_ = getpid();
    if (!shared_) {
        const int file = memfd_create("cudasim-gpu-memory", MFD_CLOEXEC);
        const int kept = file < 0 ? -1 : moved_up(file);
        if (kept < 0) throw NoRunner(std::string("memory for the GPU's process: ") + std::strerror(errno), 1);
        shared_ = std::make_unique<Shared>(kept);
    }
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        throw NoRunner(std::string("a socket for the GPU's process: ") + std::strerror(errno), 1);
    const int there = moved_up(ends[1]);
    socket_ = moved_up(ends[0]);
    process_ =
        there < 0 || socket_ < 0 ? 0 : spawn(settings_.program, settings_.libcuda, there, shared_->file);
    const int error = errno;
    if (there >= 0) close(there);
    if (process_ == 0) {
        end(true);
        throw NoRunner(settings_.program.string() + " cannot be started: " + std::strerror(error), 1);
    }
    limit_waiting(socket_);
    bool answers = false;
    try {
        answers = wait_for_answer(options, start_seconds);
    } catch (...) {
        end(true);
        throw;
    }
    const auto message = answers ? receive(socket_) : std::nullopt;
    if (!message || message->kind != 'H') {
        const auto status = answers ? status_at_end(process_) : std::nullopt;
        if (status) process_ = 0;
        end(true);
        throw NoRunner(settings_.program.string() +
                           (status ? " " + how_it_ended(*status) : std::string(" did not answer")) +
                           " while it loaded NVIDIA's driver",
                       11);
    }
    int outcome = 11;
    std::string text;
    try {
        image::ByteReader reader(message->bytes);
        outcome = static_cast<int>(reader.number(1));
        text = reader.text();
        gpu_ = {text, static_cast<int>(reader.number(1)), static_cast<int>(reader.number(1))};
    } catch (const image::StreamError&) {
        text = settings_.program.string() + " is not the cudasim-gpu-run of this cudasim";
    }
    if (outcome == 0) return;
    end(false);
    throw NoRunner(text, outcome);
}

/// False: it did not come in time, or options.stop said so.
bool RunnerProcess::wait_for_answer(const RunOptions& options, double seconds) {
    const auto begin = Clock::now();
    for (;;) {
        pollfd state{socket_, POLLIN, 0};
        const int ready = poll(&state, 1, 50);
        if (ready > 0) return true;
        if (options.stop && options.stop()) return false;
        if (seconds_since(begin) > seconds) return false;
    }
}

records::GpuResult RunnerProcess::run(
    const records::GpuLaunch& launch, const records::GpuCode& code,
    const std::function<std::span<const std::byte>(std::size_t)>& before,
    const std::function<void(std::size_t, std::span<const std::byte>)>& after, const RunOptions& options) {
    const std::lock_guard lock(mutex_);
    start_locked(options);
    const auto other = [&](GpuStatus status, const std::string& message) {
        return GpuResult{.number = launch.number,
                         .kernel = launch.kernel,
                         .status = status,
                         .message = message,
                         .gpu = gpu_.name,
                         .capability_major = static_cast<std::uint32_t>(gpu_.capability_major),
                         .capability_minor = static_cast<std::uint32_t>(gpu_.capability_minor)};
    };
    const auto lost = [&](GpuStatus status, const std::string& message) {
        end(true);
        return other(status, message);
    };
    const auto offsets = offsets_of(launch);
    if (const std::string lack = lack_of_memory(offsets.back(), shared_->memory.size()); !lack.empty())
        return other(GpuStatus::failed, lack);
    try {
        shared_->memory.grow(offsets.back());
    } catch (const std::exception& error) {  // limits of the process: std::system_error, std::bad_alloc
        return other(GpuStatus::failed, "there is no room for the launch's memory, " +
                                            memory::bytes_text(offsets.back()) + ": " + error.what());
    }
    for (std::size_t i = 0; i < launch.memory.size(); ++i)
        std::ranges::copy(before(i), shared_->memory.part(offsets[i], launch.memory[i].bytes).begin());
    image::ByteWriter writer;
    writer.number(std::bit_cast<std::uint64_t>(options.seconds), 8);
    for (const auto& part : {records::to_bytes(launch), records::to_bytes(code)}) {
        writer.number(part.size(), 8);
        writer.raw(part.data(), part.size());
    }
    if (writer.bytes().size() > most_message_bytes)
        return other(GpuStatus::failed, "the launch has too many allocations to be sent");
    const bool sent = send(socket_, 'L', writer.bytes());
    try {
        const double most_seconds = options.seconds + options.spare_seconds;
        if (sent && !wait_for_answer(options, most_seconds))
            return lost(
                GpuStatus::timed_out,
                "NVIDIA's driver did not come back from a call within " + seconds_text(most_seconds) +
                    " (the kernel's time limit, and time to compile and to copy); its process was ended");
    } catch (...) {
        end(true);
        throw;
    }
    const auto message = sent ? receive(socket_) : std::nullopt;
    if (!message || message->kind != 'R' || message->bytes.empty()) {
        const auto status = status_at_end(process_);
        if (status) process_ = 0;
        return lost(GpuStatus::lost, std::string("the process that runs the kernel ") +
                                         (status ? how_it_ended(*status) : "sent no result"));
    }
    const bool ends = message->bytes.back() != std::byte{0};
    GpuResult result;
    try {
        result = records::result_from(std::span(message->bytes).first(message->bytes.size() - 1));
    } catch (const records::RecordError&) {
        end(true);
        throw;
    }
    result.number = launch.number;
    result.kernel = launch.kernel;
    if (result.gpu.empty()) result.gpu = gpu_.name;
    if (result.status == GpuStatus::ran)
        for (std::size_t i = 0; i < launch.memory.size(); ++i)
            after(i, shared_->memory.part(offsets[i], launch.memory[i].bytes));
    if (ends) end(false);
    return result;
}

}  // namespace cudasim::runner
