// Messages of clang's two passes over one source, each shown once.
#pragma once

#include <set>
#include <string>

namespace cudasim::nvcc {

class Diagnostics {
  public:
    /// @param text what a pass has written @return what of it has not been returned before, without the lines
    ///     that count messages, and without the errors that follow because a header is missing
    [[nodiscard]] std::string unseen(const std::string& text);

  private:
    std::set<std::string> seen_;
    bool header_missing_ = false;  ///< whether a header has said that it is not part of cudasim
};

}  // namespace cudasim::nvcc
