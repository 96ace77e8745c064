// The types of the compiler: immutable, interned (equal types are the same pointer), named as Numba
// names them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/pykernel/syntax/global_value.h"

namespace cudasim::pykernel {

enum class TypeKind {
    none,
    boolean,
    integer,
    floating,
    bfloat,       ///< bfloat16: the upper half of a float32, as 16 bits; it computes as one
    complex,      ///< bits of both components together
    datetime64,   ///< 64 bits; unit
    timedelta64,  ///< likewise
    member,       ///< of an enumeration: elements[0] is the type of its value; is_integer
    exception,    ///< one that a kernel has made: `global` is the class, `text` the message
    text,         ///< a string that is known while compiling: text
    characters,   ///< an element of dtype S or U: bits; `dimensions` is the bytes of one character, 1 or 4
    tuple,        ///< elements
    optional,     ///< elements[0], or None: what a function returns that returns nothing on some paths
    array,        ///< elements[0], dimensions, layout, address_space
    record,       ///< a reference to memory in address_space: fields, bits
    slice,        ///< elements: start, stop and, where there is one, step; none where left out
    ellipsis,
    range,        ///< elements[0] is the integer type of its values
    flat,         ///< a.flat: elements[0] is the array
    index_grid,   ///< np.ndindex: elements[0] is the tuple of extents
    index_items,  ///< np.ndenumerate: elements[0] is the array
    limits,       ///< np.finfo, np.iinfo: elements[0] is the number's type
    iterator,     ///< elements[0] is what it runs over; elements[1], for a program's own: what it yields
    enumerated,   ///< an iterator: elements[0] is the iterator that is counted
    zipped,       ///< an iterator: elements are the iterators
    pointer,      ///< a C pointer: elements[0] is what it points to, none for void
    method,       ///< a.reshape, x.view, t.index: elements[0] is the object's type; row or added
    dim3,         ///< threadIdx, blockIdx, blockDim, gridDim
    data_type,    ///< a type used as a value: elements[0]
    object,       ///< a function or module, known while compiling: global
    vector,       ///< CUDA's vector types, such as float32x4: elements are its components, all of one type
    added,        ///< a program's own (numba.cuda.extending): fields are its parts in memory, bits; text
};

/// Address spaces of NVVM IR. Local arrays have a type of their own, but their pointers are generic: they
/// point to allocas.
enum AddressSpace : unsigned {
    generic_space = 0,
    global_space = 1,
    shared_space = 3,
    constant_space = 4,
    local_space = 5,
    pointed_space = 6,  ///< arrays that carray() makes of a pointer, which is generic
};

struct Type;

/// A field of a record.
struct RecordField {
    std::string name;
    const Type* type =
        nullptr;  ///< an array for an array of fixed shape in the record; null: not known to the compiler
    std::string type_name;            ///< Numba's
    std::uint64_t offset = 0;         ///< in bytes
    std::vector<std::int64_t> shape;  ///< of an array
};

struct Type {
    TypeKind kind = TypeKind::none;
    bool is_signed = false;
    unsigned bits = 0;
    std::optional<std::int64_t> literal;  ///< an integer or boolean known while compiling
    std::vector<const Type*> elements;
    std::string class_name;          ///< a named tuple's class; empty for any other type
    std::vector<std::string> names;  ///< a named tuple's fields
    std::string text;  ///< what a string or a bytes constant holds; an exception's message; request_name() of
                       ///< a program's own type
    bool is_bytes = false;               ///< array: a bytes constant
    bool is_integer = false;             ///< member: of an IntEnum
    int unit = 0;                        ///< datetime64, timedelta64: its place in date_units::units
    std::string row;                     ///< method: the function of calls/ that it is, "array.reshape"
    std::optional<std::uint32_t> added;  ///< method that a program has added: the overloaded function
    std::uint64_t values = 1;            ///< tuple: numbers, arrays and so on in it and in the tuples in it
    unsigned dimensions = 0;
    char layout = 'C';
    unsigned address_space = global_space;
    bool read_only = false;
    bool aligned =
        true;  ///< array, record: whether elements, fields lie at multiples of their natural alignment
    std::vector<RecordField> fields;  ///< of a record, a program's own type; in order of their offsets
    const GlobalValue* global = nullptr;
    const Type* plain = nullptr;  ///< the type without literals; null where it has none
    std::string name;             ///< Numba's

