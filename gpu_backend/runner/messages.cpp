// See messages.h.
#include "gpu_backend/runner/messages.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <system_error>

#include "simulator/image/byte_stream.h"

namespace cudasim::runner {
namespace {

constexpr std::uint64_t page = 4096;

bool send_all(int socket, const std::byte* data, std::size_t bytes) {
    while (bytes > 0) {
        const ssize_t part = ::send(socket, data, bytes, MSG_NOSIGNAL);
        if (part < 0 && errno == EINTR) continue;
        if (part <= 0) return false;
        data += part;
        bytes -= static_cast<std::size_t>(part);
    }
    return true;
}

bool receive_all(int socket, std::byte* data, std::size_t bytes) {
    while (bytes > 0) {
        const ssize_t part = ::recv(socket, data, bytes, 0);
        if (part < 0 && errno == EINTR) continue;
        if (part <= 0) return false;
        data += part;
        bytes -= static_cast<std::size_t>(part);
    }
    return true;
}

}  // namespace

bool send(int socket, char kind, std::span<const std::byte> bytes) {
    image::ByteWriter header;
    header.number(static_cast<unsigned char>(kind), 1);
    header.number(bytes.size(), 8);
    return send_all(socket, header.bytes().data(), header.bytes().size()) &&
           send_all(socket, bytes.data(), bytes.size());
}

std::optional<Message> receive(int socket) {
    std::vector<std::byte> header(9);
    if (!receive_all(socket, header.data(), header.size())) return std::nullopt;
    image::ByteReader reader(header);
    Message message;
    message.kind = static_cast<char>(reader.number(1));
    const std::uint64_t bytes = reader.number(8);
    if (bytes > most_message_bytes) return std::nullopt;
    message.bytes.resize(bytes);
    if (!receive_all(socket, message.bytes.data(), bytes)) return std::nullopt;
    return message;
}

std::vector<std::uint64_t> offsets_of(const records::GpuLaunch& launch) {
    std::vector<std::uint64_t> offsets{0};
    for (const auto& range : launch.memory)
        offsets.push_back(offsets.back() + (range.bytes + page - 1) / page * page);
    return offsets;
}

SharedMemory::~SharedMemory() {
    if (data_ != nullptr) munmap(data_, bytes_);
}

void SharedMemory::map(std::uint64_t bytes) {
    if (data_ != nullptr) munmap(data_, bytes_);
    data_ = nullptr;
    bytes_ = 0;
    if (bytes == 0) return;
    void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<std::byte*>(mapped);
    bytes_ = bytes;
}

void SharedMemory::grow(std::uint64_t bytes) {
    if (bytes <= bytes_) return;
    if (ftruncate(file_, static_cast<off_t>(bytes)) != 0)
        throw std::system_error(errno, std::generic_category(), "ftruncate");
    map(bytes);
}

bool SharedMemory::follow(std::uint64_t bytes) {
    struct stat status{};
    if (fstat(file_, &status) != 0) throw std::system_error(errno, std::generic_category(), "fstat");
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (size != bytes_) map(size);
    return bytes <= size;
}

}  // namespace cudasim::runner
