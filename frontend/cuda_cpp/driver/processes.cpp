// See processes.h.
#include "frontend/cuda_cpp/driver/processes.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "frontend/cuda_cpp/driver/options.h"

namespace cudasim::nvcc {
namespace {

volatile sig_atomic_t signal_that_came = 0;

void note_signal(int signal) {
    signal_that_came = signal;
}

}  // namespace

void watch_signals() {
    struct sigaction action = {};
    action.sa_handler = note_signal;  // without SA_RESTART: waits end
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
    // Writing to a FIFO whose reader has ended is an error code.
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, nullptr);
}

void check_signals() {
    if (signal_that_came != 0) throw Interrupted{signal_that_came};
}

TemporaryFolder::TemporaryFolder() {
    const char* parent = std::getenv("TMPDIR");
    std::string name =
        std::string(parent != nullptr && *parent != '\0' ? parent : "/tmp") + "/cudasim_nvcc_XXXXXX";
    if (mkdtemp(name.data()) == nullptr)
        throw Fatal("No temporary folder " + name + ": " + std::generic_category().message(errno));
    path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

Process::Process(const Command& command, Errors errors) {
    std::vector<char*> arguments;
    for (const auto& each : command) arguments.push_back(const_cast<char*>(each.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    int ends[2] = {-1, -1};
    if (errors == Errors::read) {
        if (pipe2(ends, O_CLOEXEC) != 0) throw Fatal("No pipe: " + std::generic_category().message(errno));
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    }
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t pipes;
    sigemptyset(&pipes);
    sigaddset(&pipes, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes, &pipes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    const int error = posix_spawnp(&process_, arguments[0], &actions, &attributes, arguments.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (ends[1] >= 0) close(ends[1]);
    error_output_ = ends[0];
    if (error != 0) {
        process_ = 0;
        if (error_output_ >= 0) close(error_output_);
        throw Fatal("Cannot start " + command[0] + ": " + std::generic_category().message(error));
    }
}

Process::~Process() {
    end();
    if (error_output_ >= 0) close(error_output_);
}

int Process::wait() {
    int status = 0;
    while (process_ > 0 && waitpid(process_, &status, 0) < 0) {
        if (errno != EINTR) break;
        check_signals();
    }
    process_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void Process::end() {
    if (process_ <= 0) return;
    kill(process_, SIGTERM);  // clang removes its temporary files then
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
    process_ = 0;
}

int run(const Command& command) {
    Process process(command, Process::Errors::shown);
    return process.wait();
}

std::string shell_text(const Command& command) {
    std::string text;
    for (const auto& word : command) {
        if (!text.empty()) text += ' ';
        const bool plain =
            !word.empty() && word.find_first_of(" \t\n\"'\\$&|;<>()*?[]#`{}~!") == std::string::npos;
        if (plain) {
            text += word;
            continue;
        }
        text += '"';
        for (const char c : word) {
            if (c == '"' || c == '\\' || c == '$' || c == '`') text += '\\';
            text += c;
        }
        text += '"';
    }
    return text;
}

}  // namespace cudasim::nvcc
