// See cache_folder.h. Plain system calls on a folder's descriptor, so that what is checked is what is used.
#include "simulator/jit/cache_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <utility>

namespace cudasim::jit {
namespace {

constexpr std::string_view entry_suffix = ".kernel";
constexpr std::string_view unfinished_prefix = "new-";
constexpr std::time_t unfinished_seconds = 3600;
/// The whole folder is looked at again after so many writes: about 1 µs for each entry there, against the
/// tens of milliseconds that compiled each of them.
constexpr unsigned writes_between_looks = 32;

class Descriptor {
  public:
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    explicit operator bool() const { return number_ >= 0; }
    [[nodiscard]] int number() const { return number_; }
    int release() { return std::exchange(number_, -1); }

  private:
    int number_;
};

/// Whether a file belongs to the user and nobody else may write it.
bool private_to_user(const struct stat& status) {
    return status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

Descriptor open_folder(const std::string& path) {
    Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat status{};
    if (folder && (::fstat(folder.number(), &status) != 0 || !private_to_user(status))) return Descriptor(-1);
    return Descriptor(folder.release());
}

std::string file_name(std::string_view entry) {
    return std::string(entry) + std::string(entry_suffix);
}

void make_folders(const std::string& path) {
    for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
        (void)::mkdir(path.substr(0, end).c_str(), S_IRWXU);
        if (end == std::string::npos) return;
    }
}

bool write_all(int file, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(file, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return true;
}

/// Beyond RLIMIT_FSIZE the kernel sends SIGXFSZ, which ends the process.
bool within_file_size_limit(std::size_t bytes) {
    rlimit limit{};
    return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
           (limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur);
}

std::string unfinished_name() {
    std::uint64_t number = 0;
    if (::getrandom(&number, sizeof number, 0) != sizeof number) return {};
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(number));
    return std::string(unfinished_prefix) + digits;
}

/// Calls visit(file name, status) for every regular file of the folder; false where it cannot be read.
template <class Visit>
bool for_each_file(int folder, Visit visit) {
    const int own = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* entries = own >= 0 ? ::fdopendir(own) : nullptr;
    if (!entries) {
        if (own >= 0) ::close(own);
        return false;
    }
    while (const dirent* entry = ::readdir(entries)) {
        struct stat status{};
        if (::fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode))
            visit(std::string_view(entry->d_name), status);
    }
    ::closedir(entries);
    return true;
}

struct EntryFile {
    std::string name;
    std::uint64_t bytes = 0;
    timespec used{};
};

bool used_before(const EntryFile& a, const EntryFile& b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
}

std::uint64_t length_of(int folder, const char* name) {
    struct stat status{};
    return ::fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0
               ? static_cast<std::uint64_t>(status.st_size)
               : 0;
}

FolderUsage usage_of(int folder) {
    FolderUsage usage;
    for_each_file(folder, [&](std::string_view name, const struct stat& status) {
        if (!name.ends_with(entry_suffix)) return;
        ++usage.entries;
        usage.bytes += static_cast<std::uint64_t>(status.st_size);
    });
    usage.hits = length_of(folder, "hits");
    usage.misses = length_of(folder, "misses");
    return usage;
}

}  // namespace

void CacheFolder::make() const {
    make_folders(path_);
}

