#include "tests/gpu_backend/libcuda/stand_in/settings.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <sstream>
#include <string_view>
#include <tuple>

#include "gpu_backend/libcuda/functions.h"

namespace cudasim::stand_in {

void refuse(const std::string& entry, const std::string& reason) {
    std::fprintf(stderr, "CUDASIM_TEST_LIBCUDA: '%s': %s\n", entry.c_str(), reason.c_str());
    std::abort();
}

namespace {

std::vector<std::string> parts_of(std::string_view text, std::string_view separators) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        const auto end = std::min(text.find_first_of(separators), text.size());
        const std::string_view part = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const auto first = part.find_first_not_of(' ');
        if (first != std::string_view::npos)
            parts.emplace_back(part.substr(first, part.find_last_not_of(' ') - first + 1));
    }
    return parts;
}

/// One entry, while it is being read.
class Entry {
  public:
    Entry(std::string text, Settings& settings) : text_(std::move(text)), settings_(settings) {
        const auto equals = text_.find('=');
        if (equals == std::string::npos) unknown();
        std::tie(name_, which_) = numbered(text_.substr(0, equals));
        value_ = text_.substr(equals + 1);
    }

    void take() {
        if (takes_call() || takes_launch()) return;
        if (which_ != 0) unknown();
        if (name_ == "missing") {
            if (!is_symbol(value_) && value_ != "all") unknown();
            settings_.missing.insert(value_);
        } else if (name_ == "version") {
            settings_.version = number<int>(value_);
        } else if (name_ == "devices") {
            settings_.devices = number<int>(value_);
        } else if (name_ == "capabilities") {
            settings_.capabilities = capabilities();
        } else if (name_ == "memory") {
            settings_.memory = number<std::uint64_t>(value_);
        } else if (name_ == "virtual_memory") {
            settings_.virtual_memory = flag();
        } else if (name_ == "refuse_hints") {
            settings_.refuse_hints = flag();
        } else if (name_ == "explain") {
            settings_.explain = flag();
        } else if (name_ == "watchdog") {
            settings_.watchdog = number<unsigned>(value_);
        } else if (name_ == "order") {
            take_order();
        } else if (name_ == "shared" && (value_ == "poison" || value_ == "zeros")) {
            settings_.poison_shared = value_ == "poison";
        } else {
            unknown();
        }
    }

  private:
    [[noreturn]] void unknown() const { refuse(text_, "the stand-in driver does not know this entry"); }

    static bool is_symbol(std::string_view name) {
        return std::ranges::any_of(libcuda::function_rows(),
                                   [&](const auto& row) { return name == row.symbol; });
    }
    static bool is_call(std::string_view name) { return name == "call" || is_symbol(name); }

    template <typename Number>
    [[nodiscard]] Number number(std::string_view text, int base = 10) const {
        Number value{};
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
        if (text.empty() || error != std::errc{} || end != text.data() + text.size()) unknown();
        return value;
    }
    [[nodiscard]] bool flag() const {
        if (value_ != "0" && value_ != "1") unknown();
        return value_ == "1";
    }

    /// "cuMemMap@3" → ("cuMemMap", 3)
    [[nodiscard]] std::pair<std::string, std::uint64_t> numbered(const std::string& text) const {
        const auto at = text.find('@');
        if (at == std::string::npos) return {text, 0};
        const auto which = number<std::uint64_t>(std::string_view(text).substr(at + 1));
        if (which == 0) unknown();
        return {text.substr(0, at), which};
    }

    bool takes_call() {
        PlantedCall planted;
        if (name_ == "crash" || name_ == "hang") {
            planted.what = name_ == "crash" ? PlantedCall::What::crash : PlantedCall::What::hang;
            std::tie(planted.symbol, planted.which) = numbered(value_);
            if (which_ != 0 || !is_call(planted.symbol)) unknown();
        } else if (is_call(name_)) {
            planted.symbol = name_;
            planted.which = which_;
            planted.lasts = value_.ends_with('!');
            planted.code =
                number<int>(std::string_view(value_).substr(0, value_.size() - (planted.lasts ? 1 : 0)));
        } else {
            return false;
        }
        settings_.calls.push_back(std::move(planted));
        return true;
    }

