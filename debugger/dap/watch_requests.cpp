// Data breakpoints: Inspection's part that finds what is to be watched, and Adapter's requests and events.
#include <charconv>

#include "debugger/dap/adapter.h"
#include "debugger/dap/breakpoint_requests.h"
#include "debugger/dap/special_registers.h"
#include "debugger/dap/watch_targets.h"

namespace cudasim::debugger {

using execution::WatchHit;

namespace {

const char* access_text(WatchAccess access) {
    switch (access) {
        case WatchAccess::read:
            return "read";
        case WatchAccess::read_write:
            return "readWrite";
        case WatchAccess::write:
            break;
    }
    return "write";
}

std::optional<WatchAccess> access_from(const std::string& text) {
    for (const WatchAccess access : {WatchAccess::write, WatchAccess::read, WatchAccess::read_write})
        if (text == access_text(access)) return access;
    return std::nullopt;
}

const char* space_text(const WatchTarget& target) {
    if (target.is_variable) return "variable";
    if (target.space == execution::WatchedSpace::shared) return "shared";
    return target.space == execution::WatchedSpace::local ? "local" : "global";
}

}  // namespace

std::int64_t Inspection::whole_number(Control& control, const Frame& frame, const std::string& text) {
    const Evaluation value = front_end_value(control, frame, text);
    std::int64_t number = 0;
    const char* last = value.text.data() + value.text.size();
    if (!value.ok) throw RequestError(value.text);
    if (std::from_chars(value.text.data(), last, number).ptr != last || value.text.empty())
        throw RequestError("'" + text + "' is " + value.text + ", which is no index");
    return number;
}

WatchTargets::Place Inspection::watch_place(Control& control, const Frame& frame) {
    return {control.launch(),
            {frame.thread, frame.index},
            control.number(),
            [this, &control, frame](const std::string& name) {
                for (const SpecialRegister& each : special_registers(control, frame.thread))
                    if (each.name == name)
                        throw RequestError("special registers do not change, and have no address");
                return variable(control, frame, name);
            },
            [this, &control, frame](const std::string& text) { return whole_number(control, frame, text); }};
}

/// What cannot be watched has no data id, and a description that says why.
json::Value Inspection::data_breakpoint_info(Control& control, const Arguments& arguments) {
    std::string expression = arguments.text("name");
    const std::uint64_t bytes = arguments.count_or("bytes", 0);
    forget_what_is_over(control);
    Frame here = frame_of(control, arguments);
    if (arguments.flag("asAddress")) {
        expression = "*" + expression + (bytes != 0 ? ":" + std::to_string(bytes) : "");
    } else if (arguments.number_if_there("variablesReference").value_or(0) != 0) {
        const Node whole = node_of(control, arguments);
        here = whole.frame;
        if (whole.scope == Scope::none)
            expression = whole.expression + (expression.starts_with('[') ? "" : ".") + expression;
    }
    try {
        if (here.is_host) throw RequestError("only variables of kernels can be watched");
        WatchTarget target = WatchTargets::find(watch_place(control, here), expression, bytes);
        json::Array access{"write"};
        if (!target.is_variable) {
            access.push_back("read");
            access.push_back("readWrite");
        }
        json::Object more{{"space", space_text(target)}};
        if (target.block) more["block"] = json_number(*target.block);
        const std::string description = target.expression;
        const std::string data_id = control.session().watchpoints.name(std::move(target));
        if (data_id.empty()) throw RequestError("too many places have been watched in this program");
        return json::Object{{"dataId", json_text(data_id)},
                            {"description", json_text(description)},
                            {"accessTypes", std::move(access)},
                            {"canPersist", false},
                            {"cudasim", std::move(more)}};
    } catch (const RequestError& error) {
        return json::Object{{"dataId", nullptr}, {"description", json_text(error.what())}};
    }
}

// Adapter --------------------------------------------------------------------------------------------------

json::Value Adapter::data_breakpoint_info(Control& control, const Arguments& arguments) {
    return inspection_.data_breakpoint_info(control, arguments);
}

json::Value Adapter::set_data_breakpoints(Control* control, const Arguments& arguments) {
    auto [requests, errors] = requests_of<WatchpointRequest>(arguments, [&](WatchpointRequest& request,
                                                                            const Arguments& one) {
        request.data_id = one.text("dataId");
        const auto access = access_from(one.text_or("accessType", "write"));
        if (!access) throw RequestError("'" + one.text("accessType") + "' is no access type");
        request.access = *access;
        const Arguments more = one.object("cudasim");
        const auto target = session_.watchpoints.target(request.data_id);
        if (!target)
            throw RequestError("'" + request.data_id + "' names nothing that is there: its kernel is over");
        if (target->is_variable && request.access != WatchAccess::write)
            throw RequestError("of variables assignments are seen, and no reads");
        request.all_blocks = more.find("blocks") != nullptr && target->block.has_value();
        if (control == nullptr) return;
        if (const std::string refusal = control->refusal_of_watch(request.condition); !refusal.empty())
            throw RequestError(refusal);
    });
    const auto set = session_.watchpoints.set(std::move(requests));
    session_.tell_of_changes();
    json::Array list;
    auto next = set.begin();
    for (const std::string& error : errors) {
        const std::optional<Watchpoint>* watchpoint = error.empty() ? &*next++ : nullptr;
        if (watchpoint != nullptr && *watchpoint)
            list.push_back(json::Object{{"id", (*watchpoint)->id}, {"verified", true}});
        else
            list.push_back(
                json::Object{{"verified", false},
                             {"message", json_text(error.empty() ? "names nothing that is there" : error)}});
    }
    return json::Object{{"breakpoints", std::move(list)}};
}

void Adapter::watch_removed(const Watchpoint& watchpoint, const std::string& reason) {
    event("breakpoint", json::Object{{"reason", "removed"},
                                     {"breakpoint", json::Object{{"id", watchpoint.id},
                                                                 {"verified", false},
                                                                 {"message", json_text(reason)}}}});
}

json::Array Adapter::described(const std::vector<WatchReport>& watches) {
    json::Array list;
    for (const WatchReport& each : watches) {
        const bool is_read = each.hit.kind == WatchHit::Kind::read;
        json::Object object{{"id", each.id},
                            {"expression", json_text(each.expression)},
                            {"accessType", access_text(each.access)},
                            {"access", each.is_over ? "end"
                                       : is_read    ? "read"
                                                    : "write"},
                            {"changed", each.hit.changed}};
        if (!each.texts.element.empty()) object["element"] = json_text(each.texts.element);
        if (!each.is_over) {
            if (!is_read) object["old"] = json_text(each.texts.old_value);
            object["new"] = json_text(each.texts.new_value);
        }
        if (each.place.line != 0) {
            object["file"] = json_text(each.place.file);
            object["line"] = line_for_client(each.place.line);
            object["function"] = json_text(each.place.function);
        }
        list.push_back(std::move(object));
    }
    return list;
}

json::Array Adapter::described_writes(const Control& control, const std::vector<WatchReport>& writes) {
    const auto configuration = control.configuration();
    const auto &grid = configuration.grid, &block = configuration.block;
    json::Array list = described(writes);
    for (std::size_t i = 0; i < writes.size(); ++i) {
        json::Object& one = *list[i].getAsObject();
        one.erase("id");
        one.erase("accessType");
        one["block"] = json_point(coordinates_in(grid, writes[i].hit.thread.block));
        one["thread"] = json_point(coordinates_in(block, writes[i].hit.thread.thread));
    }
    return list;
}

/// One line for editors.
std::string Adapter::line_about(const WatchReport& report) {
    const std::string& what = report.texts.element.empty() ? report.expression : report.texts.element;
    if (report.is_over) return report.expression + " is watched no longer: its function has ended";
    if (report.hit.kind == WatchHit::Kind::read) return what + " was read: " + report.texts.new_value;
    return what + " was " + report.texts.old_value + ", is " + report.texts.new_value;
}

}  // namespace cudasim::debugger
