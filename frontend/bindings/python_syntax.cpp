// See python_syntax.h. Node classes are told apart by their names: https://docs.python.org/3/library/ast.html
#include "frontend/bindings/python_syntax.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "frontend/bindings/match_syntax.h"
#include "frontend/bindings/released_gil.h"
#include "frontend/pykernel/syntax/source_error.h"

namespace cudasim::bindings {
namespace {

namespace py = pybind11;
using namespace pykernel;

std::string_view class_name(py::handle node) {
    std::string_view name = Py_TYPE(node.ptr())->tp_name;
    return name.substr(name.rfind('.') + 1);
}

py::object attribute(py::handle node, const char* name) {
    return py::reinterpret_steal<py::object>(PyObject_GetAttrString(node.ptr(), name));
}

int number_attribute(py::handle node, const char* name) {
    const py::object value = attribute(node, name);
    if (!value) throw py::error_already_set();
    return static_cast<int>(PyLong_AsLong(value.ptr()));
}

std::string text_attribute(py::handle node, const char* name) {
    return py::cast<std::string>(node.attr(name));
}

/// What a construct that is not compiled is called in the refusal.
std::string construct_name(std::string_view node_class) {
    static const std::unordered_map<std::string_view, const char*> names = {
        {"Try", "`try`"},
        {"TryStar", "`try`"},
        {"With", "`with`"},
        {"AsyncWith", "`async with`"},
        {"ListComp", "a list comprehension"},
        {"SetComp", "a set comprehension"},
        {"DictComp", "a dict comprehension"},
        {"GeneratorExp", "a generator expression"},
        {"Yield", "`yield`"},
        {"YieldFrom", "`yield from`"},
        {"Await", "`await`"},
        {"JoinedStr", "an f-string"},
        {"Dict", "a dict"},
        {"List", "a list"},
        {"Set", "a set"},
        {"Starred", "`*` unpacking"},
        {"FunctionDef", "a decorated function inside a function"},
        {"AsyncFunctionDef", "`async def`"},
        {"ClassDef", "a class"},
        {"Import", "`import`"},
        {"ImportFrom", "`import`"},
        {"AsyncFor", "`async for`"},
        {"TypeAlias", "`type`"}};
    const auto found = names.find(node_class);
    return found != names.end() ? found->second : "`" + std::string(node_class) + "`";
}

Operator operator_of(std::string_view name) {
    static const std::unordered_map<std::string_view, Operator> operators = {
        {"Add", Operator::add},
        {"Sub", Operator::subtract},
        {"Mult", Operator::multiply},
        {"Div", Operator::true_divide},
        {"FloorDiv", Operator::floor_divide},
        {"Mod", Operator::modulo},
        {"Pow", Operator::power},
        {"LShift", Operator::left_shift},
        {"RShift", Operator::right_shift},
        {"BitAnd", Operator::bit_and},
        {"BitOr", Operator::bit_or},
        {"BitXor", Operator::bit_xor},
        {"MatMult", Operator::matrix_multiply},
        {"Eq", Operator::equal},
        {"NotEq", Operator::not_equal},
        {"Lt", Operator::less},
        {"LtE", Operator::less_equal},
        {"Gt", Operator::greater},
        {"GtE", Operator::greater_equal},
        {"Is", Operator::is},
        {"IsNot", Operator::is_not},
        {"In", Operator::in},
        {"NotIn", Operator::not_in},
        {"USub", Operator::negate},
        {"UAdd", Operator::plus},
        {"Invert", Operator::invert},
        {"Not", Operator::logical_not}};
    return operators.at(name);
}

/// Statements and expressions inside each other; CPython 3.11 itself compiles 3,000 levels. Everything that
/// walks the tree recurses.
constexpr std::size_t deepest_syntax = 5000;
/// Stack for each level of nesting: more than any such walk takes.
constexpr std::size_t bytes_of_level = 16 << 10;

std::size_t deepest_here() {
    const std::size_t bytes = image::remaining_stack();
    return bytes == 0 ? deepest_syntax : std::min(deepest_syntax, bytes / bytes_of_level);
}

class Converter {
  public:
    Converter(int line_offset, const image::Cancellation* cancellation)
        : line_offset_(line_offset), cancellation_(cancellation), deepest_(deepest_here()) {}

