// What one compilation shares: types, the functions reached so far with their argument types, constants.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "frontend/pykernel/graph/flow_graph.h"
#include "frontend/pykernel/syntax/in_source.h"
#include "frontend/pykernel/syntax/source_error.h"
#include "frontend/pykernel/types/promotion.h"
#include "frontend/pykernel/types/types.h"

namespace cudasim::pykernel {

struct Rule;
struct Specialisation;

/// What an instruction means: type inference decides it, emission reads it. A rule, or one of the request's
/// functions, or linked code.
struct Resolution {
    const Rule* rule = nullptr;   ///< typing beside code (callable.h)
    Operator op = Operator::add;  ///< that the rule is for
    std::vector<TypeRef>
        parameters;  ///< what the operands convert to: of operators on numbers, of linked code; what else
                     ///< a rule's code has to know of types
    std::vector<Resolution> inner;         ///< of the operations that the rule's code consists of
    std::vector<std::uint32_t> positions;  ///< parts or elements that an attribute, an index names
    const RecordField* field = nullptr;    ///< that an attribute, an index names
    const GlobalValue* global = nullptr;   ///< that an attribute of a module is
    /// Operand of the call for each parameter: as of bind_call(), of Program::bind(), of bind_fields().
    std::vector<std::uint32_t> sources;
    TypeRef called = nullptr;        ///< what is called, where it is a rule's
    std::uint32_t callee = 0;        ///< the function of the request that the call names
    std::vector<TypeRef> given;      ///< types of what is given for each parameter of a function
    std::vector<TypeRef> arguments;  ///< those that the function is chosen for; of a rule: numbers that
                                     ///< operands are converted to first, null for others (by_conversion())
    std::vector<std::string> keywords;   ///< names of the last arguments, where the Resolver binds them
    Specialisation* function = nullptr;  ///< one of the request's
    const Choice* linked = nullptr;      ///< linked code
    TypeRef result = nullptr;            ///< of a function, which may not know it yet; of an operation
};

/// What the instructions of a function mean: operators, calls, attributes, subscripts, assignments.
class Resolutions {
  public:
    [[nodiscard]] const Resolution& at(ValueId id) const { return found_.at(places_.at(id)); }
    /// @return what the instruction means, until the next call
    Resolution& put(ValueId id, Resolution resolution);

  private:
    std::vector<std::uint32_t> places_;  ///< by ValueId: the place in `found_`, or `nothing`
    std::vector<Resolution> found_;
};

/// A function for one list of argument types: what Numba calls an overload.
struct Specialisation {
    std::uint32_t function = 0;  ///< index into Request::functions
    std::vector<TypeRef> arguments;
    FlowGraph graph;
    Resolutions resolutions;
    UnrolledSizes unrolled;    ///< loops over literal_unroll(), as far as known
    TypeRef result = nullptr;  ///< so far, while its types are being inferred; null: not known yet
    std::string symbol;
    TypeRef declared_result = nullptr;
    std::optional<SourceError> refusal;  ///< why it cannot be typed; another form of the call may still fit
    bool inferring = false;
    bool finished = false;   ///< false after inference: its types depend on a caller's that is being inferred
    std::size_t lowest = 0;  ///< the outermost function being inferred that its types depend on
};

/// A loop over values of a type that a program has added: getiter and iternext, whose result is whether there
/// is an element, and the element.
struct Iteration {
    Resolution begin, next;
};

class Program {
  public:
    explicit Program(const Request& request);
    /// The kernel, or the device function that is compiled, typed.
    /// @param result what it converts its result to; null: nothing
    /// @throws SourceError naming the file of the function that is wrong
    [[nodiscard]] Specialisation& root(const std::vector<TypeRef>& arguments, TypeRef result);
    /// Binds the arguments. @param type_of gives the type of an operand @throws SourceError
    [[nodiscard]] Resolution bound(std::uint32_t function, const Instruction& call,
                                   const std::function<TypeRef(ValueId)>& type_of);
    /// Finds function and result. Numbers known while compiling are plain arguments first; a function that
    /// cannot be typed with those gets their literal types, as `cuda.shared.array(n, …)` needs them. @throws
    /// SourceError
    void resolve(std::uint32_t function, Resolution& call, Location place);
    /// What a program has added to values of a type, if ask_for_extension() has found it; else null.
    [[nodiscard]] const Extension* extension(TypeRef type, const std::string& attribute) const;
    /// Asks whether a program has added it; null when not.
    /// @throws SourceError when what the program has written for it fails
    [[nodiscard]] const Extension* ask_for_extension(TypeRef type, const std::string& attribute,
                                                     Location place);
    /// The function for arguments of these types, typed once; for functions with declared signatures the one
    /// that fits best, so that `arguments` of the result say what to convert to. In a recursive call its
    /// result may not be known yet. @throws SourceError
    [[nodiscard]] Specialisation& specialise(std::uint32_t function, const std::vector<TypeRef>& given,
                                             Location call);
    /// Counts the times that specialise() gave a function whose types were not final: what depends on it may
    /// mean something else later.
    [[nodiscard]] std::size_t open_calls() const { return open_calls_; }
    /// Function `function` of Request::functions or, numbered from `first_inner`, of the functions inside
    /// them that are passed on as values.
    static constexpr std::uint32_t first_inner = 1U << 31;
    [[nodiscard]] const FunctionSource& source(std::uint32_t function) const {
        return function < first_inner ? request.functions[function]
                                      : inner_functions_[function - first_inner];
    }
    /// The number of a function inside another one, as a function of its own. @throws SourceError
    [[nodiscard]] std::uint32_t inner_function(const FunctionSource& outer, const FunctionSyntax& syntax,
                                               const std::set<std::string>& outer_locals);
    /// Type of a value known while compiling.
    [[nodiscard]] TypeRef type_of(const GlobalValue& value, Location place);
    /// Which operand each parameter of a called function gets; index into the defaults, offset by
    /// `default_base`, where the call leaves it out. @throws SourceError as Python's TypeError would say
    static constexpr std::uint32_t default_base = 1U << 16;
    /// @param has_self whether operand 0 is the first argument: a method of a value
    [[nodiscard]] std::vector<std::uint32_t> bind(const FunctionSource& callee, const Instruction& call,
                                                  bool has_self) const;
    /// The overloaded function that a program has given for an operator or a function of the compiler's, for
    /// values of its own types (Resolver::operation); asked for once.
    [[nodiscard]] std::optional<std::uint32_t> operation(const std::string& name);
    /// The conversion between two types, one of which a program has added, if the program has one
    /// (lower_cast); asked for once. To be emitted it must have been asked for by inference.
    /// @throws SourceError when its code cannot be generated
    [[nodiscard]] const Resolution* ask_for_cast(TypeRef from, TypeRef to, Location place);
    /// The same, as far as it has been asked for; else null.
    [[nodiscard]] const Resolution* cast(TypeRef from, TypeRef to) const;
    /// How a loop over values of a type that a program has added begins and goes on; asked for once.
    /// @throws SourceError when no loop can run over them
    [[nodiscard]] const Iteration& ask_for_iteration(TypeRef over, Location place);
    /// The same, which has been asked for.
    [[nodiscard]] const Iteration& iteration(TypeRef over) const;
    /// A constant of a type that a program has added, as a function without arguments. type_of() has asked
    /// for it.
    [[nodiscard]] const Resolution& added_constant(const GlobalValue& value) const;
    /// What a module has under a name (Resolver::member); asked for once.
    [[nodiscard]] const GlobalValue& member(const std::string& module, const std::string& name);
    /// A function of cudasim.kernel_library for these types. @throws SourceError
    [[nodiscard]] Specialisation& library(std::string_view name, const std::vector<TypeRef>& arguments,
                                          Location call);
    [[nodiscard]] const std::deque<Specialisation>& specialisations() const { return specialisations_; }

