// nvcc: compiles CUDA C++ for the simulator. Command line, output and exit status are those of NVIDIA's.
#include <signal.h>

#include <iostream>

#include "frontend/cuda_cpp/driver/architectures.h"
#include "frontend/cuda_cpp/driver/build.h"
#include "frontend/cuda_cpp/driver/processes.h"
#include "frontend/cuda_cpp/driver/toolchain.h"
#include "frontend/cuda_cpp/images/device_code.h"

namespace cudasim::nvcc {
namespace {

/// The first and the fourth line are what build systems look for: CMake for the name, others for the release.
std::string version_text() {
    const std::string release = std::to_string(cuda_major) + "." + std::to_string(cuda_minor);
    return "nvcc: NVIDIA (R) Cuda compiler driver\n"
           "This is not NVIDIA's nvcc but that of cudasim, which has its command line and compiles for a "
           "simulator.\n"
           "Built on cudasim " CUDASIM_VERSION
           "\n"
           "Cuda compilation tools, release " +
           release + ", V" + release + "." + std::to_string(cuda_build) +
           "\nBuild cudasim_" CUDASIM_VERSION "\n";
}

int act(const std::vector<std::string>& arguments) {
    CommandLine line = CommandLine::read(arguments);
    if (line.has(Option::help)) {
        std::cout << help_text();
    } else if (line.has(Option::help_markdown)) {
        std::cout << help_markdown();
    } else if (line.has(Option::list_inputs)) {
        for (const auto& path : line.inputs()) std::cout << path << "\n";
    } else if (line.has(Option::version)) {
        std::cout << version_text();
    } else if (line.has(Option::list_codes)) {
        std::cout << architecture_list("sm_");
    } else if (line.has(Option::list_architectures)) {
        std::cout << architecture_list("compute_");
    } else {
        return build(std::move(line));
    }
    return 0;
}

}  // namespace
}  // namespace cudasim::nvcc

int main(int count, char** arguments) {
    using namespace cudasim::nvcc;
    watch_signals();
    try {
        return act({arguments + 1, arguments + count});
    } catch (const Interrupted& interrupted) {
        signal(interrupted.signal, SIG_DFL);
        raise(interrupted.signal);
    } catch (const cudasim::cuda_cpp::SourceErrors& errors) {
        std::cerr << errors.what() << "\n";
    } catch (const std::exception& error) {
        std::cerr << "nvcc fatal   : " << error.what() << "\n";
    }
    return 1;
}