    FunctionSyntax function(py::handle node) {
        FunctionSyntax result;
        result.location = place(node);
        if (class_name(node) == "Lambda") {
            result.name = "<lambda>";
            const py::object body = node.attr("body");
            Statement statement{.kind = StatementKind::return_, .location = place(body), .has_value = true};
            statement.value = expression(body);
            result.body.push_back(std::move(statement));
        } else {
            result.name = text_attribute(node, "name");
            result.location.end_line = result.location.line;
            result.location.end_column = result.location.column + 4 + static_cast<int>(result.name.size());
            result.body = block(node, "body");
        }
        parameters(node.attr("args"), result);
        return result;
    }

  private:
    Location place(py::handle node) const {
        return {number_attribute(node, "lineno") + line_offset_, number_attribute(node, "col_offset"),
                number_attribute(node, "end_lineno") + line_offset_,
                number_attribute(node, "end_col_offset")};
    }

    void parameters(py::handle arguments, FunctionSyntax& result) {
        for (const char* list : {"posonlyargs", "args"}) {
            for (py::handle argument : arguments.attr(list)) {
                result.parameters.push_back({text_attribute(argument, "arg"), place(argument)});
            }
        }
        auto refuse = [&](py::handle argument, const char* what) {
            Statement statement{.location = place(argument), .text = what};
            result.body.insert(result.body.begin(), std::move(statement));
        };
        if (const py::object rest = arguments.attr("vararg"); !rest.is_none()) {
            result.parameters.push_back({text_attribute(rest, "arg"), place(rest)});
            result.takes_rest = true;
        }
        result.defaults = expressions(arguments.attr("defaults"));
        if (!arguments.attr("kwarg").is_none()) refuse(arguments.attr("kwarg"), "a `**` parameter");
        for (py::handle argument : arguments.attr("kwonlyargs")) refuse(argument, "a keyword-only parameter");
    }

    std::vector<Statement> block(py::handle node, const char* list) {
        std::vector<Statement> statements;
        for (py::handle child : node.attr(list)) statements.push_back(statement(child));
        return statements;
    }

    std::vector<Expression> expressions(py::handle list) {
        std::vector<Expression> result;
        for (py::handle child : list) result.push_back(expression(child));
        return result;
    }

    /// One level of the tree, while its node is converted.
    class Level {
      public:
        Level(Converter& converter, py::handle node) : converter_(converter) {
            if (++converter_.depth_ > converter_.deepest_) converter_.refuse_depth(node);
            if (converter_.cancellation_ && ++converter_.nodes_ % 2048 == 0) converter_.let_others_in();
        }
        ~Level() { --converter_.depth_; }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;

      private:
        Converter& converter_;
    };

    [[noreturn]] void refuse_depth(py::handle node) const {
        refuse_unsupported("statements and expressions nested more than " + std::to_string(deepest_) +
                               " deep are not compiled: give the inner ones names, or write a loop",
                           place(node));
    }

