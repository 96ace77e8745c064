// See serving.h.
#include "gpu_backend/runner/serving.h"

#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>

#include "gpu_backend/runner/execution.h"
#include "gpu_backend/runner/messages.h"
#include "simulator/image/byte_stream.h"

namespace cudasim::runner {
namespace {

void hello(int socket, libcuda::Outcome outcome, const std::string& text, libcuda::Version capability) {
    image::ByteWriter writer;
    writer.number(static_cast<std::uint64_t>(libcuda::exit_code(outcome)), 1);
    writer.text(text);
    writer.number(static_cast<std::uint64_t>(capability.major), 1);
    writer.number(static_cast<std::uint64_t>(capability.minor), 1);
    (void)send(socket, 'H', writer.bytes());
}

/// Whether the other side has closed its end, or does so within this time.
bool is_closed(int socket, int milliseconds) {
    pollfd state{socket, POLLRDHUP, 0};
    return poll(&state, 1, milliseconds) > 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

/// Ends this process when the one that started it is gone, also while a call of the driver does not return. A
/// process that was forked from that one may hold its end of the socket open, so its id counts, too.
class Watch {
  public:
    explicit Watch(int socket) : thread_([this, socket, starter = getppid()] { run(socket, starter); }) {}
    ~Watch() {
        over_ = true;
        thread_.join();
    }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    [[nodiscard]] bool nobody_waits() const { return nobody_waits_; }

  private:
    void run(int socket, pid_t starter) {
        while (!is_closed(socket, 1000) && getppid() == starter)
            if (over_) return;
        nobody_waits_ = true;
        // The main thread ends by itself unless it is in a call of the driver.
        for (int i = 0; i < 500; ++i) {
            if (over_) return;
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        _exit(0);
    }

    std::atomic<bool> over_ = false, nobody_waits_ = false;
    std::thread thread_;
};

struct Request {
    double seconds = 0;
    records::GpuLaunch launch;
    records::GpuCode code;
};

/// @throws records::RecordError
Request request_from(std::span<const std::byte> bytes) {
    try {
        image::ByteReader reader(bytes);
        Request request;
        request.seconds = std::bit_cast<double>(reader.number(8));
        request.launch = records::launch_from(reader.take(reader.number(8)));
        request.code = records::code_from(reader.take(reader.number(8)));
        records::check_together(request.launch, request.code);
        return request;
    } catch (const image::StreamError& error) {
        throw records::RecordError(std::string("a message is malformed: ") + error.what());
    }
}

records::GpuResult run(Gpu& gpu, const Request& request, SharedMemory& memory, const Watch& watch) {
    const auto offsets = offsets_of(request.launch);
    if (!memory.follow(offsets.back()))
        return {.status = records::GpuStatus::failed, .message = "the launch's memory was not sent"};
    const Contents contents = [&](std::size_t i) {
        return memory.part(offsets[i], request.launch.memory[i].bytes);
    };
    Limits limits;
    limits.seconds = request.seconds;
    limits.nobody_waits = [&watch] { return watch.nobody_waits(); };
    return gpu.run(request.launch, request.code, contents, limits);
}

}  // namespace

int serve(int socket, int memory_file, const libcuda::Search& search) {
    const Watch watch(socket);
    std::optional<Gpu> gpu;
    try {
        gpu.emplace(search);
    } catch (const libcuda::Unavailable& unavailable) {
        hello(socket, unavailable.outcome, unavailable.what(), {});
        return libcuda::exit_code(unavailable.outcome);
    }
    hello(socket, libcuda::Outcome::found, gpu->properties().name, gpu->properties().compute_capability);
    SharedMemory memory(memory_file);
    while (const auto message = receive(socket)) {
        records::GpuResult result;
        try {
            result = run(*gpu, request_from(message->bytes), memory, watch);
        } catch (const records::RecordError& error) {
            result.status = records::GpuStatus::refused;
            result.message = error.what();
        } catch (const std::system_error& error) {
            result.status = records::GpuStatus::failed;
            result.message = std::string("cudasim-gpu-run: ") + error.what();
        } catch (const std::bad_alloc&) {
            result.status = records::GpuStatus::failed;
            result.message = "cudasim-gpu-run has no host memory left";
        }
        auto bytes = records::to_bytes(result);
        bytes.push_back(std::byte{gpu->is_lost() ? std::uint8_t{1} : std::uint8_t{0}});
        if (!send(socket, 'R', bytes)) break;
        // Without the driver's clean-up, which waits for kernels that never end.
        if (gpu->is_lost()) _exit(0);
    }
    return 0;
}

}  // namespace cudasim::runner
