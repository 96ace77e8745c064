// The syntax tree of one Python function, as `ast` gave it, in plain structs. The bindings make it and
// flow_graph_*.cpp reads it. Nodes of the language that are not compiled are kept as their own kind
// (unsupported), so that the refusal comes from one place, with the place in the source.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cudasim::pykernel {

/// Line from 1; columns in UTF-8 bytes from 0, end exclusive (as in Python's ast).
struct Location {
    int line = 0;
    int column = 0;
    int end_line = 0;
    int end_column = 0;
};

enum class Operator {
    add,
    subtract,
    multiply,
    true_divide,
    floor_divide,
    modulo,
    power,
    left_shift,
    right_shift,
    bit_and,
    bit_or,
    bit_xor,
    matrix_multiply,
    equal,
    not_equal,
    less,
    less_equal,
    greater,
    greater_equal,
    is,
    is_not,
    in,
    not_in,
    negate,
    plus,
    invert,
    logical_not,
};

enum class ExpressionKind {
    name,
    integer,
    real,
    imaginary,  ///< 2.5j: `real` is 2.5
    boolean,
    none,
    text,
    bytes,  ///< b"abc": text
    ellipsis,
    attribute,    ///< operands[0].text
    subscript,    ///< operands[0][operands[1]]
    call,         ///< operands[0](operands[1..]); the last `keywords.size()` operands are by keyword
    unary,        ///< op operands[0]
    binary,       ///< operands[0] op operands[1]
    compare,      ///< operands[0] ops[0] operands[1] ops[1] operands[2] ...
    logical_and,  ///< operands
    logical_or,
    conditional,  ///< operands[1] if operands[0] else operands[2]
    tuple,
    named,        ///< text := operands[0]
    lambda,       ///< function
    starred,      ///< *operands[0], as a target or as an argument of a call
    slice,        ///< operands lower, upper, step; a missing one is kind none with line 0
    unsupported,  ///< text names the construct
};

struct FunctionSyntax;

struct Expression {
    ExpressionKind kind = ExpressionKind::unsupported;
    Location location;
    std::string text;
    std::int64_t integer = 0;
    bool needs_unsigned = false;  ///< integer literal of 2**63 and more, stored modulo 2**64
    double real = 0;
    std::vector<Operator> operators;
    std::vector<Expression> operands;
    std::vector<std::string> keywords;
    std::shared_ptr<const FunctionSyntax> function;
};

enum class StatementKind {
    expression,        ///< value
    assign,            ///< targets = value
    augmented_assign,  ///< targets[0] op= value
    if_,
    while_,
    for_,  ///< value is the condition or the iterable; for: targets[0]
    break_,
    continue_,
    pass,
    global_,  ///< targets are the names, of `nonlocal` too
    delete_,  ///< targets
    return_,  ///< value or has_value == false
    raise_,
    function,  ///< a function inside the function: function
    assert_,   ///< value, message in targets[0] when there is one
    unsupported,
};

struct Statement {
    StatementKind kind = StatementKind::unsupported;
    Location location;
    std::string text;  ///< the construct's name when unsupported
    Operator op = Operator::add;
    bool has_value = false;
    Expression value;
    std::vector<Expression> targets;
    std::vector<Statement> body;
    std::vector<Statement> otherwise;
    std::shared_ptr<const FunctionSyntax> function;
};

struct ParameterSyntax {
    std::string name;
    Location location;
};

struct FunctionSyntax {
    std::string name;
    Location location;  ///< of the `def`
    std::vector<ParameterSyntax> parameters;
    bool takes_rest = false;           ///< the last parameter is `*rest`
    std::vector<Expression> defaults;  ///< of the last parameters before `*rest`
    std::vector<Statement> body;
};

}  // namespace cudasim::pykernel
