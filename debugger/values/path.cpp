// See path.h.
#include "debugger/values/path.h"

#include <charconv>

namespace cudasim::debugger {
namespace {

class Reader {
  public:
    explicit Reader(std::string_view text) : rest_(text) {}

    std::optional<Path> path() {
        Path path;
        skip_blanks();
        if (!name(path.name)) return std::nullopt;
        for (skip_blanks(); !rest_.empty(); skip_blanks()) {
            if (take('.')) {
                std::string member;
                skip_blanks();
                if (!name(member)) return std::nullopt;
                path.steps.emplace_back(std::move(member));
            } else if (take('[')) {
                do {
                    std::int64_t index = 0;
                    if (!number(index)) return std::nullopt;
                    path.steps.emplace_back(index);
                } while (take(','));
                if (!take(']')) return std::nullopt;
            } else {
                return std::nullopt;
            }
        }
        return path;
    }

  private:
    void skip_blanks() {
        while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t')) rest_.remove_prefix(1);
    }
    bool take(char wanted) {
        skip_blanks();
        if (rest_.empty() || rest_.front() != wanted) return false;
        rest_.remove_prefix(1);
        return true;
    }
    static bool begins_name(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
    }
    bool name(std::string& target) {
        if (rest_.empty() || !begins_name(rest_.front())) return false;
        std::size_t end = 1;
        while (end < rest_.size() && (begins_name(rest_[end]) || (rest_[end] >= '0' && rest_[end] <= '9')))
            ++end;
        target = rest_.substr(0, end);
        rest_.remove_prefix(end);
        return true;
    }
    bool number(std::int64_t& target) {
        skip_blanks();
        const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), target);
        if (error != std::errc()) return false;
        rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
        skip_blanks();
        return true;
    }

    std::string_view rest_;
};

}  // namespace

std::optional<Path> path_from(std::string_view text) {
    return Reader(text).path();
}

}  // namespace cudasim::debugger
