// nvcc: compiles CUDA C++ with clang for the simulator.
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "frontend/cuda_cpp/images/device_code.h"
#include "frontend/cuda_cpp/images/embedded_image.h"
#include "frontend/ptx/inline_assembly.h"

namespace cudasim::nvcc {
namespace {

namespace fs = std::filesystem;
using Command = std::vector<std::string>;

pid_t start(const Command& command) {
    std::vector<char*> arguments;
    for (const auto& each : command) arguments.push_back(const_cast<char*>(each.c_str()));
    arguments.push_back(nullptr);
    pid_t process = 0;
    if (const int error = posix_spawnp(&process, arguments[0], nullptr, nullptr, arguments.data(), environ))
        throw std::runtime_error(command[0] + ": " + std::generic_category().message(error));
    return process;
}

int wait_for(pid_t process) {
    int status = 0;
    waitpid(process, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct Folder {
    Folder() {
        char name[] = "/tmp/cudasim_nvcc_XXXXXX";
        if (mkdtemp(name) == nullptr) throw std::runtime_error("no temporary folder");
        path = name;
    }
    ~Folder() { fs::remove_all(path); }
    fs::path path;
};

int run(const std::vector<std::string>& arguments) {
    const fs::path toolkit = fs::canonical("/proc/self/exe").parent_path().parent_path();
    const std::string resources = "/usr/lib/llvm-19/lib/clang/19/include";
    std::vector<std::string> sources, others, passed;
    std::string output, arch = "sm_75";
    bool only_compile = false;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& a = arguments[i];
        if (a == "-c")
            only_compile = true;
        else if (a == "-o")
            output = arguments.at(++i);
        else if (a.starts_with("-arch="))
            arch = a.substr(6);
        else if (a == "-arch")
            arch = arguments.at(++i);
        else if (a.ends_with(".cu"))
            sources.push_back(a);
        else if (a.ends_with(".o") || a.ends_with(".cpp") || a.starts_with("-l"))
            others.push_back(a);
        else
            passed.push_back(a);
    }
    Folder work;
    std::vector<std::string> objects;
    for (const auto& source : sources) {
        Command common{"clang++-19",
                       "-x",
                       "cuda",
                       "--cuda-path=" + (work.path / "none").string(),
                       "-nocudainc",
                       "-nocudalib",
                       "--cuda-gpu-arch=" + arch,
                       "-D__CUDACC__",
                       "-D__NVCC__",
                       "-Xclang",
                       "-target-sdk-version=12.3",
                       "-Wno-unknown-cuda-version",
                       "-Xclang",
                       "-fcuda-allow-variadic-functions",
                       "-isystem",
                       resources + "/cuda_wrappers",
                       "-isystem",
                       (toolkit / "include").string(),
                       "-include",
                       "cuda_runtime.h"};
        common.insert(common.end(), passed.begin(), passed.end());
        const std::string bitcode = work.path / "device.bc", image = work.path / "image";
        mkfifo(image.c_str(), 0600);
        Command device = common, host = common;
        for (const char* each :
             {"--cuda-device-only", "-Xclang", "-target-feature", "-Xclang", "+ptx83", "-O1", "-Xclang",
              "-disable-llvm-passes", "-g", "-Xclang", "-debug-info-kind=limited", "-fno-finite-loops",
              "-fno-delete-null-pointer-checks", "-emit-llvm", "-c"})
            device.push_back(each);
        device.insert(device.end(), {source, "-o", bitcode});
        std::string object = only_compile
                                 ? (output.empty() ? fs::path(source).stem().string() + ".o" : output)
                                 : (work.path / (fs::path(source).stem().string() + ".o")).string();
        host.insert(host.end(), {"--cuda-host-only", "-gline-tables-only", "-Xclang",
                                 "-fcuda-include-gpubinary", "-Xclang", image, "-c", source, "-o", object});
        const pid_t device_pass = start(device), host_pass = start(host);
        if (const int failed = wait_for(device_pass)) {
            kill(host_pass, SIGKILL);
            wait_for(host_pass);
            return failed;
        }
        std::ostringstream text;
        text << std::ifstream(bitcode, std::ios::binary).rdbuf();
        const image::KernelImage made = cuda_cpp::image_of_bitcode(text.str(), toolkit.string());
        const ptx::InlineAssembly assembly = ptx::inline_assembly_of(made);
        for (const ptx::InlineAssemblyError& error : assembly.errors)
            std::cerr << error.file << ":" << error.file_line << ": error: " << error.what() << "\n";
        if (!assembly.errors.empty()) {
            kill(host_pass, SIGKILL);
            wait_for(host_pass);
            return 1;
        }
        const auto bytes = cuda_cpp::embedded_form({.image = made, .inline_assembly = assembly.exists});
        std::ofstream(image, std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        if (const int failed = wait_for(host_pass)) return failed;
        objects.push_back(object);
    }
    if (only_compile) return 0;
    Command link{"g++"};
    link.insert(link.end(), objects.begin(), objects.end());
    link.insert(link.end(), others.begin(), others.end());
    const std::string library = toolkit / "lib64";
    link.insert(link.end(), {"-o", output.empty() ? "a.out" : output, "-L" + library, "-Wl,-rpath," + library,
                             "-lcudart", "-lpthread", "-ldl"});
    return wait_for(start(link));
}

}  // namespace
}  // namespace cudasim::nvcc

int main(int count, char** arguments) {
    try {
        return cudasim::nvcc::run({arguments + 1, arguments + count});
    } catch (const std::exception& error) {
        std::cerr << "nvcc fatal   : " << error.what() << "\n";
        return 1;
    }
}