    const Request& request;
    TypeTable types;
    Promotion promotion{types};

  private:
    /// A declared signature of the function. @throws SourceError when none fits
    [[nodiscard]] std::pair<std::vector<TypeRef>, TypeRef> declared(const FunctionSource& source,
                                                                    const std::vector<TypeRef>& given,
                                                                    Location call);
    /// The function that an overloaded one means for these types. @throws SourceError when there is none
    [[nodiscard]] const Choice& chosen(std::uint32_t function, const Resolution& call, Location place);
    void build(Specialisation& specialisation);
    Specialisation& make(std::uint32_t function, const std::vector<TypeRef>& arguments);
    [[nodiscard]] Specialisation& specialise_plain_first(std::uint32_t function, Resolution& call,
                                                         Location place);
    void infer(Specialisation& specialisation, Location call);
    void check_depth(const Specialisation& specialisation, Location call) const;
    void infer_to_fixpoint(Specialisation& specialisation);
    void abandon(Specialisation& specialisation, std::size_t depth);
    void finish_with_cycle(Specialisation& head, std::size_t depth);

    std::deque<FunctionSource> inner_functions_;
    std::map<const FunctionSyntax*, std::uint32_t> inner_numbers_;
    std::vector<std::unique_ptr<GlobalValue>> constants_;
    std::deque<Specialisation> specialisations_;
    std::map<std::pair<std::uint32_t, std::vector<TypeRef>>, Specialisation*> known_;
    // What the resolver has answered.
    std::map<std::pair<std::uint32_t, std::vector<std::string>>, Choice> choices_;
    std::map<std::pair<TypeRef, std::string>, Extension> extensions_;
    std::map<std::string, std::optional<std::uint32_t>> operations_;
    std::map<std::pair<std::string, std::string>, GlobalValue> members_;
    std::map<std::pair<TypeRef, TypeRef>, std::optional<Resolution>> casts_;
    std::map<TypeRef, Iteration> iterations_;
    std::map<std::string, Resolution> added_constants_;
    std::map<std::string, std::uint32_t, std::less<>> library_;
    std::vector<Specialisation*> inferring_;   ///< from the outermost inwards
    std::vector<Specialisation*> unfinished_;  ///< members of cycles of calls
    std::size_t open_calls_ = 0;
};

/// How badly a value fits a declared type, 0 for exactly; empty when it cannot be converted.
[[nodiscard]] std::optional<int> conversion_cost(TypeRef given, TypeRef wanted);

/// Types of instructions and versions to a fixpoint, and the result's. @throws SourceError
void infer_types(Program& program, Specialisation& specialisation);
/// Drops what cannot be reached. False when something is still without a type.
[[nodiscard]] bool finish_types(Program& program, Specialisation& specialisation);
/// Why something has no type. @throws SourceError
[[noreturn]] void refuse_untyped(const Specialisation& specialisation);

/// A PTX-legal symbol made of the function's name and argument types: "add$array_float64_1d_C$int64".
[[nodiscard]] std::string mangle(std::string_view name, const std::vector<TypeRef>& arguments);

}  // namespace cudasim::pykernel
