// See inspection.h: frames, scopes, variables.
#include "debugger/dap/inspection.h"

#include <llvm/Support/MemoryBuffer.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "debugger/dap/special_registers.h"
#include "debugger/dap/thread_memory.h"
#include "debugger/values/number_text.h"
#include "debugger/values/path.h"

namespace cudasim::debugger {

using execution::ThreadRef;

namespace {

const std::string thread_has_ended = "the thread has ended, and its variables with it";
constexpr std::uint64_t first_page = 1000;  ///< of children, for clients that name no count

/// Of an element of an array that the operator @ has made.
std::string expression_of(const Value& element) {
    return "*(" + element.type->name + " *) " + hexadecimal(element.address.value_or(0));
}

/// Whether a file is this text, as front ends read files: without the mark of UTF-8 and carriage returns.
/// Other encodings are not known here, and count as the same.
bool same_lines(llvm::StringRef file, llvm::StringRef text) {
    if (!json::isUTF8(file)) return true;
    file.consume_front("\xef\xbb\xbf");
    std::string plain = file.str();
    std::erase(plain, '\r');
    return llvm::StringRef(plain).rtrim('\n') == text.rtrim('\n');
}

}  // namespace

void Inspection::forget_what_is_over(const Control& control) {
    if (launch_ == control.number() && stop_ == control.stop_number()) return;
    launch_ = control.number();
    stop_ = control.stop_number();
    frames_.clear();
    nodes_.clear();
}

// Sources --------------------------------------------------------------------------------------------------

json::Object Inspection::source(const Session& session, const std::string& path) {
    const std::string normalised = normalised_path(path);
    json::Object source{{"name", json_text(path.substr(path.find_last_of('/') + 1))},
                        {"path", json_text(normalised)}};
    if (is_what_was_compiled(session, path, normalised)) return source;
    auto known = std::ranges::find(texts_, path);
    if (known == texts_.end()) known = texts_.insert(texts_.end(), path);
    source["path"] = json_text(path);
    source["sourceReference"] = known - texts_.begin() + 1;
    return source;
}

/// Whether the file is there and has not changed since. It is read again when its time or its size have
/// changed.
bool Inspection::is_what_was_compiled(const Session& session, const std::string& path,
                                      const std::string& file) {
    struct stat now{};
    if (stat(file.c_str(), &now) != 0 || access(file.c_str(), R_OK) != 0) return false;
    KnownFile& known = files_[path];
    if (known.seconds != now.st_mtim.tv_sec || known.nanoseconds != now.st_mtim.tv_nsec ||
        known.bytes != now.st_size) {
        known = {now.st_mtim.tv_sec, now.st_mtim.tv_nsec, now.st_size, true};
        const std::optional<std::string> compiled = session.source(path);
        const auto on_disk = llvm::MemoryBuffer::getFile(file);
        if (compiled && on_disk) known.same = same_lines((*on_disk)->getBuffer(), *compiled);
    }
    return known.same;
}

const std::string& Inspection::path_of_source(std::int64_t reference) const {
    if (reference < 1 || reference > static_cast<std::int64_t>(texts_.size()))
        throw RequestError("there is no source " + std::to_string(reference));
    return texts_[static_cast<std::size_t>(reference - 1)];
}

// Frames ---------------------------------------------------------------------------------------------------

/// Of the program that has launched: this process's, or of a core file.
static std::vector<findings::SourceLocation> host_frames(const Control& control) {
    if (const CoreSource* core = control.core_source(); core != nullptr && core->is_recorded())
        return core->host_frames();
    Evaluator* evaluator = control.session().evaluator.load();
    return evaluator != nullptr ? evaluator->host_frames() : std::vector<findings::SourceLocation>();
}

json::Value Inspection::stack(Control& control, ThreadRef thread, const Arguments& arguments) {
    forget_what_is_over(control);
    const std::uint64_t first = arguments.count_or("startFrame", 0), levels = arguments.count_or("levels", 0);
    std::vector<std::pair<findings::SourceLocation, Frame>> all;
    for (const findings::SourceLocation& place : control.launch().location(thread))
        all.push_back({place, {thread, static_cast<std::uint32_t>(all.size()), false}});
    if (all.empty() && control.launch().state(thread) == execution::ThreadState::not_started)
        for (const KernelCode::Line* entry : control.code().entries("*"))
            all.push_back({{entry->file, control.kernel() + " (not started)", entry->line, 0},
                           {thread, static_cast<std::uint32_t>(all.size()), false}});
    for (const findings::SourceLocation& place : host_frames(control))
        all.push_back({place, {thread, static_cast<std::uint32_t>(all.size()), true}});
    json::Array list;
    for (std::uint64_t i = first; i < all.size() && (levels == 0 || i - first < levels); ++i) {
        const auto& [place, frame] = all[i];
        const auto same = std::ranges::find_if(frames_, [&](const Frame& known) {
            return known.thread == frame.thread && known.index == frame.index &&
                   known.is_host == frame.is_host;
        });
        const auto id = same - frames_.begin() + 1;
        if (same == frames_.end()) frames_.push_back(frame);
        json::Object described{{"id", id},
                               {"name", json_text(place.function.empty() ? "?" : place.function)},
                               {"line", static_cast<std::int64_t>(place.line) - 1 + first_line},
                               {"column", std::max<std::int64_t>(place.column, 1) - 1 + first_column},
                               {"source", source(control.session(), place.file)}};
        if (frame.is_host) described["presentationHint"] = "subtle";
        list.push_back(std::move(described));
    }
    return json::Object{{"stackFrames", std::move(list)}, {"totalFrames", json_number(all.size())}};
}

const Inspection::Frame& Inspection::frame(const Control& control, std::int64_t id) const {
    const bool valid = launch_ == control.number() && stop_ == control.stop_number();
    if (!valid || id < 1 || id > static_cast<std::int64_t>(frames_.size()))
        throw RequestError("there is no frame " + std::to_string(id) + " now");
    return frames_[static_cast<std::size_t>(id - 1)];
}

/// The frame that the request names; else the innermost one of the focus.
Inspection::Frame Inspection::frame_of(Control& control, const Arguments& arguments) {
    const auto id = arguments.number_if_there("frameId");
    if (!id) return {control.focus(), 0, false};
    return frame(control, *id);
}

json::Value Inspection::scopes(Control& control, const Arguments& arguments) {
    const Frame here = frame(control, arguments.number("frameId"));
    json::Array list;
    if (!here.is_host) {
        const auto add_scope = [&](Scope scope, const char* name, const char* hint) {
            Node node{.scope = scope, .frame = here, .variable = {}, .expression = {}, .value = {}};
            const std::size_t count = nodes_of(control, node).size();
            if (count == 0 && scope != Scope::locals) return;
            json::Object described{{"name", name},
                                   {"variablesReference", add(std::move(node))},
                                   {"namedVariables", json_number(count)},
                                   {"expensive", scope == Scope::warp}};
            if (hint != nullptr) described["presentationHint"] = hint;
            list.push_back(std::move(described));
        };
        add_scope(Scope::locals, "Locals", "locals");
        add_scope(Scope::arguments, "Arguments", "arguments");
        add_scope(Scope::shared, "Shared", nullptr);
        add_scope(Scope::globals, "Globals", nullptr);
        add_scope(Scope::registers, "Special registers", "registers");
        add_scope(Scope::warp, "Warp", nullptr);
    }
    return json::Object{{"scopes", std::move(list)}};
}

// Variables ------------------------------------------------------------------------------------------------

std::int64_t Inspection::add(Node node) {
    nodes_.push_back(std::move(node));
    return static_cast<std::int64_t>(nodes_.size());
}

/// The members that responses about values have in common.
void Inspection::describe(json::Object& target, Node node, const Memory& memory) {
    const Value& value = node.value;
    target["type"] = json_text(type_text(value));
    const std::uint64_t elements = element_count(value), members = member_count(value);
    if (elements != 0) target["indexedVariables"] = json_number(elements);
    if (members != 0) target["namedVariables"] = json_number(members);
    if (value.array)
        target["memoryReference"] = hexadecimal(value.array->address);
    else if (value.address)
        target["memoryReference"] = hexadecimal(*value.address);
    else if (value.type && value.type->kind == TypeKind::pointer &&
             value.bytes.size() >= sizeof(std::uint64_t)) {
        std::uint64_t address = 0;
        std::memcpy(&address, value.bytes.data(), sizeof address);
        target["memoryReference"] = hexadecimal(address);
    }
    (void)memory;
    target["variablesReference"] = elements + members != 0 ? add(std::move(node)) : 0;
}

/// The variables that a scope has, in the order of debug information; of those with the same name the last.
std::vector<Inspection::Node> Inspection::nodes_of(Control& control, const Node& scope) {
    std::vector<Node> nodes;
    if (scope.scope == Scope::warp) return numbers_of(control, scope);
    if (scope.scope == Scope::registers) {
        for (const SpecialRegister& each : special_registers(control, scope.frame.thread))
            nodes.push_back({Scope::none, scope.frame, each.name, each.name, each.value});
        return nodes;
    }
    const ThreadMemory memory(control.launch(), scope.frame.thread);
    const auto shared = control.launch().shared(scope.frame.thread.block);
    const auto low = reinterpret_cast<std::uint64_t>(shared.data());
    std::map<std::string, std::size_t> by_name;
    // What a step has left is shown as debugpy shows it.
    const std::optional<findings::VariableValue>& returned = control.notice().returned;
    if (returned && scope.scope == Scope::locals && scope.frame.index == 0 &&
        scope.frame.thread == control.notice_thread())
        nodes.push_back({Scope::none, scope.frame, "(return) " + returned->name, "",
                         value_of(types_, *returned, memory)});
    for (const findings::VariableValue& each : control.launch().variables(scope.frame.thread)) {
        if (each.frame != scope.frame.index || each.name.empty()) continue;
        if (scope.scope != Scope::shared && each.is_global != (scope.scope == Scope::globals)) continue;
        Value value = value_of(types_, each, memory);
        const std::uint64_t address = value.array ? value.array->address : value.address.value_or(0);
        const bool is_shared = address >= low && address < low + shared.size();
        if (scope.scope == Scope::shared
                ? !is_shared
                : !each.is_global && (each.argument != 0) != (scope.scope == Scope::arguments))
            continue;
        Node node{Scope::none, scope.frame, each.name, each.name, std::move(value)};
        const auto [it, is_new] = by_name.try_emplace(each.name, nodes.size());
        if (is_new)
            nodes.push_back(std::move(node));
        else
            nodes[it->second] = std::move(node);
    }
    return nodes;
}

json::Object Inspection::described_return(Control& control, const findings::VariableValue& returned) {
    const ThreadMemory memory(control.launch(), control.focus());
    const Value value = value_of(types_, returned, memory);
    return json::Object{{"function", json_text(returned.name)},
                        {"value", json_text(text_of(value, memory))},
                        {"type", json_text(type_text(value))}};
}

Inspection::Node Inspection::node_of(Control& control, const Arguments& arguments) const {
    const std::int64_t reference = arguments.number("variablesReference");
    const bool valid = launch_ == control.number() && stop_ == control.stop_number();
    if (!valid || reference < 1 || reference > static_cast<std::int64_t>(nodes_.size()))
        throw RequestError("there are no variables " + std::to_string(reference) + " now");
    return nodes_[static_cast<std::size_t>(reference - 1)];
}

json::Value Inspection::variables(Control& control, const Arguments& arguments) {
    const Node whole = node_of(control, arguments);
    const std::uint64_t start = arguments.count_or("start", 0);
    std::uint64_t count = arguments.count_or("count", 0);
    const std::string filter = arguments.text_or("filter");
    const ThreadMemory memory(control.launch(), whole.frame.thread);
    json::Array list;
    const bool is_artificial = last_outside_of_brackets(whole.expression, '@') != std::string::npos;
    const auto show = [&](const std::string& name, Node node) {
        json::Object described{{"name", json_text(name)}, {"value", json_text(text_of(node.value, memory))}};
        if (!node.expression.empty())
            described["evaluateName"] = json_text(node.expression);
        else
            described["presentationHint"] =
                json::Object{{"kind", "data"}, {"attributes", json::Array{"readOnly"}}};
        describe(described, std::move(node), memory);
        list.push_back(std::move(described));
    };
    if (whole.scope == Scope::warp && filter != "indexed") {
        for (const Node& node : nodes_of(control, whole))
            list.push_back(json::Object{{"name", json_text(node.variable)},
                                        {"value", json_text(text_in_lanes(control, node))},
                                        {"type", json_text(type_text(node.value))},
                                        {"variablesReference", 0}});
    } else if (whole.scope != Scope::none) {
        std::vector<Node> nodes = filter == "indexed" ? std::vector<Node>() : nodes_of(control, whole);
        if (count == 0) count = nodes.size();
        for (std::uint64_t i = start; i < nodes.size() && i - start < count; ++i)
            show(nodes[i].variable, nodes[i]);
    } else {
        const std::uint64_t elements = element_count(whole.value);
        if (filter.empty() || (filter == "indexed") == (elements != 0)) {
            const bool is_whole = count == 0;
            if (count == 0) count = filter.empty() && start == 0 ? first_page : ~std::uint64_t{0} - start;
            count = std::min(count, std::uint64_t{1} << 20);
            for (Part& part : parts_of(whole.value, start, count, memory)) {
                std::string expression;
                if (is_artificial)
                    expression = expression_of(part.value);
                else if (!whole.expression.empty())
                    expression = whole.expression + part.suffix;
                show(part.name, {Scope::none, whole.frame, whole.variable, std::move(expression),
                                 std::move(part.value)});
            }
            // Of a client that has asked for all.
            if (const std::uint64_t end = start + list.size(); is_whole && end < elements)
                list.push_back(json::Object{
                    {"name", "..."},
                    {"value", std::to_string(elements - end) + " more: ask for them by start and count"},
                    {"variablesReference", 0},
                    {"presentationHint", json::Object{{"kind", "virtual"}}}});
        }
    }
    return json::Object{{"variables", std::move(list)}};
}

std::optional<Value> Inspection::variable(Control& control, const Frame& frame, const std::string& name) {
    std::optional<Value> found;
    const ThreadMemory memory(control.launch(), frame.thread);
    for (const findings::VariableValue& each : control.launch().variables(frame.thread))
        if (each.frame == frame.index && each.name == name) found = value_of(types_, each, memory);
    if (found) return found;
    for (const SpecialRegister& each : special_registers(control, frame.thread))
        if (each.name == name) return each.value;
    return std::nullopt;
}

/// What an expression names that is a variable or a part of one.
std::optional<Inspection::Node> Inspection::place(Control& control, const Frame& frame,
                                                  const std::string& expression) {
    const auto path = path_from(expression);
    if (!path || frame.is_host) return std::nullopt;
    std::optional<Value> value = variable(control, frame, path->name);
    const ThreadMemory memory(control.launch(), frame.thread);
    for (const auto& step : path->steps) {
        if (!value) break;
        if (const auto* index = std::get_if<std::int64_t>(&step))
            value = element_of(*value, *index, memory);
        else
            value = member_of(*value, std::get<std::string>(step), memory);
    }
    if (!value) return std::nullopt;
    return Node{Scope::none, frame, path->name, expression, std::move(*value)};
}

// Expressions ----------------------------------------------------------------------------------------------

Evaluation Inspection::front_end_value(Control& control, const Frame& frame, const std::string& expression) {
    Evaluator* evaluator = control.session().evaluator_for(control.launch());
    if (evaluator != nullptr && !frame.is_host) {
        Evaluation value = evaluator->evaluate(control.launch(), frame.thread, frame.index, expression);
        if (value.interrupted) throw RequestError(value.text);  // also where other threads were to follow
        const execution::ThreadState state = control.launch().state(frame.thread);
        if (!value.ok && state == execution::ThreadState::not_started)
            value.text = "the thread has not started; " + value.text;
        if (!value.ok && state == execution::ThreadState::over &&
            control.launch().location(frame.thread).empty()) {
            const bool is_name =
                value.text.starts_with("NameError") || value.text.starts_with("there is no variable");
            value.text = thread_has_ended + (is_name ? "" : "; " + value.text);
        }
        return value;
    }
    Evaluation none;
    none.text = frame.is_host ? "expressions are evaluated in frames of kernels only"
                              : "there is no variable '" + expression + "' here";
    return none;
}

json::Value Inspection::evaluate(Control& control, const Arguments& arguments) {
    const std::string expression = arguments.text("expression");
    forget_what_is_over(control);
    const Frame here = frame_of(control, arguments);
    const ThreadMemory memory(control.launch(), here.thread);
    if (arguments.text_or("context") == "repl" && !here.is_host)
        if (const auto assignment = assignment_from(expression)) {
            json::Object described = assigned(control, here, *assignment);
            described["result"] = std::move(described["value"]);
            described.erase("value");
            return described;
        }
    if (auto node = place(control, here, expression)) {
        json::Object described{{"result", json_text(text_of(node->value, memory))}};
        describe(described, std::move(*node), memory);
        return described;
    }
    if (auto found = of_memory(control, here, expression)) return std::move(*found);
    const Evaluation value = front_end_value(control, here, expression);
    if (!value.ok) throw RequestError(value.text);
    return json::Object{
        {"result", json_text(value.text)}, {"type", json_text(value.type)}, {"variablesReference", 0}};
}

json::Value Inspection::evaluate_lanes(Control& control, const Arguments& arguments) {
    const std::string expression = arguments.text("expression");
    forget_what_is_over(control);
    const Frame here = frame_of(control, arguments);
    const bool of_block = arguments.text_or("scope", "warp") == "block";
    const std::uint32_t all = control.launch().threads_of_block();
    const std::uint32_t first = of_block ? 0 : here.thread.thread / jit::warp_size * jit::warp_size;
    const std::uint32_t end = of_block ? all : std::min(all, first + jit::warp_size);
    struct Lanes {
        bool ok;
        std::string text;
        LinearRanges threads;
    };
    std::vector<Lanes> values;
    for (std::uint32_t thread = first; thread < end; ++thread) {
        const Frame lane{{here.thread.block, thread}, here.index, false};
        Evaluation value;
        if (control.launch().location(lane.thread).size() <= lane.index) {
            const execution::ThreadState state = control.launch().state(lane.thread);
            value.text = state == execution::ThreadState::not_started ? "the thread has not started"
                         : state >= execution::ThreadState::faulted   ? "the thread has ended"
                                                                      : "the thread is not in this function";
        } else if (const auto node = place(control, lane, expression)) {
            value.ok = true;
            value.text = text_of(node->value, ThreadMemory(control.launch(), lane.thread));
        } else {
            value = front_end_value(control, lane, expression);
        }
        auto same = std::ranges::find_if(
            values, [&](const Lanes& each) { return each.ok == value.ok && each.text == value.text; });
        if (same == values.end()) same = values.insert(values.end(), {value.ok, value.text, {}});
        if (!same->threads.empty() && same->threads.back().second + 1 == thread)
            same->threads.back().second = thread;
        else
            same->threads.emplace_back(thread, thread);
    }
    json::Array list;
    for (const Lanes& each : values)
        list.push_back(json::Object{{"threads", text_of(each.threads)},
                                    {each.ok ? "result" : "error", json_text(each.text)}});
    return json::Object{{"values", std::move(list)}};
}

// Assignment -----------------------------------------------------------------------------------------------

namespace {

/// Whether compiled code reads a variable of this type from where a debugger sets it: numbers, and tuples of
/// them.
bool is_read_from_memory(const Type& type) {
    if (type.kind <= TypeKind::boolean) return true;
    if (type.kind != TypeKind::structure || type.is_array() || type.name.starts_with("range")) return false;
    const auto is_there = [](const Member& each) {
        return each.name != "present" && is_read_from_memory(*each.type);
    };
    return !type.members.empty() && std::ranges::all_of(type.members, is_there);
}

}  // namespace

/// @throws RequestError
void Inspection::assign(Control& control, const Node& node, const std::string& text) {
    const Value& value = node.value;
    std::string error;
    auto bytes = bytes_of_literal(*value.type, text, error);
    if (!bytes && !value.array && value.type->kind <= TypeKind::boolean) {
        const Evaluation evaluated = front_end_value(control, node.frame, text);
        if (!evaluated.ok) throw RequestError(evaluated.text);
        bytes = bytes_of_literal(*value.type, evaluated.text, error);
        if (!bytes &&
            evaluated.text.starts_with('<')) {  // an object that the front end may have a number for
            const Evaluation done =
                control.session()
                    .evaluator_for(control.launch())
                    ->assign(control.launch(), node.frame.thread, node.frame.index, node.expression, text);
            if (!done.ok) throw RequestError(done.text);
            return;
        }
    }
    if (!bytes) throw RequestError(error);
    bool done = false;
    if (value.address) {
        done = control.launch().write(node.frame.thread, *value.address, *bytes);
    } else if (node.expression == node.variable) {
        done = control.launch().set_variable(node.frame.thread, node.frame.index, node.variable, *bytes);
    } else {
        std::optional<Value> whole = variable(control, node.frame, node.variable);
        if (!whole || !whole->unavailable.empty() || !is_read_from_memory(*whole->type) ||
            value.offset + bytes->size() > whole->bytes.size())
            throw RequestError("a part of '" + node.variable +
                               "' cannot be set: compiled code reads a value of type " +
                               (whole ? type_text(*whole) : "unknown") + " elsewhere");
        std::ranges::copy(*bytes, whole->bytes.begin() + static_cast<std::ptrdiff_t>(value.offset));
        done =
            control.launch().set_variable(node.frame.thread, node.frame.index, node.variable, whole->bytes);
    }
    if (!done) throw RequestError("'" + node.expression + "' cannot be set here");
}

json::Value Inspection::set_variable(Control& control, const Arguments& arguments) {
    const Node whole = node_of(control, arguments);
    const std::string name = arguments.text("name");
    const bool is_member = whole.scope == Scope::none;
    const std::string expression =
        !is_member ? name : whole.expression + (name.starts_with('[') ? name : "." + name);
    auto node = place(control, whole.frame, expression);
    if (!node) throw RequestError("there is no variable '" + name + "' here");
    if (whole.scope == Scope::registers) throw RequestError("special registers cannot be set");
    assign(control, *node, arguments.text("value"));
    node = place(control, whole.frame, expression);
    const ThreadMemory memory(control.launch(), whole.frame.thread);
    json::Object described{{"value", json_text(text_of(node->value, memory))}};
    describe(described, std::move(*node), memory);
    described.erase("memoryReference");
    return described;
}

json::Value Inspection::set_expression(Control& control, const Arguments& arguments) {
    const std::string expression = arguments.text("expression"), text = arguments.text("value");
    forget_what_is_over(control);
    const Frame here = frame_of(control, arguments);
    require_variables(control, here);
    return assigned(control, here, expression, text);
}

bool Inspection::is_cplusplus(const Control& control) {
    const auto& kernel = control.launch().launch().kernel;
    return kernel && kernel->is_cplusplus;
}

/// @throws RequestError for a thread that is over
void Inspection::require_variables(const Control& control, const Frame& here) {
    if (!here.is_host && control.launch().state(here.thread) == execution::ThreadState::over &&
        control.launch().location(here.thread).empty())
        throw RequestError(thread_has_ended);
}

/// As the kernel's language has it: Python evaluates the value once and assigns from the left, C++ from the
/// right.
json::Object Inspection::assigned(Control& control, const Frame& here, const Assignment& assignment) {
    require_variables(control, here);
    const std::vector<std::string>& targets = assignment.targets;
    const bool is_cplusplus = this->is_cplusplus(control);
    if (!assignment.operation.empty()) {
        std::string target = targets.front();
        const auto node = is_cplusplus ? std::nullopt : place(control, here, target);
        if (node && node->value.array) target += "[...]";
        return assigned(control, here, target,
                        targets.front() + " " + assignment.operation + " (" + assignment.value + ")");
    }
    Evaluator* evaluator = control.session().evaluator_for(control.launch());
    if (targets.size() > 1 && evaluator != nullptr && evaluator == control.session().evaluator.load()) {
        std::string rest;
        for (std::size_t i = 1; i < targets.size(); ++i) rest += targets[i] + " = ";
        const Evaluation value = evaluator->assign(control.launch(), here.thread, here.index, targets.front(),
                                                   rest + assignment.value);
        if (!value.ok) throw RequestError(value.text);
        return json::Object{
            {"value", json_text(value.text)}, {"type", json_text(value.type)}, {"variablesReference", 0}};
    }
    json::Object described = assigned(control, here, targets.back(), assignment.value);
    for (std::size_t i = targets.size() - 1; i-- > 0;)
        described = assigned(control, here, targets[i], targets[i + 1]);
    return described;
}

json::Object Inspection::assigned(Control& control, const Frame& here, const std::string& expression,
                                  const std::string& text) {
    const ThreadMemory memory(control.launch(), here.thread);
    Evaluator* evaluator = control.session().evaluator_for(control.launch());
    auto node = is_cplusplus(control) ? std::nullopt : place(control, here, expression);
    if (node && !node->value.array && node->value.type->kind <= TypeKind::boolean) {
        for (const SpecialRegister& each : special_registers(control, here.thread))
            if (each.name == node->variable) throw RequestError("special registers cannot be set");
        assign(control, *node, text);
        node = place(control, here, expression);
        json::Object described{{"value", json_text(text_of(node->value, memory))}};
        describe(described, std::move(*node), memory);
        described.erase("memoryReference");
        return described;
    }
    if (evaluator == nullptr || here.is_host)
        throw RequestError("there is no variable '" + expression + "' here");
    const Evaluation value = evaluator->assign(control.launch(), here.thread, here.index, expression, text);
    if (!value.ok) throw RequestError(value.text);
    return json::Object{
        {"value", json_text(value.text)}, {"type", json_text(value.type)}, {"variablesReference", 0}};
}

}  // namespace cudasim::debugger
