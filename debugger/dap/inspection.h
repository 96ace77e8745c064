// Frames, scopes and variables of a stopped launch by the protocol's numbers, which are valid until the
// launch goes on.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "debugger/control/control.h"
#include "debugger/dap/message.h"
#include "debugger/dap/watch_targets.h"
#include "debugger/values/assignment.h"
#include "debugger/values/value.h"

namespace cudasim::debugger {

class Inspection {
  public:
    struct Frame {
        execution::ThreadRef thread;
        std::uint32_t index = 0;  ///< into the thread's location
        bool is_host = false;
    };

    /// @throws RequestError, as all of them
    json::Value stack(Control& control, execution::ThreadRef thread, const Arguments& arguments);
    json::Value scopes(Control& control, const Arguments& arguments);
    json::Value variables(Control& control, const Arguments& arguments);
    /// A value that a function has returned: the function, the value, its type.
    json::Object described_return(Control& control, const findings::VariableValue& returned);
    json::Value set_variable(Control& control, const Arguments& arguments);
    json::Value set_expression(Control& control, const Arguments& arguments);
    json::Value completions(Control& control, const Arguments& arguments);
    json::Value evaluate(Control& control, const Arguments& arguments);
    json::Value evaluate_lanes(Control& control, const Arguments& arguments);
    json::Value data_breakpoint_info(Control& control, const Arguments& arguments);
    json::Value read_memory(Control& control, const Arguments& arguments);
    json::Value write_memory(Control& control, const Arguments& arguments);
    json::Value allocations(Control& control, const Arguments& arguments);
    json::Value disassemble(Control& control, const Arguments& arguments);

    /// The protocol's description of a file: its path, or a number where it is text that lies in no file, or
    /// where the file has changed since it was compiled.
    json::Object source(const Session& session, const std::string& path);
    /// The file of such a number. @throws RequestError
    [[nodiscard]] const std::string& path_of_source(std::int64_t reference) const;

    /// Lines and columns as the client counts them.
    int first_line = 1, first_column = 1;

  private:
    enum class Scope : std::uint8_t { locals, arguments, registers, shared, globals, warp, none };
    /// What a variablesReference stands for.
    struct Node {
        Scope scope = Scope::none;  ///< else it is a value
        Frame frame;
        std::string variable;    ///< that the value is, or is a part of
        std::string expression;  ///< that names it; empty: nothing does
        Value value;
    };

    /// A file when it was compared with the text that was compiled.
    struct KnownFile {
        std::int64_t seconds = -1, nanoseconds = 0, bytes = 0;
        bool same = false;
    };

    [[nodiscard]] bool is_what_was_compiled(const Session& session, const std::string& path,
                                            const std::string& file);
    void forget_what_is_over(const Control& control);
    [[nodiscard]] const Frame& frame(const Control& control, std::int64_t id) const;
    [[nodiscard]] Frame frame_of(Control& control, const Arguments& arguments);
    std::int64_t add(Node node);
    void describe(json::Object& target, Node node, const Memory& memory);
    [[nodiscard]] std::vector<Node> nodes_of(Control& control, const Node& scope);
    [[nodiscard]] std::vector<Node> numbers_of(Control& control, const Node& scope);
    [[nodiscard]] std::string text_in_lanes(Control& control, const Node& node);
    /// What the request's variablesReference stands for. @throws RequestError where it is not of this stop
    [[nodiscard]] Node node_of(Control& control, const Arguments& arguments) const;
    [[nodiscard]] std::optional<Value> variable(Control& control, const Frame& frame,
                                                const std::string& name);
    [[nodiscard]] std::optional<Node> place(Control& control, const Frame& frame,
                                            const std::string& expression);
    [[nodiscard]] Evaluation front_end_value(Control& control, const Frame& frame,
                                             const std::string& expression);
    void assign(Control& control, const Node& node, const std::string& text);
    json::Object assigned(Control& control, const Frame& here, const std::string& target,
                          const std::string& text);
    json::Object assigned(Control& control, const Frame& here, const Assignment& assignment);
    static void require_variables(const Control& control, const Frame& here);
    [[nodiscard]] static bool is_cplusplus(const Control& control);
    [[nodiscard]] std::int64_t whole_number(Control& control, const Frame& frame, const std::string& text);
    [[nodiscard]] WatchTargets::Place watch_place(Control& control, const Frame& frame);

    // addresses.cpp
    [[nodiscard]] std::optional<json::Value> of_memory(Control& control, const Frame& here,
                                                       const std::string& expression);
    [[nodiscard]] std::optional<Value> element_behind(Control& control, const Frame& here,
                                                      const std::string& text);
    [[nodiscard]] std::optional<Value> in_memory(Control& control, const Frame& here,
                                                 const std::string& text);
    [[nodiscard]] std::optional<json::Object> located(Control& control, const Frame& here,
                                                      const std::string& text);
    [[nodiscard]] Node elements_from(Control& control, const Frame& here, const std::string& text,
                                     const Value& first, std::int64_t count);

    Types types_;
    std::vector<Frame> frames_;
    std::vector<Node> nodes_;
    std::uint64_t launch_ = 0, stop_ = 0;  ///< that they are of
    std::map<std::string, KnownFile> files_;
    std::vector<std::string> texts_;  ///< sources without a file
};

}  // namespace cudasim::debugger
