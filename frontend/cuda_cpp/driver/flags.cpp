// See flags.h.
#include "frontend/cuda_cpp/driver/flags.h"

#include <unistd.h>

#include <algorithm>

#include "frontend/cuda_cpp/images/device_code.h"

namespace cudasim::nvcc {
namespace {

/// What clang takes for errors by default and GCC, nvcc's usual host compiler, for warnings; and warnings
/// about what nvcc allows.
constexpr const char* dialect[] = {
    "-Wno-error=c++11-narrowing",
    "-Wno-error=c++11-narrowing-const-reference",
    "-Wno-error=register",
    "-Wno-error=reserved-user-defined-literal",
    "-Wno-error=enum-constexpr-conversion",
    "-Wno-error=missing-template-arg-list-after-template-kw",
    "-Wno-error=static-float-init",
    "-Wno-error=elaborated-enum-base",
    "-Wno-error=invalid-constexpr",
    "-Wno-cuda-compat",  // #pragma unroll (4)
    "-Wno-empty-body",   // while (atomicCAS(&lock, 0, 1));
    "-Wno-vla-cxx-extension",
    "-Wno-unknown-pragmas",
    "-Wno-unknown-warning-option",
    "-Wno-ignored-optimization-argument",
    "-Wno-unused-command-line-argument",
    "-Wno-deprecated-ofast",
};

void append(Command& command, std::initializer_list<std::string> words) {
    command.insert(command.end(), words);
}

std::string version_macro(const char* name, int value) {
    return std::string("-D") + name + "=" + std::to_string(value);
}

/// Macros, headers and warnings, which both passes and the host compiler get.
void add_preprocessor_options(const Build& build, Command& command) {
    for (const auto& each : build.line.all(Option::define)) command.push_back("-D" + each);
    for (const auto& each : build.line.all(Option::undefine)) command.push_back("-U" + each);
    for (const auto& each : build.line.all(Option::include_path)) {
        if (build.tools.allows(each))
            command.push_back("-I" + each);
        else if (build.verbose)
            fprintf(stderr, "#$ -- -I%s is a CUDA toolkit's and is left out --\n", each.c_str());
    }
    for (const auto& each : build.line.all(Option::system_include))
        if (build.tools.allows(each)) append(command, {"-isystem", each});
    append(command, {version_macro("__CUDACC_VER_MAJOR__", cuda_major),
                     version_macro("__CUDACC_VER_MINOR__", cuda_minor),
                     version_macro("__CUDACC_VER_BUILD__", cuda_build),
                     version_macro("__CUDA_API_VER_MAJOR__", cuda_major),
                     version_macro("__CUDA_API_VER_MINOR__", cuda_minor)});
    if (build.line.last(Option::default_stream) == "per-thread")
        command.push_back("-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1");
    if (build.line.has(Option::template_depth))
        command.push_back("-ftemplate-depth=" + build.line.last(Option::template_depth));
    if (build.line.has(Option::template_notes))
        command.push_back("-ftemplate-backtrace-limit=" + build.line.last(Option::template_notes));
    if (build.line.has(Option::no_warnings)) command.push_back("-w");
    if (build.line.has(Option::no_deprecated)) command.push_back("-Wno-deprecated-declarations");
    if (build.line.has(Option::warning_reorder)) command.push_back("-Wreorder");
    for (const auto& each : build.line.all(Option::warnings_are_errors)) {
        if (each == "all-warnings") command.push_back("-Werror");
        if (each == "reorder") command.push_back("-Werror=reorder");
        if (each == "deprecated-declarations") command.push_back("-Werror=deprecated-declarations");
    }
}

/// Words of -Xcompiler are about host code; the device pass needs those that change what the preprocessor and
/// the parser see.
bool concerns_device_code(const std::string& word) {
    if (word.starts_with("-D") || word.starts_with("-U") || word.starts_with("-I") || word == "-w")
        return true;
    if (word.starts_with("-W")) return !word.starts_with("-Wl,") && !word.starts_with("-Wa,");
    for (const char* each :
         {"-std=", "-fpermissive", "-fsigned-char", "-funsigned-char", "-fno-exceptions", "-fno-rtti",
          "-ftemplate-depth", "-fconstexpr", "-fno-strict-aliasing", "-fwrapv", "-fshort-enums"})
        if (word.starts_with(each)) return true;
    return false;
}

void add_host_words(const Build& build, Pass pass, const std::vector<std::string>& without,
                    Command& command) {
    const auto words = build.line.all(Option::to_compiler);
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        const bool with_value = word == "-isystem" || word == "-include" || word == "-idirafter" ||
                                word == "-iquote" || word == "-I" || word == "-D" || word == "-U";
        if (word.starts_with("-fopenmp") || std::ranges::find(without, word) != without.end()) continue;
        if (pass == Pass::host || with_value || concerns_device_code(word)) {
            command.push_back(word);
            if (with_value && i + 1 < words.size()) command.push_back(words[i + 1]);
        }
        if (with_value) ++i;
    }
}

void add_openmp(const Build& build, Pass pass, Command& command) {
    if (!build.openmp.asked) return;
    if (!build.openmp.header.empty())
        append(command, {"-isystem", build.tools.include() + "/cudasim/openmp",
                         "-DCUDASIM_HOST_OMP_H=\"" + build.openmp.header + "\""});
    if (pass == Pass::host && !build.openmp.library.empty())
        append(command, {"-fopenmp=libomp", "-DCUDASIM_OPENMP"});
    else
        append(command, {"-D_OPENMP=201511", "-Wno-source-uses-openmp"});
}

void add_numbers(const Build& build, Pass pass, Command& command) {
    const CommandLine& line = build.line;
    const bool fast = line.has(Option::fast_math);
    const bool flush = line.boolean(Option::flush, fast);
    append(command,
           {std::string("-D__CUDA_FTZ=") + (flush ? "1" : "0"),
            std::string("-D__CUDA_PREC_DIV=") + (line.boolean(Option::precise_division, !fast) ? "1" : "0"),
            std::string("-D__CUDA_PREC_SQRT=") + (line.boolean(Option::precise_root, !fast) ? "1" : "0")});
    if (fast) append(command, {"-D__USE_FAST_MATH__=1", "-fgpu-approx-transcendentals"});
    if (pass == Pass::host) return;
    command.push_back(line.boolean(Option::fused, true) ? "-ffp-contract=fast" : "-ffp-contract=off");
    if (flush) command.push_back("-fgpu-flush-denormals-to-zero");
}

}  // namespace

