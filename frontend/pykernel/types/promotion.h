// Numba's rules for numbers (frontend/numba_rules) in terms of the compiler's types, and what values of other
// types become where control flow joins.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "frontend/numba_rules/numbers.h"
#include "frontend/pykernel/syntax/syntax_tree.h"
#include "frontend/pykernel/types/types.h"

namespace cudasim::pykernel {

using numba_rules::Conversion;

/// Values of a type that is not a number convert to that type only.
[[nodiscard]] Conversion conversion(TypeRef from, TypeRef to);
/// Whether there is a conversion, and Numba can do it.
[[nodiscard]] bool can_cast(TypeRef from, TypeRef to);

/// What an operator converts its operands to, and what it gives.
struct Signature {
    std::vector<TypeRef> parameters;
    TypeRef result = nullptr;
};

/// The candidate with the fewest unsafe, then safe, then promoting conversions; the first of equals.
/// Null when some argument fits nowhere.
[[nodiscard]] const Signature* best_signature(std::span<const Signature> candidates,
                                              std::span<const TypeRef> arguments);

class Promotion {
  public:
    explicit Promotion(TypeTable& types);
    /// Arithmetic, bit and comparison operators on numbers. Null: not defined for these types.
    [[nodiscard]] const Signature* binary(Operator op, TypeRef left, TypeRef right) const;
    [[nodiscard]] const Signature* unary(Operator op, TypeRef operand) const;
    /// Type of range(...): the integer type of its values. Null when no argument is a number.
    [[nodiscard]] TypeRef range(std::span<const TypeRef> arguments) const;
    /// The type of a variable that is `a` on one path and `b` on another; null: they do not unify.
    [[nodiscard]] TypeRef unify(TypeRef a, TypeRef b) const;

  private:
    /// An operator's overloads in the compiler's types.
    struct Overloads {
        Overloads(const TypeTable& types, const numba_rules::PairTable& table);
        const numba_rules::PairTable& table;
        std::vector<Signature> signatures;
    };
    [[nodiscard]] static const Signature* best(const Overloads& overloads, TypeRef left, TypeRef right);
    [[nodiscard]] TypeRef unify_optional(TypeRef a, TypeRef b) const;

    TypeTable& types_;
    Overloads arithmetic_, floored_, division_, power_, bitwise_, comparison_, equality_, shift_;
    std::vector<Signature> sign_, invert_;
};

/// Whether the operator compares: ==, <, `is` and so on. `is` compares numbers as == does.
[[nodiscard]] bool is_comparison(Operator op);
/// The operator as written in Python, such as "//".
[[nodiscard]] const char* spelling(Operator op);

}  // namespace cudasim::pykernel
