// The type of an array's elements, as NumPy writes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cudasim::comparison {

enum class Kind {
    boolean,           ///< one byte
    signed_integer,    ///< 1, 2, 4 or 8 bytes
    unsigned_integer,  ///< 1, 2, 4 or 8 bytes
    floating,          ///< IEEE 754 binary16, binary32 or binary64
    bfloat16,          ///< the upper half of a binary32
    complex,           ///< two binary32 or two binary64: real part, imaginary part
    datetime,          ///< 8 bytes: units since 1970-01-01, or NaT
    timedelta,         ///< 8 bytes: units, or NaT
    bytes,             ///< NumPy's 'S': bytes, zeros at the end do not count for the text
    text,              ///< NumPy's 'U': 4 bytes per character
    opaque,            ///< NumPy's 'V' without fields: bytes
    record,            ///< fields at offsets
};

struct Field;

/// One element. Multi-byte values are little-endian, as on every GPU.
struct ElementType {
    Kind kind = Kind::opaque;
    std::uint64_t bytes = 0;    ///< size of an element; of a record with its padding
    std::string unit;           ///< of dates: "ns", "25s"; empty for dates without a unit
    std::vector<Field> fields;  ///< of records
};

/// A field of a record. Fields may overlap. Padding is no field.
struct Field {
    std::string name;
    std::uint64_t offset = 0;  ///< in bytes from the start of the record
    ElementType type;
    std::vector<std::uint64_t> shape;  ///< of a sub-array in C order; empty for a single value
};

/// Reads a type from what NumPy's `str(dtype)` gives: "float32", "<f4", "bool", "datetime64[ns]", "|S5",
/// "<U3", "bfloat16", "[('a', '<i4'), ('b', '<f8', (3,))]", "{'names': ['a'], 'formats': ['<i4'], 'offsets':
/// [4], 'itemsize': 8}", "(numpy.record, [('a', '<i4')])". ("Specifying and constructing data types" in
/// NumPy's reference.)
/// @throws std::invalid_argument for text that is no such type, for big-endian types, and for types that
/// cudasim's kernels cannot have (objects, longdouble); names the text
[[nodiscard]] ElementType parse_element_type(std::string_view text);

/// A run of scalars in an element: the element itself, a field, or all values of a sub-array.
struct Leaf {
    std::uint64_t offset = 0;  ///< of the first scalar from the start of the element
    ElementType type;          ///< not a record
    std::string path;          ///< "" for the element itself, "a", "b[1].x" for fields
    /// Shape of the sub-array whose values lie there one after another; empty for a single value.
    std::vector<std::uint64_t> shape;

    /// Number of scalars.
    [[nodiscard]] std::uint64_t count() const;
    /// The path of one of them, such as "b[1].x[0, 2]". @param index in C order, < count()
    [[nodiscard]] std::string path_of(std::uint64_t index) const;
};

/// The scalars that a type is made of, in the order of the fields.
/// @throws std::invalid_argument for a record with more than 65536 runs of scalars
[[nodiscard]] std::vector<Leaf> leaves_of(const ElementType& type);

/// The type's name: "float32", "complex128", "datetime64[ns]", "S5", "U3"; "record" for records.
[[nodiscard]] std::string name_of(const ElementType& type);

/// "3, 0, 12"
[[nodiscard]] std::string to_text(const std::vector<std::uint64_t>& index);

}  // namespace cudasim::comparison
