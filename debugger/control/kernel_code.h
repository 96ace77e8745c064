// Where threads of a compiled kernel can stop: its statements by file, line and function. Made once for each
// compiled kernel.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulator/execution/stop.h"
#include "simulator/jit/source_statements.h"

namespace cudasim::debugger {

/// Absolute, without `.`, `..` and symbolic links, so that two names of one file compare equal. Text in angle
/// brackets, as code without a file has it, stays as it is.
[[nodiscard]] std::string normalised_path(const std::string& path);

class KernelCode {
  public:
    /// A line with statements.
    struct Line {
        std::string file;  ///< as debug information names it
        std::uint32_t line = 0;
        std::vector<std::uint32_t> sites;
    };

    /// Of a kernel that is compiled for stops.
    explicit KernelCode(const jit::CompiledKernel& kernel);
    /// Of one that is not. Threads stop nowhere in it: lines have no sites.
    KernelCode(const std::string& kernel, const jit::SourceStatements& source);

    /// The kernel's function.
    /// The file that the kernel's own statements are in; empty: it has none.
    [[nodiscard]] std::string file_of_kernel() const;
    [[nodiscard]] const std::string& name() const { return name_; }
    /// The line itself if it has statements, else the next one of the same function that has. A line up to
    /// two lines in front of a function's first statement (its `def`, a decorator) belongs to the function.
    [[nodiscard]] const Line* line(const std::string& path, std::uint32_t line) const;
    /// The first statement of each function of this name; of the kernel for "*".
    [[nodiscard]] std::vector<const Line*> entries(std::string_view function) const;
    /// The program's own calls of a debugger, `breakpoint()`, by line.
    [[nodiscard]] const std::vector<Line>& calls() const { return calls_; }
    /// Lines of the file with statements, ascending.
    [[nodiscard]] std::vector<std::uint32_t> lines(const std::string& path) const;
    /// The name that debug information has for the file; nothing when the kernel has no code there.
    [[nodiscard]] std::optional<std::string> file(const std::string& path) const;
    /// Which line a site is on, also one that is no statement's beginning (a barrier); null where no line is
    /// known.
    [[nodiscard]] const Line* line_of(std::uint32_t site) const {
        return site < line_of_site_.size() ? line_of_site_[site] : nullptr;
    }

  private:
    struct Function {
        std::string name;
        std::uint32_t first = 0, last = 0;  ///< lines with statements
        bool is_kernel = false;
        Line entry;  ///< its first statement, which runs once for each call; line 0: not known
    };

    struct PlaceOfStatement {
        const findings::SourceLocation& place;
        bool is_in_kernel = false, is_breakpoint = false, is_entry = false;
        std::optional<std::uint32_t> site;
    };
    void add(const PlaceOfStatement& statement);
    void find_calls();

    std::string name_;
    std::map<std::string, std::string> files_;  ///< normalised → as debug information names it
    std::map<std::string, std::map<std::uint32_t, Line>> lines_;        ///< by debug information's name
    std::map<std::string, std::map<std::string, Function>> functions_;  ///< by file and name
    std::vector<const Line*> line_of_site_;
    std::vector<Line> calls_;
    std::map<std::pair<std::string, std::uint32_t>, std::vector<std::uint32_t>> call_sites_;
};

}  // namespace cudasim::debugger
