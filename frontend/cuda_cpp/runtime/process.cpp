// See process.h.
#include "frontend/cuda_cpp/runtime/process.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "frontend/cuda_cpp/runtime/launch_runner.h"
#include "simulator/driver/devices.h"
#include "simulator/driver/launch_options.h"
#include "simulator/driver/options.h"
#include "simulator/driver/simulated_device.h"
#include "simulator/execution/device_profile.h"
#include "simulator/findings/writers.h"

namespace cudasim::cudart {
namespace {

std::atomic<bool> errors_reported{false};

void end_with_status(int status, void*) {
    LaunchRunner::of_this_process().finish();
    if (status != 0 || !errors_reported) return;
    std::fflush(nullptr);
    _exit(1);
}

void make_devices() {
    if (driver::Devices::of_this_process().count() != 0) return;
    const auto& profile = execution::profiles().front();
    auto context = driver::Context::make(0);
    context->set_engine(std::make_shared<driver::SimulatedDevice>(profile));
    (void)driver::Devices::of_this_process().exchange({context});
}

execution::LaunchOptions options_of_environment() {
    execution::LaunchOptions options;
    for (const auto& row : driver::launch_option_table())
        for (const auto& option : driver::option_table())
            if (option.name == row.name)
                row.set(options, row.name, driver::option_from_environment(option).value);
    options.write_output = [](std::string_view text) {
        return std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    };
    return options;
}

}  // namespace

Process::Process() : options_(options_of_environment()) {
    make_devices();
    on_exit(&end_with_status, nullptr);
}

Process& Process::get() {
    static Process& process = *new Process;  // used until the very end of the program
    return process;
}

std::shared_ptr<driver::Context> Process::current() const {
    auto& stack = driver::ContextStack::of_this_thread();
    auto context = stack.current();
    if (!context) {
        context = driver::Devices::of_this_process().get(0, "cudaSetDevice");
        stack.push(context);
    }
    context->activate();
    return context;
}

void Process::report(const findings::Finding& finding, std::span<const image::SourceFile> sources) {
    errors_reported = true;
    std::fflush(stdout);
    std::fputs(findings::text_report(finding, sources).c_str(), stderr);
}

}  // namespace cudasim::cudart
