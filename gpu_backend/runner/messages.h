// What a process and the runner that it has started say to each other, over a socket. Contents of memory are
// in a file in memory that both map; a launch's ranges lie in it one behind the other, each at a multiple of
// 4096.
//
//   message  kind u8  bytes u64  then so many bytes. Numbers are little-endian.
//
//   'H' hello   runner, once: exit code u8 (libcuda/outcomes.h), text of the outcome or the GPU's name, its
//               compute capability u8 u8
//   'L' launch  to the runner: seconds as double u64, text of GpuLaunch, text of GpuCode
//   'R' result  runner: GpuResult; the contents are those after the launch. Behind it u8: 1 where the runner
//       ends
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "simulator/records/gpu_launch.h"

namespace cudasim::runner {

/// Most bytes of a message.
inline constexpr std::uint64_t most_message_bytes = 512 << 20;

struct Message {
    char kind = 0;
    std::vector<std::byte> bytes;
};

/// Sends a whole message. False where nobody reads any more.
[[nodiscard]] bool send(int socket, char kind, std::span<const std::byte> bytes);

/// The next message; nullopt where the other side has ended, or sent what is no message.
[[nodiscard]] std::optional<Message> receive(int socket);

/// Offsets of the launch's ranges in the file in memory, and behind them the end.
[[nodiscard]] std::vector<std::uint64_t> offsets_of(const records::GpuLaunch& launch);

/// A file in memory, mapped. Grows on demand.
class SharedMemory {
  public:
    /// @param file belongs to the caller
    explicit SharedMemory(int file) : file_(file) {}
    ~SharedMemory();
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;

    /// Makes the file at least this long and maps all of it. @throws std::system_error, std::bad_alloc
    void grow(std::uint64_t bytes);
    /// Maps the file as long as it is. False where that is less than `bytes`. @throws std::system_error
    [[nodiscard]] bool follow(std::uint64_t bytes);
    [[nodiscard]] std::uint64_t size() const { return bytes_; }
    [[nodiscard]] std::span<std::byte> part(std::uint64_t offset, std::uint64_t bytes) {
        return {data_ + offset, bytes};
    }

  private:
    void map(std::uint64_t bytes);
    int file_;
    std::byte* data_ = nullptr;
    std::uint64_t bytes_ = 0;
};

}  // namespace cudasim::runner
