// See launch_runner.h.
#include "frontend/cuda_cpp/runtime/launch_runner.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

#include "debugger/control/core_source.h"
#include "debugger/server/server.h"
#include "frontend/cuda_cpp/host_code/call_labels.h"
#include "frontend/cuda_cpp/runtime/environment_option.h"
#include "library/library.h"
#include "simulator/driver/core_files.h"
#include "simulator/driver/options.h"
#include "simulator/driver/program_journal.h"
#include "simulator/image/code_addresses.h"

namespace cudasim::cudart {
namespace {

using debugger::Server;
using driver::CoreFiles;
using driver::LaunchCapture;
using driver::LaunchRecord;
using driver::ProgramJournal;

/// What a command of cudasim sets for the program that it starts.
constexpr auto journal_variable = "CUDASIM_PROGRAM_JOURNAL";
constexpr auto record_variable = "CUDASIM_PROGRAM_RECORD";
constexpr auto most_variable = "CUDASIM_PROGRAM_RECORD_MOST";
constexpr auto keep_after_variable = "CUDASIM_PROGRAM_RECORD_AFTER";

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

[[noreturn]] void give_up(const std::string& why) {
    std::fprintf(stderr, "cudasim: %s\n", why.c_str());
    std::_Exit(2);
}

driver::Content content_of(const image::KernelImage& image) {
    const auto bytes = image.serialise();
    return driver::Content(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

/// So long no block may come to its end before that is told.
constexpr double longest_without_end = 5;

/// Whether a launch is to end, and once on the standard error that it seems to wait: nobody sees why a
/// program stands still where the host is what a kernel waits for.
class TellsLongWaits {
  public:
    TellsLongWaits(std::string kernel, std::function<findings::CallChain()> host_frames,
                   std::function<bool(const execution::LaunchProgress&)> poll)
        : kernel_(std::move(kernel)), host_frames_(std::move(host_frames)), poll_(std::move(poll)) {}

    bool operator()(const execution::LaunchProgress& progress) {
        if (progress.compiling || progress.blocks_done != blocks_done_) {
            blocks_done_ = progress.blocks_done;
            since_ = progress.seconds;
        } else if (!told_ && progress.seconds - since_ > longest_without_end) {
            told_ = true;
            tell();
        }
        return poll_ && poll_(progress);
    }

  private:
    void tell() const {
        std::string place;
        const findings::CallChain frames = host_frames_();
        if (!frames.empty() && frames.front().line != 0)
            place = ", launched at " + frames.front().file + ":" + std::to_string(frames.front().line) + ",";
        std::fprintf(
            stderr,
            "cudasim: %s%s has run for %d seconds in which no block has ended. If it waits for the host "
            "it waits for ever: with this command every launch is waited for. Ctrl-C ends it.\n",
            kernel_.c_str(), place.c_str(), static_cast<int>(longest_without_end));
    }

    std::string kernel_;
    std::function<findings::CallChain()> host_frames_;
    std::function<bool(const execution::LaunchProgress&)> poll_;
    std::uint64_t blocks_done_ = 0;
    double since_ = 0;
    bool told_ = false;
};

/// Who reads a record later cannot look up the lines of this process.
void put_lines(LaunchRecord& record) {
    for (auto& range : record.memory) range.label = cuda_cpp::with_lines(range.label);
}

/// What a debugger writes as a core file while a launch stands.
class CaptureAsCore final : public debugger::CoreSource {
  public:
    CaptureAsCore(LaunchCapture& capture, const image::KernelImage& image, const findings::CallChain& frames)
        : capture_(capture), image_(image), frames_(frames) {}

    void write(const std::string& path, const std::vector<findings::Finding>& errors) const override {
        LaunchRecord record = capture_.before_launch();
        record.image = content_of(image_);
        record.host_frames = frames_;
        put_lines(record);
        auto readable = errors;
        cuda_cpp::put_lines(readable);
        driver::write_core(path, std::move(record), readable);
    }
    [[nodiscard]] findings::CallChain host_frames() const override { return frames_; }

  private:
    LaunchCapture& capture_;
    const image::KernelImage& image_;
    const findings::CallChain& frames_;
};

std::string identity_of(const driver::LaunchPlan& plan) {
    std::string text = plan.kernel;
    const auto& [grid, block, shared_bytes, cluster] = plan.configuration;
    for (const auto& extents : {grid, block, cluster.value_or(execution::Dim3{})})
        for (const std::uint32_t extent : {extents.x, extents.y, extents.z})
            text += " " + std::to_string(extent);
    return text;
}

}  // namespace

LaunchRunner& LaunchRunner::of_this_process() {
    static LaunchRunner& runner = *new LaunchRunner;
    return runner;
}

LaunchRunner::LaunchRunner() {
    try {
        CoreFiles::of_this_process().set(driver::core_settings(
            environment_option<std::string>("core"), environment_option<std::uint64_t>("core_files"),
            environment_option<std::uint64_t>("core_memory"), library::version()));
        if (const auto path = variable(journal_variable); !path.empty())
            ProgramJournal::of_this_process().open(path);
        if (const auto path = variable(record_variable); !path.empty()) {
            writer_ = std::make_unique<driver::RecordWriter>(path);
            has_writer_ = true;
            most_of_each_ = std::strtoull(variable(most_variable).c_str(), nullptr, 10);
            keeps_after_ = !variable(keep_after_variable).empty();
            unsetenv(record_variable);  // a process that this one starts would write to the same file
        }
        connect_debugger();
    } catch (const std::exception& error) {
        give_up(error.what());
    }
}

void LaunchRunner::connect_debugger() {
    const auto kind = environment_option<std::string>("debugger");
    constexpr std::string_view connect = "connect:";
    if (kind.empty() || Server::running() != nullptr) return;
    if (!kind.starts_with(connect))
        give_up("CUDASIM_DEBUGGER=" + kind +
                ": a program in CUDA C++ is debugged with `cudasim debug ./program`");
    Server& server = Server::connect(kind.substr(connect.size()));
    unsetenv("CUDASIM_DEBUGGER");  // processes that this one starts have no debugger
    char path[4096];
    const auto length = readlink("/proc/self/exe", path, sizeof path);
    server.set_program(std::string(path, length > 0 ? static_cast<std::size_t>(length) : 0));
    server.keep_history(environment_option<std::uint64_t>("history"));
    while (!server.may_begin()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

bool LaunchRunner::tells_findings() const {
    return ProgramJournal::of_this_process().is_open();
}

bool LaunchRunner::is_needed() const {
    return has_writer_ || tells_findings() || CoreFiles::of_this_process().wanted() ||
           Server::running() != nullptr;
}

bool LaunchRunner::records(const driver::LaunchPlan& plan) {
    const std::lock_guard lock(mutex_);
    if (!writer_) return false;
    return most_of_each_ == 0 || ++recorded_[identity_of(plan)] <= most_of_each_;
}

void LaunchRunner::keep(LaunchRecord record) {
    const std::lock_guard lock(mutex_);
    if (writer_) writer_->add(record);
}

execution::LaunchResult LaunchRunner::run(const driver::LaunchPlan& plan,
                                          std::span<const std::byte> parameters, const EmbeddedCode* embedded,
                                          const std::function<findings::CallChain()>& host_frames) {
    const ProgramJournal& journal = ProgramJournal::of_this_process();
    CoreFiles& cores = CoreFiles::of_this_process();
    Server* const server = Server::running();
    const std::uint64_t number = ++launches_;
    const bool recorded = records(plan);
    const bool captured = recorded || cores.wanted() || (server != nullptr && server->has_client());
    const findings::CallChain frames = captured || journal.is_open() ? host_frames() : findings::CallChain{};
    if (journal.is_open())
        journal.launch_begins({.number = number,
                               .kernel = plan.display_name,
                               .configuration = plan.configuration,
                               .recorded = recorded,
                               .host_frames = frames});
    execution::LaunchOptions options = plan.options;
    std::optional<LaunchCapture> capture;
    std::unique_ptr<execution::StopHandler> handler;
    if (server != nullptr) {
        handler = server->handler(plan.image.sources());
        if (handler) {
            options.stop_handler = handler.get();
            options.workers = 1;
        }
    }
    if (captured) {
        if (recorded) options.workers = 1;
        LaunchRecord described{.version = library::version(),
                               .number = number,
                               .kernel = plan.kernel,
                               .display_name = plan.display_name,
                               .configuration = plan.configuration,
                               .options = plan.options,
                               .arguments = plan.arguments,
                               .parameters = {parameters.begin(), parameters.end()}};
        if (recorded) described.options.workers = 1;
        capture.emplace(
            *plan.device, std::move(described), plan.loaded.get(), image::wide_constants(plan.image),
            recorded
                ? driver::CaptureOptions{.keep_after = keeps_after_}
                : (cores.wanted() ? cores.capture_options() : driver::CaptureOptions{.only_failures = true}));
        options.observers.add(*capture);
        options.write_output = [&, write = options.write_output](std::string_view text) {
            capture->print(text);
            return !write || write(text);
        };
    }
    if (server == nullptr)
        options.poll_host = TellsLongWaits(plan.display_name, host_frames, std::move(options.poll_host));
    execution::LaunchResult result;
    if (capture) {
        const CaptureAsCore source(*capture, plan.image, frames);
        const debugger::CoreSource::OfThisThread offered(source);
        result = driver::run(plan, parameters, options);
    } else {
        result = driver::run(plan, parameters, options);
    }
    cuda_cpp::put_lines(result.findings);
    if (journal.is_open()) journal.launch_ends(number, result.findings, plan.image.sources());
    if (!capture || !capture->wanted()) return result;
    try {
        LaunchRecord record = capture->finish(result, true);
        record.image = content_of(plan.image);
        record.host_frames = frames;
        put_lines(record);
        if (recorded && embedded != nullptr) record.embedded_image = content_of(embedded->image());
        if (recorded) keep(record);
        if (cores.wanted() && result.error() != nullptr) {
            const auto core = cores.write(record);
            if (!core.path.empty())
                std::fprintf(stderr, "cudasim: core file %s; open it with: cudasim debug --core %s\n",
                             core.path.c_str(), core.path.c_str());
            else if (!core.problem.empty())
                std::fprintf(stderr, "cudasim: no core file: %s\n", core.problem.c_str());
        }
    } catch (const driver::RecordError& error) {
        std::fprintf(stderr, "cudasim: launch %llu is not recorded: %s\n",
                     static_cast<unsigned long long>(number), error.what());
    }
    return result;
}

void LaunchRunner::finish() {
    if (Server* const server = Server::running()) server->end();
    ProgramJournal::of_this_process().program_ends();
    const std::lock_guard lock(mutex_);
    if (!writer_) return;
    try {
        writer_->close();
    } catch (const driver::RecordError& error) {
        std::fprintf(stderr, "cudasim: %s\n", error.what());
    }
    writer_.reset();
}

}  // namespace cudasim::cudart
