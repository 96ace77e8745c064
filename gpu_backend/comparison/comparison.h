// Compares what a launch left in memory on the simulator with what it left on a GPU: START HERE.
//
// compare() compares two contents of one array by the type of its elements, compare_outside() the memory that
// belongs to no array byte by byte, compare_printed() printed lines. A Comparison is all of these for one
// launch; report_json.h writes it.
//
// Two values are *the same* if their bits are the same. They are *close* if their bits differ and
//   * both are NaN (any sign and payload), or
//   * |simulated - gpu| <= atol + rtol * |gpu|, both finite, or
//   * they are no more than `ulp` steps apart, both finite, where ulp is given,
// and *mismatched* otherwise. Infinities are equal only to infinities of the same sign. Zeros of different
// sign are close, and mismatched where the comparison is exact. A complex value is compared by the modulus of
// the difference and of the GPU's value; a NaN or infinity in one part must be in the same part of the other.
// This is torch.isclose(equal_nan=True), whose documentation defines it, but for complex numbers with NaN, of
// which torch compares nothing more.
//
// ULPs are steps between neighbouring values of the type: float32 1.0 and 1.0000001 are one step apart, and
// the smallest positive and the smallest negative value are two, as +0 and -0 are one point. Subnormals
// count. Defined for finite values of floating types, and for complex ones as the greater distance of the two
// parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu_backend/comparison/element_type.h"

namespace cudasim::comparison {

/// From best to worst.
enum class Verdict {
    same,   ///< all bits
    close,  ///< within the tolerance
    different,
};

/// "same", "close", "different"
[[nodiscard]] std::string_view name_of(Verdict verdict);

/// Where an array lies. A view may be strided, reversed (negative strides) or broadcast (strides of 0).
struct ArrayView {
    std::string name;
    std::uint64_t address = 0;  ///< device address of element [0, 0, …]
    std::uint64_t offset = 0;   ///< where that element begins in the contents that are compared, in bytes
    ElementType type;
    std::vector<std::uint64_t> shape;   ///< empty for a single element
    std::vector<std::int64_t> strides;  ///< in bytes, one for each axis; empty for a C-contiguous array
};

/// How far apart values may be. By default integers, booleans, dates, texts and bytes are compared exactly,
/// and floats with the tolerances that torch.testing.assert_close documents: float16 1e-3 and 1e-5, bfloat16
/// 1.6e-2 and 1e-5, float32 1.3e-6 and 1e-5, float64 1e-7 and 1e-7 (rtol, atol); complex numbers with those
/// of their parts.
struct Tolerance {
    bool exact =
        false;  ///< nothing but the same value will do, zeros of the same sign; the rest is not looked at
    std::optional<double> rtol;  ///< relative to the GPU's value
    std::optional<double> atol;
    std::optional<double>
        ulp;  ///< for floats; a value is close by ulp or by rtol and atol. Given alone, only ulp counts
};

struct Limits {
    std::size_t elements = 16;  ///< how many mismatched elements are listed
    std::size_t map_rows = 16;  ///< of the map of mismatches, at most
    std::size_t map_columns = 64;
    std::size_t runs = 16;  ///< how many runs of bytes, and printed lines of each side, are listed
};

/// A value as text and as bits.
struct Value {
    std::string
        text;  ///< the shortest that reads back as the same value: "0.1", "nan", "(1+2j)", "2020-01-01", "'abc'"
    std::string
        bits;  ///< "0x3f800000"; of complex numbers those of both parts; of texts and bytes up to 32 bytes in order
};

/// The two values of an element, or of one field of an element that is a record, and how far they are apart.
struct Difference {
    std::vector<std::uint64_t> index;  ///< of the element in the array
    std::string field;                 ///< "b[1].x"; empty where elements are no records
    std::uint64_t address = 0;         ///< device address of the value
    std::uint64_t bytes = 0;           ///< its size
    Value simulated, gpu;
    std::optional<double> absolute;    ///< |simulated - gpu|, both finite
    std::optional<double> relative;    ///< absolute / |gpu|, gpu not 0
    std::optional<std::uint64_t> ulp;  ///< floats, both finite
};

/// Where mismatches lie: their number in each cell of a grid over the last two axes. Of arrays with more axes
/// the cells of all leading indices are added up; an array with one axis has one row.
struct MismatchMap {
    std::uint64_t rows = 0, columns = 0;  ///< of the grid; 0 where there are no mismatches
    std::uint64_t cell_rows = 0,
                  cell_columns = 0;  ///< elements of a cell along each axis; cells at the end may have less
    std::vector<std::uint64_t> counts;  ///< rows × columns, in C order
};

/// Counts are of elements unless they say values, of which a record has several.
struct ArrayComparison {
    std::string name;
    std::uint64_t address = 0;
    std::string type;  ///< name_of() the type
    std::vector<std::uint64_t> shape;
    Tolerance
        tolerance;  ///< that was used: rtol and atol are given unless only exact or ulp counted; of records, what was asked for

