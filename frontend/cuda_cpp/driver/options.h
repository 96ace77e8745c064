// The command line of nvcc: options.def as a table, and what one command line says.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cudasim::nvcc {

/// Ends nvcc with "nvcc fatal   : …" and exit status 1.
struct Fatal : std::runtime_error {
    using std::runtime_error::runtime_error;
};

enum class Option {
#define NVCC_OPTION(identifier, kind, shape, long_name, short_name, value, help) identifier,
#include "frontend/cuda_cpp/driver/options.def"
#undef NVCC_OPTION
};

enum class Kind { honoured, passed_on, no_meaning, refused };
enum class Shape { flag, boolean, one, list, words };

struct OptionRow {
    Option option;
    Kind kind;
    Shape shape;
    std::string_view long_name, short_name, value, help;
};

[[nodiscard]] std::span<const OptionRow> option_table();

class CommandLine {
  public:
    /// Reads the arguments, and before and after them NVCC_PREPEND_FLAGS and NVCC_APPEND_FLAGS.
    /// @throws Fatal
    [[nodiscard]] static CommandLine read(const std::vector<std::string>& arguments);

    [[nodiscard]] bool has(Option option) const;
    /// The last value, or an empty string.
    [[nodiscard]] std::string last(Option option) const;
    [[nodiscard]] std::vector<std::string> all(Option option) const;
    [[nodiscard]] bool boolean(Option option, bool otherwise) const;
    [[nodiscard]] const std::vector<std::string>& inputs() const { return inputs_; }

    /// Adds a value, as if it had been given last.
    void add(Option option, std::string value) { given_.push_back({option, std::move(value)}); }

  private:
    struct Given {
        Option option;
        std::string value;
    };
    void read_arguments(const std::vector<std::string>& arguments, int depth);
    std::size_t read_option(const std::vector<std::string>& arguments, std::size_t at, int depth);
    void unknown(const std::string& argument);

    std::vector<Given> given_;
    std::vector<std::string> inputs_;
    std::vector<std::string> unknown_;  ///< resolved when all options are known
};

/// A text split at white space, as a shell does: quotes and backslashes keep it.
[[nodiscard]] std::vector<std::string> shell_words(std::string_view text);

/// `nvcc --help`, and the same as a table in Markdown.
[[nodiscard]] std::string help_text();
[[nodiscard]] std::string help_markdown();

}  // namespace cudasim::nvcc
