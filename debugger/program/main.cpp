// cudasim-debug-server: serves a recorded launch over the Debug Adapter Protocol, without Python.
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>

#include "debugger/cores/core_server.h"
#include "library/library.h"

namespace {

using cudasim::debugger::CoreServer;
using cudasim::debugger::PipeChannel;
using cudasim::debugger::SocketChannel;

/// Of what cannot be done at all, and of wrong arguments.
constexpr int cannot_serve = 2;

/// 128 random bits in hexadecimal digits.
std::string new_token() {
    std::array<unsigned char, 16> bytes{};
    if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
        throw std::runtime_error("there are no random numbers for a token");
    std::string token;
    for (const unsigned char byte : bytes) {
        std::array<char, 3> digits{};
        std::snprintf(digits.data(), digits.size(), "%02x", byte);
        token += digits.data();
    }
    return token;
}

/// Clients of standard input and output. Whatever else writes to standard output writes to standard error.
int serve_stdio(CoreServer& server) {
    const int output = dup(STDOUT_FILENO);
    if (output < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        throw std::runtime_error(std::string("standard output: ") + std::strerror(errno));
    PipeChannel channel(STDIN_FILENO, output);
    return server.serve(channel).value_or(cannot_serve);
}

int serve_socket(CoreServer& server, const std::string& path) {
    SocketChannel channel(path);
    return server.serve(channel).value_or(cannot_serve);
}

/// The first client that gives the token.
int serve_port(CoreServer& server, std::uint16_t port) {
    const auto fail = [&](const char* what) {
        throw std::runtime_error(std::string(what) + " port " + std::to_string(port) + ": " +
                                 std::strerror(errno));
    };
    const int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listening < 0) fail("cannot open");
    const int yes = 1;
    (void)setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    socklen_t size = sizeof address;
    if (bind(listening, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listening, 4) != 0 ||
        getsockname(listening, reinterpret_cast<sockaddr*>(&address), &size) != 0)
        fail("cannot listen on");
    const std::string token = new_token();
    std::printf("listening on 127.0.0.1:%u, token %s\n", static_cast<unsigned>(ntohs(address.sin_port)),
                token.c_str());
    std::fflush(stdout);
    for (;;) {
        const int client = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
        if (client < 0 && errno == EINTR) continue;
        if (client < 0) fail("cannot accept clients on");
        SocketChannel channel(client);
        if (const std::optional<int> status = server.serve(channel, token)) return *status;
    }
}

int run(int argc, char** argv) {
    std::string file, socket_path;
    std::optional<std::uint64_t> launch;
    std::optional<std::uint16_t> port;
    bool stdio = false;
    CLI::App app(
        "Serves a launch of a core file, or of a file of `cudasim record`, over the Debug Adapter Protocol. "
        "The exit status is 0 where the launch has ended as it was recorded, 1 where it has not, and 2 where "
        "it "
        "cannot be run.",
        "cudasim-debug-server");
    app.set_version_flag("--version", std::string(cudasim::library::version()));
    app.add_option("--core", file, "the file")->required()->type_name("FILE");
    app.add_option("--launch", launch, "which launch of the file; else the first that failed")
        ->type_name("N");
    auto* ways = app.add_option_group("client", "where the client is");
    ways->add_flag("--stdio", stdio, "at standard input and output; this is the default");
    ways->add_option("--connect", socket_path, "it listens at a Unix socket of the same user")
        ->type_name("SOCKET");
    ways->add_option(
            "--port", port,
            "it connects to a port of 127.0.0.1, 0 for any, and attaches with the token that is printed")
        ->type_name("N");
    ways->require_option(0, 1);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : cannot_serve;
    }
    try {
        CoreServer server(file, launch);
        if (port) return serve_port(server, *port);
        if (!socket_path.empty()) return serve_socket(server, socket_path);
        return serve_stdio(server);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "cudasim-debug-server: %s: %s\n", file.c_str(), error.what());
        return cannot_serve;
    }
}

}  // namespace

int main(int argc, char** argv) {
    (void)std::signal(SIGPIPE, SIG_IGN);
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "cudasim-debug-server: %s\n", error.what());
        return cannot_serve;
    }
}
