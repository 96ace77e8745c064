// Builds the flow graph of one function in a walk over its syntax. Statements are in
// flow_graph_statements.cpp, expressions in flow_graph_expressions.cpp.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frontend/pykernel/graph/flow_graph.h"

namespace cudasim::pykernel {

/// What one function may become. LLVM takes minutes over less.
inline constexpr std::size_t most_instructions = 400'000;
inline constexpr std::size_t most_inlined_calls = 10'000;
inline constexpr std::size_t deepest_inlining = 200;

class FlowGraphBuilder {
  public:
    FlowGraphBuilder(const FunctionSource& source, std::vector<std::unique_ptr<GlobalValue>>& constants,
                     const UnrolledSizes& sizes, const InnerFunctions& inner_functions,
                     const image::Cancellation* cancellation);
    [[nodiscard]] FlowGraph build();

  private:
    struct Loop {
        BlockId next, after;
    };

    // Statements.
    void body(const std::vector<Statement>& statements);
    void statement(const Statement& statement);
    void assign(const Expression& target, ValueId value, const Expression* syntax);
    void assign_statement(const Statement& statement);
    void augmented_assign(const Statement& statement);
    ValueId in_place(const Statement& statement, ValueId old, ValueId change);
    void if_statement(const Statement& statement);
    void while_statement(const Statement& statement);
    void for_statement(const Statement& statement);
    [[nodiscard]] bool is_unrolled(const Expression& over) const;
    void unrolled_for_statement(const Statement& statement);
    void raise_statement(const Statement& statement);
    void assert_statement(const Statement& statement);
    void raise(const std::string& exception, const std::string& message, Location location);
    void declare_locals(const std::vector<Statement>& statements);
    void declare_target(const Expression& target);
    void declare_named(const Expression& expression);
    void declare(const Expression& name);
    void delete_statement(const Statement& statement);
    void declare_parameters();

    // Expressions.
    ValueId expression(const Expression& syntax);
    ValueId name(const Expression& syntax);
    ValueId attribute(const Expression& syntax);
    [[nodiscard]] const GlobalValue* enumeration_member(const Expression& syntax) const;
    ValueId call(const Expression& syntax);
    ValueId compare(const Expression& syntax);
    ValueId short_circuit(const Expression& syntax);
    ValueId conditional(const Expression& syntax);
    ValueId constant(GlobalValue value, Location location);
    ValueId operation(Opcode opcode, Location location, std::vector<ValueId> operands,
                      Operator op = Operator::add);
    /// Ends the current block with jumps to one of the two.
    void condition(const Expression& syntax, BlockId if_true, BlockId if_false);
    void chained_condition(const Expression& syntax, BlockId if_true, BlockId if_false);
    [[nodiscard]] const GlobalValue* outer(const Expression& syntax) const;
    [[nodiscard]] std::optional<bool> constant_truth(const Expression& syntax) const;
    [[nodiscard]] const GlobalValue* constant_value(const Expression& syntax, GlobalValue& storage) const;
    [[nodiscard]] const GlobalValue* constant_operand(const Expression& syntax, GlobalValue& storage) const;
    [[nodiscard]] const GlobalValue* chosen_operand(const Expression& syntax, GlobalValue& storage) const;
    [[nodiscard]] std::optional<std::string> constant_text(const Expression& syntax, bool quoted) const;
    /// What str() of an exception called with these arguments is; empty when they are not constants.
    [[nodiscard]] std::optional<std::string> exception_message(const Expression& call) const;

    // Functions inside the function (flow_graph_local_functions.cpp).
    using Locals = std::map<std::string, VariableId>;
    struct LocalFunction;
    using LocalFunctions = std::map<std::string, LocalFunction>;
    /// Its calls are inlined, as Numba does it: each is typed for itself and sees the variables of the
    /// function around it as they are then.
    struct LocalFunction {
        const FunctionSyntax* syntax;  ///< null: another one on each of several paths
        Locals outer;                  ///< variables of the function around it
        LocalFunctions* scope;
        std::vector<VariableId> defaults;
    };
    struct InlinedReturn {
        VariableId result;
        BlockId after;
    };
    void define(const std::string& name, const FunctionSyntax& syntax);
    void collect_nonlocals(const std::vector<Statement>& statements);
    /// Called after an `if`: a name that its two sides define differently no longer names a function.
    void join_functions(const LocalFunctions& other);
    ValueId function_value(const FunctionSyntax& syntax, Location location);
    [[nodiscard]] LocalFunction local_function(const FunctionSyntax& syntax);
    /// The function that an expression names, or is (a lambda); empty for any other expression.
    [[nodiscard]] std::optional<LocalFunction> find_local_function(const Expression& syntax);
    ValueId inline_call(const LocalFunction& function, const Expression& call);
    void bind_parameters(const LocalFunction& function, const Expression& call, Locals& locals,
                         LocalFunctions& functions);
    void return_statement(const Statement& statement);

    // The graph.
    BlockId new_block();
    void enter(BlockId block) { current_ = block; }
    ValueId append(Instruction instruction);
    void check_size(Location location) const;
    void jump(BlockId target, Location location);
    VariableId variable(const std::string& name, Location location, bool compiler_made = false);
    void store(VariableId variable, ValueId value, Location location);
    ValueId load(VariableId variable, Location location);
    /// Loads a variable that Python's source reads, which may raise.
    ValueId read(VariableId variable, Location location);

    const FunctionSource& source_;
    std::vector<std::unique_ptr<GlobalValue>>& constants_;
    const UnrolledSizes& sizes_;
    const InnerFunctions& inner_functions_;
    const image::Cancellation* cancellation_;
    UnrolledLoop copies_;  ///< of loops over literal_unroll() and of inlined calls that enclose the place
    FlowGraph graph_;
    BlockId current_ = 0;
    std::vector<Loop> loops_;
    std::set<std::string> outer_names_;  ///< declared `global` or `nonlocal`
    std::set<std::string> nonlocals_;    ///< of the inlined function: variables of the one around it
    Locals locals_;
    std::deque<LocalFunctions> function_scopes_{1};  ///< of the function itself, and of each inlined call
    LocalFunctions* functions_ = &function_scopes_.front();
    std::vector<const FunctionSyntax*> inlining_;
    std::size_t inlined_calls_ = 0;
    std::optional<InlinedReturn> inlined_return_;
    VariableId first_own_ = 0;  ///< variables before this one belong to functions around the inlined one
};

/// "a.b.c" of names and attributes; empty for anything else.
[[nodiscard]] std::string dotted_name(const Expression& syntax);

/// Value of an expression of number literals, as CPython folds it; empty when it is not one. @throws
/// SourceError for integers beyond 64 bits
[[nodiscard]] std::optional<GlobalValue> fold_literals(const Expression& syntax);

/// Whether an operation of two numbers gives anything but zero; empty where it has no result.
[[nodiscard]] std::optional<bool> truth_of_operation(Operator op, const GlobalValue& left,
                                                     const GlobalValue& right);

/// `(1, 2) * 2` and `2 * (1, 2)` of constants as the tuple that CPython folds them to; empty for anything
/// else. Numba compiles bytecode, so such products are all that it knows of repeated tuples.
[[nodiscard]] std::optional<Expression> fold_repeated_tuple(const Expression& syntax);

}  // namespace cudasim::pykernel
