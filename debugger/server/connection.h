// A Unix stream socket to a client of the same user.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

namespace cudasim::debugger {

/// Whether the process at the other end of a Unix socket runs as this user.
[[nodiscard]] bool is_of_this_user(int descriptor);

class Connection {
  public:
    /// @throws std::runtime_error that says why there is none
    explicit Connection(const std::string& path);
    /// A socket that is connected already; owns it.
    explicit Connection(int descriptor);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// Whole, from any thread. A client that takes nothing for ten seconds is gone: the connection ends.
    void send(std::string_view bytes);
    /// What has come; empty: the client is gone. One thread reads.
    [[nodiscard]] std::string receive();
    /// Both ends notice.
    void end();
    /// In a forked child: forgets the socket, which is its parent's.
    void forget();

  private:
    void set_timeout() const;

    int descriptor_ = -1;
    std::mutex sending_;
};

}  // namespace cudasim::debugger
