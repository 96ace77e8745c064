#include "tests/gpu_backend/libcuda/stand_in/printed_text.h"

#include <unistd.h>

#include <cerrno>

namespace cudasim::stand_in {

void PrintedText::add(std::string_view text) {
    const std::lock_guard lock(mutex_);
    text_ += text;
    if (text_.size() <= limit_) return;
    // The buffer is circular: the oldest lines are lost.
    const auto line_end = text_.find('\n', text_.size() - limit_ - 1);
    text_.erase(0, line_end == std::string::npos ? text_.size() : line_end + 1);
}

void PrintedText::flush() {
    const std::lock_guard lock(mutex_);
    std::string_view rest = text_;
    while (!rest.empty()) {
        const ssize_t written = write(STDOUT_FILENO, rest.data(), rest.size());
        if (written < 0 && errno != EINTR) break;
        if (written > 0) rest.remove_prefix(static_cast<std::size_t>(written));
    }
    text_.clear();
}

std::size_t PrintedText::limit() const {
    const std::lock_guard lock(mutex_);
    return limit_;
}

void PrintedText::set_limit(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    limit_ = bytes;
}

}  // namespace cudasim::stand_in