    Statement statement(py::handle node) {
        const Level level(*this, node);
        const std::string_view kind = class_name(node);
        Statement result{.location = place(node)};
        auto value = [&](StatementKind statement_kind, const char* name = "value") {
            result.kind = statement_kind;
            const py::object child = node.attr(name);
            result.has_value = !child.is_none();
            if (result.has_value) result.value = expression(child);
        };
        if (kind == "Expr") {
            value(StatementKind::expression);
        } else if (kind == "Assign") {
            value(StatementKind::assign);
            for (py::handle each : node.attr("targets")) result.targets.push_back(target(each));
        } else if (kind == "AnnAssign") {
            value(StatementKind::assign);
            if (!result.has_value) result.kind = StatementKind::pass;
            result.targets.push_back(target(node.attr("target")));
        } else if (kind == "AugAssign") {
            value(StatementKind::augmented_assign);
            result.op = operator_of(class_name(node.attr("op")));
            result.targets.push_back(expression(node.attr("target")));
        } else if (kind == "If" || kind == "While") {
            value(kind == "If" ? StatementKind::if_ : StatementKind::while_, "test");
            result.body = block(node, "body");
            result.otherwise = block(node, "orelse");
        } else if (kind == "For") {
            value(StatementKind::for_, "iter");
            // A list display that is only looped over is a tuple to CPython's compiler too.
            if (const py::object over = node.attr("iter"); class_name(over) == "List")
                result.value = display(over);
            result.targets.push_back(target(node.attr("target")));
            result.body = block(node, "body");
            result.otherwise = block(node, "orelse");
        } else if (kind == "Return") {
            value(StatementKind::return_);
        } else if (kind == "Raise") {
            value(StatementKind::raise_, "exc");
            if (!node.attr("cause").is_none()) unsupported(result, "`raise ... from`");
        } else if (kind == "Assert") {
            value(StatementKind::assert_, "test");
            if (const py::object message = node.attr("msg"); !message.is_none())
                result.targets.push_back(expression(message));
        } else if (kind == "Delete") {
            result.kind = StatementKind::delete_;
            result.targets = expressions(node.attr("targets"));
        } else if (kind == "Global" || kind == "Nonlocal") {
            if (kind == "Nonlocal") result.text = "nonlocal";
            result.kind = StatementKind::global_;
            for (py::handle name : node.attr("names")) {
                result.targets.push_back({.kind = ExpressionKind::name, .location = result.location});
                result.targets.back().text = py::cast<std::string>(name);
            }
        } else if (kind == "FunctionDef" && py::len(node.attr("decorator_list")) == 0) {
            result.kind = StatementKind::function;
            result.function = std::make_shared<FunctionSyntax>(function(node));
        } else if (kind == "Match") {
            return match_statement(node, {.expression = [this](py::handle each) { return expression(each); },
                                          .body = [this](py::handle each) { return block(each, "body"); },
                                          .place = [this](py::handle each) { return place(each); },
                                          .depth = depth_,
                                          .deepest = deepest_,
                                          .refuse_depth = [this](py::handle each) { refuse_depth(each); }});
        } else if (kind == "Pass" || kind == "Break" || kind == "Continue") {
            result.kind = kind == "Pass"    ? StatementKind::pass
                          : kind == "Break" ? StatementKind::break_
                                            : StatementKind::continue_;
        } else {
            unsupported(result, construct_name(kind));
        }
        return result;
    }

    /// The thread that waits for the compilation needs the GIL for signal handlers.
    void let_others_in() const {
        {
            const ReleasedGil release(/*in_engine=*/false);
        }
        cancellation_->check();
    }

    static void unsupported(Statement& statement, std::string construct) {
        statement.kind = StatementKind::unsupported;
        statement.text = std::move(construct);
    }

    /// A tuple or list display, as a tuple.
    Expression display(py::handle node) {
        Expression result{.kind = ExpressionKind::tuple, .location = place(node)};
        result.operands = expressions(node.attr("elts"));
        return result;
    }

    /// `a, [b, *c]` on the left of `=`.
    Expression target(py::handle node) {
        const Level level(*this, node);
        const std::string_view kind = class_name(node);
        if (kind == "Starred") {
            Expression result{.kind = ExpressionKind::starred, .location = place(node)};
            result.operands.push_back(target(node.attr("value")));
            return result;
        }
        if (kind != "Tuple" && kind != "List") return expression(node);
        Expression result{.kind = ExpressionKind::tuple, .location = place(node)};
        for (py::handle element : node.attr("elts")) result.operands.push_back(target(element));
        return result;
    }

    Expression expression(py::handle node) {
        const Level level(*this, node);
        const std::string_view kind = class_name(node);
        Expression result{.location = place(node)};
        auto children = [&](ExpressionKind expression_kind, std::initializer_list<const char*> names) {
            result.kind = expression_kind;
            for (const char* name : names) result.operands.push_back(expression(node.attr(name)));
        };
        if (kind == "Name") {
            result.kind = ExpressionKind::name;
            result.text = text_attribute(node, "id");
        } else if (kind == "Constant") {
            constant(node.attr("value"), result);
        } else if (kind == "Attribute") {
            children(ExpressionKind::attribute, {"value"});
            result.text = text_attribute(node, "attr");
        } else if (kind == "Subscript") {
            children(ExpressionKind::subscript, {"value", "slice"});
        } else if (kind == "Call") {
            call(node, result);
        } else if (kind == "UnaryOp") {
            children(ExpressionKind::unary, {"operand"});
            result.operators.push_back(operator_of(class_name(node.attr("op"))));
        } else if (kind == "BinOp") {
            children(ExpressionKind::binary, {"left", "right"});
            result.operators.push_back(operator_of(class_name(node.attr("op"))));
        } else if (kind == "Compare") {
            children(ExpressionKind::compare, {"left"});
            for (py::handle op : node.attr("ops")) result.operators.push_back(operator_of(class_name(op)));
            for (py::handle other : node.attr("comparators")) result.operands.push_back(expression(other));
        } else if (kind == "BoolOp") {
            const bool is_and = class_name(node.attr("op")) == "And";
            result.kind = is_and ? ExpressionKind::logical_and : ExpressionKind::logical_or;
            result.operands = expressions(node.attr("values"));
        } else if (kind == "IfExp") {
            children(ExpressionKind::conditional, {"test", "body", "orelse"});
        } else if (kind == "Lambda") {
            result.kind = ExpressionKind::lambda;
            result.function = std::make_shared<FunctionSyntax>(function(node));
        } else if (kind == "Tuple") {
            result = display(node);
        } else if (kind == "NamedExpr") {
            children(ExpressionKind::named, {"value"});
            result.text = text_attribute(node.attr("target"), "id");
        } else if (kind == "Slice") {
            result.kind = ExpressionKind::slice;
            for (const char* name : {"lower", "upper", "step"}) {
                const py::object bound = node.attr(name);
                result.operands.push_back(bound.is_none() ? Expression{.kind = ExpressionKind::none}
                                                          : expression(bound));
            }
        } else {
            result.text = construct_name(kind);
        }
        return result;
    }

