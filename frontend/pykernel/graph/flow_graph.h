// The typed IR: one Python function as a control-flow graph of instructions.
//
// An instruction's result is its own number (ValueId). Python's variables are read by `load` and written
// by `store`; ssa.cpp gives each store a version of the variable and each load the version it sees, with
// phis where versions meet. Each version has one type (inference.cpp): a variable that is given a value
// of another type is another version. Compiler-made variables ("$1") carry values of `and`, `or` and
// conditional expressions out of their branches.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "frontend/pykernel/syntax/request.h"
#include "frontend/pykernel/syntax/source_error.h"
#include "frontend/pykernel/types/types.h"

namespace cudasim::pykernel {

using ValueId = std::uint32_t;
using BlockId = std::uint32_t;
using VariableId = std::uint32_t;
using VersionId = std::uint32_t;
inline constexpr std::uint32_t nothing = 0xFFFF'FFFF;

enum class Opcode {
    constant,       ///< literal or outer name: *global
    argument,       ///< parameter number `index`
    load,           ///< variable, version
    store,          ///< variable, version; operands: value
    unary,          ///< op
    binary,         ///< op; text: "in place" of `x += y`
    get_attribute,  ///< text
    get_item,       ///< operands: container, index
    set_item,       ///< operands: container, index, value
    set_attribute,  ///< text; operands: object, value
    call,           ///< operands: callee, positional..., keyword...; keywords
    spread,         ///< operands: tuple; as operand of a call: `*tuple`
    build_tuple,
    build_slice,  ///< operands: start, stop and, where given, step
    unpack,       ///< operands: tuple or array; element `index` of `count`
    iterate,      ///< operands: what the loop runs over; the result is the iterator
    advance,      ///< operands: iterator; boolean, true while there is a next element
    element,      ///< operands: iterator; the element that the last advance stands at
    jump,         ///< targets[0]
    branch,       ///< operands: condition; targets: if true, if false
    return_,      ///< operands: value, or none
    raise,        ///< text: exception class; message; or operands: an exception
    unroll,  ///< operands: tuple; the loop over it, number `index` of FlowGraph::unrolled, is not written out
             ///< yet
};

struct Instruction {
    Opcode opcode;
    Location location;
    Operator op = Operator::add;
    std::vector<ValueId> operands;
    std::vector<std::string> keywords;
    std::string text;
    std::string message;
    const GlobalValue* global = nullptr;
    VariableId variable = nothing;
    VersionId version = nothing;
    std::uint32_t index = 0;
    std::uint32_t count = 0;
    bool has_message =
        false;  ///< call: all its arguments are constants; `message` is str() of an exception made of them
    bool captured = false;  ///< load: a variable of the function around the inlined one
    bool packed = false;    ///< call: the extra positional arguments are in one tuple already
    BlockId targets[2] = {nothing, nothing};
    ValueId id = nothing;  ///< its own
    TypeRef type = nullptr;
};

struct Phi {
    VersionId version;
    std::vector<std::pair<BlockId, VersionId>> incoming;  ///< version `nothing`: not assigned on that path
};

struct Block {
    std::vector<ValueId> instructions;
    std::vector<BlockId> predecessors;  ///< reachable ones; filled in by ssa.cpp
    std::vector<Phi> phis;
    bool terminated = false;
};

struct Variable {
    std::string name;
    Location declared;  ///< first assignment
    bool is_parameter = false;
    bool compiler_made = false;
};

struct Version {
    VariableId variable;
    Location location;  ///< of the assignment, or of the join for a phi
    TypeRef type = nullptr;
    bool is_phi = false;
};

/// A loop over literal_unroll(): the statement, and which copies of what encloses it.
using UnrolledLoop = std::vector<std::uintptr_t>;
/// How often each such loop is written out.
using UnrolledSizes = std::map<UnrolledLoop, std::size_t>;

/// The size of an `unroll` has become known: the graph has to be built again with it.
struct UnrollNeeded {
    std::uint32_t loop;
    std::size_t size;
};

/// Numbers functions inside a function that are used as values; with the variables around them.
using InnerFunctions = std::function<std::uint32_t(const FunctionSyntax&, const std::set<std::string>&)>;

struct FlowGraph {
    const FunctionSource* source = nullptr;
    std::vector<Instruction> instructions;  ///< by ValueId
    std::vector<Block> blocks;              ///< [0] is the entry
    std::vector<Variable> variables;
    std::vector<Version> versions;
    std::vector<BlockId> order;  ///< reachable blocks in reverse postorder
    TypeRef return_type = nullptr;
    std::vector<UnrolledLoop> unrolled;  ///< whose size is not known yet
};

/// @throws SourceError for constructs that are not compiled. `constants` outlives the graph and keeps the
/// literals.
[[nodiscard]] FlowGraph build_flow_graph(const FunctionSource& source,
                                         std::vector<std::unique_ptr<GlobalValue>>& constants,
                                         const UnrolledSizes& sizes, const InnerFunctions& inner_functions,
                                         const image::Cancellation* cancellation);

/// Orders the blocks and gives loads and stores their versions. @throws SourceError for a variable that
/// no path has assigned.
void assign_versions(FlowGraph& graph);

/// For each version of a variable, whether a path leads there on which the variable has no value yet. The
/// graph has to be typed.
[[nodiscard]] std::vector<char> unassigned_versions(const FlowGraph& graph);

/// The typed IR as text, for people (`cudasim ir --stage typed`).
[[nodiscard]] std::string to_text(const FlowGraph& graph, const std::vector<TypeRef>& argument_types);

}  // namespace cudasim::pykernel
