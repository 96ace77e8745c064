// See channel.h.
#include "debugger/cores/channel.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace cudasim::debugger {
namespace {

constexpr int milliseconds_between_looks = 100;

}  // namespace

void PipeChannel::send(std::string_view bytes) {
    const std::lock_guard lock(sending_);
    while (!ended_ && !bytes.empty()) {
        const ssize_t written = write(output_, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0)
            ended_ = true;
        else
            bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

std::string PipeChannel::receive() {
    for (;;) {
        {
            const std::lock_guard lock(sending_);
            if (ended_) return {};
        }
        pollfd waiting{input_, POLLIN, 0};
        const int ready = poll(&waiting, 1, milliseconds_between_looks);
        if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
        std::string bytes(1 << 16, '\0');
        const ssize_t received = read(input_, bytes.data(), bytes.size());
        if (received < 0 && errno == EINTR) continue;
        bytes.resize(received > 0 ? static_cast<std::size_t>(received) : 0);
        return bytes;
    }
}

void PipeChannel::end() {
    const std::lock_guard lock(sending_);
    ended_ = true;
}

}  // namespace cudasim::debugger
