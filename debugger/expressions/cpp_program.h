// The debugger's own expressions with types: what cpp_syntax.h parses, for the variables of a function. The
// arithmetic is C++'s with 64-bit long: integral promotion, the usual arithmetic conversions, float stays
// float. Unlike C++: signed integers wrap, shifts by too much give 0 or the sign, indices of arrays are
// checked, and a division of an integer by zero ends the evaluation.
//
// Arrays as front ends describe them (Type::is_array()) have indices x[i], x[i, j], and negative ones count
// from the end, as in kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "debugger/expressions/cpp_syntax.h"
#include "debugger/values/type.h"

namespace cudasim::debugger {

struct CppVariable {
    std::string name;
    TypePtr type;
};

/// threadIdx, blockIdx, blockDim and gridDim by axis, then laneid and warpsize.
enum class CppSpecial : std::uint8_t {
    thread_index,
    block_index,
    block_extent,
    grid_extent,
    lane,
    warp_size
};

/// Where values come from.
class CppEnvironment {
  public:
    virtual ~CppEnvironment() = default;
    /// The bytes of a variable of the program, by its index.
    [[nodiscard]] virtual const std::byte* variable(std::size_t index) const noexcept = 0;
    /// Where they lie in memory; 0 when nobody knows.
    [[nodiscard]] virtual std::uint64_t address(std::size_t index) const noexcept = 0;
    /// False where the thread may not read all of it.
    [[nodiscard]] virtual bool read(std::uint64_t address, std::byte* target,
                                    std::size_t bytes) const noexcept = 0;
    [[nodiscard]] virtual std::uint32_t special(CppSpecial which, unsigned axis) const noexcept = 0;
};

/// Why there is no value.
struct CppFault {
    enum class Kind : std::uint8_t { none, memory, null, index, division, no_address } kind = Kind::none;
    std::uint64_t address = 0;
    std::int64_t index = 0, size = 0;
    unsigned axis = 0;
    [[nodiscard]] std::string text() const;
};

/// A number or a pointer. Integers are extended to 64 bits, with their sign if their type has one.
struct CppScalar {
    std::uint64_t bits = 0;
    double real = 0;  ///< of floating-point types
};

/// Where an lvalue lies: in a variable, or in memory.
struct CppPlace {
    static constexpr std::size_t in_memory = ~std::size_t{0};
    std::size_t variable = in_memory;
    std::uint64_t offset = 0;  ///< in the variable; in memory the address
};

class CppProgram {
  public:
    /// @throws ExpressionError
    CppProgram(std::string_view text, std::vector<CppVariable> variables);
    ~CppProgram();
    CppProgram(CppProgram&&) noexcept;
    CppProgram& operator=(CppProgram&&) noexcept;

    [[nodiscard]] const TypePtr& type() const;
    /// Whether it names a place that has a value: a variable, an element, a member.
    [[nodiscard]] bool is_place() const;
    /// Whether the value is one number or pointer.
    [[nodiscard]] bool is_scalar() const;
    /// How deeply its evaluation recurses, in steps of some 300 bytes of stack.
    [[nodiscard]] std::size_t depth() const;

    // These do not lock, allocate or throw.
    [[nodiscard]] CppFault place(const CppEnvironment& environment, CppPlace& result) const noexcept;
    /// Of a scalar.
    [[nodiscard]] CppFault value(const CppEnvironment& environment, CppScalar& result) const noexcept;
    [[nodiscard]] CppFault truth(const CppEnvironment& environment, bool& result) const noexcept;

    struct Node;

  private:
    std::vector<CppVariable> variables_;
    std::unique_ptr<const Node> root_;
};

/// The value as bytes of a type to which C++ converts it; nothing where it does not. @throws ExpressionError
[[nodiscard]] std::vector<std::byte> converted_bytes(const CppScalar& value, const TypePtr& from,
                                                     const TypePtr& to);

/// The names that an expression takes from outside. @throws ExpressionError where the text is none
[[nodiscard]] std::vector<std::string> names_in_cpp(std::string_view text);
/// Whether a name means something without a variable of that name: threadIdx.
[[nodiscard]] bool is_special_name(std::string_view name);

}  // namespace cudasim::debugger
