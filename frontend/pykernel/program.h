// What one compilation shares: types, the functions reached so far with their argument types, constants.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontend/pykernel/flow_graph.h"
#include "frontend/pykernel/promotion.h"
#include "frontend/pykernel/types.h"

namespace cudasim::pykernel {

/// A function for one list of argument types: what Numba calls an overload.
struct Specialisation {
    std::uint32_t function = 0;  ///< index into Request::functions
    std::vector<TypeRef> arguments;
    FlowGraph graph;
    TypeRef result = nullptr;  ///< null while its types are being inferred
    std::string symbol;
};

class Program {
  public:
    explicit Program(const Request& request);
    /// Types the function for these arguments, once. @throws SourceError naming the function's file
    [[nodiscard]] Specialisation& specialise(std::uint32_t function, const std::vector<TypeRef>& arguments,
                                             Location call);
    /// Runs `body`; a SourceError leaving it gets the file and source line of `source`.
    template <typename Body>
    static decltype(auto) in_source(const FunctionSource& source, Body&& body) {
        try {
            return body();
        } catch (SourceError& error) {
            name_place(error, source);
            throw;
        }
    }
    /// Type of a value known while compiling.
    [[nodiscard]] TypeRef type_of(const GlobalValue& value, Location place);
    /// Which operand each parameter of a called function gets; index into the defaults, offset by
    /// `default_base`, where the call leaves it out. @throws SourceError as Python's TypeError would say
    static constexpr std::uint32_t default_base = 1U << 16;
    [[nodiscard]] std::vector<std::uint32_t> bind(const FunctionSource& callee,
                                                  const Instruction& call) const;
    [[nodiscard]] const std::deque<Specialisation>& specialisations() const { return specialisations_; }

    const Request& request;
    TypeTable types;
    Promotion promotion{types};

  private:
    static void name_place(SourceError& error, const FunctionSource& source);

    std::vector<std::unique_ptr<GlobalValue>> constants_;
    std::deque<Specialisation> specialisations_;
    std::map<std::pair<std::uint32_t, std::vector<TypeRef>>, Specialisation*> known_;
};

/// Gives every instruction and version of the graph its type. @throws SourceError
void infer_types(Program& program, Specialisation& specialisation);

/// A PTX-legal symbol made of the function's name and argument types: "add$array_float64_1d_C$int64".
[[nodiscard]] std::string mangle(std::string_view name, const std::vector<TypeRef>& arguments);

}  // namespace cudasim::pykernel
