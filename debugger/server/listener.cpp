// See listener.h.
#include "debugger/server/listener.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "debugger/server/connection.h"

namespace cudasim::debugger {

Listener::Listener(std::string path) : path_(std::move(path)) {
    const auto fail = [&](const std::string& why) {
        if (const int descriptor = descriptor_.exchange(-1); descriptor >= 0) close(descriptor);
        throw std::runtime_error("debuggers cannot attach at " + path_ + ": " + why);
    };
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path_.size() >= sizeof address.sun_path) fail("the path is too long for a socket");
    path_.copy(address.sun_path, path_.size());
    descriptor_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor_ < 0) fail(std::strerror(errno));
    struct stat there{};
    if (lstat(path_.c_str(), &there) == 0 && S_ISSOCK(there.st_mode)) (void)unlink(path_.c_str());
    // Before there is a file of it: it is made with these permissions.
    if (fchmod(descriptor_, S_IRUSR | S_IWUSR) != 0 ||
        bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        fail(std::strerror(errno));
    if (chmod(path_.c_str(), S_IRUSR | S_IWUSR) != 0 || listen(descriptor_, 4) != 0) {
        const std::string why = std::strerror(errno);
        (void)unlink(path_.c_str());
        fail(why);
    }
}

int Listener::accept() {
    for (;;) {
        const int listening = descriptor_.load();
        if (listening < 0) return -1;
        const int client = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
        if (client < 0) {
            if (errno == EINTR || errno == ECONNABORTED) continue;
            if (descriptor_.load() < 0) return -1;
            if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
                usleep(100'000);  // until the program has closed some
                continue;
            }
            return -1;
        }
        if (is_of_this_user(client)) return client;
        close(client);
    }
}

void Listener::end() {
    const int descriptor = descriptor_.exchange(-1);
    if (descriptor < 0) return;
    (void)unlink(path_.c_str());
    shutdown(descriptor, SHUT_RDWR);  // wakes accept()
    close(descriptor);
}

void Listener::forget() {
    if (const int descriptor = descriptor_.exchange(-1); descriptor >= 0) close(descriptor);
}

}  // namespace cudasim::debugger
