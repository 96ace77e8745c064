// A PTX module as its text says it: what parser.cpp makes and translate_*.cpp turn into NVVM IR. Terms are
// those of the PTX ISA ("Syntax", "State Spaces, Types, and Variables", "Instruction Operands").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace cudasim::ptx {

/// .u32, .s64, .f32, .b16, .pred, .f16x2, .bf16, .e4m3x2.
struct Type {
    enum Kind : char {
        bits = 'b',
        unsigned_ = 'u',
        signed_ = 's',
        real = 'f',
        predicate = 'p',
        half_pair = 'h',
        unsigned_pair = 'U',  ///< u16x2
        signed_pair = 'S',    ///< s16x2
        brain = 'B',          ///< bf16: the upper half of an f32
        brain_pair = 'D',     ///< bf16x2
        e4m3_pair = '4',      ///< two numbers of 8 bits with 4 bits of exponent; only cvt has them
        e5m2_pair = '5',      ///< with 5 bits of exponent
        tensor_real = 't',    ///< tf32: an f32 with 10 bits of fraction
    };
    Kind kind = bits;
    unsigned width = 32;  ///< in bits; 1 for predicates
    bool operator==(const Type&) const = default;
};

enum class Space { generic, global, shared, constant, local, parameter, registers };

enum class Linkage { internal, visible, weak, external };

/// Where text stands: in the PTX, and in the source that it was made from, where .loc says so.
struct Place {
    int line = 0;       ///< of the PTX text, from 1
    unsigned file = 0;  ///< number of a .file directive; 0: none
    unsigned file_line = 0;
    unsigned file_column = 0;
};

struct Operand {
    enum Kind { name, integer, real, vector, list, address, discarded };
    Kind kind = name;
    std::string text;               ///< name: register, label, variable, function; `%tid.x` with its suffix
    std::uint64_t value = 0;        ///< integer; the bit pattern of a real
    unsigned width = 64;            ///< of a real: 32 or 64 bits
    std::int64_t offset = 0;        ///< name or address: `base + offset`
    bool negated = false;           ///< !%p
    std::vector<Operand> elements;  ///< vector {a, b}; list (a, b); `d|p`: a list of two; address: the base
};

struct Instruction {
    std::string guard;  ///< register of @%p, empty without one
    bool guard_negated = false;
    std::vector<std::string> opcode;  ///< "add", "rn", "f32"
    std::vector<Operand> operands;
    Place place;
};

struct Label {
    std::string name;
};

struct Variable {
    Space space = Space::registers;
    Linkage linkage = Linkage::internal;
    Type type;
    std::string name;
    unsigned alignment = 0;  ///< in bytes; 0: that of the type
    bool is_array = false;
    bool managed = false;              ///< .attribute(.managed)
    std::uint64_t count = 1;           ///< elements, of all dimensions
    std::vector<Operand> initialiser;  ///< flat; missing ones are 0
    Place place;
};

/// `name: .callprototype (results) _ (parameters);`: the form of functions that are called through a
/// register.
struct Prototype {
    std::string name;
    std::vector<Variable> results;
    std::vector<Variable> parameters;
};

/// `name: .branchtargets labels;` or `name: .calltargets functions;`
struct Targets {
    std::string name;
    std::vector<Operand> names;
};

struct Function {
    std::string name;
    Linkage linkage = Linkage::internal;
    bool is_entry = false;
    bool has_body = false;
    std::vector<Variable> results;
    std::vector<Variable> parameters;
    std::vector<Variable> variables;  ///< of all scopes; names are unique
    std::vector<std::variant<Label, Instruction, Prototype, Targets>> body;
    Place place;
};

struct Module {
    std::vector<std::string> files;  ///< [n] is file n of .file
    std::vector<Variable> variables;
    std::vector<Function> functions;
};

/// "u32", "f16x2", "pred"; empty for what is not a type.
[[nodiscard]] std::optional<Type> type_named(const std::string& name);

/// @throws PtxError (reader.h) with the line
[[nodiscard]] Module parse(const std::string& text);

}  // namespace cudasim::ptx