Command clang_command(const Build& build, Pass pass, const std::string& source, const std::string& identity,
                      const std::vector<std::string>& without) {
    const CommandLine& line = build.line;
    // No toolkit is looked for: its place is taken by a folder that does not exist, and by ours.
    Command command{build.tools.clang,
                    "-x",
                    "cuda",
                    "--cuda-path=/nonexistent",
                    "-nocudainc",
                    "-nocudalib",
                    "--cuda-gpu-arch=" + build.gpu.chosen,
                    "-Wno-unknown-cuda-version"};
    append(command, {pass == Pass::device ? "--cuda-device-only" : "--cuda-host-only"});
    // The version chooses the form of launches that CUDA has had since 9.2: __cudaPushCallConfiguration().
    append(command, {"-Xclang", "-target-sdk-version=12.3", "-Xclang", "-fcuda-allow-variadic-functions",
                     "-fgpu-defer-diag"});
    const std::string standard = line.last(Option::standard);
    // The headers need C++11, of which C++03 is all but a part.
    command.push_back("-std=" + (standard.empty() ? "gnu++17" : standard == "c++03" ? "c++11" : standard));
    command.push_back("-fgnu-keywords");  // typeof, which EDG knows in every standard
    append(command, {"-D__CUDACC__=1", "-D__NVCC__=1", "-D__NVCC_DIAG_PRAGMA_SUPPORT__=1",
                     "-D__CUDACC_DEVICE_ATOMIC_BUILTINS__=1"});
    std::string list;
    for (const int each : build.gpu.asked) list += (list.empty() ? "" : ",") + std::to_string(each * 10);
    command.push_back("-D__CUDA_ARCH_LIST__=" + list);
    if (line.has(Option::extended_lambda) || line.has(Option::old_extended_lambda))
        command.push_back("-D__CUDACC_EXTENDED_LAMBDA__=1");
    if (line.has(Option::relaxed_constexpr)) command.push_back("-D__CUDACC_RELAXED_CONSTEXPR__=1");
    if (line.has(Option::device_debug)) command.push_back("-D__CUDACC_DEBUG__=1");
    if (line.last(Option::default_stream) == "per-thread")
        append(command,
               {"-Xclang", "-fgpu-default-stream=per-thread"});  // the driver passes it on for HIP only
    add_numbers(build, pass, command);
    // Headers of ours come before those of the system, among which can be an installed toolkit's.
    append(command, {"-isystem", build.tools.clang_headers / "cuda_wrappers", "-isystem",
                     build.tools.include(), "-include", "cudasim/translation_unit.h"});
    for (const auto& each : line.all(Option::pre_include)) append(command, {"-include", each});
    add_preprocessor_options(build, command);
    if (build.relocatable) {
        // The driver passes -cuid on to device passes only.
        append(command, {"-fgpu-rdc", "-D__CUDACC_RDC__=1", "-cuid=" + identity,
                         "-fmacro-prefix-map=" + std::filesystem::current_path().string() + "/="});
        if (pass == Pass::host) append(command, {"-Xclang", "-cuid=" + identity});
    }
    if (pass == Pass::host) {
        const std::string level = line.last(Option::optimise);
        if (!level.empty()) command.push_back("-O" + level);
        // Reports name lines of host code, too.
        command.push_back(line.has(Option::debug) ? "-g" : "-gline-tables-only");
        if (line.has(Option::profile)) command.push_back("-pg");
        if (line.has(Option::no_exceptions)) command.push_back("-fno-exceptions");
        if (build.shared) command.push_back("-fPIC");
    }
    add_host_words(build, pass, without, command);
    add_openmp(build, pass, command);
    command.insert(command.end(), std::begin(dialect), std::end(dialect));
    if (isatty(STDERR_FILENO) != 0) command.push_back("-fcolor-diagnostics");
    return command;
}

