// Handles, and what of other processes is mapped here.
#include "simulator/driver/ipc.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>

#include "simulator/driver/host_ranges.h"
#include "simulator/driver/memory.h"

namespace cudasim::driver {

namespace {

constexpr auto open_call = "cuIpcOpenMemHandle";

/// The fields of a handle, as its bytes have them.
struct Fields {
    std::array<char, 8> magic{'c', 'u', 'd', 'a', 's', 'i', 'm', 0};
    std::uint32_t process = 0;
    std::uint32_t descriptor = 0;
    std::uint64_t inode = 0;
    std::uint64_t offset = 0;
    std::uint64_t mapped_bytes = 0;
    std::uint64_t inside = 0;
    std::uint64_t bytes = 0;
    std::uint64_t unused = 0;
};
static_assert(sizeof(Fields) == sizeof(IpcMemHandle));

Fields fields_of(const IpcMemHandle& handle) {
    Fields fields;
    std::memcpy(&fields, handle.data(), sizeof fields);
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const bool sound = fields.magic == Fields{}.magic && fields.offset % page == 0 &&
                       fields.offset < 1ULL << 62 && fields.mapped_bytes < 1ULL << 62 &&
                       fields.bytes <= fields.mapped_bytes &&
                       fields.inside <= fields.mapped_bytes - fields.bytes && fields.mapped_bytes != 0;
    if (!sound)
        throw Error(open_call, CudaResult::invalid_value,
                    "these 64 bytes are no handle of a simulated device's memory");
    return fields;
}

/// A file descriptor.
class File {
  public:
    explicit File(const std::string& path) : number_(::open(path.c_str(), O_RDWR | O_CLOEXEC)) {}
    ~File() {
        if (number_ >= 0) ::close(number_);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    [[nodiscard]] int number() const { return number_; }

  private:
    int number_;
};

/// Whether a page is missing: freeing an allocation leaves a hole in the file.
bool has_hole(int file, std::uint64_t offset, std::uint64_t bytes) {
    const off_t hole = ::lseek(file, static_cast<off_t>(offset), SEEK_HOLE);
    return hole < 0 || static_cast<std::uint64_t>(hole) < offset + bytes;
}

/// Memory of another process as it is mapped here.
struct Opened {
    std::shared_ptr<Context> context;
    void* mapping = nullptr;
    std::uint64_t mapped_bytes = 0;
    DevicePointer address = 0;
    unsigned count = 1;
};

/// A child that was forked has the parent's mappings, and opens its own.
using Key = std::tuple<IpcMemHandle, std::uint64_t, pid_t>;

struct OpenedMemory {
    std::mutex mutex;
    std::map<Key, Opened> by_key;
    std::map<DevicePointer, Key> by_address;
};
OpenedMemory& opened_memory() {
    static auto* const instance = new OpenedMemory;
    return *instance;
}

Opened open_memory(const std::shared_ptr<Context>& context, const Fields& fields) {
    const std::string process = "process " + std::to_string(fields.process);
    const File file("/proc/" + std::to_string(fields.process) + "/fd/" + std::to_string(fields.descriptor));
    const auto gone = [](const std::string& what) {
        return Error(open_call, CudaResult::invalid_value, what);
    };
    if (file.number() < 0) {
        if (errno == EACCES || errno == EPERM)
            throw gone(process + " may not be looked into: " + std::strerror(errno));
        throw gone(process + ", which shared this memory, has ended (or /proc is not there)");
    }
    struct stat status{};
    if (::fstat(file.number(), &status) != 0 || status.st_ino != fields.inode)
        throw gone(process + ", which shared this memory, has ended");
    if (has_hole(file.number(), fields.offset, fields.mapped_bytes))
        throw gone(process + " has freed this memory");
    void* const mapping = ::mmap(nullptr, fields.mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                                 file.number(), static_cast<off_t>(fields.offset));
    if (mapping == MAP_FAILED)
        throw Error(open_call, CudaResult::map_failed,
                    "the memory of " + process + " cannot be mapped: " + std::strerror(errno));
    const DevicePointer address = reinterpret_cast<DevicePointer>(mapping) + fields.inside;
    try {
        in_call(open_call,
                [&] { context->engine()->device.adopt(address, fields.bytes, "memory of " + process); });
    } catch (...) {
        ::munmap(mapping, fields.mapped_bytes);
        throw;
    }
    return {context, mapping, fields.mapped_bytes, address};
}

}  // namespace

IpcMemHandle ipc_get_mem_handle(const std::shared_ptr<Context>& current, DevicePointer pointer) {
    constexpr auto call = "cuIpcGetMemHandle";
    if (HostRanges::of_this_process().find(pointer))
        throw Error(call, CudaResult::invalid_value,
                    "mapped and managed memory cannot be shared; use a device array");
    const auto shared =
        in_call(call, [&] { return owner_of(current, pointer)->engine()->device.share(pointer); });
    owner_of(current, pointer)->engine()->written_memory().shared_with_others(pointer);
    struct stat status{};
    if (::fstat(shared.file, &status) != 0)
        throw Error(call, CudaResult::unknown,
                    std::string("its memory file is gone: ") + std::strerror(errno));
    Fields fields;
    fields.process = static_cast<std::uint32_t>(::getpid());
    fields.descriptor = static_cast<std::uint32_t>(shared.file);
    fields.inode = status.st_ino;
    fields.offset = shared.offset;
    fields.mapped_bytes = shared.mapped_bytes;
    fields.inside = shared.inside;
    fields.bytes = shared.bytes;
    IpcMemHandle handle{};
    std::memcpy(handle.data(), &fields, sizeof fields);
    return handle;
}

std::uint32_t ipc_process(const IpcMemHandle& handle) {
    return fields_of(handle).process;
}

DevicePointer ipc_open_mem_handle(const std::shared_ptr<Context>& context, const IpcMemHandle& handle) {
    const Fields fields = fields_of(handle);
    if (fields.process == static_cast<std::uint32_t>(::getpid()))
        throw Error(open_call, CudaResult::invalid_context,
                    "the memory is this process's own; use the array itself");
    auto& memory = opened_memory();
    const Key key{handle, context->id(), ::getpid()};
    const std::lock_guard lock(memory.mutex);
    if (const auto found = memory.by_key.find(key); found != memory.by_key.end()) {
        ++found->second.count;
        return found->second.address;
    }
    Opened opened = open_memory(context, fields);
    const DevicePointer address = opened.address;
    memory.by_key.emplace(key, std::move(opened));
    memory.by_address[address] = key;
    return address;
}

void ipc_close_mem_handle(DevicePointer pointer) {
    constexpr auto call = "cuIpcCloseMemHandle";
    auto& memory = opened_memory();
    const std::lock_guard lock(memory.mutex);
    const auto found = memory.by_address.find(pointer);
    if (found == memory.by_address.end())
        throw Error(call, CudaResult::invalid_value,
                    "no memory of another process is open at " + hexadecimal(pointer));
    Opened& opened = memory.by_key.at(found->second);
    if (--opened.count != 0) return;
    const Opened last = std::move(opened);
    memory.by_key.erase(found->second);
    memory.by_address.erase(found);
    in_call(call, [&] { last.context->engine()->free(pointer); });
    ::munmap(last.mapping, last.mapped_bytes);
}

}  // namespace cudasim::driver
