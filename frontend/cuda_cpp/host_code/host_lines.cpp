// See host_lines.h.
#include "frontend/cuda_cpp/host_code/host_lines.h"

#include <dlfcn.h>
#include <link.h>
#include <llvm/DebugInfo/DIContext.h>
#include <llvm/DebugInfo/Symbolize/Symbolize.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string_view>

namespace cudasim::cuda_cpp {
namespace {

/// A file of code in this process, and where an address of memory is in it.
struct InFile {
    std::string path;
    std::uint64_t address = 0;
};

InFile in_file(std::uint64_t address) {
    Dl_info info{};
    link_map* map = nullptr;
    if (dladdr1(reinterpret_cast<void*>(address), &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) ==
            0 ||
        map == nullptr)
        return {};
    // The executable has no name in the list of the dynamic linker.
    const bool is_program = map->l_name == nullptr || map->l_name[0] == '\0';
    return {is_program ? "/proc/self/exe" : map->l_name, address - map->l_addr};
}

bool is_of_toolkit(const std::string& file) {
    for (const char* folder : {"/toolkit/include/", "/frontend/cuda_cpp/include/", "/lib/clang/"})
        if (file.find(folder) != std::string::npos) return true;
    return false;
}

/// "copies<int>" for "void copies<int>(int*) const": line tables have the functions' full names.
std::string without_parameters(std::string_view name) {
    std::size_t end = name.size();
    if (const auto close = name.rfind(')'); close != std::string_view::npos && close > 0) {
        int depth = 0;
        for (std::size_t i = close + 1; i-- > 0;) {
            if (name[i] == ')') ++depth;
            if (name[i] == '(' && --depth == 0) {
                end = i;
                break;
            }
        }
        if (end == 0 || name.substr(0, end).ends_with("operator")) return std::string(name);
    }
    // A template's name begins with the type of its result.
    int depth = 0;
    std::size_t begin = end;
    for (; begin > 0; --begin) {
        const char each = name[begin - 1];
        if (each == '>' || each == ')') ++depth;
        if (each == '<' || each == '(') --depth;
        if (each == ' ' && depth == 0) break;
    }
    return std::string(name.substr(begin, end - begin));
}

/// With columns.
findings::CallChain look_up(std::uint64_t address) {
    // Kept, with the debug information it has read, until the process ends: reports are also made at its
    // exit.
    static std::mutex mutex;
    static auto& symbolizer = *new llvm::symbolize::LLVMSymbolizer;
    const InFile where = in_file(address);
    if (where.path.empty()) return {};
    const std::lock_guard lock(mutex);
    auto frames = symbolizer.symbolizeInlinedCode(
        where.path, {where.address, llvm::object::SectionedAddress::UndefSection});
    if (!frames) {
        llvm::consumeError(frames.takeError());
        return {};
    }
    findings::CallChain chain;
    for (std::uint32_t i = 0; i < frames->getNumberOfFrames(); ++i) {
        const llvm::DILineInfo& frame = frames->getFrame(i);
        const bool known = frame.FileName != llvm::DILineInfo::BadString && frame.Line != 0;
        const std::string function =
            frame.FunctionName == llvm::DILineInfo::BadString ? "" : without_parameters(frame.FunctionName);
        if (known && is_of_toolkit(frame.FileName)) continue;
        if (!known && function.empty()) continue;
        chain.push_back(
            {.file = known ? std::filesystem::path(frame.FileName).lexically_normal().string() : "",
             .function = function,
             .line = known ? frame.Line : 0,
             .column = known ? frame.Column : 0});
    }
    return chain;
}

/// Reports name lines: a line of a host program seldom calls twice.
findings::CallChain without_columns(findings::CallChain chain) {
    for (auto& each : chain) each.column = 0;
    return chain;
}

}  // namespace

findings::CallChain host_lines(const void* return_address) {
    const auto address = reinterpret_cast<std::uint64_t>(return_address);
    // The call ends before the address, and may be the last instruction of its line.
    return address == 0 ? findings::CallChain{} : without_columns(look_up(address - 1));
}

std::uint32_t host_column(const void* return_address) {
    const auto address = reinterpret_cast<std::uint64_t>(return_address);
    const auto chain = address == 0 ? findings::CallChain{} : look_up(address - 1);
    return chain.empty() ? 0 : chain.front().column;
}

findings::CallChain host_lines_of_instruction(const void* address) {
    return address == nullptr ? findings::CallChain{}
                              : without_columns(look_up(reinterpret_cast<std::uint64_t>(address)));
}

std::string host_place(const void* return_address) {
    const auto chain = host_lines(return_address);
    if (!chain.empty() && chain.front().line != 0)
        return "at " + std::filesystem::path(chain.front().file).filename().string() + ":" +
               std::to_string(chain.front().line);
    if (!chain.empty()) return "in " + chain.front().function;
    char digits[32];
    std::snprintf(digits, sizeof digits, "%p", return_address);
    return std::string("at ") + digits;
}

std::string text_of_line(const findings::SourceLocation& where) {
    std::ifstream file(where.file);
    std::string line;
    for (std::uint32_t i = 0; i < where.line; ++i)
        if (!std::getline(file, line)) return {};
    return where.line == 0 ? std::string{} : line;
}

}  // namespace cudasim::cuda_cpp
