// See match_syntax.h. Rules: Python language reference, 8.6.4, "Patterns".
#include "frontend/bindings/match_syntax.h"

#include <string>
#include <string_view>
#include <utility>

namespace cudasim::bindings {
namespace {

namespace py = pybind11;
using namespace pykernel;

class Match {
  public:
    Match(py::handle node, const MatchParts& parts) : parts_(parts), place_(parts.place(node)) {
        // No name of Python's has a blank; nested matches have subjects of their own.
        subject_ = "match subject " + std::to_string(place_.line) + ":" + std::to_string(place_.column);
    }

    /// `if True:` with the subject's assignment and the cases.
    Statement convert(py::handle node) {
        Statement result =
            branch({.kind = ExpressionKind::boolean, .location = place_, .integer = 1}, place_);
        result.body.push_back(assignment(subject_, parts_.expression(node.attr("subject"))));
        std::vector<py::object> cases;
        for (py::handle each : node.attr("cases")) cases.push_back(py::reinterpret_borrow<py::object>(each));
        std::vector<Statement> otherwise;
        // Each case lies in the `else` of the one before.
        if (parts_.depth + cases.size() > parts_.deepest)
            parts_.refuse_depth(cases[parts_.deepest - parts_.depth].attr("pattern"));
        for (std::size_t i = cases.size(); i-- > 0;) otherwise = one_case(cases[i], std::move(otherwise));
        for (Statement& statement : otherwise) result.body.push_back(std::move(statement));
        if (!refused_.text.empty()) return refused_;
        return result;
    }

  private:
    std::vector<Statement> one_case(const py::object& node, std::vector<Statement> otherwise) {
        const py::object pattern = node.attr("pattern"), guard = node.attr("guard");
        std::vector<Statement> body = parts_.body(node);
        const bool takes_all = is(pattern, "MatchAs") && pattern.attr("pattern").is_none();
        if (takes_all && guard.is_none()) {
            if (const py::object name = pattern.attr("name"); !name.is_none())
                body.insert(body.begin(),
                            assignment(py::cast<std::string>(name), subject(parts_.place(pattern))));
            return body;
        }
        Expression test = condition(pattern);
        if (!guard.is_none())
            test = join(ExpressionKind::logical_and, std::move(test), parts_.expression(guard));
        Statement result = branch(std::move(test), parts_.place(pattern));
        result.body = std::move(body);
        result.otherwise = std::move(otherwise);
        std::vector<Statement> list;
        list.push_back(std::move(result));
        return list;
    }

    /// Whether the subject is what the pattern says; captures on the way.
    Expression condition(py::handle pattern, std::size_t depth = 0) {
        if (parts_.depth + ++depth > parts_.deepest) parts_.refuse_depth(pattern);
        const Location place = parts_.place(pattern);
        if (is(pattern, "MatchValue"))
            return comparison(Operator::equal, parts_.expression(pattern.attr("value")));
        if (is(pattern, "MatchSingleton")) {
            const py::object value = pattern.attr("value");
            const auto kind = value.is_none() ? ExpressionKind::none : ExpressionKind::boolean;
            return comparison(Operator::is,
                              {.kind = kind, .location = place, .integer = value.is(py::bool_(true))});
        }
        if (is(pattern, "MatchOr")) {
            Expression any{.kind = ExpressionKind::logical_or, .location = place};
            for (py::handle each : pattern.attr("patterns")) any.operands.push_back(condition(each, depth));
            return any;
        }
        if (is(pattern, "MatchAs")) {
            const py::object inner = pattern.attr("pattern"), name = pattern.attr("name");
            if (name.is_none()) return {.kind = ExpressionKind::boolean, .location = place, .integer = 1};
            Expression captured = capture(py::cast<std::string>(name), place);
            if (inner.is_none()) return captured;
            return join(ExpressionKind::logical_and, condition(inner, depth), std::move(captured));
        }
        const char* kind = is(pattern, "MatchMapping") ? "a mapping"
                           : is(pattern, "MatchClass") ? "a class"
                                                       : "a sequence";
        refused_.location = place;
        refused_.text = std::string(kind) + " as a pattern";  // refuse_construct() knows these
        return {};
    }

    /// `(name := subject,)`: true whatever the subject is.
    Expression capture(std::string name, Location place) {
        Expression named{.kind = ExpressionKind::named, .location = place, .text = std::move(name)};
        named.operands.push_back(subject(place));
        Expression result{.kind = ExpressionKind::tuple, .location = place};
        result.operands.push_back(std::move(named));
        return result;
    }

    Expression comparison(Operator op, Expression value) {
        Expression result{.kind = ExpressionKind::compare, .location = value.location};
        result.operators.push_back(op);
        result.operands.push_back(subject(value.location));
        result.operands.push_back(std::move(value));
        return result;
    }

    static Expression join(ExpressionKind kind, Expression left, Expression right) {
        Expression result{.kind = kind, .location = left.location};
        result.operands.push_back(std::move(left));
        result.operands.push_back(std::move(right));
        return result;
    }

    Expression subject(Location place) const {
        return {.kind = ExpressionKind::name, .location = place, .text = subject_};
    }

    static Statement assignment(std::string name, Expression value) {
        Statement result{.kind = StatementKind::assign, .location = value.location, .has_value = true};
        result.targets.push_back(
            {.kind = ExpressionKind::name, .location = value.location, .text = std::move(name)});
        result.value = std::move(value);
        return result;
    }

    static Statement branch(Expression test, Location place) {
        Statement result{.kind = StatementKind::if_, .location = place, .has_value = true};
        result.value = std::move(test);
        return result;
    }

    static bool is(py::handle node, std::string_view kind) {
        const std::string_view name = Py_TYPE(node.ptr())->tp_name;
        return name.substr(name.rfind('.') + 1) == kind;
    }

    const MatchParts& parts_;
    Location place_;
    std::string subject_;
    Statement refused_;
};

}  // namespace

Statement match_statement(py::handle node, const MatchParts& parts) {
    return Match(node, parts).convert(node);
}

}  // namespace cudasim::bindings
