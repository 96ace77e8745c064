// See connection.h.
#include "debugger/server/connection.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace cudasim::debugger {
namespace {

constexpr time_t seconds_to_take_a_message = 10;

[[noreturn]] void fail(const std::string& path, const std::string& why) {
    throw std::runtime_error("there is no debugger at " + path + ": " + why);
}

}  // namespace

bool is_of_this_user(int descriptor) {
    ucred peer{};
    socklen_t size = sizeof peer;
    return getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

Connection::Connection(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) fail(path, "the path is too long for a socket");
    path.copy(address.sun_path, path.size());
    descriptor_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor_ < 0) fail(path, std::strerror(errno));
    const auto give_up = [&](const std::string& why) {
        close(descriptor_);
        fail(path, why);
    };
    if (connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        give_up(std::strerror(errno));
    if (!is_of_this_user(descriptor_)) give_up("it belongs to another user");
    set_timeout();
}

Connection::Connection(int descriptor) : descriptor_(descriptor) {
    set_timeout();
}

Connection::~Connection() {
    if (descriptor_ >= 0) close(descriptor_);
}

void Connection::set_timeout() const {
    const timeval most{seconds_to_take_a_message, 0};
    setsockopt(descriptor_, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
}

void Connection::send(std::string_view bytes) {
    const std::lock_guard lock(sending_);
    while (!bytes.empty()) {
        const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return end();
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
}

std::string Connection::receive() {
    std::string bytes(1 << 16, '\0');
    for (;;) {
        const ssize_t received = recv(descriptor_, bytes.data(), bytes.size(), 0);
        if (received < 0 && errno == EINTR) continue;
        bytes.resize(received > 0 ? static_cast<std::size_t>(received) : 0);
        return bytes;
    }
}

void Connection::end() {
    shutdown(descriptor_, SHUT_RDWR);
}

void Connection::forget() {
    close(descriptor_);
    descriptor_ = -1;
}

}  // namespace cudasim::debugger