    void call(py::handle node, Expression& result) {
        result.kind = ExpressionKind::call;
        result.operands.push_back(expression(node.attr("func")));
        for (py::handle argument : node.attr("args")) {
            const bool starred = class_name(argument) == "Starred";
            if (!starred) {
                result.operands.push_back(expression(argument));
                continue;
            }
            Expression spread{.kind = ExpressionKind::starred, .location = place(argument)};
            spread.operands.push_back(expression(argument.attr("value")));
            result.operands.push_back(std::move(spread));
        }
        for (py::handle keyword : node.attr("keywords")) {
            const py::object name = keyword.attr("arg");
            if (name.is_none()) {  // f(**d)
                Expression refused{.location = place(keyword), .text = "`**` unpacking"};
                result.operands.push_back(std::move(refused));
                result.keywords.emplace_back();
                continue;
            }
            result.keywords.push_back(py::cast<std::string>(name));
            result.operands.push_back(expression(keyword.attr("value")));
        }
    }

    static void constant(const py::object& value, Expression& result) {
        if (value.is_none()) {
            result.kind = ExpressionKind::none;
        } else if (PyBool_Check(value.ptr())) {
            result.kind = ExpressionKind::boolean;
            result.integer = value.ptr() == Py_True;
        } else if (PyLong_Check(value.ptr())) {
            integer(value, result);
        } else if (PyFloat_Check(value.ptr())) {
            result.kind = ExpressionKind::real;
            result.real = PyFloat_AS_DOUBLE(value.ptr());
        } else if (PyComplex_Check(value.ptr())) {  // a literal: its real part is 0
            result.kind = ExpressionKind::imaginary;
            result.real = PyComplex_ImagAsDouble(value.ptr());
        } else if (PyUnicode_Check(value.ptr())) {
            result.kind = ExpressionKind::text;
            result.text = py::cast<std::string>(value);
        } else if (PyBytes_Check(value.ptr())) {
            result.kind = ExpressionKind::bytes;
            result.text = py::cast<std::string>(value);
        } else if (value.ptr() == Py_Ellipsis) {
            result.kind = ExpressionKind::ellipsis;
        } else {
            result.text = "a constant of type " + std::string(Py_TYPE(value.ptr())->tp_name);
        }
    }

    static void integer(const py::object& value, Expression& result) {
        result.kind = ExpressionKind::integer;
        int overflow = 0;
        result.integer = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
        if (!overflow) return;
        const unsigned long long wide = PyLong_AsUnsignedLongLong(value.ptr());
        if (PyErr_Occurred()) {
            PyErr_Clear();
            result.kind = ExpressionKind::unsupported;
            result.text = "an integer of more than 64 bits";  // refuse_construct() knows it
            return;
        }
        result.integer = static_cast<std::int64_t>(wide);
        result.needs_unsigned = true;
    }

    int line_offset_;
    const image::Cancellation* cancellation_;
    const std::size_t deepest_;
    std::size_t depth_ = 0, nodes_ = 0;
};

}  // namespace

FunctionSyntax function_from_python(py::handle node, int line_offset,
                                    const image::Cancellation* cancellation) {
    return Converter(line_offset, cancellation).function(node);
}

}  // namespace cudasim::bindings
