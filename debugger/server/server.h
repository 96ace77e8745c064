// The debug server of this process: at most one client at a time, and threads of the host that read what it
// sends and wait for the next one. They run no Python code and take no GIL.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "debugger/control/session.h"
#include "simulator/execution/stop.h"

namespace cudasim::debugger {

class Server {
  public:
    /// The process's; null where there is none, its only client has gone, or the process was forked.
    [[nodiscard]] static Server* running();

    /// Connects to the client that listens at this Unix socket. Launches that begin from now on are debugged.
    /// @throws std::runtime_error when nobody listens there, or there is a server already
    static Server& connect(const std::string& path);
    /// Serves the client at the other end of a connected socket, which it owns. @throws as connect()
    static Server& serve(int descriptor);
    /// Clients may connect to this Unix socket at any time, one after the other. Launches that begin from now
    /// on can be stopped. @throws std::runtime_error when it cannot be made, or there is a server already
    static Server& listen(const std::string& path);

    /// What stops a launch that begins now.
    /// @param sources that its kernel was compiled of
    [[nodiscard]] std::unique_ptr<execution::StopHandler> handler(
        const std::vector<image::SourceFile>& sources);

    void set_evaluator(Evaluator* evaluator);
    void set_expression_compiler(ExpressionCompiler* compiler);
    /// What one launch may keep so that it can go back. @param bytes 0: it cannot
    void keep_history(std::uint64_t bytes);
    /// What clients are told of the program.
    void set_program(std::string name);
    [[nodiscard]] bool has_client() const;
    /// Whether a client has said all that the program is to begin with, or has gone.
    [[nodiscard]] bool may_begin() const;
    /// The next launch stops at its first statement.
    void stop_at_entry();
    /// Ctrl-C during a launch: it stops. Nothing happens while one is stopped.
    void interrupt();
    /// The client is told a line.
    void tell(const std::string& line);
    /// The program ends: the client is told, and the connection closed. No further one comes.
    void end();

  private:
    struct Parts;
    Server();
    template <typename Begin>
    static Server& begin(Begin&& how);
    static void forget_in_child();

    Parts* parts_;  ///< lives as long as the process: its threads are not waited for
};

}  // namespace cudasim::debugger