Command host_command(const Build& build, const std::string& language) {
    const CommandLine& line = build.line;
    Command command{build.tools.host_compiler, "-x", language};
    if (const std::string standard = line.last(Option::standard); !standard.empty() && language == "c++")
        command.push_back("-std=" + standard);
    command.push_back("-D__NVCC__=1");
    append(command, {"-isystem", build.tools.include()});
    for (const auto& each : line.all(Option::pre_include)) append(command, {"-include", each});
    add_preprocessor_options(build, command);
    if (const std::string level = line.last(Option::optimise); !level.empty())
        command.push_back("-O" + level);
    if (line.has(Option::debug)) command.push_back("-g");
    if (line.has(Option::profile)) command.push_back("-pg");
    if (line.has(Option::no_exceptions)) command.push_back("-fno-exceptions");
    if (build.shared) command.push_back("-fPIC");
    for (const auto& word : line.all(Option::to_compiler)) command.push_back(word);
    return command;
}

void add_dependency_options(const Build& build, const std::string& object, Command& command) {
    const CommandLine& line = build.line;
    const bool all = line.has(Option::dependencies_too);
    if (!all && !line.has(Option::user_dependencies_too)) return;
    // An object that exists only until it is linked has its rule in the current folder.
    std::filesystem::path target(object);
    if (object.starts_with(build.work.string() + "/")) target = target.filename();
    std::string file = line.last(Option::dependency_file);
    if (file.empty()) file = std::filesystem::path(target).replace_extension(".d");
    if (line.has(Option::dependency_target)) target = line.last(Option::dependency_target);
    append(command, {all ? "-MD" : "-MMD", "-MF", file, "-MT", target.string()});
    if (line.has(Option::phony_targets)) command.push_back("-MP");
}

}  // namespace cudasim::nvcc
