// The debug server of this process: a connection to one client, and a thread of the host that reads what it
// sends. The thread runs no Python code and takes no GIL.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "debugger/control/session.h"
#include "simulator/execution/stop.h"

namespace cudasim::debugger {

class Server {
  public:
    /// The process's; null where there is none, its client has gone, or the process was forked.
    [[nodiscard]] static Server* running();

    /// Connects to the client that listens at this Unix socket. Launches that begin from now on are debugged.
    /// @throws std::runtime_error when nobody listens there, or there is a server already
    static Server& connect(const std::string& path);

    /// What stops a launch that begins now.
    /// @param sources that its kernel was compiled of
    [[nodiscard]] std::unique_ptr<execution::StopHandler> handler(
        const std::vector<image::SourceFile>& sources);

    void set_evaluator(Evaluator* evaluator);
    /// Whether the client has said all that the program is to begin with, or has gone.
    [[nodiscard]] bool may_begin() const;
    /// The next launch stops at its first statement.
    void stop_at_entry();
    /// Ctrl-C during a launch: it stops. Nothing happens while one is stopped.
    void interrupt();
    /// The client is told a line.
    void tell(const std::string& line);
    /// The program ends: the client is told, and the connection closed.
    void end();

  private:
    struct Parts;
    explicit Server(const std::string& path);
    static void forget_in_child();

    Parts* parts_;  ///< lives as long as the process: its thread is not waited for
};

}  // namespace cudasim::debugger
