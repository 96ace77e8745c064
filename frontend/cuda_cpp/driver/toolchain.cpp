// See toolchain.h.
#include "frontend/cuda_cpp/driver/toolchain.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace cudasim::nvcc {
namespace {

namespace fs = std::filesystem;

/// @param name a path, or a name to look for on PATH @return an empty path if there is no such program
fs::path program(const std::string& name) {
    if (name.find('/') != std::string::npos)
        return access(name.c_str(), X_OK) == 0 ? fs::path(name) : fs::path();
    const char* folders = std::getenv("PATH");
    std::istringstream path(folders != nullptr ? folders : "/usr/bin:/bin");
    for (std::string folder; std::getline(path, folder, ':');) {
        const fs::path candidate = fs::path(folder.empty() ? "." : folder) / name;
        if (access(candidate.c_str(), X_OK) == 0 && !fs::is_directory(candidate)) return candidate;
    }
    return {};
}

std::string output_of(const std::string& command) {
    std::string text;
    if (FILE* pipe = popen(command.c_str(), "r")) {
        std::array<char, 4096> buffer;
        while (const std::size_t bytes = fread(buffer.data(), 1, buffer.size(), pipe))
            text.append(buffer.data(), bytes);
        pclose(pipe);
    }
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
}

/// Where clang's resource folder lies beside the program, in LLVM's own and in Debian's layout; else clang is
/// asked.
fs::path headers_of(const fs::path& clang) {
    const auto complete = [](const fs::path& folder) {
        return fs::exists(folder / "__clang_cuda_builtin_vars.h");
    };
    std::error_code ignored;
    const fs::path beside =
        fs::canonical(clang, ignored).parent_path().parent_path() / "lib/clang/19/include";
    if (complete(beside)) return beside;
    const fs::path told =
        fs::path(output_of("'" + clang.string() + "' -print-resource-dir 2>/dev/null")) / "include";
    return complete(told) ? told : fs::path();
}

bool is_a_toolkits(const fs::path& include_folder) {
    return fs::exists(include_folder / "cuda_runtime_api.h") && fs::exists(include_folder / "crt");
}

std::string host_compiler(const CommandLine& line) {
    std::string chosen = line.last(Option::host_compiler);
    if (const char* variable = std::getenv("NVCC_CCBIN"); chosen.empty() && variable != nullptr)
        chosen = variable;
    if (chosen.empty()) return "g++";
    if (fs::is_directory(chosen)) chosen = fs::path(chosen) / "g++";
    if (program(chosen).empty())
        throw Fatal("Failed to find the host compiler '" + chosen + "'; -ccbin and NVCC_CCBIN name it");
    // Objects of C++ are linked by the C++ compiler.
    const fs::path path(chosen);
    for (const auto& [c, cxx] :
         {std::pair{"gcc", "g++"}, std::pair{"clang", "clang++"}, std::pair{"cc", "c++"}})
        if (const std::string name = path.filename(); name == c || name.starts_with(std::string(c) + "-")) {
            const fs::path other = path.parent_path() / (cxx + name.substr(std::string(c).size()));
            if (!program(other).empty()) return other;
        }
    return chosen;
}

}  // namespace

void Toolchain::find_clang() {
    if (!clang.empty()) return;
    if (const char* chosen = std::getenv("CUDASIM_CLANG"); chosen != nullptr && *chosen != '\0') {
        clang = program(chosen);
        if (clang.empty())
            throw Fatal("CUDASIM_CLANG names '" + std::string(chosen) + "', which is not a program");
    } else {
        for (const char* name : {"clang++-19", "/usr/lib/llvm-19/bin/clang++"})
            if (clang.empty()) clang = program(name);
        if (clang.empty())
            throw Fatal(
                "clang++-19, which compiles CUDA C++ for the simulator, was not found on PATH nor in "
                "/usr/lib/llvm-19/bin. Install it (Debian, Ubuntu: apt install clang-19), or name it in "
                "CUDASIM_CLANG");
    }
    clang_headers = headers_of(clang);
    if (clang_headers.empty())
        throw Fatal(clang.string() +
                    " is not a complete clang 19: its headers for CUDA are missing. Install "
                    "clang 19 (Debian, Ubuntu: apt install clang-19 libclang-common-19-dev)");
}

bool Toolchain::allows(const std::string& include_folder) const {
    std::error_code ignored;
    return !is_a_toolkits(include_folder) || fs::equivalent(include_folder, include(), ignored);
}

Toolchain toolchain(const CommandLine& line) {
    Toolchain found;
    found.toolkit = fs::canonical("/proc/self/exe").parent_path().parent_path();
    found.host_compiler = host_compiler(line);
    found.archiver = line.has(Option::archiver) ? line.last(Option::archiver) : "ar";
    for (const char* name : {"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"}) {
        const char* value = std::getenv(name);
        if (value == nullptr) continue;
        std::string kept;
        std::istringstream folders(value);
        for (std::string folder; std::getline(folders, folder, ':');)
            if (folder.empty() || found.allows(folder)) kept += (kept.empty() ? "" : ":") + folder;
        if (kept.empty())
            unsetenv(name);
        else
            setenv(name, kept.c_str(), 1);
    }
    return found;
}

}  // namespace cudasim::nvcc
