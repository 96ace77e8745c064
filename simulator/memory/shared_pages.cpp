// Moving pages between the arena and its memory file, and fork().
#include "simulator/memory/shared_pages.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <system_error>
#include <vector>

#include "simulator/memory/host_guard.h"

namespace cudasim::memory {

namespace {

constexpr std::uint64_t page_bytes = 4096;

/// Every arena that shares something, and the lock that guards them all; fork() holds it.
struct Registry {
    std::mutex mutex;
    std::vector<SharedPages*> all;
};

Registry& registry() {
    static Registry* const only = new Registry;  // never destroyed: arenas may outlive static destruction
    return *only;
}

[[noreturn]] void fail(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

void write_all(int file, const void* data, std::uint64_t bytes, std::uint64_t offset) {
    const auto* rest = static_cast<const char*>(data);
    while (bytes > 0) {
        const ssize_t written = pwrite(file, rest, bytes, static_cast<off_t>(offset));
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) fail("writing shared device memory");
        rest += written;
        bytes -= static_cast<std::uint64_t>(written);
        offset += static_cast<std::uint64_t>(written);
    }
}

}  // namespace

SharedPages::SharedPages(std::uint64_t base, std::uint64_t bytes) : base_(base), bytes_(bytes) {}

SharedPages::~SharedPages() {
    if (file_ < 0) return;
    const std::lock_guard lock(registry().mutex);
    std::erase(registry().all, this);
    close(file_);
}

void SharedPages::open_file() {
    if (file_ >= 0) return;
    static const bool handled =
        pthread_atfork([] { registry().mutex.lock(); }, [] { registry().mutex.unlock(); }, in_child) == 0;
    if (!handled) fail("pthread_atfork");
    const int file = memfd_create("cudasim device memory", MFD_CLOEXEC);
    if (file < 0) fail("memfd_create");
    if (ftruncate(file, static_cast<off_t>(bytes_)) != 0) {
        const int error = errno;
        close(file);
        errno = error;
        fail("ftruncate");
    }
    file_ = file;
    registry().all.push_back(this);
}

SharedPages::Pages SharedPages::pages_of(std::uint64_t address, std::uint64_t bytes) const {
    return {(address - base_) / page_bytes, (address - base_ + bytes + page_bytes - 1) / page_bytes};
}

/// The pages but for a first and a last one that belong to a neighbour as well.
SharedPages::Pages SharedPages::without_shared(Pages pages) const {
    const auto is_shared = [this](std::uint64_t page) {
        return std::any_of(shared_.begin(), shared_.end(), [page](const auto& entry) {
            return page >= entry.second.first && page < entry.second.end;
        });
    };
    if (!pages.empty() && is_shared(pages.first)) ++pages.first;
    if (!pages.empty() && is_shared(pages.end - 1)) --pages.end;
    return pages;
}

SharedPages::Place SharedPages::share(std::uint64_t address, std::uint64_t bytes) {
    const std::lock_guard lock(registry().mutex);
    open_file();
    const Pages pages = pages_of(address, bytes);
    if (!shared_.contains(address)) {
        if (const Pages fresh = without_shared(pages); !fresh.empty()) {
            auto* memory = reinterpret_cast<void*>(base_ + fresh.first * page_bytes);
            const std::uint64_t size = (fresh.end - fresh.first) * page_bytes;
            write_all(file_, memory, size, fresh.first * page_bytes);
            if (mmap(memory, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_,
                     static_cast<off_t>(fresh.first * page_bytes)) == MAP_FAILED)
                fail("mapping shared device memory");
        }
        shared_.emplace(address, pages);
    }
    return {file_, pages.first * page_bytes, (pages.end - pages.first) * page_bytes,
            (address - base_) % page_bytes};
}

/// Anonymous memory in the place of pages of the file; false when the system refuses it, and they stay
/// shared.
bool SharedPages::make_private(Pages pages, bool keep_contents) const {
    if (pages.empty()) return true;
    auto* memory = reinterpret_cast<void*>(base_ + pages.first * page_bytes);
    const std::uint64_t size = (pages.end - pages.first) * page_bytes;
    void* own =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (own == MAP_FAILED) return false;
    if (keep_contents) std::memcpy(own, memory, size);
    return mremap(own, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, memory) != MAP_FAILED;
}

void SharedPages::unshare(std::uint64_t address, std::uint64_t bytes) {
    const std::lock_guard lock(registry().mutex);
    if (shared_.erase(address) == 0) return;
    const Pages pages = without_shared(pages_of(address, bytes));
    if (pages.empty()) return;
    // Others may have live memory on the first and the last page; between them is nothing but what was freed.
    make_private({pages.first, pages.first + 1}, true);
    if (pages.end - pages.first > 1) make_private({pages.end - 1, pages.end}, true);
    if (pages.end - pages.first > 2) make_private({pages.first + 1, pages.end - 1}, false);
    // Gives the file's memory back, and leaves a hole by which it is seen that the memory was freed.
    fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(pages.first * page_bytes),
              static_cast<off_t>((pages.end - pages.first) * page_bytes));
}

void SharedPages::in_child() {
    const host_guard::EngineAccess access;
    for (SharedPages* each : registry().all) {
        for (const auto& [address, pages] : each->shared_) each->make_private(pages, true);
        each->shared_.clear();
        close(each->file_);
        each->file_ = -1;
    }
    registry().all.clear();
    registry().mutex.unlock();
}

}  // namespace cudasim::memory
