// Messages of clang's two passes over one source, each shown once.
#pragma once

#include <set>
#include <string>

namespace cudasim::nvcc {

class Diagnostics {
  public:
    /// @param text what a pass has written @return what of it has not been returned before, without the lines
    ///     that count messages
    [[nodiscard]] std::string unseen(const std::string& text);

  private:
    std::set<std::string> seen_;
};

}  // namespace cudasim::nvcc
