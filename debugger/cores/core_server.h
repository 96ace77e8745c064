// A debug server for one recorded launch (simulator/driver/launch_record.h): a core file, or a launch of
// `cudasim record`. It needs no front end, and so no Python.
//
//   CoreServer server("core.cudasim", std::nullopt);   // reads the record
//   SocketChannel channel(path);
//   int status = server.serve(channel);                // runs the launch for one client, to its end
//
// The launch runs on the calling thread, on memory as it was recorded, and stops where it fails; one that did
// not fail stops at the entry of its kernel. A file is believed nothing (record_file.h, unknown_origin.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "debugger/cores/channel.h"

namespace cudasim::debugger {

class CoreServer {
  public:
    /// @param launch its number in the file; else the first that failed, or the first
    /// @throws std::runtime_error that says why it cannot be debugged
    CoreServer(const std::filesystem::path& file, std::optional<std::uint64_t> launch);
    ~CoreServer();
    CoreServer(const CoreServer&) = delete;
    CoreServer& operator=(const CoreServer&) = delete;

    /// "#2 saxpy<<<(4, 1, 1), (256, 1, 1)>>>"
    [[nodiscard]] const std::string& headline() const;

    /// Serves a client until it has gone or the launch is over, which runs anew for each one. The channel is
    /// used by a thread of this object's until then, and ends.
    /// @param token that the client has to give; empty: none
    /// @return 0: it has ended as recorded; 1: otherwise, or the client has gone; 2: it cannot be run;
    /// nothing where the client has not given the token
    std::optional<int> serve(Channel& channel, const std::string& token = {});

  private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace cudasim::debugger