std::optional<FolderProblem> CacheFolder::problem() const {
    const Descriptor folder(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat status{};
    if (!folder || ::fstat(folder.number(), &status) != 0)
        return FolderProblem{false, path_ + ": " + std::strerror(errno)};
    if (status.st_uid != ::geteuid())
        return FolderProblem{true, path_ + " belongs to another user (" + std::to_string(status.st_uid) +
                                       ", not " + std::to_string(::geteuid()) + ")"};
    if (!private_to_user(status))
        return FolderProblem{true,
                             path_ + " may be written by others; take that away with: chmod go-w " + path_};
    return std::nullopt;
}

std::optional<std::vector<std::byte>> CacheFolder::read(std::string_view name) const {
    const Descriptor folder = open_folder(path_);
    if (!folder) return std::nullopt;
    const std::string file = file_name(name);
    // O_NONBLOCK: a FIFO in the place of an entry must not stop us.
    const Descriptor entry(
        ::openat(folder.number(), file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!entry) {
        if (errno == ELOOP)
            (void)::unlinkat(folder.number(), file.c_str(), 0);  // a link in the place of an entry
        return std::nullopt;
    }
    struct stat status{};
    if (::fstat(entry.number(), &status) != 0 || !S_ISREG(status.st_mode) || !private_to_user(status) ||
        static_cast<std::uint64_t>(status.st_size) > limit_) {
        (void)::unlinkat(folder.number(), file.c_str(), 0);
        return std::nullopt;
    }
    std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
    std::size_t filled = 0;
    while (filled < bytes.size()) {
        const ssize_t count = ::read(entry.number(), bytes.data() + filled, bytes.size() - filled);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return std::nullopt;
        filled += static_cast<std::size_t>(count);
    }
    (void)::futimens(entry.number(), nullptr);
    return bytes;
}

void CacheFolder::write(std::string_view name, std::span<const std::byte> bytes) {
    const Descriptor folder = open_folder(path_);
    if (!folder || bytes.size() > limit_ || !within_file_size_limit(bytes.size())) return;
    const std::string unfinished = unfinished_name();
    if (unfinished.empty()) return;
    bool whole = false;
    {
        const Descriptor entry(::openat(folder.number(), unfinished.c_str(),
                                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                        S_IRUSR | S_IWUSR));
        if (!entry) return;
        whole = write_all(entry.number(), bytes);
    }
    if (!whole ||
        ::renameat(folder.number(), unfinished.c_str(), folder.number(), file_name(name).c_str()) != 0) {
        (void)::unlinkat(folder.number(), unfinished.c_str(), 0);
        return;
    }
    keep_within_limit(bytes.size());
}

void CacheFolder::keep_within_limit(std::uint64_t added) {
    known_bytes_ += added;
    if (writes_until_look_ > 0 && known_bytes_ <= limit_) {
        --writes_until_look_;
        return;
    }
    const Descriptor folder = open_folder(path_);
    if (!folder) return;
    std::vector<EntryFile> entries;
    std::uint64_t bytes = 0;
    const std::time_t now = std::time(nullptr);
    for_each_file(folder.number(), [&](std::string_view name, const struct stat& status) {
        if (name.starts_with(unfinished_prefix) && status.st_mtim.tv_sec + unfinished_seconds < now)
            (void)::unlinkat(folder.number(), std::string(name).c_str(), 0);
        if (!name.ends_with(entry_suffix)) return;
        entries.push_back({std::string(name), static_cast<std::uint64_t>(status.st_size), status.st_mtim});
        bytes += entries.back().bytes;
    });
    if (bytes > limit_) {
        const std::uint64_t target = limit_ - limit_ / 10;  // room for the next ones
        std::sort(entries.begin(), entries.end(), used_before);
        for (const EntryFile& entry : entries) {
            if (bytes <= target) break;
            (void)::unlinkat(folder.number(), entry.name.c_str(), 0);
            bytes -= entry.bytes;
        }
    }
    known_bytes_ = bytes;
    writes_until_look_ = writes_between_looks;
}

void CacheFolder::remove(std::string_view name) const {
    if (const Descriptor folder = open_folder(path_))
        (void)::unlinkat(folder.number(), file_name(name).c_str(), 0);
}

void CacheFolder::count(bool hit) const {
    const Descriptor folder = open_folder(path_);
    const char* name = hit ? "hits" : "misses";
    if (!folder || !within_file_size_limit(length_of(folder.number(), name) + 1)) return;
    const Descriptor file(::openat(folder.number(), name,
                                   O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                                   S_IRUSR | S_IWUSR));
    const std::byte one{'.'};
    if (file) (void)write_all(file.number(), std::span(&one, 1));
}

FolderUsage CacheFolder::usage() const {
    const Descriptor folder = open_folder(path_);
    return folder ? usage_of(folder.number()) : FolderUsage{};
}

FolderUsage CacheFolder::clear() const {
    const Descriptor folder = open_folder(path_);
    if (!folder) return {};
    FolderUsage gone{0, 0, length_of(folder.number(), "hits"), length_of(folder.number(), "misses")};
    std::vector<EntryFile> files{{"hits"}, {"misses"}};
    for_each_file(folder.number(), [&](std::string_view name, const struct stat& status) {
        if (name.ends_with(entry_suffix) || name.starts_with(unfinished_prefix))
            files.push_back({std::string(name), static_cast<std::uint64_t>(status.st_size)});
    });
    for (const EntryFile& file : files) {
        const bool removed = ::unlinkat(folder.number(), file.name.c_str(), 0) == 0 || errno == ENOENT;
        if (!removed || !file.name.ends_with(entry_suffix)) continue;
        ++gone.entries;
        gone.bytes += file.bytes;
    }
    return gone;
}

}  // namespace cudasim::jit
