// compare() beside a comparison that is slow and plain: every element by its index, no chunks, no vectors.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "gpu_backend/comparison/float_formats.h"
#include "tests/gpu_backend/comparison/contents.h"

namespace cudasim::comparison {
namespace {

using Random = std::mt19937_64;

struct Expected {
    std::uint64_t elements = 0, differing = 0, mismatched = 0;
    std::uint64_t nan_simulated = 0, nan_gpu = 0, nan_bits = 0, zero_signs = 0, unchanged_simulated = 0,
                  unchanged_gpu = 0;
    double absolute = 0, relative = 0;
    std::uint64_t ulp = 0;
    std::vector<std::uint64_t> positions;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> cells;  ///< by the last two indices
};

struct Pair {
    bool differs = false, mismatched = false;
};

/// Of a float, by its sign, exponent and fraction.
double value_of(std::uint64_t bits, int exponent_bits, int fraction_bits) {
    const bool negative = (bits >> (exponent_bits + fraction_bits)) & 1;
    const auto exponent = static_cast<int>((bits >> fraction_bits) & ((1u << exponent_bits) - 1));
    const auto fraction = static_cast<double>(bits & ((std::uint64_t{1} << fraction_bits) - 1));
    const int bias = (1 << (exponent_bits - 1)) - 1;
    double value = 0;
    if (exponent == (1 << exponent_bits) - 1)
        value = fraction != 0 ? NAN : INFINITY;
    else if (exponent == 0)
        value = std::ldexp(fraction, 1 - bias - fraction_bits);
    else
        value = std::ldexp(fraction + std::ldexp(1.0, fraction_bits), exponent - bias - fraction_bits);
    return negative ? -value : value;
}

struct Layout {
    int exponent_bits, fraction_bits;
    double rtol, atol;
};

Layout layout_of(const ElementType& type) {
    if (type.kind == Kind::bfloat16) return {8, 7, 1.6e-2, 1e-5};
    const std::uint64_t bytes = type.kind == Kind::complex ? type.bytes / 2 : type.bytes;
    if (bytes == 2) return {5, 10, 1e-3, 1e-5};
    if (bytes == 4) return {8, 23, 1.3e-6, 1e-5};
    return {11, 52, 1e-7, 1e-7};
}

template <class Real>
bool is_within(double s, double g, double rtol, double atol) {
    const Real difference = std::fabs(static_cast<Real>(s) - static_cast<Real>(g));
    const Real scaled = static_cast<Real>(rtol) * std::fabs(static_cast<Real>(g));
    return difference <= static_cast<Real>(static_cast<Real>(atol) + scaled);
}

std::uint64_t read(const std::byte* at, std::uint64_t bytes) {
    std::uint64_t value = 0;
    std::memcpy(&value, at, bytes);
    return value;
}

Pair float_pair(const ElementType& type, std::uint64_t s_bits, std::uint64_t g_bits,
                const Tolerance& tolerance, Expected& expected) {
    const Layout layout = layout_of(type);
    const double s = value_of(s_bits, layout.exponent_bits, layout.fraction_bits);
    const double g = value_of(g_bits, layout.exponent_bits, layout.fraction_bits);
    if (s_bits == g_bits) return {};
    if (std::isnan(s) && std::isnan(g)) {
        ++expected.nan_bits;
        return {.differs = true};
    }
    expected.nan_simulated += std::isnan(s);
    expected.nan_gpu += std::isnan(g);
    if (!std::isfinite(s) || !std::isfinite(g)) return {.differs = true, .mismatched = true};
    expected.zero_signs += s == 0 && g == 0;
    expected.absolute = std::max(expected.absolute, std::fabs(s - g));
    if (g != 0) expected.relative = std::max(expected.relative, std::fabs(s - g) / std::fabs(g));
    const std::uint64_t sign = std::uint64_t{1} << (layout.exponent_bits + layout.fraction_bits);
    const auto point = [&](std::uint64_t bits) {
        const auto magnitude = static_cast<__int128>(bits & (sign - 1));
        return (bits & sign) != 0 ? -magnitude : magnitude;
    };
    const __int128 apart = point(s_bits) - point(g_bits);
    const auto steps = static_cast<std::uint64_t>(apart < 0 ? -apart : apart);
    expected.ulp = std::max(expected.ulp, steps);
    if (tolerance.exact) return {.differs = true, .mismatched = true};
    if (tolerance.ulp && static_cast<double>(steps) <= *tolerance.ulp) return {.differs = true};
    if (tolerance.ulp && !tolerance.rtol && !tolerance.atol) return {.differs = true, .mismatched = true};
    const double rtol = tolerance.rtol.value_or(layout.rtol), atol = tolerance.atol.value_or(layout.atol);
    const bool within =
        type.bytes == 8 ? is_within<double>(s, g, rtol, atol) : is_within<float>(s, g, rtol, atol);
    return {.differs = true, .mismatched = !within};
}

__int128 integer_of(const ElementType& type, std::uint64_t bits) {
    if (type.kind != Kind::signed_integer) return bits;
    const __int128 half = __int128{1} << (8 * type.bytes - 1);
    return static_cast<__int128>(bits) >= half ? static_cast<__int128>(bits) - 2 * half
                                               : static_cast<__int128>(bits);
}

Pair integer_pair(const ElementType& type, std::uint64_t s_bits, std::uint64_t g_bits,
                  const Tolerance& tolerance, Expected& expected) {
    const __int128 s = integer_of(type, s_bits), g = integer_of(type, g_bits);
    if (s == g) return {};
    const auto apart = static_cast<double>(s > g ? s - g : g - s), size = static_cast<double>(g < 0 ? -g : g);
    expected.absolute = std::max(expected.absolute, apart);
    if (g != 0) expected.relative = std::max(expected.relative, apart / size);
    if (tolerance.exact || (!tolerance.rtol && !tolerance.atol)) return {.differs = true, .mismatched = true};
    return {.differs = true,
            .mismatched = !(apart <= tolerance.atol.value_or(0) + tolerance.rtol.value_or(0) * size)};
}

Pair value_pair(const ElementType& type, const std::byte* s, const std::byte* g, const Tolerance& tolerance,
                Expected& expected) {
    switch (type.kind) {
        case Kind::floating:
        case Kind::bfloat16:
            return float_pair(type, read(s, type.bytes), read(g, type.bytes), tolerance, expected);
        case Kind::signed_integer:
        case Kind::unsigned_integer:
            return integer_pair(type, read(s, type.bytes), read(g, type.bytes), tolerance, expected);
        case Kind::record: {
            Pair all;
            for (const Field& field : type.fields) {
                const Pair one =
                    value_pair(field.type, s + field.offset, g + field.offset, tolerance, expected);
                all.differs |= one.differs;
                all.mismatched |= one.mismatched;
            }
            return all;
        }
        default: {
            const bool differs = std::memcmp(s, g, type.bytes) != 0;
            return {.differs = differs, .mismatched = differs};
        }
    }
}

bool is_equal(const ElementType& type, const std::byte* first, const std::byte* second) {
    if (type.kind != Kind::record) return std::memcmp(first, second, type.bytes) == 0;
    return std::ranges::all_of(type.fields, [&](const Field& field) {
        return is_equal(field.type, first + field.offset, second + field.offset);
    });
}

Expected slowly(const ArrayView& view, const Bytes& simulated, const Bytes& gpu, const Bytes& before,
                const Tolerance& tolerance) {
    Expected expected;
    std::uint64_t total = 1;
    for (const std::uint64_t extent : view.shape) total *= extent;
    for (std::uint64_t position = 0; position < total; ++position) {
        std::vector<std::uint64_t> index(view.shape.size());
        std::uint64_t rest = position;
        std::int64_t offset = static_cast<std::int64_t>(view.offset);
        for (std::size_t axis = view.shape.size(); axis-- > 0; rest /= view.shape[axis]) {
            index[axis] = rest % view.shape[axis];
            offset += static_cast<std::int64_t>(index[axis]) * view.strides[axis];
        }
        const std::byte *s = simulated.data() + offset, *g = gpu.data() + offset, *b = before.data() + offset;
        const Pair pair = value_pair(view.type, s, g, tolerance, expected);
        ++expected.elements;
        expected.differing += pair.differs;
        if (!pair.mismatched) continue;
        ++expected.mismatched;
        expected.positions.push_back(position);
        expected.unchanged_simulated += is_equal(view.type, s, b);
        expected.unchanged_gpu += is_equal(view.type, g, b);
        const std::size_t axes = index.size();
        ++expected.cells[{axes >= 2 ? index[axes - 2] : 0, axes >= 1 ? index[axes - 1] : 0}];
    }
    return expected;
}

/// A view of some axes with steps and reversed ones in an array of its own order of axes.
ArrayView random_view(Random& random, const ElementType& type, std::uint64_t& bytes) {
    const std::size_t axes = random() % 4;
    ArrayView view{.name = "x", .address = 0x7000, .type = type, .shape = {}, .strides = {}};
    std::vector<std::size_t> order(axes);
    for (std::size_t i = 0; i < axes; ++i) order[i] = i;
    if (random() % 2) std::ranges::shuffle(order, random);
    const std::uint64_t longest = axes == 1 ? 3000 : axes == 2 ? 70 : 14;
    view.shape.resize(axes);
    view.strides.resize(axes);
    std::uint64_t stride = type.bytes;
    std::int64_t offset = 0;
    const bool dense = random() % 2;
    for (const std::size_t axis : order) {
        const std::uint64_t extent = random() % longest + (random() % 50 != 0);
        const std::uint64_t step = dense ? 1 : random() % 3 + 1;
        view.shape[axis] = extent;
        view.strides[axis] = static_cast<std::int64_t>(stride * step);
        if (!dense && random() % 4 == 0) {
            view.strides[axis] = -view.strides[axis];
            if (extent > 0) offset += static_cast<std::int64_t>((extent - 1) * stride * step);
        }
        stride *= std::max<std::uint64_t>(extent, 1) * step;
    }
    const std::uint64_t margin = random() % 5;
    view.offset = static_cast<std::uint64_t>(offset) + margin;
    bytes = stride + margin + random() % 5;
    return view;
}

void change_near(Random& random, std::byte* at, std::uint64_t bytes) {
    // A few steps up or down, or the sign, or anything.
    std::uint64_t bits = read(at, std::min<std::uint64_t>(bytes, 8));
    const std::uint64_t sign = std::uint64_t{1} << (8 * std::min<std::uint64_t>(bytes, 8) - 1);
    switch (random() % 6) {
        case 0:
            bits = random();
            break;
        case 1:
            bits ^= sign;
            break;
        case 2:
            bits = random() % 2 ? 0 : sign;
            break;
        default:
            bits += random() % 400 - 200;
            break;
    }
    std::memcpy(at, &bits, std::min<std::uint64_t>(bytes, 8));
}

void expect_equal(const ArrayComparison& found, const Expected& expected) {
    EXPECT_EQ(found.elements, expected.elements);
    EXPECT_EQ(found.differing, expected.differing);
    EXPECT_EQ(found.mismatched, expected.mismatched);
    EXPECT_EQ(found.nan_simulated, expected.nan_simulated);
    EXPECT_EQ(found.nan_gpu, expected.nan_gpu);
    EXPECT_EQ(found.nan_bits, expected.nan_bits);
    EXPECT_EQ(found.zero_signs, expected.zero_signs);
    EXPECT_EQ(found.unchanged_simulated.value(), expected.unchanged_simulated);
    EXPECT_EQ(found.unchanged_gpu.value(), expected.unchanged_gpu);
    // Of a record several fields may mismatch.
    EXPECT_LE(found.first.size(), 16u);
    EXPECT_GE(found.first.size(), std::min<std::uint64_t>(16, expected.mismatched));
    if (found.type != "record") {
        EXPECT_LE(found.first.size(), expected.mismatched);
    }
    // The greatest is found to within the rounding of the type.
    const auto expect_greatest = [](double value, double greatest) {
        EXPECT_LE(value, greatest);
        EXPECT_GE(value, greatest * (1 - 0x1p-21));
    };
    expect_greatest(found.greatest_absolute ? *found.greatest_absolute->absolute : 0, expected.absolute);
    expect_greatest(found.greatest_relative ? *found.greatest_relative->relative : 0, expected.relative);
    EXPECT_EQ(found.greatest_ulp ? *found.greatest_ulp->ulp : 0, expected.ulp);
}

void expect_equal(const MismatchMap& map, const Expected& expected) {
    std::vector<std::uint64_t> counts(map.rows * map.columns);
    for (const auto& [place, count] : expected.cells)
        counts.at(place.first / map.cell_rows * map.columns + place.second / map.cell_columns) += count;
    EXPECT_EQ(map.counts, counts);
}

/// An element of a list is what its index says.
void expect_listed(const ArrayView& view, const ArrayComparison& found, const Expected& expected) {
    for (const Difference& difference : found.first) {
        std::uint64_t position = 0;
        std::int64_t address = static_cast<std::int64_t>(view.address);
        for (std::size_t axis = 0; axis < view.shape.size(); ++axis) {
            position = position * view.shape[axis] + difference.index[axis];
            address += static_cast<std::int64_t>(difference.index[axis]) * view.strides[axis];
        }
        EXPECT_TRUE(std::ranges::binary_search(expected.positions, position));
        if (view.type.kind != Kind::record)
            EXPECT_EQ(difference.address, static_cast<std::uint64_t>(address));
    }
}

class RandomArrays : public testing::TestWithParam<const char*> {};

TEST_P(RandomArrays, are_compared_as_slowly) {
    Random random(20241);
    const ElementType type = parse_element_type(GetParam());
    const Tolerance tolerances[] = {
        {}, {}, {.exact = true}, {.ulp = 100}, {.rtol = 1e-3}, {.atol = 50}, {.rtol = 1e-9, .ulp = 3}};
    for (int round = 0; round < 150; ++round) {
        std::uint64_t bytes = 0;
        const ArrayView view = random_view(random, type, bytes);
        Bytes simulated(bytes);
        const bool anything = random() % 2;
        for (std::size_t i = 0; i < bytes; ++i)
            simulated[i] = static_cast<std::byte>(anything || i % 4 >= 2 ? random() : 0);
        Bytes gpu = simulated, before = simulated;
        const std::uint64_t every = random() % 3 == 0 ? 1 : random() % 300 + 2;
        for (std::uint64_t at = view.offset % 8; at + 8 <= bytes; at += 8)
            if (random() % every == 0)
                change_near(random, gpu.data() + at,
                            random() % 2 ? 8 : std::min<std::uint64_t>(type.bytes, 4));
        for (std::uint64_t at = 0; at < bytes; ++at)
            if (random() % 3 == 0) before[at] = gpu[at];
        const Tolerance& tolerance = tolerances[random() % std::size(tolerances)];
        const Expected expected = slowly(view, simulated, gpu, before, tolerance);
        const ArrayComparison found = compare(view, simulated, gpu, before, tolerance);
        expect_equal(found, expected);
        expect_equal(found.map, expected);
        expect_listed(view, found, expected);
        EXPECT_EQ(mismatched_elements(view, simulated, gpu, tolerance), expected.positions);
        if (HasFailure()) {
            std::string shape;
            for (std::size_t axis = 0; axis < view.shape.size(); ++axis)
                shape +=
                    std::to_string(view.shape[axis]) + " by " + std::to_string(view.strides[axis]) + ", ";
            FAIL() << "round " << round << ", shape " << shape << "offset " << view.offset << ", every "
                   << every;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Types, RandomArrays,
    testing::Values("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
                    "float16", "bfloat16", "float32", "float64", "datetime64[ns]", "timedelta64[s]", "S3",
                    "U2", "V5",
                    "{'names': ['a', 'b', 'c'], 'formats': ['i1', '<f4', '<f8'], 'offsets': [0, 4, 8], "
                    "'itemsize': 16}"));

/// Parts that are finite, so that the moduli are those of numbers.
TEST(RandomComplexArrays, are_compared_as_slowly) {
    Random random(7);
    for (int round = 0; round < 100; ++round) {
        const std::size_t count = random() % 2000 + 1;
        std::vector<float> simulated(2 * count), gpu;
        for (float& part : simulated) part = static_cast<float>(random() % 2000) / 16 - 60;
        gpu = simulated;
        for (float& part : gpu)
            if (random() % 10 == 0) part += static_cast<float>(random() % 100) * 1e-5f;
        std::uint64_t mismatched = 0, differing = 0;
        double greatest = 0;
        for (std::size_t i = 0; i < 2 * count; i += 2) {
            const double real = double{simulated[i]} - gpu[i],
                         imaginary = double{simulated[i + 1]} - gpu[i + 1];
            const double modulus = std::sqrt(double{gpu[i]} * gpu[i] + double{gpu[i + 1]} * gpu[i + 1]);
            const double apart = std::sqrt(real * real + imaginary * imaginary);
            differing += apart != 0;
            mismatched += apart > 1e-5 + 1.3e-6 * modulus;
            greatest = std::max(greatest, apart);
        }
        const ArrayComparison found =
            compare(array("complex64", {count}), bytes_of(simulated), bytes_of(gpu));
        EXPECT_EQ(found.differing, differing);
        EXPECT_EQ(found.mismatched, mismatched);
        EXPECT_NEAR(found.greatest_absolute ? *found.greatest_absolute->absolute : 0, greatest,
                    greatest * 1e-14);
    }
}

}  // namespace
}  // namespace cudasim::comparison
