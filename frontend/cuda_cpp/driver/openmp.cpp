// OpenMP in code that clang compiles: it calls libomp, which is a package of its own. See compile.h.
#include <algorithm>
#include <array>
#include <cstdio>

#include "frontend/cuda_cpp/driver/compile.h"

namespace cudasim::nvcc {
namespace {

namespace fs = std::filesystem;

std::string libomp() {
    for (const char* path : {"/usr/lib/llvm-19/lib/libomp.so", "/usr/lib/llvm-19/lib/libomp.so.5",
                             "/usr/lib/x86_64-linux-gnu/libomp.so.5", "/usr/lib/x86_64-linux-gnu/libomp5.so",
                             "/usr/lib64/libomp.so", "/usr/lib/libomp.so"})
        if (fs::exists(path)) return path;
    return "";
}

/// The path of the host compiler's omp.h.
std::string header_of(const std::string& host_compiler) {
    std::string path;
    if (FILE* pipe =
            popen(("'" + host_compiler + "' -print-file-name=include/omp.h 2>/dev/null").c_str(), "r")) {
        std::array<char, 4096> buffer;
        while (fgets(buffer.data(), buffer.size(), pipe) != nullptr) path += buffer.data();
        pclose(pipe);
    }
    while (!path.empty() && path.back() == '\n') path.pop_back();
    return fs::exists(path) ? path : "";
}

}  // namespace

OpenMp find_openmp(const CommandLine& line, Toolchain& tools) {
    OpenMp found;
    const auto words = line.all(Option::to_compiler);
    found.asked = std::ranges::any_of(words, [](const std::string& word) {
        return word.starts_with("-fopenmp") && word != "-fopenmp-simd";
    });
    if (!found.asked) return found;
    tools.find_clang();
    found.library = libomp();
    if (!fs::exists(tools.clang_headers / "omp.h")) {
        found.header = header_of(tools.host_compiler);
        if (found.header.empty())
            throw Fatal("-fopenmp: neither clang nor " + tools.host_compiler +
                        " has omp.h. Install OpenMP of clang (Debian, Ubuntu: apt install libomp-19-dev)");
    }
    return found;
}

}  // namespace cudasim::nvcc