    /// The name by which the caller knows the type: `name`, but of a named tuple and of a program's own type
    /// that which parse() reads.
    [[nodiscard]] std::string request_name() const;
    [[nodiscard]] bool is(TypeKind other) const { return kind == other; }
    /// A real number. Booleans count: they take part in arithmetic.
    [[nodiscard]] bool is_number() const {
        return kind == TypeKind::boolean || kind == TypeKind::integer || kind == TypeKind::floating;
    }
    /// A number or a bfloat16, which fewer functions take.
    [[nodiscard]] bool is_real() const { return is_number() || is(TypeKind::bfloat); }
    /// What operators of numbers take: real or complex.
    [[nodiscard]] bool is_numeric() const { return is_real() || is(TypeKind::complex); }
    [[nodiscard]] bool is_date() const {
        return kind == TypeKind::datetime64 || kind == TypeKind::timedelta64;
    }
    /// One value of its own, where a record is a place in memory.
    [[nodiscard]] bool is_scalar() const { return is_numeric() || is_date(); }
    /// Can be an element of an array.
    [[nodiscard]] bool lies_in_memory() const {
        return is_scalar() || kind == TypeKind::record || kind == TypeKind::characters ||
               kind == TypeKind::added;
    }
    [[nodiscard]] bool is_integral() const { return kind == TypeKind::boolean || kind == TypeKind::integer; }
    /// Its state lives at the place that made it (TypeTable::iterator).
    [[nodiscard]] bool is_iterator() const {
        return kind == TypeKind::iterator || kind == TypeKind::enumerated || kind == TypeKind::zipped;
    }
    [[nodiscard]] const Type* element() const { return elements.front(); }
    /// Whether an access within the bounds of an array, record or pointer is within memory. The shape of an
    /// array made of a pointer is only what the kernel says.
    [[nodiscard]] bool indices_guard_memory() const {
        return kind != TypeKind::pointer && address_space != pointed_space;
    }
    /// What operators see: the type of the value of an optional, when there is one; of an integer
    /// enumeration's member.
    [[nodiscard]] const Type* present() const {
        return is(TypeKind::optional) || is_integer_member() ? element() : this;
    }
    /// Whether it is a member of an IntEnum: a number with a `.value`.
    [[nodiscard]] bool is_integer_member() const { return is(TypeKind::member) && is_integer; }
    /// Whether it is a tuple of one type of elements.
    [[nodiscard]] bool is_uniform_tuple() const;
    /// The field of a record; null when there is none of that name.
    [[nodiscard]] const RecordField* field(std::string_view name) const;
    /// The size of a value in memory, in bytes.
    [[nodiscard]] std::uint64_t bytes() const { return bits / 8; }
    /// The address space of the LLVM pointer to an array's or a record's data.
    [[nodiscard]] unsigned pointer_space() const {
        return address_space == local_space || address_space == pointed_space ? unsigned{generic_space}
                                                                              : address_space;
    }
};

using TypeRef = const Type*;

class TypeTable {
  public:
    TypeTable();
    TypeRef none, boolean, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16,
        float32, float64, complex64, complex128;

