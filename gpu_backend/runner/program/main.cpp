// cudasim-gpu-run: runs recorded launches on the GPU of this machine. It needs NVIDIA's driver and nothing
// else: neither Python nor LLVM nor a CUDA toolkit.
#include <sys/auxv.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>

#include "gpu_backend/libcuda/driver.h"
#include "gpu_backend/runner/record_run.h"
#include "gpu_backend/runner/serving.h"

namespace {

using namespace cudasim;

void print(const records::GpuResult& result) {
    std::string line = "#" + std::to_string(result.number) + " " + result.kernel + ": ";
    if (result.status == records::GpuStatus::ran) {
        char time[64];
        std::snprintf(time, sizeof time, "ran, %.3f ms by the GPU's events", result.milliseconds);
        line += time;
    } else {
        line += std::string(name_of(result.status)) + ": " + result.message;
    }
    if (result.stray_bytes != 0)
        line += "; it wrote " + std::to_string(result.stray_bytes) + " bytes outside of every allocation";
    std::puts(line.c_str());
    std::fflush(stdout);
}

/// The file of this program, for the child process that uses the GPU. Without /proc, as it was started.
std::filesystem::path this_program() {
    std::error_code error;
    auto program = std::filesystem::read_symlink("/proc/self/exe", error);
    if (!error && std::filesystem::exists(program, error)) return program;
    const char* started_as = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
    return started_as != nullptr ? started_as : "";
}

int show_gpus() {
    const auto inventory = libcuda::take_inventory(libcuda::Search::on_this_machine());
    for (const auto& line : libcuda::lines_of(inventory)) std::puts(line.c_str());
    return libcuda::exit_code(inventory.outcome);
}

/// "3", "3..5", "3.." or "..5"
bool read_range(const std::string& text, runner::RecordRunOptions& options) {
    const auto dots = text.find("..");
    const auto number = [](const std::string& digits, std::uint64_t& value) {
        char* end = nullptr;
        if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos) return false;
        value = std::strtoull(digits.c_str(), &end, 10);
        return *end == '\0' && value > 0;
    };
    if (dots == std::string::npos) return number(text, options.first) && number(text, options.last);
    const std::string first = text.substr(0, dots), last = text.substr(dots + 2);
    return !(first.empty() && last.empty()) && (first.empty() || number(first, options.first)) &&
           (last.empty() || number(last, options.last)) && options.first <= options.last;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{
        "Runs launches that `cudasim record --gpu` has recorded on the GPU of this machine, and keeps what "
        "they leave in memory.\n"
        "At home, `cudasim diff RECORD RESULTS` compares that with what the simulator computed.\n\n"
        "Exit status: 0 every launch ran; 1 one did not; 2 wrong arguments, or a file that cannot be read or "
        "written; 10 no driver, "
        "11 a broken one, 12 no GPU, 13 driver or GPU too old.",
        "cudasim-gpu-run"};
    std::string input, output, launches, served;
    runner::RecordRunOptions options;
    bool gpus = false;
    const auto is_time = [](const std::string& text) {
        double seconds = 0;
        return CLI::detail::lexical_cast(text, seconds) && seconds > 0 && std::isfinite(seconds)
                   ? std::string()
                   : "'" + text + "' is no number of seconds above 0";
    };
    app.add_option("RECORD", input, "File of recorded launches");
    app.add_option("-o,--output", output, "File for the results")->type_name("FILE");
    app.add_option("--launches", launches, "Only these: 3, 3..5, 3.. or ..5")->type_name("RANGE");
    app.add_option("--time-limit", options.seconds, "Most seconds for a kernel")
        ->type_name("SECONDS")
        ->check(is_time)
        ->capture_default_str();
    app.add_flag("--with-faulting", options.with_faulting,
                 "Run also launches in which the simulator found an error");
    app.add_flag("--gpus", gpus, "Say which GPUs there are, and end");
    app.add_option("--serve", served)
        ->group("");  // for cudasim: descriptors of a socket and of a file in memory
    app.set_version_flag("--version", CUDASIM_VERSION);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    if (!served.empty()) {
        int socket = -1, memory = -1;
        if (std::sscanf(served.c_str(), "%d,%d", &socket, &memory) != 2) return 2;
        return runner::serve(socket, memory, libcuda::Search::on_this_machine());
    }
    if (gpus) return show_gpus();
    const auto refuse = [](const std::string& what) {
        std::fprintf(stderr, "cudasim-gpu-run: %s\n", what.c_str());
        return 2;
    };
    if (input.empty() || output.empty())
        return refuse(
            "name a file of records and one for the results: cudasim-gpu-run run.cudasim -o gpu.cudasim");
    if (!launches.empty() && !read_range(launches, options))
        return refuse("'" + launches + "' names no launches: write 3, 3..5, 3.. or ..5");
    try {
        runner::RunnerProcess gpu({.program = this_program()});
        return runner::run_file(input, output, gpu, options, &print) == 0 ? 0 : 1;
    } catch (const runner::NoRunner& none) {
        std::fprintf(stderr, "cudasim-gpu-run: %s\n", none.what());
        return none.exit_status;
    } catch (const std::exception& error) {
        return refuse(error.what());
    }
}
