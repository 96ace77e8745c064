// The names of a function's registers and variables while it is parsed: braces open scopes, `.reg .b32 %r<9>`
// declares nine registers, and what is used gets a name of its own in the function.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "frontend/ptx/syntax.h"

namespace cudasim::ptx {

class Names {
  public:
    explicit Names(Function& function) : function_(function) { open(); }

    void open() { scopes_.push_back({next_scope_++, function_.body.size(), {}, {}}); }
    /// Closes the innermost scope; its labels become the function's under names of their own.
    void close();
    [[nodiscard]] std::size_t depth() const { return scopes_.size(); }

    /// @param family `%r<9>`: how many registers; 0: one variable
    void declare(Variable variable, std::uint64_t family);
    void declare_label(const std::string& name) { scopes_.back().labels.push_back(name); }
    /// The name in Function::variables of what `name` means here; `name` itself when it is nothing of the
    /// function's.
    [[nodiscard]] std::string resolve(const std::string& name);

  private:
    struct Entry {
        Variable variable;
        std::uint64_t family = 0;
    };
    struct Scope {
        std::size_t number = 0;
        std::size_t first = 0;  ///< of its items in Function::body
        std::map<std::string, Entry> entries;
        std::vector<std::string> labels;
    };

    std::string use(const Scope& scope, const Entry& entry, const std::string& name);

    Function& function_;
    std::vector<Scope> scopes_;
    std::map<std::string, std::size_t> used_;  ///< name in the function → index in Function::variables
    std::size_t next_scope_ = 0;
};

}  // namespace cudasim::ptx