    [[nodiscard]] TypeRef integer(unsigned bits, bool is_signed) const;
    [[nodiscard]] TypeRef floating(unsigned bits) const {
        return bits == 16 ? float16 : bits == 32 ? float32 : float64;
    }
    /// @param bits 64 or 128, of both components together
    [[nodiscard]] TypeRef complex(unsigned bits) const { return bits == 64 ? complex64 : complex128; }
    /// The type of a complex number's components.
    [[nodiscard]] TypeRef component(TypeRef complex) const { return floating(complex->bits / 2); }
    /// datetime64 (moment) or timedelta64 (duration). @param unit its place in date_units::units
    [[nodiscard]] TypeRef date(TypeKind kind, int unit);
    [[nodiscard]] TypeRef literal(TypeRef base, std::int64_t value);
    [[nodiscard]] TypeRef text(std::string_view value);
    /// Elements of dtype S (size 1) or U (size 4). Null where a value would be unreasonably long.
    [[nodiscard]] TypeRef characters(unsigned size, unsigned count);
    /// b"abc".
    [[nodiscard]] TypeRef bytes_constant(const std::string& value);
    [[nodiscard]] TypeRef tuple(std::vector<TypeRef> elements);
    /// The type of a tuple of a class made by collections.namedtuple.
    [[nodiscard]] TypeRef named_tuple(std::string_view class_name, std::vector<std::string> names,
                                      std::vector<TypeRef> elements);
    /// @param name Numba's, such as "Enum<int64>(Colour)", "IntEnum<int64>(Level)"
    [[nodiscard]] TypeRef member(std::string_view name, TypeRef value);
    [[nodiscard]] TypeRef exception(const GlobalValue& exception_class, const std::string& message);
    [[nodiscard]] TypeRef array(TypeRef element, unsigned dimensions, char layout, unsigned address_space,
                                bool read_only = false, bool aligned = true);
    /// The same kind of array with another element type. Elements of unaligned records need not be aligned.
    [[nodiscard]] TypeRef array_like(TypeRef array, TypeRef element, unsigned dimensions, char layout);
    /// What `array[i]` is: a record knows the memory it lies in.
    [[nodiscard]] TypeRef value_in(TypeRef array);
    /// The same record in another memory.
    [[nodiscard]] TypeRef record_in(TypeRef record, unsigned address_space, bool read_only);
    [[nodiscard]] TypeRef optional(TypeRef element);
    [[nodiscard]] TypeRef range(TypeRef element);
    /// @param bounds types of start, stop and, where the slice says one, step; none where left out
    [[nodiscard]] TypeRef slice(std::vector<TypeRef> bounds);
    [[nodiscard]] TypeRef ellipsis();
    /// flat, index_grid, index_items, limits: made of one other type.
    [[nodiscard]] TypeRef wrapped(TypeKind kind, TypeRef over);
    /// Every place in a program that makes an iterator has a type of its own, so that the type alone tells
    /// where the state is. `site` is that place (an instruction of its function), `position` counts at one
    /// place.
    /// @param yielded what it yields, if `over` does not tell
    [[nodiscard]] TypeRef iterator(TypeRef over, std::uint32_t site, std::size_t position = 0,
                                   TypeRef yielded = nullptr);
    [[nodiscard]] TypeRef enumerated(TypeRef iterator, std::uint32_t site);
    [[nodiscard]] TypeRef zipped(std::vector<TypeRef> iterators, std::uint32_t site);
    [[nodiscard]] TypeRef pointer(TypeRef pointee);
    /// @param row name of a function of calls/
    [[nodiscard]] TypeRef method(TypeRef object, std::string_view row);
    /// A method that a program has added. @param function the overloaded one
    [[nodiscard]] TypeRef added_method(TypeRef object, std::uint32_t function);
    [[nodiscard]] TypeRef data_type(TypeRef type);
    [[nodiscard]] TypeRef object(const GlobalValue& global);
    /// float32x4: four float32.
    [[nodiscard]] TypeRef vector(TypeRef component, unsigned count);
    /// threadIdx, blockIdx, blockDim or gridDim: `global` says which. Null in a declared
    /// signature, which takes any (parse()).
    [[nodiscard]] TypeRef dim3(const GlobalValue& global);
    /// Literals become their plain type, inside tuples too.
    [[nodiscard]] TypeRef without_literal(TypeRef type) const { return type->plain ? type->plain : type; }

    /// Scalar type of a Numba or NumPy name or NumPy character code ("float32", "f4", "bool_"); null when
    /// it is none.
    [[nodiscard]] TypeRef scalar_named(std::string_view name) const;
    /// Any argument type: "array(float64, 2d, C)", "UniTuple(int64 x 2)", "int32". Null when malformed.
    [[nodiscard]] TypeRef parse(std::string_view name);

  private:
    [[nodiscard]] TypeRef parse_record(std::string_view name);
    [[nodiscard]] TypeRef parse_added(std::string_view name);
    [[nodiscard]] TypeRef parse_named_tuple(std::string_view name);
    [[nodiscard]] TypeRef parse_array(std::string_view name);
    [[nodiscard]] bool parse_field(std::string_view text, RecordField& field);
    [[nodiscard]] TypeRef parse_scalar(std::string_view name);
    TypeRef make_tuple(std::string_view class_name, std::vector<std::string> names,
                       std::vector<TypeRef> elements);
    TypeRef intern_by_identity(Type type, std::uint32_t site, std::size_t position);
    TypeRef intern(Type type, std::string_view key_suffix = {});
    std::map<std::string, std::unique_ptr<Type>, std::less<>> types_;
    // Types that are asked for often, without making their names.
    std::map<std::vector<TypeRef>, TypeRef> tuples_;
    std::map<std::pair<TypeRef, std::int64_t>, TypeRef> literals_;
};

/// Whether a record begins with the fields of another, so that it can stand for that one (Numba's rule).
[[nodiscard]] bool holds_fields_of(TypeRef record, TypeRef other);

}  // namespace cudasim::pykernel
