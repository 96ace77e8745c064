// Adapter's requests for a launch that is stopped (adapter.h). They run on the launching thread.
#include <algorithm>
#include <array>

#include "debugger/dap/adapter.h"

namespace cudasim::debugger {

using execution::ThreadRef;

namespace {

/// Whether nobody but the thread may run, not even where it must wait.
bool is_locked(const Arguments& arguments) {
    return arguments.flag("singleThread") || arguments.object("cudasim").flag("lock");
}

StepUnit unit_of(const Arguments& arguments) {
    const std::string unit = arguments.object("cudasim").text_or("unit", "thread");
    if (unit == "thread") return StepUnit::thread;
    if (unit == "warp") return StepUnit::warp;
    if (unit == "block") return StepUnit::block;
    if (unit == "grid") return StepUnit::grid;
    throw RequestError("'" + unit + "' is no unit of steps: thread, warp, block or grid");
}

void start(Control& control, Movement movement) {
    if (const std::string error = control.start(std::move(movement)); !error.empty())
        throw RequestError(error);
}

}  // namespace

json::Value Adapter::continue_launch(Control& control, const Arguments& arguments) {
    if (is_locked(arguments) || arguments.object("cudasim").find("unit") != nullptr) {
        if (unit_of(arguments) != StepUnit::thread)
            throw RequestError("continue moves one thread or all; its unit is thread, or is left out");
        (void)move(control, arguments, MovementKind::go_on);
        return json::Object{{"allThreadsContinued", false}};
    }
    control.go_on();
    return json::Object{{"allThreadsContinued", true}};
}

json::Value Adapter::move(Control& control, const Arguments& arguments, MovementKind kind) {
    Movement movement;
    movement.kind = kind;
    movement.unit = unit_of(arguments);
    movement.is_locked = is_locked(arguments);
    movement.thread = ids_.thread(control, arguments.count_or("threadId", ThreadIds::focus));
    if (kind == MovementKind::step_out)
        movement.levels = static_cast<std::uint32_t>(
            std::min<std::uint64_t>(arguments.object("cudasim").count_or("levels", 0), ~std::uint32_t{0}));
    start(control, std::move(movement));
    return nullptr;
}

json::Value Adapter::next(Control& control, const Arguments& arguments) {
    return move(control, arguments, MovementKind::next);
}

json::Value Adapter::step_in(Control& control, const Arguments& arguments) {
    return move(control, arguments, MovementKind::step_in);
}

json::Value Adapter::step_out(Control& control, const Arguments& arguments) {
    return move(control, arguments, MovementKind::step_out);
}

json::Value Adapter::to_barrier(Control& control, const Arguments& arguments) {
    return move(control, arguments, MovementKind::barrier);
}

json::Value Adapter::step_back(Control& control, const Arguments& arguments) {
    const std::string kind = arguments.object("cudasim").text_or("kind", "over");
    BackwardKind backward{};
    if (kind == "in")
        backward = BackwardKind::step;
    else if (kind == "over")
        backward = BackwardKind::next;
    else if (kind == "out")
        backward = BackwardKind::finish;
    else
        throw RequestError("'" + kind + "' is no kind of step back: in, over or out");
    const ThreadRef thread = ids_.thread(control, arguments.count_or("threadId", ThreadIds::focus));
    if (const std::string error = control.start_backward(backward, thread); !error.empty())
        throw RequestError(error);
    return nullptr;
}

json::Value Adapter::reverse_continue(Control& control, const Arguments& /*arguments*/) {
    if (const std::string error = control.start_backward(BackwardKind::go_on, control.focus());
        !error.empty())
        throw RequestError(error);
    return nullptr;
}

json::Value Adapter::writes(Control& control, const Arguments& arguments) {
    if (const std::string error = control.start_writes(arguments.text("dataId")); !error.empty())
        throw RequestError(error);
    return nullptr;
}

json::Value Adapter::until(Control& control, const Arguments& arguments) {
    Movement movement;
    movement.kind = MovementKind::until;
    movement.is_locked = is_locked(arguments);
    movement.thread = ids_.thread(control, arguments.count_or("threadId", ThreadIds::focus));
    if (const auto line = arguments.number_if_there("line")) {
        std::string file = arguments.text_or("file");
        if (file.empty()) {
            const findings::CallChain place = control.launch().location(movement.thread);
            file = place.empty() ? control.code().file_of_kernel() : place.front().file;
        }
        const KernelCode::Line* found = control.code().line(file, line_from_client(*line));
        if (found == nullptr)
            throw RequestError("the kernel has no code at or behind line " + std::to_string(*line));
        movement.file = found->file;
        movement.line = found->line;
    }
    start(control, std::move(movement));
    return nullptr;
}

json::Object Adapter::described(const execution::ThreadWait& wait) {
    constexpr std::array kinds{"none",         "barrier", "named barrier", "warp", "cluster barrier",
                               "grid barrier", "memory"};
    json::Object body{{"kind", kinds[static_cast<std::size_t>(wait.kind)]}};
    if (!wait.threads.empty()) body["threads"] = text_of(ranges_of_threads(wait.threads));
    if (!wait.ended.empty()) body["ended"] = text_of(ranges_of_threads(wait.ended));
    if (!wait.blocks.empty()) body["blocks"] = text_of(wait.blocks);
    return body;
}

// Threads --------------------------------------------------------------------------------------------------

json::Value Adapter::threads(Control& control, const Arguments& /*arguments*/) {
    json::Array list{
        json::Object{{"id", ThreadIds::focus}, {"name", name_of_thread(control, control.focus())}}};
    for (const ThreadIds::Group& group : ids_.groups(control)) {
        if (list.size() >= ThreadIds::most_shown) break;
        if (group.has_focus && group.threads.count == 1) continue;
        list.push_back(json::Object{{"id", group.id}, {"name", json_text(name_of_group(group.threads))}});
    }
    return json::Object{{"threads", std::move(list)}};
}

namespace {

/// A block or thread as coordinates or as a linear index.
std::optional<std::uint64_t> index_of(const Arguments& arguments, const char* name,
                                      const findings::Dim3& extents) {
    const json::Value* value = arguments.find(name);
    if (value == nullptr || value->kind() == json::Value::Null) return std::nullopt;
    if (const auto number = value->getAsInteger(); number && *number >= 0)
        return static_cast<std::uint64_t>(*number);
    const json::Array* list = value->getAsArray();
    findings::Dim3 point{0, 0, 0};
    const std::array axes{&point.x, &point.y, &point.z};
    const std::array sizes{extents.x, extents.y, extents.z};
    if (list == nullptr || list->empty() || list->size() > axes.size())
        throw RequestError("the " + std::string(name) + " is no index and no coordinates");
    for (std::size_t axis = 0; axis < list->size(); ++axis) {
        const auto number = (*list)[axis].getAsInteger();
        if (!number || *number < 0 || *number >= sizes[axis])
            throw RequestError("there is no such " + std::string(name) + ": the sizes are (" +
                               std::to_string(extents.x) + "," + std::to_string(extents.y) + "," +
                               std::to_string(extents.z) + ")");
        *axes[axis] = static_cast<std::uint32_t>(*number);
    }
    return linear_in(extents, point);
}

void add_place(json::Object& object, const findings::CallChain& place, int first_line) {
    if (place.empty()) return;
    object["file"] = json_text(place.front().file);
    object["line"] = static_cast<std::int64_t>(place.front().line) - 1 + first_line;
    object["function"] = json_text(place.front().function);
}

json::Object both_points(const Control& control, ThreadRef thread) {
    return json::Object{{"block", json_point(coordinates_in(control.configuration().grid, thread.block))},
                        {"thread", json_point(coordinates_in(control.configuration().block, thread.thread))}};
}

}  // namespace

json::Value Adapter::focus(Control& control, const Arguments& arguments) {
    const auto block = index_of(arguments, "block", control.configuration().grid);
    const auto thread = index_of(arguments, "thread", control.configuration().block);
    ThreadRef wanted = control.focus();
    if (block) wanted = {*block, 0};
    if (thread && *thread >= control.configuration().block.volume())
        throw RequestError("there is no thread " + std::to_string(*thread) + ": a block has " +
                           std::to_string(control.configuration().block.volume()));
    if (thread) wanted.thread = static_cast<std::uint32_t>(*thread);
    if (block || thread)
        if (const std::string error = control.set_focus(wanted); !error.empty()) throw RequestError(error);
    json::Object result = both_points(control, wanted);
    result["threadId"] = ThreadIds::focus;
    result["kernel"] = json_text(control.kernel());
    result["state"] = state_text(control.launch().state(wanted));
    result["grid"] = json_point(control.configuration().grid);
    result["blockDim"] = json_point(control.configuration().block);
    add_place(result, control.launch().location(wanted), first_line_.load());
    return result;
}

json::Value Adapter::groups(Control& control, const Arguments& /*arguments*/) {
    json::Array list;
    for (const ThreadIds::Group& group : ids_.groups(control)) {
        const ThreadGroup& threads = group.threads;
        json::Object object{{"threadId", group.id},
                            {"focus", group.has_focus},
                            {"state", state_text(threads.state)},
                            {"count", json_number(threads.count)},
                            {"blocks", text_of(threads.blocks)},
                            {"threads", text_of(threads.threads)},
                            {"first", both_points(control, threads.first)},
                            {"last", both_points(control, threads.last)}};
        if (threads.line != nullptr) {
            object["file"] = json_text(threads.file);
            object["line"] = line_for_client(threads.line->line);
            object["function"] = json_text(threads.function);
        }
        list.push_back(std::move(object));
    }
    return json::Object{{"groups", std::move(list)}};
}

json::Value Adapter::kernel(Control& control, const Arguments& /*arguments*/) {
    const execution::Launch& launch = control.launch().launch();
    json::Array blocks;
    for (const std::uint64_t block : control.launch().blocks()) blocks.push_back(json_number(block));
    const std::uint64_t started =
        std::min(launch.next_block.load(), launch.block_count) + launch.started_before.size();
    const std::uint64_t over = started - blocks.size();
    return json::Object{{"kernel", json_text(control.kernel())},
                        {"launch", json_number(control.number())},
                        {"grid", json_point(control.configuration().grid)},
                        {"blockDim", json_point(control.configuration().block)},
                        {"sharedBytes", json_number(launch.shared_bytes)},
                        {"device", json_text(launch.profile != nullptr ? launch.profile->name : "")},
                        {"blocksOnDevice", std::move(blocks)},
                        {"blocksDone", json_number(over)}};
}

json::Value Adapter::exception_info(Control& control, const Arguments& /*arguments*/) {
    const StopNotice& notice = control.notice();
    if (notice.reason != StopReason::exception) throw RequestError("the kernel has not stopped for an error");
    return json::Object{{"exceptionId", json_text(notice.error_kind)},
                        {"description", json_text(notice.error)},
                        {"breakMode", "always"}};
}

// Frames and variables -------------------------------------------------------------------------------------

json::Value Adapter::stack_trace(Control& control, const Arguments& arguments) {
    const ThreadRef thread = ids_.thread(control, arguments.count_or("threadId", ThreadIds::focus));
    const std::lock_guard lock(sources_);
    inspection_.first_line = first_line_.load();
    inspection_.first_column = first_column_.load();
    return inspection_.stack(control, thread, arguments);
}

json::Value Adapter::scopes(Control& control, const Arguments& arguments) {
    return inspection_.scopes(control, arguments);
}

json::Value Adapter::variables(Control& control, const Arguments& arguments) {
    return inspection_.variables(control, arguments);
}

json::Value Adapter::set_variable(Control& control, const Arguments& arguments) {
    return inspection_.set_variable(control, arguments);
}

json::Value Adapter::set_expression(Control& control, const Arguments& arguments) {
    return inspection_.set_expression(control, arguments);
}

json::Value Adapter::completions(Control& control, const Arguments& arguments) {
    const std::lock_guard lock(sources_);
    inspection_.first_line = first_line_.load();
    inspection_.first_column = first_column_.load();
    return inspection_.completions(control, arguments);
}

json::Value Adapter::evaluate(Control& control, const Arguments& arguments) {
    return inspection_.evaluate(control, arguments);
}

json::Value Adapter::evaluate_lanes(Control& control, const Arguments& arguments) {
    return inspection_.evaluate_lanes(control, arguments);
}

json::Value Adapter::read_memory(Control& control, const Arguments& arguments) {
    return inspection_.read_memory(control, arguments);
}

json::Value Adapter::write_memory(Control& control, const Arguments& arguments) {
    return inspection_.write_memory(control, arguments);
}

json::Value Adapter::allocations(Control& control, const Arguments& arguments) {
    return inspection_.allocations(control, arguments);
}

json::Value Adapter::disassemble(Control& control, const Arguments& arguments) {
    inspection_.first_line = first_line_.load();
    return inspection_.disassemble(control, arguments);
}

/// The launch as it was before it began, as a core file. The file's name is absolute.
json::Value Adapter::write_core(Control& control, const Arguments& arguments) {
    const std::string path = arguments.text("file");
    if (!path.starts_with('/')) throw RequestError("the core file '" + path + "' is no absolute path");
    if (control.core_source() == nullptr)
        throw RequestError("the memory of this launch as it was before it began was not kept");
    std::vector<findings::Finding> errors;
    if (const findings::Finding* error = control.launch().fault(control.focus())) errors.push_back(*error);
    control.core_source()->write(path, errors);
    return json::Object{{"file", json_text(path)}};
}

}  // namespace cudasim::debugger
