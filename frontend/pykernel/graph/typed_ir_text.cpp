// The typed IR as text: one line per instruction, with its type and source line.
#include "frontend/pykernel/graph/flow_graph.h"
#include "frontend/pykernel/types/promotion.h"

namespace cudasim::pykernel {
namespace {

class Printer {
  public:
    explicit Printer(const FlowGraph& graph) : graph_(graph) {
        std::vector<std::uint32_t> seen(graph.variables.size(), 0);
        for (const Version& version : graph.versions) numbers_.push_back(seen[version.variable]++);
    }

    std::string print(const std::vector<TypeRef>& arguments) {
        const FunctionSource& source = *graph_.source;
        text_ = source.syntax.name + "(";
        for (std::size_t i = 0; i < arguments.size(); ++i) {
            text_ += (i ? ", " : "") + source.syntax.parameters[i].name + ": " + arguments[i]->name;
        }
        text_ += ") -> " + (graph_.return_type ? graph_.return_type->name : "?") + "    # " + source.file +
                 ":" + std::to_string(source.syntax.location.line) + "\n";
        for (BlockId id : graph_.order) block(id);
        return std::move(text_);
    }

  private:
    void block(BlockId id) {
        text_ += "  block" + std::to_string(id) + ":\n";
        for (const Phi& phi : graph_.blocks[id].phis) {
            std::string line = version(phi.version) + " = phi";
            for (const auto& [from, incoming] : phi.incoming) {
                line += " [block" + std::to_string(from) + ": " +
                        (incoming == nothing ? "unassigned" : version(incoming)) + "]";
            }
            add(line, graph_.versions[phi.version].type, 0);
        }
        for (ValueId value : graph_.blocks[id].instructions) instruction(value);
    }

    void add(const std::string& line, TypeRef type, int source_line) {
        text_ += "    " + line;
        if (type && !type->is(TypeKind::none)) text_ += " : " + type->name;
        if (source_line) text_ += "    # line " + std::to_string(source_line);
        text_ += "\n";
    }

    /// "x" for the first version of x, then "x.1", "x.2", ...
    std::string version(VersionId id) const {
        const std::string& name = graph_.variables[graph_.versions[id].variable].name;
        return numbers_[id] ? name + "." + std::to_string(numbers_[id]) : name;
    }

    static std::string value(ValueId id) { return "%" + std::to_string(id); }

    std::string operands(const Instruction& in, std::size_t first = 0) const {
        std::string list;
        const std::size_t positional = in.operands.size() - in.keywords.size();
        for (std::size_t i = first; i < in.operands.size(); ++i) {
            if (i > first) list += ", ";
            if (i >= positional) list += in.keywords[i - positional] + "=";
            list += value(in.operands[i]);
        }
        return list;
    }

    static std::string literal(const Instruction& in) {
        if (!in.text.empty()) return in.text;
        switch (in.global->kind) {
            case GlobalKind::integer:
                return std::to_string(in.global->integer);
            case GlobalKind::boolean:
                return in.global->integer ? "True" : "False";
            case GlobalKind::real:
                return std::to_string(in.global->real);
            case GlobalKind::complex:
                return "(" + std::to_string(in.global->real) + " + " + std::to_string(in.global->imaginary) +
                       "j)";
            case GlobalKind::none:
                return "None";
            case GlobalKind::ellipsis:
                return "...";
            default:
                return "'" + in.global->text + "'";
        }
    }

    void instruction(ValueId id) {
        const Instruction& in = graph_.instructions[id];
        const std::string result = value(id) + " = ";
        const int line = in.location.line;
        switch (in.opcode) {
            case Opcode::constant:
                return add(result + literal(in), in.type, line);
            case Opcode::argument:
                return add(result + "argument " + std::to_string(in.index), in.type, line);
            case Opcode::load:
                return add(result + version(in.version), in.type, line);
            case Opcode::store:
                return add(version(in.version) + " = " + operands(in), in.type, line);
            case Opcode::unary:
                return add(result + spelling(in.op) + " " + operands(in), in.type, line);
            case Opcode::binary:
                return add(
                    result + value(in.operands[0]) + " " + spelling(in.op) + " " + value(in.operands[1]),
                    in.type, line);
            case Opcode::get_attribute:
                return add(result + operands(in) + "." + in.text, in.type, line);
            case Opcode::get_item:
                return add(result + value(in.operands[0]) + "[" + value(in.operands[1]) + "]", in.type, line);
            case Opcode::set_item:
                return add(
                    value(in.operands[0]) + "[" + value(in.operands[1]) + "] = " + value(in.operands[2]),
                    nullptr, line);
            case Opcode::set_attribute:
                return add(value(in.operands[0]) + "." + in.text + " = " + value(in.operands[1]), nullptr,
                           line);
            case Opcode::call:
                return add(result + "call " + value(in.operands[0]) + "(" + operands(in, 1) + ")", in.type,
                           line);
            case Opcode::spread:
                return add(result + "*" + operands(in), in.type, line);
            case Opcode::build_tuple:
                return add(result + "(" + operands(in) + ")", in.type, line);
            case Opcode::build_slice:
                return add(result + "slice(" + operands(in) + ")", in.type, line);
            case Opcode::unpack:
                return add(result + "unpack " + operands(in) + ", " + std::to_string(in.index), in.type,
                           line);
            case Opcode::iterate:
                return add(result + "iterate " + operands(in), in.type, line);
            case Opcode::advance:
                return add(result + "advance " + operands(in), in.type, line);
            case Opcode::element:
                return add(result + "element " + operands(in), in.type, line);
            case Opcode::jump:
                return add("jump block" + std::to_string(in.targets[0]), nullptr, line);
            case Opcode::branch:
                return add("branch " + operands(in) + " block" + std::to_string(in.targets[0]) + " block" +
                               std::to_string(in.targets[1]),
                           nullptr, line);
            case Opcode::return_:
                return add("return " + operands(in), nullptr, line);
            case Opcode::unroll:
                return add("unroll " + operands(in), nullptr, line);
            case Opcode::raise:
                return add("raise " + in.text + " '" + in.message + "'", nullptr, line);
        }
    }

    const FlowGraph& graph_;
    std::vector<std::uint32_t> numbers_;  ///< of each version among those of its variable
    std::string text_;
};

}  // namespace

std::string to_text(const FlowGraph& graph, const std::vector<TypeRef>& argument_types) {
    return Printer(graph).print(argument_types);
}

}  // namespace cudasim::pykernel