    std::uint64_t elements = 0;
    std::uint64_t differing = 0;  ///< whose bits differ, close ones included
    std::uint64_t mismatched = 0;
    std::uint64_t nan_simulated = 0, nan_gpu = 0;  ///< values that are NaN on one side only
    std::uint64_t nan_bits = 0;                    ///< NaNs with different bits
    std::uint64_t zero_signs = 0;                  ///< zeros of different sign
    /// Of the mismatched elements, how many have the value on that side that they had before the launch:
    /// nothing, or the value that was there, was written. Nothing where the contents before are not known.
    std::optional<std::uint64_t> unchanged_simulated, unchanged_gpu;
    /// The greatest differences of all values, close ones included; the relative one to within rounding.
    std::optional<Difference> greatest_absolute, greatest_relative, greatest_ulp;
    std::vector<Difference> first;  ///< mismatched values, in the order of their addresses
    MismatchMap map;

    [[nodiscard]] std::uint64_t close() const { return differing - mismatched; }
    [[nodiscard]] Verdict verdict() const;
};

/// Compares an array in two contents of the same memory.
/// @param before what was there before the launch; may be empty
/// @throws std::invalid_argument where the view is not within the contents, names the array; where the
/// contents differ in size; for tolerances that are negative or not finite
[[nodiscard]] ArrayComparison compare(const ArrayView& view, std::span<const std::byte> simulated,
                                      std::span<const std::byte> gpu, std::span<const std::byte> before = {},
                                      const Tolerance& tolerance = {}, const Limits& limits = {});

/// The elements that compare() would find mismatched, by their position in C order of the index, ascending.
/// For experiments that ask which elements another run moves or removes. @throws as compare()
[[nodiscard]] std::vector<std::uint64_t> mismatched_elements(const ArrayView& view,
                                                             std::span<const std::byte> simulated,
                                                             std::span<const std::byte> gpu,
                                                             const Tolerance& tolerance = {});

/// Device address of an element. @param position in C order of the index
[[nodiscard]] std::uint64_t address_of(const ArrayView& view, std::uint64_t position);

/// Bytes, one after another, that differ.
struct ByteRun {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::vector<std::byte> simulated, gpu;  ///< the first 16 of them
};

struct BytesComparison {
    std::string label;  ///< what is known of the memory: "array 'x'"
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;      ///< how many were compared
    std::uint64_t differing = 0;  ///< how many differ
    std::uint64_t runs = 0;       ///< in how many runs
    std::vector<ByteRun> first;

    [[nodiscard]] Verdict verdict() const { return differing == 0 ? Verdict::same : Verdict::different; }
};

/// Compares memory byte by byte. @param address of its first byte
/// @throws std::invalid_argument where the contents differ in size
[[nodiscard]] BytesComparison compare_bytes(std::string label, std::uint64_t address,
                                            std::span<const std::byte> simulated,
                                            std::span<const std::byte> gpu, const Limits& limits = {});

/// The same for what belongs to no element of the views, whose offsets are into the contents. Padding in
/// records belongs to the element. @throws as compare()
[[nodiscard]] BytesComparison compare_outside(std::string label, std::uint64_t address,
                                              std::span<const ArrayView> views,
                                              std::span<const std::byte> simulated,
                                              std::span<const std::byte> gpu, const Limits& limits = {});

/// Printed lines, whose order across threads is not defined: as multisets.
struct PrintedComparison {
    std::uint64_t lines_simulated = 0, lines_gpu = 0;
    std::uint64_t only_simulated_count = 0, only_gpu_count = 0;
    std::vector<std::string> only_simulated,
        only_gpu;              ///< the first of them, in the order in which they were printed
    bool other_order = false;  ///< the lines are the same, their order is not

    [[nodiscard]] Verdict verdict() const {
        return only_simulated_count + only_gpu_count == 0 ? Verdict::same : Verdict::different;
    }
};

[[nodiscard]] PrintedComparison compare_printed(std::string_view simulated, std::string_view gpu,
                                                const Limits& limits = {});

/// What a launch left on both sides.
struct Comparison {
    std::vector<ArrayComparison> arrays;
    std::vector<BytesComparison> outside;
    std::optional<PrintedComparison> printed;

    /// The worst of all parts; same where there are none.
    [[nodiscard]] Verdict verdict() const;
};

}  // namespace cudasim::comparison
