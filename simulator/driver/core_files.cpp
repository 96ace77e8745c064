// See core_files.h.
#include "simulator/driver/core_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>
#include <system_error>
#include <utility>

#include "simulator/driver/record_file.h"
#include "simulator/findings/writers.h"

namespace cudasim::driver {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view ending = ".cudasim";
constexpr std::size_t longest_kernel_name = 60;
/// Names that are tried, where other processes have left files.
constexpr unsigned most_names = 10'000;

std::string variable(const char* name) {
    const char* text = std::getenv(name);
    return text == nullptr ? "" : text;
}

std::string host_name() {
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "host";
}

/// A name of a kernel as a part of a file's name.
std::string file_word(std::string_view name) {
    std::string word;
    for (const char letter : name.substr(0, longest_kernel_name)) {
        const bool plain = (letter >= '0' && letter <= '9') || (letter >= 'A' && letter <= 'Z') ||
                           (letter >= 'a' && letter <= 'z');
        word += plain ? letter : '_';
    }
    return word;
}

std::string expanded(std::string_view pattern, std::string_view kernel) {
    std::string name;
    for (std::size_t at = 0; at < pattern.size(); ++at) {
        if (pattern[at] != '%' || at + 1 == pattern.size()) {
            name += pattern[at];
            continue;
        }
        switch (const char letter = pattern[++at]) {
            case 'h':
                name += file_word(host_name());
                break;
            case 'k':
                name += file_word(kernel);
                break;
            case 'p':
                name += std::to_string(getpid());
                break;
            case 't':
                name += std::to_string(std::time(nullptr));
                break;
            case '%':
                name += '%';
                break;
            default:
                name += '%';
                name += letter;
        }
    }
    return name;
}

/// A file beside the one to be written, for its user only. It is removed unless it has got its name.
class Unfinished {
  public:
    explicit Unfinished(const fs::path& folder) : path_((folder / ".core_XXXXXX").string()) {
        const int file = mkostemp(path_.data(), O_CLOEXEC);
        if (file < 0) throw RecordError(folder.string() + ": " + std::strerror(errno));
        close(file);
    }
    ~Unfinished() {
        if (!path_.empty()) unlink(path_.c_str());
    }
    Unfinished(const Unfinished&) = delete;
    Unfinished& operator=(const Unfinished&) = delete;

    void write(const LaunchRecord& record) const {
        RecordWriter writer(path_);
        writer.add(record);
        writer.close();
    }
    /// False where there is such a file already.
    [[nodiscard]] bool take_free_name(const fs::path& name) {
        if (link(path_.c_str(), name.c_str()) == 0) return true;
        if (errno == EEXIST) return false;
        // A file system without hard links.
        const int file = open(name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
        if (file < 0 && errno == EEXIST) return false;
        if (file < 0) throw RecordError(name.string() + ": " + std::strerror(errno));
        close(file);
        take_name(name);
        return true;
    }
    void take_name(const fs::path& name) {
        if (rename(path_.c_str(), name.c_str()) != 0)
            throw RecordError(name.string() + ": " + std::strerror(errno));
        path_.clear();
    }

  private:
    std::string path_;
};

}  // namespace

CoreSettings core_settings(const std::string& folder, std::uint64_t most_files, std::uint64_t most_bytes,
                           const std::string& version) {
    CoreSettings settings;
    settings.folder = folder;
    settings.most_files = most_files;
    settings.most_bytes = most_bytes;
    settings.version = version;
    const auto from_here = [](const fs::path& path) {  // the program may go to another folder
        std::error_code none;
        const fs::path absolute = fs::absolute(path, none);
        return none ? path : absolute;
    };
    if (!folder.empty()) settings.folder = from_here(folder);
    if (!folder.empty() || variable("CUDA_ENABLE_COREDUMP_ON_EXCEPTION") != "1") return settings;
    settings.folder = ".";
    settings.name = "core_%t_%h_%p";
    if (const fs::path named = variable("CUDA_COREDUMP_FILE"); !named.empty()) {
        if (named.has_parent_path()) settings.folder = expanded(named.parent_path().string(), "");
        if (named.has_filename())
            settings.name = named.extension() == ending ? named.stem().string() : named.filename().string();
    }
    settings.folder = from_here(settings.folder);
    return settings;
}

CoreFiles& CoreFiles::of_this_process() {
    static auto* files = new CoreFiles;  // launches of finalizers may come late
    return *files;
}

void CoreFiles::set(CoreSettings settings) {
    const std::lock_guard lock(mutex_);
    settings_ = std::move(settings);
    wanted_.store(!settings_.folder.empty() && settings_.most_files != 0);
}

CoreSettings CoreFiles::settings() const {
    const std::lock_guard lock(mutex_);
    return settings_;
}

CaptureOptions CoreFiles::capture_options() const {
    const std::lock_guard lock(mutex_);
    return {.only_failures = true, .most_bytes = settings_.most_bytes};
}

CoreFile CoreFiles::write(const LaunchRecord& record) {
    const std::lock_guard lock(mutex_);
    if (std::exchange(process_, getpid()) != getpid()) written_ = 0;
    if (written_ >= settings_.most_files) return {{}, {}, true};
    try {
        const fs::path folder = fs::absolute(settings_.folder).lexically_normal();
        fs::create_directories(folder);
        Unfinished file(folder);
        file.write(record);
        const std::string name = expanded(settings_.name, record.display_name);
        for (unsigned number = 1; number <= most_names; ++number) {
            const fs::path path =
                folder / (name + (number == 1 ? "" : "." + std::to_string(number)) + std::string(ending));
            if (!file.take_free_name(path)) continue;
            ++written_;
            return {path, {}, false};
        }
        return {{}, folder.string() + " has " + std::to_string(most_names) + " files of that name", false};
    } catch (const fs::filesystem_error& error) {
        return {{}, error.path1().string() + ": " + error.code().message(), false};
    } catch (const std::exception& error) {  // RecordError, or there is no memory
        return {{}, error.what(), false};
    }
}

void write_core(const fs::path& path, const LaunchRecord& record) {
    const fs::path whole = fs::absolute(path);
    Unfinished file(whole.parent_path());
    file.write(record);
    file.take_name(whole);
}

void write_core(const fs::path& path, LaunchRecord record, std::span<const findings::Finding> errors) {
    for (RecordedMemory& range : record.memory) {
        range.after.reset();
        range.after_hash.reset();
    }
    record.outcome = {};
    record.outcome.findings = findings::json_report(errors);
    write_core(path, record);
}

}  // namespace cudasim::driver
