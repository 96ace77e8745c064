// Reading /proc, /sys/fs/cgroup and the limits of the process.
#include "simulator/memory/host_memory.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace cudasim::memory {

namespace {

/// The beginning of a small file; empty when it cannot be read.
class SmallFile {
  public:
    explicit SmallFile(const char* path) {
        const int file = ::open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0) return;
        const ssize_t bytes = ::read(file, text_.data(), text_.size());
        ::close(file);
        size_ = bytes < 0 ? 0 : static_cast<std::size_t>(bytes);
    }
    [[nodiscard]] std::string_view text() const { return {text_.data(), size_}; }

  private:
    std::array<char, 8192> text_;
    std::size_t size_ = 0;
};

std::optional<std::uint64_t> number_in(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return std::nullopt;
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data() + first, text.data() + text.size(), value);
    return error == std::errc() ? std::optional(value) : std::nullopt;
}

/// The number behind `name` at the beginning of a line.
std::optional<std::uint64_t> number_named(std::string_view text, std::string_view name) {
    for (std::size_t at = 0; at < text.size();) {
        const std::string_view line = text.substr(at, text.find('\n', at) - at);
        if (line.starts_with(name)) return number_in(line.substr(name.size()));
        at += line.size() + 1;
    }
    return std::nullopt;
}

struct Group {
    std::uint64_t limit = ~std::uint64_t{0}, available = ~std::uint64_t{0};
};

using Path = std::array<char, 4096>;

SmallFile file_in(const Path& folder, const char* name) {
    std::array<char, std::tuple_size_v<Path> + 64> path;
    std::snprintf(path.data(), path.size(), "%s/%s", folder.data(), name);
    return SmallFile(path.data());
}

/// What the group's files call the same things in the two versions of control groups.
struct Names {
    const char *limit, *usage, *reclaimable;
};
constexpr Names version_2{"memory.max", "memory.current", "inactive_file"};
constexpr Names version_1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};

void look_at(const Path& folder, const Names& names, Group& tightest) {
    const auto limit = number_in(file_in(folder, names.limit).text());
    if (!limit) return;  // none, or "max"
    const std::uint64_t used = number_in(file_in(folder, names.usage).text()).value_or(0);
    // File pages that nobody used lately go first when the group runs out.
    const std::uint64_t reclaimable =
        number_named(file_in(folder, "memory.stat").text(), names.reclaimable).value_or(0);
    const std::uint64_t held = used - std::min(used, reclaimable);
    tightest.limit = std::min(tightest.limit, *limit);
    tightest.available = std::min(tightest.available, *limit - std::min(*limit, held));
}

/// The group and all above it; in a container its own folder is the root.
void look_at_all(const char* root, std::string_view group, const Names& names, Group& tightest) {
    for (;;) {
        Path folder;
        if (std::snprintf(folder.data(), folder.size(), "%s%.*s", root, static_cast<int>(group.size()),
                          group.data()) < static_cast<int>(folder.size()))
            look_at(folder, names, tightest);
        if (group.empty()) return;
        group = group.substr(0, group.rfind('/'));
    }
}

/// Lines of /proc/self/cgroup: "0::/path" in version 2, "4:memory:/path" in version 1.
Group control_group() {
    Group tightest;
    const SmallFile file("/proc/self/cgroup");
    std::string_view text = file.text();
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        const std::size_t first = line.find(':'), second = line.find(':', first + 1);
        if (first == std::string_view::npos || second == std::string_view::npos) continue;
        const std::string_view controllers = line.substr(first + 1, second - first - 1);
        std::string_view group = line.substr(second + 1);
        if (group == "/") group = {};
        if (controllers.empty())
            look_at_all("/sys/fs/cgroup", group, version_2, tightest);
        else if (controllers.find("memory") != std::string_view::npos)
            look_at_all("/sys/fs/cgroup/memory", group, version_1, tightest);
    }
    return tightest;
}

std::uint64_t page_bytes() {
    return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

std::uint64_t host_memory_limit() {
    const std::uint64_t machine = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * page_bytes();
    return std::min(machine, control_group().limit);
}

std::uint64_t host_memory_available() {
    const Group group = control_group();
    if (const auto kibibytes = number_named(SmallFile("/proc/meminfo").text(), "MemAvailable:"))
        return std::min(*kibibytes << 10, group.available);
    return std::min(host_memory_limit(), group.available);
}

std::optional<AddressLimit> address_limit() {
    std::optional<AddressLimit> tightest;
    const auto consider = [&](__rlimit_resource_t resource, unsigned field, const char* name) {
        rlimit limit{};
        if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
        // /proc/self/statm, in pages: size resident shared text 0 data 0.
        const SmallFile file("/proc/self/statm");
        std::string_view text = file.text();
        for (unsigned i = 0; i < field && !text.empty(); ++i)
            text.remove_prefix(std::min(text.size(), text.find(' ') + 1));
        const std::uint64_t used = number_in(text).value_or(0) * page_bytes();
        const std::uint64_t left = limit.rlim_cur - std::min<std::uint64_t>(limit.rlim_cur, used);
        if (!tightest || left < tightest->left) tightest = AddressLimit{limit.rlim_cur, left, name};
    };
    consider(RLIMIT_AS, 0, "ulimit -v");
    consider(RLIMIT_DATA, 5, "ulimit -d");
    return tightest;
}

std::string bytes_text(std::uint64_t bytes) {
    if (bytes < (1 << 20)) return std::to_string(bytes) + " bytes";
    return std::to_string(bytes >> 20) + " MiB";
}

std::string describe_host_memory() {
    const std::uint64_t available = host_memory_available();
    std::string host = "this host can give " + bytes_text(available - std::min(available, host_reserve));
    const auto limit = address_limit();
    if (!limit || limit->left > available) return host;
    return std::string(limit->name) + " allows this process " + bytes_text(limit->limit) + ", of which " +
           bytes_text(limit->left) + " are left";
}

}  // namespace cudasim::memory
