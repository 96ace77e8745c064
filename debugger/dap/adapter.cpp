// See adapter.h: messages in and out, events, and requests that need no stopped launch.
#include "debugger/dap/adapter.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "debugger/dap/breakpoint_requests.h"
#include "debugger/dap/exception_filters.h"
#include "debugger/dap/framing.h"

namespace cudasim::debugger {

namespace {

/// Of the process. A client that pauses it is told whether it may expect a stop.
std::atomic<unsigned> launches_that_run{0};

}  // namespace

using AtOnce = json::Value (Adapter::*)(const Arguments&);
using WhileStopped = json::Value (Adapter::*)(Control&, const Arguments&);
using StoppedOrNot = json::Value (Adapter::*)(Control*, const Arguments&);

/// A request: exactly one of the three does it.
struct Row {
    const char* command;
    AtOnce at_once = nullptr;
    WhileStopped while_stopped = nullptr;
    StoppedOrNot stopped_or_not = nullptr;
    static const std::vector<Row> all;
};

const std::vector<Row> Row::all{
    {"initialize", &Adapter::initialize},
    {"attach", &Adapter::attach},
    {"launch", &Adapter::launch},
    {"configurationDone", &Adapter::configuration_done},
    {"setBreakpoints", nullptr, nullptr, &Adapter::set_breakpoints},
    {"setFunctionBreakpoints", nullptr, nullptr, &Adapter::set_function_breakpoints},
    {"setExceptionBreakpoints", &Adapter::set_exception_breakpoints},
    {"cudasim/silenceCalls", &Adapter::silence_calls},
    {"setDataBreakpoints", nullptr, nullptr, &Adapter::set_data_breakpoints},
    {"breakpointLocations", &Adapter::breakpoint_locations},
    {"source", &Adapter::source_text},
    {"loadedSources", &Adapter::loaded_sources},
    {"modules", &Adapter::modules},
    {"cancel", &Adapter::cancel},
    {"disconnect", &Adapter::disconnect},
    {"terminate", &Adapter::terminate},
    {"continue", nullptr, &Adapter::continue_launch},
    {"next", nullptr, &Adapter::next},
    {"stepIn", nullptr, &Adapter::step_in},
    {"stepBack", nullptr, &Adapter::step_back},
    {"reverseContinue", nullptr, &Adapter::reverse_continue},
    {"cudasim/writes", nullptr, &Adapter::writes},
    {"stepOut", nullptr, &Adapter::step_out},
    {"cudasim/until", nullptr, &Adapter::until},
    {"cudasim/barrier", nullptr, &Adapter::to_barrier},
    {"threads", nullptr, &Adapter::threads},
    {"cudasim/focus", nullptr, &Adapter::focus},
    {"cudasim/groups", nullptr, &Adapter::groups},
    {"cudasim/kernel", nullptr, &Adapter::kernel},
    {"stackTrace", nullptr, &Adapter::stack_trace},
    {"scopes", nullptr, &Adapter::scopes},
    {"variables", nullptr, &Adapter::variables},
    {"setVariable", nullptr, &Adapter::set_variable},
    {"setExpression", nullptr, &Adapter::set_expression},
    {"completions", nullptr, &Adapter::completions},
    {"evaluate", nullptr, &Adapter::evaluate},
    {"cudasim/evaluateLanes", nullptr, &Adapter::evaluate_lanes},
    {"dataBreakpointInfo", nullptr, &Adapter::data_breakpoint_info},
    {"exceptionInfo", nullptr, &Adapter::exception_info},
    {"readMemory", nullptr, &Adapter::read_memory},
    {"writeMemory", nullptr, &Adapter::write_memory},
    {"cudasim/allocations", nullptr, &Adapter::allocations},
    {"cudasim/disassemble", nullptr, &Adapter::disassemble},
    {"cudasim/core", nullptr, &Adapter::write_core},
    {"pause"},  // receive() does it: what it means depends on whether a launch is stopped
};

const Row* Adapter::row(const std::string& command) {
    const auto found = std::ranges::find(Row::all, command, &Row::command);
    return found != Row::all.end() ? &*found : nullptr;
}

// Messages -------------------------------------------------------------------------------------------------

void Adapter::send(json::Object message) {
    const std::lock_guard lock(sending_);
    message["seq"] = ++sequence_;
    std::string text;
    llvm::raw_string_ostream(text) << json::Value(std::move(message));
    send_(text);
}

void Adapter::event(const char* name, json::Value body) {
    send(json::Object{{"type", "event"}, {"event", name}, {"body", std::move(body)}});
}

void Adapter::respond(const Request& request, json::Value body) {
    json::Object message{{"type", "response"},
                         {"request_seq", request.sequence},
                         {"success", true},
                         {"command", json_text(request.command)}};
    if (body.kind() != json::Value::Null) message["body"] = std::move(body);
    send(std::move(message));
}

/// Names in braces of a `format` would stand for values.
static std::string without_braces(std::string text) {
    std::ranges::replace(text, '{', '(');
    std::ranges::replace(text, '}', ')');
    return text;
}

void Adapter::fail(const Request& request, const std::string& message) {
    send(json::Object{
        {"type", "response"},
        {"request_seq", request.sequence},
        {"success", false},
        {"command", json_text(request.command)},
        {"message", json_text(message)},
        {"body", json::Object{{"error", json::Object{{"id", 1},
                                                     {"format", json_text(without_braces(message))},
                                                     {"showUser", true}}}}}});
}

void Adapter::complain(const std::string& text) {
    event("output",
          json::Object{{"category", "important"}, {"output", json_text("cudasim: " + text + "\n")}});
}

template <typename Call>
void Adapter::answer(const Request& request, Call&& call) {
    try {
        respond(request, call());
    } catch (const std::exception& error) {  // RequestError, or what the request's size made impossible
        fail(request, is_cancelled(request.sequence) ? "cancelled" : error.what());
    }
}

void Adapter::receive(const std::string& message) {
    if (!is_shallow(message)) return complain("a message nests too deeply, and is passed over");
    llvm::Expected<json::Value> parsed = json::parse(message);
    if (!parsed)
        return complain("a message is no JSON, and is passed over: " + llvm::toString(parsed.takeError()));
    json::Object* object = parsed->getAsObject();
    if (object == nullptr || !object->getInteger("seq") || !object->getString("command") ||
        object->getString("type").value_or("") != "request")
        return complain("a message is no request, and is passed over");
    Request request{*object->getInteger("seq"), object->getString("command")->str(), {}};
    if (json::Object* arguments = object->getObject("arguments")) request.arguments = std::move(*arguments);
    if (!is_trusted() && request.command != "initialize" && request.command != "attach" &&
        request.command != "launch" && request.command != "disconnect")
        return fail(request, "the client has to attach first, with the token that the server has printed");
    const Row* found = row(request.command);
    if (found == nullptr)
        return fail(request, "unsupported: cudasim does not have the request '" + request.command + "'");
    if (found->at_once != nullptr) {
        answer(request, [&] { return (this->*found->at_once)(Arguments(&request.arguments)); });
        if (const auto end = std::exchange(after_answer_, {})) end();
        if (request.command == "initialize") event("initialized", json::Object{});
        return;
    }
    if (request.command == "pause") {
        const bool is_stopped = session_.mailbox.post([this, request](Control* control) {
            if (control == nullptr) session_.pause();
            respond(request, nullptr);
        });
        if (is_stopped) return;
        session_.pause();
        session_.interrupt_evaluation();  // of a condition that does not come to an end
        return respond(request,
                       json::Object{{"cudasim", json::Object{{"runs", launches_that_run.load() != 0}}}});
    }
    if (found->stopped_or_not != nullptr) {
        const auto set = [this, request, found](Control* control) {
            answer(request,
                   [&] { return (this->*found->stopped_or_not)(control, Arguments(&request.arguments)); });
        };
        if (!session_.mailbox.post(set)) set(nullptr);
        return;
    }
    note_queued(request.sequence);
    const bool taken = session_.mailbox.post([this, request, found](Control* control) {
        if (!take_queued(request.sequence)) return fail(request, "cancelled");
        if (control == nullptr) {
            end_queued(request.sequence);
            return fail(request, "no kernel is stopped");
        }
        answer(request,
               [&] { return (this->*found->while_stopped)(*control, Arguments(&request.arguments)); });
        end_queued(request.sequence);
    });
    if (taken) return;
    end_queued(request.sequence);
    if (request.command == "threads")  // an editor's pause needs one
        return respond(request, json::Object{{"threads", json::Array{json::Object{
                                                             {"id", ThreadIds::focus},
                                                             {"name", "kernels"},
                                                         }}}});
    fail(request, "no kernel is stopped");
}

void Adapter::begin() {
    {
        const std::lock_guard lock(sending_);
        sequence_ = 0;
    }
    configured_.store(false);
    first_line_.store(1);
    first_column_.store(1);
    session_.begin();
}

void Adapter::set_program(std::string name, std::string start_method) {
    const std::lock_guard lock(sending_);
    program_ = std::move(name);
    start_method_ = std::move(start_method);
}

void Adapter::terminated() {
    event("terminated", json::Object{});
}

// Events ---------------------------------------------------------------------------------------------------

namespace {

json::Object launch_event(const Control& control, const char* what) {
    return json::Object{{"event", what},
                        {"kernel", json_text(control.kernel())},
                        {"launch", json_number(control.number())},
                        {"grid", json_point(control.configuration().grid)},
                        {"blockDim", json_point(control.configuration().block)}};
}

const char* reason_text(StopReason reason) {
    constexpr std::array names{"breakpoint", "function breakpoint", "step", "pause", "exception",
                               "entry",      "data breakpoint"};
    return names[static_cast<std::size_t>(reason)];
}

}  // namespace

/// How often breakpoints and watches have been hit, ignored hits included: those that have been.
json::Array Adapter::described_hits() const {
    json::Array list;
    const auto add = [&](const auto& all) {
        for (const auto& each : all)
            if (each.hits != 0)
                list.push_back(json::Object{{"id", each.id}, {"hits", json_number(each.hits)}});
    };
    add(session_.breakpoints.snapshot());
    add(session_.watchpoints.snapshot());
    return list;
}

void Adapter::launch_begins(const Control& control) {
    ++launches_that_run;
    json::Object body = launch_event(control, "begin");
    json::Array calls;
    for (const Breakpoint& each : session_.breakpoints.snapshot()) {
        const auto is_here = [&](const KernelCode::Line& call) {
            return call.line == each.line && call.file == each.file;
        };
        if (!each.request.is_call || std::ranges::none_of(control.code().calls(), is_here)) continue;
        calls.push_back(json::Object{
            {"id", each.id}, {"file", json_text(each.file)}, {"line", line_for_client(each.line)}});
    }
    if (!calls.empty()) body["breakpointCalls"] = std::move(calls);
    event("cudasim/launch", std::move(body));
}

void Adapter::launch_ends(const Control& control) {
    --launches_that_run;
    json::Object body = launch_event(control, "end");
    body["hits"] = described_hits();
    if (!control.error().empty()) body["error"] = json_text(control.error());
    event("cudasim/launch", std::move(body));
}

void Adapter::stopped(Control& control, const StopNotice& notice) {
    const execution::ThreadRef thread = control.focus();
    const auto configuration = control.configuration();
    const auto &grid = configuration.grid, &block = configuration.block;
    json::Object more{{"kernel", json_text(control.kernel())},
                      {"launch", json_number(control.number())},
                      {"block", json_point(coordinates_in(grid, thread.block))},
                      {"thread", json_point(coordinates_in(block, thread.thread))},
                      {"grid", json_point(grid)},
                      {"blockDim", json_point(block)}};
    if (const findings::CallChain place = control.launch().location(thread); !place.empty()) {
        more["file"] = json_text(place.front().file);
        more["line"] = line_for_client(place.front().line);
        more["function"] = json_text(place.front().function);
    }
    more["hits"] = described_hits();
    if (!notice.notes.empty()) {
        json::Array notes;
        for (const std::string& note : notice.notes) notes.push_back(json_text(note));
        more["notes"] = std::move(notes);
    }
    std::string description = notice.description;
    if (notice.returned) {
        json::Object returned = inspection_.described_return(control, *notice.returned);
        description += (description.empty() ? "" : "; ") + notice.returned->name + " returned " +
                       returned.getString("value")->str();
        more["returned"] = std::move(returned);
    }
    if (notice.wait) more["waits"] = described(*notice.wait);
    if (!notice.watches.empty()) more["watches"] = described(notice.watches);
    if (!notice.writes.empty()) {
        more["writes"] = described_writes(control, notice.writes);
        more["writesInAll"] = json_number(notice.writes_in_all);
    }
    json::Object body{{"reason", reason_text(notice.reason)},
                      {"threadId", ThreadIds::focus},
                      {"allThreadsStopped", true},
                      {"cudasim", std::move(more)}};
    if (!notice.hit_breakpoints.empty()) {
        json::Array ids;
        for (const std::int64_t id : notice.hit_breakpoints) ids.push_back(id);
        body["hitBreakpointIds"] = std::move(ids);
    }
    if (!notice.error.empty()) {
        body["description"] = json_text(notice.error_kind);
        body["text"] = json_text(notice.error);
    } else if (!notice.watches.empty()) {
        body["text"] = json_text(line_about(notice.watches.front()));
    } else if (!description.empty()) {
        body["description"] = json_text(description);
    }
    event("stopped", std::move(body));
}

void Adapter::breakpoint_changed(const Breakpoint& breakpoint) {
    event("breakpoint", json::Object{{"reason", "changed"}, {"breakpoint", described(breakpoint)}});
}

void Adapter::output(const std::string& line) {
    event("output", json::Object{{"category", "console"}, {"output", json_text(line)}});
}

void Adapter::program_output(const std::string& text) {
    event("output", json::Object{{"category", "stdout"}, {"output", json_text(text)}});
}

// Requests that need no stopped launch ---------------------------------------------------------------------

json::Value Adapter::initialize(const Arguments& arguments) {
    if (const std::string format = arguments.text_or("pathFormat", "path"); format != "path")
        throw RequestError("unsupported: paths are given as the system writes them, not as '" + format + "'");
    first_line_.store(arguments.flag("linesStartAt1", true) ? 1 : 0);
    first_column_.store(arguments.flag("columnsStartAt1", true) ? 1 : 0);
    return json::Object{{"supportsConfigurationDoneRequest", true},
                        {"supportsFunctionBreakpoints", true},
                        {"supportsConditionalBreakpoints", true},
                        {"supportsHitConditionalBreakpoints", true},
                        {"supportsLogPoints", true},
                        {"supportsEvaluateForHovers", true},
                        {"supportsSetVariable", true},
                        {"supportsSetExpression", true},
                        {"supportsExceptionInfoRequest", true},
                        {"supportsReadMemoryRequest", true},
                        {"supportsWriteMemoryRequest", true},
                        {"supportsDataBreakpoints", true},
                        {"supportsDataBreakpointBytes", true},
                        {"supportsBreakpointLocationsRequest", true},
                        {"supportsDelayedStackTraceLoading", true},
                        {"supportsTerminateRequest", true},
                        {"supportsCompletionsRequest", true},
                        {"completionTriggerCharacters", json::Array{"."}},
                        {"supportsCancelRequest", true},
                        {"supportsLoadedSourcesRequest", true},
                        {"supportsModulesRequest", true},
                        {"supportsStepBack", true},
                        {"supportsSingleThreadExecutionRequests", true},
                        {"supportTerminateDebuggee", true},
                        {"exceptionBreakpointFilters", exception_filters()}};
}

/// @throws RequestError where the server needs a token, and this is another one
void Adapter::check_token(const Arguments& arguments) {
    if (is_trusted()) return;
    const std::string given = arguments.text_or("token");
    // As long for every wrong one.
    bool same = given.size() == service_.token.size();
    for (std::size_t i = 0; i < service_.token.size(); ++i)
        same &= service_.token[i] == (given.empty() ? '\0' : given[i % given.size()]);
    if (!same) throw RequestError("the request needs \"token\": the one that the server has printed");
    trusted_.store(true);
}

json::Value Adapter::attach(const Arguments& arguments) {
    check_token(arguments);
    json::Object body{{"systemProcessId", getpid()}, {"isLocalProcess", true}};
    {
        const std::lock_guard lock(sending_);
        body["name"] = json_text(program_);
        body["startMethod"] = start_method_;
    }
    event("process", std::move(body));
    return nullptr;
}

json::Value Adapter::launch(const Arguments& arguments) {
    if (!service_.starts_program)
        throw RequestError("unsupported: the program runs already; the request is attach");
    return attach(arguments);
}

json::Value Adapter::configuration_done(const Arguments& /*arguments*/) {
    configured_.store(true);
    return nullptr;
}

std::uint32_t Adapter::line_from_client(std::int64_t line) const {
    const std::int64_t counted_from_1 = line + 1 - first_line_.load();
    return counted_from_1 < 0 || counted_from_1 > 0x7fffffff ? 0 : static_cast<std::uint32_t>(counted_from_1);
}

std::int64_t Adapter::line_for_client(std::uint32_t line) const {
    return static_cast<std::int64_t>(line) - 1 + first_line_.load();
}

json::Object Adapter::described(const Breakpoint& breakpoint) {
    json::Object object{{"id", breakpoint.id}, {"verified", breakpoint.verified}};
    if (breakpoint.line != 0) object["line"] = line_for_client(breakpoint.line);
    if (!breakpoint.message.empty()) object["message"] = json_text(breakpoint.message);
    if (!breakpoint.file.empty()) {
        const std::lock_guard lock(sources_);
        object["source"] = inspection_.source(session_, breakpoint.file);
    }
    return object;
}

/// In the order of the request: `errors` has a text for each that could not be set.
json::Value Adapter::described(const std::vector<Breakpoint>& breakpoints, std::vector<std::string> errors) {
    json::Array list;
    auto next = breakpoints.begin();
    for (const std::string& error : errors)
        list.push_back(error.empty() ? described(*next++)
                                     : json::Object{{"verified", false}, {"message", json_text(error)}});
    return json::Object{{"breakpoints", std::move(list)}};
}

json::Value Adapter::set_breakpoints(Control* control, const Arguments& arguments) {
    const Arguments source = arguments.object("source");
    std::string path = source.text_or("path");
    if (path.empty()) {
        const std::lock_guard lock(sources_);
        path = inspection_.path_of_source(source.number("sourceReference"));
    }
    auto [requests, errors] =
        requests_of<BreakpointRequest>(arguments, [&](BreakpointRequest& request, const Arguments& one) {
            request.file = path;
            request.line = line_from_client(one.number("line"));
        });
    const auto set = session_.breakpoints.set_lines(path, std::move(requests));
    session_.refuse_conditions(control);
    session_.tell_of_changes();
    return described(session_.breakpoints.renewed(set), std::move(errors));
}

json::Value Adapter::set_function_breakpoints(Control* control, const Arguments& arguments) {
    auto [requests, errors] = requests_of<BreakpointRequest>(
        arguments,
        [](BreakpointRequest& request, const Arguments& one) { request.function = one.text("name"); });
    const auto set = session_.breakpoints.set_functions(std::move(requests));
    session_.refuse_conditions(control);
    session_.tell_of_changes();
    return described(session_.breakpoints.renewed(set), std::move(errors));
}

json::Value Adapter::set_exception_breakpoints(const Arguments& arguments) {
    bool errors = false, calls = false;
    std::uint64_t kinds = 0;
    json::Array set;
    if (const json::Array* filters = arguments.array("filters")) {
        for (const json::Value& each : *filters) {
            const llvm::StringRef filter = each.getAsString().value_or("");
            const auto kind = error_kind_named(filter);
            errors |= filter == "errors";
            calls |= filter == "calls";
            if (kind) kinds |= std::uint64_t{1} << static_cast<unsigned>(*kind);
            json::Object described{{"verified", kind || filter == "errors" || filter == "calls"}};
            if (described["verified"] == false)
                described["message"] =
                    "there is no filter '" + filter.str() + "': the answer to `initialize` lists them";
            set.push_back(std::move(described));
        }
    }
    session_.error_kinds.store(kinds);
    session_.errors_stop.store(errors);
    session_.calls_stop.store(calls);
    session_.tell_of_changes();
    return json::Object{{"breakpoints", std::move(set)}};
}

json::Value Adapter::silence_calls(const Arguments& arguments) {
    std::vector<std::pair<std::string, std::uint32_t>> silent;
    if (const json::Array* calls = arguments.array("calls")) {
        for (const json::Value& each : *calls) {
            const Arguments call(each.getAsObject());
            silent.emplace_back(call.text("file"), line_from_client(call.number("line")));
        }
    }
    session_.breakpoints.silence(silent);
    session_.tell_of_changes();
    return nullptr;
}

json::Value Adapter::breakpoint_locations(const Arguments& arguments) {
    const std::string path = arguments.object("source").text("path");
    const std::uint32_t first = line_from_client(arguments.number("line"));
    const std::uint32_t last =
        line_from_client(arguments.number_if_there("endLine").value_or(arguments.number("line")));
    json::Array list;
    for (const std::uint32_t line : session_.lines_with_code(path))
        if (line >= first && line <= last) list.push_back(json::Object{{"line", line_for_client(line)}});
    return json::Object{{"breakpoints", std::move(list)}};
}

/// The text that was compiled.
json::Value Adapter::source_text(const Arguments& arguments) {
    const Arguments source = arguments.object("source");
    const auto reference = source.number_if_there("sourceReference")
                               .value_or(arguments.number_if_there("sourceReference").value_or(0));
    std::string path = source.text_or("path");
    if (reference != 0) {
        const std::lock_guard lock(sources_);
        path = inspection_.path_of_source(reference);
    }
    auto text = session_.source(path);
    if (!text) throw RequestError("no kernel of '" + path + "' has been launched");
    return json::Object{{"content", json_text(*text)}};
}

json::Value Adapter::disconnect(const Arguments& arguments) {
    configured_.store(true);
    if (arguments.flag("terminateDebuggee")) return terminate(arguments);
    after_answer_ = [this] { session_.end(); };
    return nullptr;
}

json::Value Adapter::terminate(const Arguments& /*arguments*/) {
    if (service_.terminate)
        after_answer_ = service_.terminate;
    else
        after_answer_ = [] { (void)kill(getpid(), SIGTERM); };  // not raise(): this thread takes no signals
    return nullptr;
}

}  // namespace cudasim::debugger
