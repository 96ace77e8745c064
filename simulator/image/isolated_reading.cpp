// See isolated_reading.h. The child answers through a pipe: 'r' and the result, 'e' and an error's message,
// or 'd' and LLVM's reason to end the process; an answer without its last byte, '.', is that of a child that
// died without one.
#include "simulator/image/isolated_reading.h"

#include <fcntl.h>
#include <llvm/Support/ErrorHandling.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>

#include "simulator/image/kernel_image.h"

namespace cudasim::image {
namespace {

void limit(int resource, rlim_t value) {
    rlimit current{};
    if (::getrlimit(static_cast<__rlimit_resource>(resource), &current) != 0) return;
    current.rlim_cur = current.rlim_max = std::min(value, current.rlim_max);
    (void)::setrlimit(static_cast<__rlimit_resource>(resource), &current);
}

rlim_t mapped_bytes() {
    std::ifstream statistics("/proc/self/statm");  // proc(5): the first number is the size in pages
    rlim_t pages = 0;
    if (!(statistics >> pages)) return RLIM_INFINITY;
    return pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

/// From here on nothing that this process does reaches the parent's files, terminal or exit handlers.
void confine(int answer, const ReadingLimits& limits) {
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS, SIGXCPU, SIGPIPE})
        (void)::signal(signal, SIG_DFL);
    (void)std::atexit([] { ::_exit(1); });  // runs before every handler that the parent registered
    const int nowhere = ::open("/dev/null", O_RDWR);
    for (const int standard : {0, 1, 2}) (void)::dup2(nowhere, standard);
    if (answer > 3) (void)::close_range(3, static_cast<unsigned>(answer) - 1, 0);
    (void)::close_range(static_cast<unsigned>(answer) + 1, ~0U, 0);
    const rlim_t mapped = mapped_bytes();
    limit(RLIMIT_CORE, 0);
    if (limits.cpu_seconds != 0) limit(RLIMIT_CPU, limits.cpu_seconds);
    if (limits.bytes != 0 && mapped != RLIM_INFINITY) limit(RLIMIT_AS, mapped + limits.bytes);
}

void write_all(int file, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(file, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) ::_exit(1);
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

/// llvm::fatal_error_handler_t: says why, and ends the process. @param answer int*, the pipe
void answer_reason(void* answer, const char* reason, bool) {
    const int pipe = *static_cast<const int*>(answer);
    write_all(pipe, "d");
    write_all(pipe, reason);
    write_all(pipe, ".");
    ::_exit(0);
}

[[noreturn]] void be_the_child(int answer, const std::function<std::string()>& read,
                               const ReadingLimits& limits) {
    confine(answer, limits);
    llvm::remove_fatal_error_handler();  // the parent's
    llvm::install_fatal_error_handler(answer_reason, &answer);
    try {
        const std::string result = read();
        write_all(answer, "r");
        write_all(answer, result);
    } catch (const ImageError& error) {
        write_all(answer, "e");
        write_all(answer, error.what());
    } catch (...) {
        ::_exit(1);
    }
    write_all(answer, ".");
    ::_exit(0);
}

/// All that the child says until it closes the pipe; nothing when that takes too long or nobody wants it any
/// more.
std::optional<std::string> listen(int pipe, unsigned seconds, const Cancellation& cancellation) {
    using std::chrono::milliseconds;
    constexpr milliseconds look_up(20);
    const auto begin = std::chrono::steady_clock::now();
    const auto time = seconds == 0 ? milliseconds::max()
                                   : std::chrono::duration_cast<milliseconds>(std::chrono::seconds(seconds));
    std::string text;
    char buffer[1 << 16];
    for (;;) {
        if (cancellation.requested()) return std::nullopt;
        const auto left =
            time - std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
        if (left.count() <= 0) return std::nullopt;
        pollfd wanted{pipe, POLLIN, 0};
        if (::poll(&wanted, 1, static_cast<int>(std::min(left, look_up).count())) <= 0) continue;  // or EINTR
        const ssize_t count = ::read(pipe, buffer, sizeof buffer);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return text;
        text.append(buffer, static_cast<std::size_t>(count));
    }
}

std::string cause_of_death(int status) {
    if (WIFSIGNALED(status)) {
        const int signal = WTERMSIG(status);
        if (signal == SIGXCPU || signal == SIGKILL) return "LLVM takes too long over it";
        return "LLVM crashed on it (" + std::string(::strsignal(signal)) + ")";
    }
    return "LLVM gave up on it";
}

}  // namespace

std::string read_in_child_process(const std::string& problem, const std::function<std::string()>& read,
                                  const ReadingLimits& limits, const Cancellation& cancellation) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        throw NoChildProcess(problem + ": no pipe to a process for it: " + std::string(std::strerror(errno)));
    const pid_t child = ::fork();
    if (child == 0) be_the_child(ends[1], read, limits);
    const int failure = errno;
    ::close(ends[1]);
    if (child < 0) {
        ::close(ends[0]);
        throw NoChildProcess(problem + ": no process for it: " + std::string(std::strerror(failure)));
    }
    std::optional<std::string> answer = listen(ends[0], limits.wall_seconds, cancellation);
    ::close(ends[0]);
    if (!answer) (void)::kill(child, SIGKILL);
    int status = 0;
    // Where the program has reaped it already, or asked for no children to wait for, the answer says enough.
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    cancellation.check();
    if (!answer || answer->size() < 2 || answer->back() != '.')
        throw ChildDied(problem + ": " + cause_of_death(status));
    const char kind = answer->front();
    answer->erase(answer->begin());
    answer->pop_back();
    if (kind == 'd') throw ChildDied(problem + ": " + answer->substr(0, answer->find('\n')));
    if (kind == 'e') throw ImageError(*answer);
    return std::move(*answer);
}

}  // namespace cudasim::image
