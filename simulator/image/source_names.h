// Names of files and functions as reports give them.
#pragma once

#include <string>

namespace llvm {
class DIFile;
class DISubprogram;
}  // namespace llvm

namespace cudasim::image {

/// The file's path as the front end gave it, joined with its directory when relative. Empty for nullptr.
[[nodiscard]] std::string path_of(const llvm::DIFile* file);
/// The function's name in the source, or else its linkage name. Empty for nullptr.
[[nodiscard]] std::string name_of(const llvm::DISubprogram* subprogram);
/// "scale<float>(float*, int)" of a mangled name; the name itself where it is none.
[[nodiscard]] std::string demangled(const std::string& name);

}  // namespace cudasim::image
