// See core_server.h.
#include "debugger/cores/core_server.h"

#include <llvm/Support/JSON.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <thread>
#include <vector>

#include "debugger/control/control.h"
#include "debugger/control/core_source.h"
#include "debugger/cores/record_as_core.h"
#include "debugger/dap/adapter.h"
#include "debugger/dap/framing.h"
#include "debugger/server/message_loop.h"
#include "simulator/driver/core_files.h"
#include "simulator/driver/launch_options.h"
#include "simulator/driver/launch_record.h"
#include "simulator/driver/record_file.h"
#include "simulator/driver/replay.h"
#include "simulator/driver/simulated_device.h"
#include "simulator/findings/writers.h"

namespace cudasim::debugger {
namespace {

using driver::LaunchRecord;

/// How often the client is looked for while it has not said all yet.
constexpr std::chrono::milliseconds poll_interval{5};

/// The errors in a findings::json_report(), as texts. @throws std::runtime_error where it is none
std::vector<std::string> errors_in(const std::string& report) {
    const auto malformed = [] { return std::runtime_error("what the record says of findings is malformed"); };
    if (!is_shallow(report)) throw malformed();
    llvm::Expected<json::Value> parsed = json::parse(report);
    if (!parsed) {
        llvm::consumeError(parsed.takeError());
        throw malformed();
    }
    const json::Object* object = parsed->getAsObject();
    const json::Array* list = object != nullptr ? object->getArray("findings") : nullptr;
    if (list == nullptr) throw malformed();
    std::vector<std::string> errors;
    for (const json::Value& each : *list) {
        const json::Object* finding = each.getAsObject();
        if (finding == nullptr) throw malformed();
        if (finding->getString("severity").value_or("") != "error") continue;
        errors.push_back(finding->getString("kind").value_or("?").str() + ": " +
                         finding->getString("message").value_or("").str());
    }
    return errors;
}

}  // namespace

struct CoreServer::Parts {
    LaunchRecord record;
    std::string headline, notice;
    std::vector<std::string> errors;  ///< that were recorded
    std::vector<image::SourceFile> sources;

