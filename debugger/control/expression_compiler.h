// Conditions as machine code. Front ends implement it: Python's is
// frontend/bindings/condition_compiler.cpp.
//
//   text ─► names()    for each function of a kernel that has such a breakpoint: which names it has, and
//        │             whether it is an expression
//        └► compile()  for each of these functions ─► Predicate
//                      which a thread that comes by calls on its own stack
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "simulator/jit/abi.h"
#include "simulator/jit/compiler.h"

namespace cudasim::debugger {

/// A variable that an expression may name, and where it lies in its function's frame record. Of a static one
/// the address: its type refers to it.
struct VariablePlace {
    std::string name;
    std::string type;         ///< simulator/jit/debug_types.h
    std::uint32_t bytes = 0;  ///< of the variable
    /// record; of static variables shared or globals: where `offset` counts from
    jit::PartSource source = jit::PartSource::record;
    std::uint64_t offset = 0;  ///< in the record
    std::uint64_t assigned =
        0;  ///< in the record: offset of a byte that is 0 until it is assigned, unless it is static
    bool operator==(const VariablePlace&) const = default;
};

enum class Truth : std::uint8_t {
    no,
    yes,
    unknown,  ///< it cannot be evaluated: an index out of range, a division by zero
    ask       ///< it may be evaluated where the thread stands still: the Evaluator knows
};

/// A compiled condition. Immutable; several launches use it.
class Predicate {
  public:
    virtual ~Predicate() = default;
    /// Called on simulated stacks: it must not lock, allocate or throw. All variables that it was compiled
    /// for are assigned.
    [[nodiscard]] virtual Truth test(const jit::FrameRecord& record, const jit::BlockContext& block,
                                     std::uint32_t thread) const noexcept = 0;
    /// Why test() says `unknown`, for the same thread, which has not moved meanwhile.
    [[nodiscard]] virtual std::string reason(const jit::FrameRecord& record, const jit::BlockContext& block,
                                             std::uint32_t thread) const = 0;
};

/// What an expression names.
struct ExpressionNames {
    struct Name {
        std::string text;
        bool known = false;  ///< means something there also where no variable is called so
    };
    std::vector<Name> names;
    std::string error;  ///< why the text is no expression; empty: it is one
};

class ExpressionCompiler {
  public:
    virtual ~ExpressionCompiler() = default;
    /// Any host thread calls both. @param place of a statement of the function
    /// @param types of the function's variables (simulator/jit/debug_types.h), which may have names, too
    [[nodiscard]] virtual ExpressionNames names(const std::string& expression,
                                                const findings::SourceLocation& place,
                                                std::span<const std::string> types) = 0;
    /// @param variables those that the expression names, each name once
    /// @param error what the kernel's language has against the expression; stays empty where it has nothing
    /// @return null where it has no form for that: then the Evaluator is asked for every thread
    [[nodiscard]] virtual std::shared_ptr<const Predicate> compile(const std::string& expression,
                                                                   std::span<const VariablePlace> variables,
                                                                   const findings::SourceLocation& place,
                                                                   std::string& error) = 0;
};

}  // namespace cudasim::debugger
