// Launches from Python: the GIL is released while a kernel runs, and Python is served meanwhile.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frontend/bindings/bindings.h"
#include "frontend/bindings/host_poll.h"
#include "frontend/bindings/released_gil.h"
#include "simulator/driver/launch_capture.h"
#include "simulator/driver/launch_options.h"
#include "simulator/driver/launch_plan.h"
#include "simulator/driver/launch_record.h"
#include "simulator/execution/stop.h"

namespace cudasim::bindings {

struct BoundPlan {
    driver::LaunchPlan plan;
    Progress progress;
};

/// A launch of host code that is to be recorded: what its front end knows of it.
struct HostRecording {
    driver::LaunchRecord described;
    std::vector<std::uint64_t> roots;  ///< addresses that the kernel knows besides its parameters
    driver::CaptureOptions options;
};

struct BoundHostPlan {
    driver::HostPlan plan;
    Progress progress;
    std::optional<HostRecording> to_record;
    std::optional<driver::LaunchRecord> record;
    std::string not_recorded;  ///< why there is no record
    bool keeps_result = false;
    std::optional<execution::LaunchResult> result;  ///< of the last launch, if keeps_result
    bool finished = false;                          ///< whether it came to its end
};

[[nodiscard]] pybind11::object python_value(const driver::OptionValue& value);
/// A Python value as an option's. @throws type_error
[[nodiscard]] driver::OptionValue option_value(const pybind11::handle& value);

[[nodiscard]] inline std::span<const std::byte> bytes_of(const pybind11::bytes& object) {
    char* data = nullptr;
    Py_ssize_t size = 0;
    if (PyBytes_AsStringAndSize(object.ptr(), &data, &size) != 0) throw pybind11::error_already_set();
    return std::as_bytes(std::span(data, static_cast<std::size_t>(size)));
}

// -- stop_bindings.cpp

/// What stops the launch that begins now, or null: what set_stop_handler() of the module names, else the
/// debugger. Needs the GIL.
/// @param keeps_gil the simulated threads run Python code, so they run with the GIL
/// @param sources that the kernel was compiled of
[[nodiscard]] std::unique_ptr<execution::StopHandler> stop_handler_for(
    HostPoll& poll, bool keeps_gil, const std::vector<image::SourceFile>& sources);

/// What simulated threads run: Python code runs with the GIL, which its front end takes again.
enum class Runs : bool { compiled_code, python_code };

// -- access_bindings.cpp

/// Who is told of the accesses of the launch that begins now, or null (set_access_log() of the module). Needs
/// the GIL.
[[nodiscard]] std::unique_ptr<execution::AccessObserver> access_log_for(Runs what);

/// One launch with the GIL released.
/// @param run (options) → result, without the GIL
/// @param ended (result, whether it came to its end) → nothing, without the GIL
/// @return None when there is nothing to say, else a LaunchReport
template <typename Run, typename Ended>
pybind11::object launch_with(Runs what, execution::LaunchOptions options, const Progress& progress,
                             const std::vector<image::SourceFile>& sources, Run&& run, Ended&& ended) {
    HostPoll poll(progress);
    const auto stops = stop_handler_for(poll, what == Runs::python_code, sources);
    options.stop_handler = stops.get();
    const auto accesses = access_log_for(what);
    if (accesses) options.access_observers.add(*accesses);
    options.poll_host = [&poll](const execution::LaunchProgress& now) { return poll(now); };
    options.write_output = [&poll](std::string_view text) { return poll.write(text); };
    execution::LaunchResult result;
    {
        const ReleasedGil release;
        try {
            result = driver::in_call("cuLaunchKernel", [&] { return run(options); });
            ended(result, !poll.raised());
        } catch (const image::Cancelled&) {  // while its kernel was compiled; `poll` has the exception
        }
    }
    poll.end_progress(result.blocks_run);
    if (result.findings.empty() && !poll.raised()) return pybind11::none();
    return pybind11::cast(LaunchReport{std::move(result.findings), sources, result.blocks_run, poll.take()});
}
template <typename Run>
pybind11::object launch_with(Runs what, const execution::LaunchOptions& options, const Progress& progress,
                             const std::vector<image::SourceFile>& sources, Run&& run) {
    return launch_with(what, options, progress, sources, run, [](const execution::LaunchResult&, bool) {});
}

// -- record_bindings.cpp

/// The number that the launch has in its record, 0 when it is not to be recorded (record_launches() of the
/// module).
[[nodiscard]] std::uint64_t number_to_record(const driver::LaunchPlan& plan);
/// Whether launches are captured for other reasons: core files, or a debugger, which may ask for one.
[[nodiscard]] bool captures_launches();
/// The same as a launch, recorded under a number; 0: not by record_launches().
[[nodiscard]] pybind11::object launch_recorded(BoundPlan& bound, std::span<const std::byte> parameters,
                                               std::uint64_t number);
[[nodiscard]] pybind11::object launch_recorded(BoundHostPlan& bound, execution::HostKernel& kernel);
void record_as(BoundHostPlan& bound, std::uint64_t number, const std::string& display_name,
               const std::vector<std::pair<std::string, std::string>>& arguments,
               const pybind11::bytes& parameters, const pybind11::bytes& front_end,
               const std::vector<std::uint64_t>& roots, const std::string& version, bool keep_after);
[[nodiscard]] pybind11::object take_record(BoundHostPlan& bound);

}  // namespace cudasim::bindings