    bool takes_launch() {
        PlantedLaunch planted{.which = which_};
        if (name_ == "hang_kernel") {
            if (!flag()) return true;
        } else if (name_ == "flip") {
            planted.what = PlantedLaunch::What::flip;
            planted.place = place(value_);
        } else if (name_ == "put") {
            planted.what = PlantedLaunch::What::put;
            const auto colon = value_.find(':');
            if (colon == std::string::npos) unknown();
            planted.place = place(value_.substr(0, colon));
            planted.bytes = bytes(std::string_view(value_).substr(colon + 1));
        } else if (name_ == "print") {
            planted.what = PlantedLaunch::What::print;
            planted.text = value_ + "\n";
        } else {
            return false;
        }
        settings_.launches.push_back(std::move(planted));
        return true;
    }

    [[nodiscard]] Place place(const std::string& text) const {
        Place result{.text = text_};
        std::string_view rest = text;
        if (const auto dot = rest.find('.'); dot != std::string_view::npos) {
            result.bit = number<unsigned>(rest.substr(dot + 1));
            if (result.bit > 7) unknown();
            rest = rest.substr(0, dot);
        }
        if (const auto sign = rest.find_first_of("+-"); sign != std::string_view::npos) {
            result.offset = number<std::int64_t>(rest.substr(sign + 1));
            if (rest[sign] == '-') result.offset = -result.offset;
            rest = rest.substr(0, sign);
        }
        if (rest.starts_with("0x")) {
            result.number = number<std::uint64_t>(rest.substr(2), 16);
        } else if (rest.starts_with('p') || rest.starts_with('m')) {
            result.origin = rest[0] == 'p' ? Place::Origin::parameter : Place::Origin::mapping;
            result.number = number<std::uint64_t>(rest.substr(1));
        } else {
            unknown();
        }
        return result;
    }

    [[nodiscard]] std::vector<std::byte> bytes(std::string_view digits) const {
        if (digits.empty() || digits.size() % 2 != 0) unknown();
        std::vector<std::byte> result;
        for (; !digits.empty(); digits.remove_prefix(2))
            result.push_back(static_cast<std::byte>(number<unsigned>(digits.substr(0, 2), 16)));
        return result;
    }

    [[nodiscard]] std::vector<std::pair<int, int>> capabilities() const {
        std::vector<std::pair<int, int>> result;
        for (const auto& part : parts_of(value_, ",")) {
            const auto numbers = parts_of(part, ".");
            if (numbers.size() != 2) unknown();
            result.emplace_back(number<int>(numbers[0]), number<int>(numbers[1]));
        }
        if (result.empty()) unknown();
        return result;
    }

    void take_order() {
        constexpr std::string_view random = "random:";
        if (value_ == "forward" || value_ == "reverse") {
            settings_.order = value_ == "forward" ? Order::forward : Order::reverse;
        } else if (value_.starts_with(random)) {
            settings_.order = Order::random;
            settings_.seed = number<std::uint64_t>(std::string_view(value_).substr(random.size()));
        } else {
            unknown();
        }
    }

    std::string text_;
    Settings& settings_;
    std::string name_, value_;
    std::uint64_t which_ = 0;
};

/// What identifies the contents of a file.
using Stamp = std::tuple<ino_t, off_t, time_t, long>;

class Reader {
  public:
    const Settings& now() {
        const std::lock_guard lock(mutex_);
        const char* variable = std::getenv("CUDASIM_TEST_LIBCUDA");
        const std::string_view text = variable != nullptr ? variable : "";
        const bool is_file = text.starts_with('@');
        const Stamp stamp = is_file ? stamp_of(std::string(text.substr(1))) : Stamp{};
        if (known_.empty() || text != text_ || stamp != stamp_) {
            text_ = text;
            stamp_ = stamp;
            read(is_file ? contents_of(text_.substr(1)) : text_);
        }
        return *known_.back();
    }

  private:
    [[nodiscard]] static Stamp stamp_of(const std::string& file) {
        struct stat found{};
        if (stat(file.c_str(), &found) != 0) refuse("@" + file, "there is no such file");
        return {found.st_ino, found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec};
    }
    [[nodiscard]] static std::string contents_of(const std::string& file) {
        std::ostringstream contents;
        contents << std::ifstream(file).rdbuf();
        return contents.str();
    }
    void read(const std::string& text) {
        auto settings = std::make_unique<Settings>();
        settings->edition = known_.size() + 1;
        for (const auto& entry : parts_of(text, ";\n")) Entry(entry, *settings).take();
        known_.push_back(std::move(settings));
    }

    std::mutex mutex_;
    std::string text_;
    Stamp stamp_;
    std::vector<std::unique_ptr<Settings>> known_;  ///< earlier ones may still be in use
};

}  // namespace

const Settings& settings() {
    static auto* const reader = new Reader;  // calls may come while the process ends
    return reader->now();
}

}  // namespace cudasim::stand_in
