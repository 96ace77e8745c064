// See server.h.
#include "debugger/server/server.h"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "debugger/control/control.h"
#include "debugger/dap/adapter.h"
#include "debugger/dap/framing.h"
#include "debugger/server/connection.h"
#include "debugger/server/listener.h"
#include "debugger/server/message_loop.h"

namespace cudasim::debugger {
namespace {

/// Threads of the server. Signals are the program's own threads' business.
template <typename Work>
void start_thread(Work&& work) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread(std::forward<Work>(work)).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

struct Server::Parts {
    Parts()
        : adapter([this](const std::string& message) {
              if (const auto client = current()) client->send(framed(message));
          }) {
        adapter.session().client_is_there.store(false);
    }

    std::shared_ptr<Connection> current() {
        const std::lock_guard lock(mutex);
        return connection;
    }

    void begin(std::shared_ptr<Connection> client) {
        {
            const std::lock_guard lock(mutex);
            connection = client;
        }
        for_child.store(client.get());
        adapter.begin();
        had_client.store(true);
        start_thread([this, client] { read(*client); });
    }

    /// Until the client is gone.
    void read(Connection& client) {
        read_messages(adapter, [&] { return client.receive(); });
        client.end();
        for_child.store(nullptr);
        const std::lock_guard lock(mutex);
        connection.reset();
    }

    void accept_clients() {
        for (int socket = listener->accept(); socket >= 0; socket = listener->accept()) {
            auto client = std::make_shared<Connection>(socket);
            // The one before may be about to go.
            for (int tries = 0; current() && tries < 100; ++tries)
                std::this_thread::sleep_for(std::chrono::milliseconds(10));
            if (current()) {
                client->send(framed(R"({"seq":1,"type":"event","event":"output","body":{"category":)"
                                    R"("important","output":"another debugger is attached\n"}})"));
                client->end();
                continue;
            }
            begin(std::move(client));
        }
    }

    Adapter adapter;
    std::mutex mutex;
    std::shared_ptr<Connection> connection;       ///< of the client that is served
    std::atomic<Connection*> for_child{nullptr};  ///< the same, without the lock
    std::unique_ptr<Listener> listener;           ///< where further clients may come
    std::atomic<bool> had_client{false}, ended{false};
};

namespace {

std::atomic<Server*> the_server{nullptr};
std::mutex connecting;

}  // namespace

Server* Server::running() {
    Server* server = the_server.load();
    if (server == nullptr || server->parts_->ended.load()) return nullptr;
    return server->parts_->listener || server->has_client() ? server : nullptr;
}

Server::Server() : parts_(new Parts) {}

/// @param how called with the parts; throws where there is nobody
template <typename Begin>
Server& Server::begin(Begin&& how) {
    const std::lock_guard lock(connecting);
    if (running() != nullptr) throw std::runtime_error("this process has a debugger already");
    static const int registered = pthread_atfork(nullptr, nullptr, &Server::forget_in_child);
    (void)registered;
    auto server = std::unique_ptr<Server>(new Server);  // launches may know an earlier one
    how(*server->parts_);
    the_server.store(server.get());
    return *server.release();
}

Server& Server::connect(const std::string& path) {
    return begin([&](Parts& parts) { parts.begin(std::make_shared<Connection>(path)); });
}

Server& Server::serve(int descriptor) {
    return begin([&](Parts& parts) { parts.begin(std::make_shared<Connection>(descriptor)); });
}

Server& Server::listen(const std::string& path) {
    return begin([&](Parts& parts) {
        parts.listener = std::make_unique<Listener>(path);
        start_thread([&parts] { parts.accept_clients(); });
    });
}

/// The child has neither the threads nor the launches; its parent goes on with the client. Locks may be held
/// by threads that are not there.
void Server::forget_in_child() {
    if (Server* server = the_server.exchange(nullptr)) {
        server->parts_->adapter.session().client_is_there.store(false);
        if (Connection* client = server->parts_->for_child.load()) client->forget();
        if (server->parts_->listener) server->parts_->listener->forget();
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

void Server::set_program(std::string name) {
    parts_->adapter.set_program(std::move(name), parts_->listener ? "attach" : "launch");
}

bool Server::has_client() const {
    return parts_->adapter.session().client_is_there.load();
}

void Server::set_expression_compiler(ExpressionCompiler* compiler) {
    parts_->adapter.session().expression_compiler.store(compiler);
}

void Server::keep_history(std::uint64_t bytes) {
    parts_->adapter.session().history_bytes.store(bytes);
}

bool Server::may_begin() const {
    return parts_->adapter.is_configured() || (parts_->had_client.load() && !has_client());
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
    parts_->ended.store(true);
    if (parts_->listener) parts_->listener->end();
    parts_->adapter.terminated();
    parts_->adapter.session().end();
    if (const auto client = parts_->current()) client->end();
}

}  // namespace cudasim::debugger
