// See server.h.
#include "debugger/server/server.h"

#include <pthread.h>

#include <atomic>
#include <csignal>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "debugger/control/control.h"
#include "debugger/dap/adapter.h"
#include "debugger/dap/framing.h"
#include "debugger/server/connection.h"

namespace cudasim::debugger {

struct Server::Parts {
    explicit Parts(const std::string& path)
        : connection(path),
          adapter([this](const std::string& message) { connection.send(framed(message)); }) {}

    /// Until the client is gone.
    void read() {
        MessageReader reader;
        for (std::string bytes = connection.receive(); !bytes.empty(); bytes = connection.receive()) {
            reader.add(bytes);
            for (;;) {
                const MessageReader::Result result = reader.next();
                if (!result.complaint.empty()) adapter.complain(result.complaint);
                if (result.message) adapter.receive(*result.message);
                if (result.broken) connection.end();
                if (result.broken || (!result.message && result.complaint.empty())) break;
            }
        }
        adapter.session().end();
    }

    Connection connection;
    Adapter adapter;
};

namespace {

std::atomic<Server*> the_server{nullptr};
std::mutex connecting;

}  // namespace

Server* Server::running() {
    Server* server = the_server.load();
    return server != nullptr && server->parts_->adapter.session().client_is_there.load() ? server : nullptr;
}

Server::Server(const std::string& path) : parts_(new Parts(path)) {
    // Signals are the program's own threads' business.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([parts = parts_] { parts->read(); }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Server& Server::connect(const std::string& path) {
    const std::lock_guard lock(connecting);
    if (running() != nullptr) throw std::runtime_error("this process has a debugger already");
    static const int registered = pthread_atfork(nullptr, nullptr, &Server::forget_in_child);
    (void)registered;
    auto* server = new Server(path);  // launches may know an earlier one
    the_server.store(server);
    return *server;
}

/// The child has neither the thread nor the launches; its parent goes on with the client.
void Server::forget_in_child() {
    if (Server* server = the_server.exchange(nullptr)) {
        server->parts_->adapter.session().client_is_there.store(false);
        server->parts_->connection.forget();
    }
}

std::unique_ptr<execution::StopHandler> Server::handler(const std::vector<image::SourceFile>& sources) {
    Session& session = parts_->adapter.session();
    session.keep_sources(sources);
    return std::make_unique<Control>(session);
}

void Server::set_evaluator(Evaluator* evaluator) {
    parts_->adapter.session().evaluator.store(evaluator);
}

bool Server::may_begin() const {
    return parts_->adapter.is_configured() || !parts_->adapter.session().client_is_there.load();
}

void Server::stop_at_entry() {
    parts_->adapter.session().stop_at_entry.store(true);
}

void Server::interrupt() {
    Session& session = parts_->adapter.session();
    if (!session.mailbox.post([](Control* /*control*/) {})) session.pause();
}

void Server::tell(const std::string& line) {
    parts_->adapter.output(line);
}

void Server::end() {
    parts_->adapter.terminated();
    parts_->adapter.session().end();
    parts_->connection.end();
}

}  // namespace cudasim::debugger
