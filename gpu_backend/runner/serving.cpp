// See serving.h.
#include "gpu_backend/runner/serving.h"

#include <poll.h>
#include <unistd.h>

#include <bit>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

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

/// Whether the other side has ended: it sends nothing while it waits for a result.
bool has_ended(int socket) {
    pollfd state{socket, POLLRDHUP, 0};
    return poll(&state, 1, 0) > 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

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

records::GpuResult run(Gpu& gpu, const Request& request, SharedMemory& memory, int socket) {
    const auto offsets = offsets_of(request.launch);
    if (!memory.follow(offsets.back()))
        return {.status = records::GpuStatus::failed, .message = "the launch's memory was not sent"};
    const Contents contents = [&](std::size_t i) {
        return memory.part(offsets[i], request.launch.memory[i].bytes);
    };
    Limits limits;
    limits.seconds = request.seconds;
    limits.nobody_waits = [socket] { return has_ended(socket); };
    return gpu.run(request.launch, request.code, contents, limits);
}

}  // namespace

int serve(int socket, int memory_file, const libcuda::Search& search) {
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
            result = run(*gpu, request_from(message->bytes), memory, socket);
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
