// A Unix stream socket that clients of the same user connect to.
#pragma once

#include <atomic>
#include <string>

namespace cudasim::debugger {

class Listener {
  public:
    /// Makes the socket, which nobody else may use. One that a process left there is replaced.
    /// @throws std::runtime_error that says why there is none
    explicit Listener(std::string path);
    ~Listener() { end(); }
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    /// The next client's socket, which the caller owns; -1: it has ended. One thread calls it. Clients of
    /// other users are sent away.
    [[nodiscard]] int accept();
    /// Removes the socket; accept() returns.
    void end();
    /// In a forked child: forgets the socket, which is its parent's.
    void forget();

  private:
    std::string path_;
    std::atomic<int> descriptor_{-1};
};

}  // namespace cudasim::debugger
