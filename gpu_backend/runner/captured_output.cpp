// See captured_output.h.
#include "gpu_backend/runner/captured_output.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace cudasim::runner {
namespace {

[[noreturn]] void fail(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

CapturedOutput::CapturedOutput() {
    std::fflush(stdout);
    file_ = memfd_create("cudasim-printed", MFD_CLOEXEC);
    if (file_ < 0) fail("memfd_create");
    before_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    if (before_ < 0 || dup2(file_, STDOUT_FILENO) < 0) {
        const int error = errno;
        close(file_);
        if (before_ >= 0) close(before_);
        errno = error;
        fail("dup");
    }
}

CapturedOutput::~CapturedOutput() {
    std::fflush(stdout);
    dup2(before_, STDOUT_FILENO);
    close(before_);
    close(file_);
}

std::string CapturedOutput::text() const {
    std::fflush(stdout);
    struct stat status{};
    if (fstat(file_, &status) != 0) fail("fstat");
    std::string text(static_cast<std::size_t>(status.st_size), '\0');
    std::size_t done = 0;
    while (done < text.size()) {
        const ssize_t part = pread(file_, text.data() + done, text.size() - done, static_cast<off_t>(done));
        if (part < 0 && errno == EINTR) continue;
        if (part <= 0) fail("read");
        done += static_cast<std::size_t>(part);
    }
    return text;
}

}  // namespace cudasim::runner
