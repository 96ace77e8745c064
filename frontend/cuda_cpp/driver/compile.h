// One source through its compiler: .cu through clang's two passes, others through the host compiler.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "frontend/cuda_cpp/driver/architectures.h"
#include "frontend/cuda_cpp/driver/options.h"
#include "frontend/cuda_cpp/driver/processes.h"
#include "frontend/cuda_cpp/driver/toolchain.h"

namespace cudasim::nvcc {

/// What OpenMP (-Xcompiler -fopenmp) needs for code that clang compiles.
struct OpenMp {
    bool asked = false;
    std::string library;  ///< libomp's path; empty: not installed
    std::string header;   ///< the host compiler's omp.h; empty: clang has its own
};

struct Build {
    CommandLine line;
    Toolchain tools;
    Architectures gpu;
    OpenMp openmp;
    bool relocatable = false;
    bool dry_run = false, verbose = false, keep = false;
    bool shared = false;         ///< what is compiled goes into a shared library
    std::filesystem::path work;  ///< for intermediate files

    /// Prints the command if that is asked for, and runs it unless --dryrun. @return its exit status
    int execute(const Command& command) const;
    void show(const Command& command) const;
};

enum class Result { object, preprocessed, dependencies, ptx };

/// @param output empty: standard output
/// @return the compiler's exit status
[[nodiscard]] int compile_cuda(const Build& build, const std::string& source, Result result,
                               const std::string& output);
/// @param language c or c++
[[nodiscard]] int compile_host(const Build& build, const std::string& source, const std::string& language,
                               Result result, const std::string& output);

[[nodiscard]] OpenMp find_openmp(const CommandLine& line, Toolchain& tools);

}  // namespace cudasim::nvcc