    void tell_end(Adapter& adapter, const std::vector<driver::Difference>& differences,
                  const execution::LaunchResult& result) const;
    std::optional<int> run(Adapter& adapter);
};

CoreServer::CoreServer(const std::filesystem::path& file, std::optional<std::uint64_t> launch)
    : parts_(std::make_unique<Parts>()) {
    const driver::RecordReader reader(file);
    if (reader.launches() == 0)
        throw std::runtime_error(std::string("there is no launch in it") +
                                 (reader.finished() ? "" : ": its end is missing"));
    std::optional<std::size_t> chosen;
    std::string known;
    std::vector<std::string> headlines;
    for (std::size_t i = 0; i < reader.launches() && !chosen; ++i) {
        const LaunchRecord record = reader.read(i, false);
        headlines.push_back(driver::headline(record));
        known += (known.empty() ? "" : ", ") + std::to_string(record.number);
        if (launch ? record.number == *launch : !errors_in(record.outcome.findings).empty()) chosen = i;
    }
    if (launch && !chosen)
        throw std::runtime_error("there is no launch " + std::to_string(*launch) + " in it; it has " + known);
    const std::size_t index = chosen.value_or(0);
    parts_->headline = headlines[index];
    parts_->record = reader.read(index);
    parts_->errors = errors_in(parts_->record.outcome.findings);
    if (!launch && reader.launches() > 1)
        parts_->notice = "There are " + std::to_string(reader.launches()) +
                         " launches in the file; this is " + parts_->headline +
                         (chosen ? ", the first that failed" : ", the first") +
                         ". --launch N chooses another.\n";
    if (!reader.finished())
        parts_->notice += "The end of the file is missing: it was cut, or its recording was not finished.\n";
    if (parts_->record.runs_in_front_end())
        throw std::runtime_error(parts_->headline +
                                 " ran in Python mode, where kernels do not stop for this debugger. `cudasim "
                                 "replay --trust --pdb` debugs it with pdb");
    parts_->sources = image::KernelImage::deserialise(parts_->record.image.bytes()).sources();
}

CoreServer::~CoreServer() = default;

const std::string& CoreServer::headline() const {
    return parts_->headline;
}

/// How the launch has ended, compared with the record.
void CoreServer::Parts::tell_end(Adapter& adapter, const std::vector<driver::Difference>& differences,
                                 const execution::LaunchResult& result) const {
    if (!record.outcome.finished)
        return adapter.output(
            "The core file was written while the launch stood: there is no recorded end to compare with.\n");
    if (differences.empty()) return adapter.output("The launch has ended as it was recorded, to the bit.\n");
    adapter.output("The launch has ended otherwise than it was recorded:\n");
    for (const driver::Difference& difference : differences) {
        adapter.output("  " + difference.text + "\n");
        if (difference.what != "findings") continue;
        for (const std::string& error : errors) adapter.output("    recorded: " + error + "\n");
        for (const std::string& error : errors_in(findings::json_report(result.findings)))
            adapter.output("    now: " + error + "\n");
    }
}

/// The launch, for a client that has said what it begins with.
std::optional<int> CoreServer::Parts::run(Adapter& adapter) {
    Session& session = adapter.session();
    try {
        execution::LaunchOptions options = record.options;
        // Recorded options are believed but for this one: unchecked code may write anywhere.
        driver::check_memory(options);
        options.poll_host = [&](const execution::LaunchProgress& /*now*/) {
            return !session.client_is_there.load();
        };
        std::string printed;
        options.write_output = [&](std::string_view text) {
            printed += text;
            adapter.program_output(std::string(text));
            return session.client_is_there.load();
        };
        Control control(session);
        options.stop_handler = &control;
        driver::SimulatedDevice device(record.device, record.memory_base);
        driver::Restored restored(device, record, options);
        const RecordAsCore source(record);
        const CoreSource::OfThisThread offered(source);
        auto result = device.launch(restored.module(), record.kernel, record.configuration,
                                    restored.parameters(), options);
        for (findings::Finding& finding : result.findings) finding.kernel = record.display_name;
        if (!session.client_is_there) return 1;
        if (!restored.same_addresses())
            adapter.output("The launch ran at other addresses, because those of the record are taken.\n");
        const auto differences = driver::compare(device, record, restored, result, true, printed);
        tell_end(adapter, differences, result);
        return !record.outcome.finished || differences.empty() ? 0 : 1;
    } catch (const image::Cancelled&) {  // the client has gone while the kernel was compiled
        return 1;
    } catch (const std::exception& error) {
        adapter.complain(headline + " cannot be run: " + error.what());
        return 2;
    }
}

std::optional<int> CoreServer::serve(Channel& channel, const std::string& token) {
    Adapter adapter([&](const std::string& message) { channel.send(framed(message)); });
    Session& session = adapter.session();
    adapter.serve_as({.starts_program = true, .token = token, .terminate = [&] { session.end(); }});
    adapter.set_program(parts_->headline, "launch");
    session.keep_sources(parts_->sources);
    session.stop_at_entry.store(parts_->errors.empty());
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread reading([&] { read_messages(adapter, [&] { return channel.receive(); }); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    while (session.client_is_there && !(adapter.is_trusted() && adapter.is_configured()))
        std::this_thread::sleep_for(poll_interval);
    std::optional<int> status;
    if (adapter.is_trusted()) {
        status = 1;
        if (session.client_is_there) {
            if (!parts_->notice.empty()) adapter.output(parts_->notice);
            status = parts_->run(adapter);
        }
        adapter.terminated();
    }
    session.end();
    channel.end();
    reading.join();
    return status;
}

}  // namespace cudasim::debugger
