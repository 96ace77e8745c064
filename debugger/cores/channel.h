// What a core server talks through: a socket, or standard input and output.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "debugger/server/connection.h"

namespace cudasim::debugger {

class Channel {
  public:
    Channel() = default;
    virtual ~Channel() = default;
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;
    /// Whole, from any thread. Where the client takes nothing the channel ends.
    virtual void send(std::string_view bytes) = 0;
    /// What has come; empty: the client is gone. One thread reads.
    [[nodiscard]] virtual std::string receive() = 0;
    /// Nothing more is sent or received.
    virtual void end() = 0;
};

class SocketChannel final : public Channel {
  public:
    /// A Unix socket of the same user, at which a client listens. @throws std::runtime_error
    explicit SocketChannel(const std::string& path) : connection_(path) {}
    /// A socket that is connected already; owns it.
    explicit SocketChannel(int descriptor) : connection_(descriptor) {}
    void send(std::string_view bytes) override { connection_.send(bytes); }
    [[nodiscard]] std::string receive() override { return connection_.receive(); }
    void end() override { connection_.end(); }

  private:
    Connection connection_;
};

/// Two descriptors, such as pipes; owns neither. The process must ignore SIGPIPE.
class PipeChannel final : public Channel {
  public:
    PipeChannel(int input, int output) : input_(input), output_(output) {}
    void send(std::string_view bytes) override;
    [[nodiscard]] std::string receive() override;
    void end() override;

  private:
    int input_, output_;
    std::mutex sending_;
    bool ended_ = false;  ///< guarded by sending_
};

}  // namespace cudasim::debugger
