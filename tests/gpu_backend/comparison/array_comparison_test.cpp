// What compare() says of arrays that are written out. random_arrays_test.cpp compares it with a slow and
// plain comparison.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "gpu_backend/comparison/float_formats.h"
#include "gpu_backend/comparison/report_json.h"
#include "tests/gpu_backend/comparison/contents.h"

namespace cudasim::comparison {
namespace {

using Index = std::vector<std::uint64_t>;

TEST(Arrays, are_the_same_where_all_bits_are) {
    const Bytes bytes = bytes_of({1.0f, NAN, -INFINITY, 0.0f});
    const ArrayComparison result = compare(array("float32", {4}), bytes, bytes);
    EXPECT_EQ(result.verdict(), Verdict::same);
    EXPECT_EQ(result.elements, 4u);
    EXPECT_FALSE(result.greatest_absolute);
    EXPECT_EQ(result.map.rows, 0u);
}

TEST(Arrays, floats_are_close_within_the_tolerance_of_their_type) {
    const Bytes simulated = bytes_of({1.0f, 2.0f}), gpu = bytes_of({std::nextafter(1.0f, 2.0f), 2.0f});
    const ArrayComparison result = compare(array("float32", {2}), simulated, gpu);
    EXPECT_EQ(result.verdict(), Verdict::close);
    EXPECT_EQ(result.close(), 1u);
    EXPECT_EQ(result.greatest_ulp->ulp, 1u);
    EXPECT_EQ(result.greatest_absolute->absolute, 0x1p-23);
    EXPECT_EQ(*result.tolerance.rtol, 1.3e-6);
    EXPECT_EQ(*result.tolerance.atol, 1e-5);
    const ArrayComparison exact = compare(array("float32", {2}), simulated, gpu, {}, {.exact = true});
    EXPECT_EQ(exact.verdict(), Verdict::different);
    EXPECT_EQ(exact.first.at(0).index, Index{0});
    EXPECT_EQ(exact.first.at(0).gpu.text, "1.0000001");
}

TEST(Arrays, mismatches_have_index_address_values_and_distances) {
    const Bytes simulated = bytes_of({1, 2, 3, 4, 5, 6}), gpu = bytes_of({1, 2, 3, 4, 50, 6});
    const ArrayComparison result = compare(array("int32", {2, 3}), simulated, gpu);
    EXPECT_EQ(result.verdict(), Verdict::different);
    EXPECT_EQ(result.mismatched, 1u);
    ASSERT_EQ(result.first.size(), 1u);
    const Difference& difference = result.first[0];
    EXPECT_EQ(difference.index, (Index{1, 1}));
    EXPECT_EQ(difference.address, 0x1000u + 16);
    EXPECT_EQ(difference.bytes, 4u);
    EXPECT_EQ(difference.simulated.text, "5");
    EXPECT_EQ(difference.gpu.text, "50");
    EXPECT_EQ(difference.absolute, 45.0);
    EXPECT_EQ(difference.relative, 45.0 / 50);
    EXPECT_FALSE(difference.ulp);
    EXPECT_EQ(result.greatest_relative->index, (Index{1, 1}));
    EXPECT_EQ(result.map.counts, (Index{0, 0, 0, 0, 1, 0}));
}

TEST(Arrays, nan_equals_nan_and_infinities_only_those_of_their_sign) {
    const float other_nan = std::bit_cast<float>(0xFFC00001u);
    const Bytes simulated = bytes_of({NAN, NAN, 1.0f, INFINITY, INFINITY, 1.0f});
    const Bytes gpu = bytes_of({other_nan, 1.0f, NAN, -INFINITY, INFINITY, INFINITY});
    for (const bool exact : {false, true}) {
        const ArrayComparison result = compare(array("float32", {6}), simulated, gpu, {}, {.exact = exact});
        EXPECT_EQ(result.differing, 5u);
        EXPECT_EQ(result.mismatched, 4u);
        EXPECT_EQ(result.nan_bits, 1u);
        EXPECT_EQ(result.nan_simulated, 1u);
        EXPECT_EQ(result.nan_gpu, 1u);
        EXPECT_FALSE(result.greatest_absolute);
    }
}

TEST(Arrays, signs_of_zero_are_told_and_differ_where_the_comparison_is_exact) {
    const Bytes simulated = bytes_of({0.0, -0.0}), gpu = bytes_of({-0.0, -0.0});
    const ArrayComparison result = compare(array("float64", {2}), simulated, gpu);
    EXPECT_EQ(result.verdict(), Verdict::close);
    EXPECT_EQ(result.zero_signs, 1u);
    EXPECT_EQ(compare(array("float64", {2}), simulated, gpu, {}, {.exact = true}).verdict(),
              Verdict::different);
    EXPECT_EQ(compare(array("float64", {2}), simulated, gpu, {}, {.ulp = 0}).verdict(), Verdict::close);
}

TEST(Arrays, one_tolerance_keeps_the_default_of_the_other_and_ulp_alone_replaces_both) {
    const Bytes simulated = bytes_of({1.0f, 1.00003f}), gpu = bytes_of({1.0f, 1.0f});
    const ArrayView view = array("float32", {2});
    EXPECT_EQ(compare(view, simulated, gpu).mismatched, 1u);
    EXPECT_EQ(compare(view, simulated, gpu, {}, {.rtol = 1e-4}).mismatched, 0u);
    EXPECT_EQ(*compare(view, simulated, gpu, {}, {.rtol = 1e-4}).tolerance.atol, 1e-5);
    const std::uint64_t steps = *compare(view, simulated, gpu).greatest_ulp->ulp;
    EXPECT_EQ(compare(view, simulated, gpu, {}, {.ulp = static_cast<double>(steps)}).mismatched, 0u);
    EXPECT_EQ(compare(view, simulated, gpu, {}, {.ulp = static_cast<double>(steps - 1)}).mismatched, 1u);
    EXPECT_FALSE(compare(view, simulated, gpu, {}, {.ulp = 1}).tolerance.rtol);
    EXPECT_EQ(compare(view, simulated, gpu, {}, {.rtol = 1e-4, .ulp = 0}).mismatched, 0u);
    const Bytes small = bytes_of({1, 2}), large = bytes_of({1, 3});
    EXPECT_EQ(compare(array("int32", {2}), small, large, {}, {.atol = 1}).verdict(), Verdict::close);
    EXPECT_EQ(compare(array("int32", {2}), small, large, {}, {.ulp = 5}).verdict(), Verdict::different);
}

TEST(Arrays, tolerances_that_are_no_sizes_are_refused) {
    const Bytes bytes = bytes_of({1.0f});
    for (const double wrong : {-1.0, std::nan(""), double{INFINITY}}) {
        EXPECT_THROW((void)compare(array("float32", {1}), bytes, bytes, {}, {.rtol = wrong}),
                     std::invalid_argument);
        EXPECT_THROW((void)compare(array("float32", {1}), bytes, bytes, {}, {.ulp = wrong}),
                     std::invalid_argument);
    }
}

template <class Format, class Real>
void steps_are_counted_one_by_one() {
    using Bits = typename Format::Bits;
    // From below zero to above it, across subnormal numbers.
    Real value = std::bit_cast<Real>(static_cast<Bits>(sign_bit<Format> | 5));
    const auto first = std::bit_cast<Bits>(value);
    for (Bits steps = 0; steps < 11; ++steps) {
        EXPECT_EQ(ulp_distance<Format>(first, std::bit_cast<Bits>(value)), steps);
        EXPECT_EQ(ulp_distance<Format>(std::bit_cast<Bits>(value), first), steps);
        value = std::nextafter(value, Real{1});
    }
}

TEST(Ulps, are_steps_between_neighbours_and_both_zeros_are_one_point) {
    steps_are_counted_one_by_one<Float32, float>();
    steps_are_counted_one_by_one<Float64, double>();
    EXPECT_EQ(ulp_distance<Float32>(0x80000000u, 0u), 0u);
    EXPECT_EQ(ulp_distance<Float32>(0xFF7FFFFFu, 0x7F7FFFFFu), 2u * 0x7F7FFFFFu);
    EXPECT_EQ(ulp_distance<Float16>(0x3C00, 0x3C01), 1);
    EXPECT_EQ(ulp_distance<BFloat16>(0xBF80, 0x3F80), 2 * 0x3F80);
}

TEST(Arrays, missing_writes_show_by_the_values_before) {
    const Bytes before = bytes_of({0, 0, 0, 0}), simulated = bytes_of({1, 0, 3, 4}),
                gpu = bytes_of({0, 2, 5, 4});
    const ArrayComparison result = compare(array("int32", {4}), simulated, gpu, before);
    EXPECT_EQ(result.mismatched, 3u);
    EXPECT_EQ(result.unchanged_gpu, 1u);
    EXPECT_EQ(result.unchanged_simulated, 1u);
    EXPECT_FALSE(compare(array("int32", {4}), simulated, gpu).unchanged_gpu);
}

TEST(Arrays, records_are_compared_by_their_fields_and_padding_is_none) {
    struct Record {
        std::int8_t a;
        double b[2];
    };
    static_assert(sizeof(Record) == 24);
    std::vector<Record> simulated(3), gpu(3);
    std::memset(simulated.data(), 0, 72);
    std::memset(gpu.data(), 0xFF, 72);  // padding
    for (Record* records : {simulated.data(), gpu.data()})
        for (int i = 0; i < 3; ++i) records[i] = {.a = 1, .b = {1.5, 2.5}};
    std::memset(reinterpret_cast<char*>(&gpu[0]) + 1, 0xEE, 7);
    const ArrayView view = array(
        "{'names': ['a', 'b'], 'formats': ['i1', ('<f8', (2,))], 'offsets': [0, 8], 'itemsize': 24}", {3});
    EXPECT_EQ(compare(view, bytes_of(simulated), bytes_of(gpu)).verdict(), Verdict::same);
    const Bytes before = bytes_of(gpu);
    gpu[2].a = 7;
    gpu[2].b[1] = -2.5;
    simulated[1].b[0] = 1.5000000001;
    const ArrayComparison result = compare(view, bytes_of(simulated), bytes_of(gpu), before);
    EXPECT_EQ(result.differing, 2u);
    EXPECT_EQ(result.mismatched, 1u);
    EXPECT_EQ(result.unchanged_simulated, 1u);
    EXPECT_EQ(result.unchanged_gpu, 0u);
    ASSERT_EQ(result.first.size(), 2u);
    EXPECT_EQ(result.first[0].field, "a");
    EXPECT_EQ(result.first[1].field, "b[1]");
    EXPECT_EQ(result.first[1].address, 0x1000u + 48 + 16);
    EXPECT_EQ(result.greatest_absolute->field, "a");
    EXPECT_EQ(result.greatest_ulp->field, "b[1]");
}

TEST(Arrays, complex_values_are_compared_by_the_modulus) {
    // Far off in the imaginary part alone, near by the modulus.
    const Bytes simulated = bytes_of({1e6f, 1e-3f}), gpu = bytes_of({1e6f, 2e-3f});
    EXPECT_EQ(compare(array("complex64", {1}), simulated, gpu).verdict(), Verdict::close);
    const Bytes one = bytes_of({NAN, 1.0f}), other = bytes_of({1.0f, NAN});
    EXPECT_EQ(compare(array("complex64", {1}), one, other).verdict(), Verdict::different);
    EXPECT_EQ(compare(array("complex64", {1}), one, one).verdict(), Verdict::same);
    const Bytes far = bytes_of({NAN, 2.0f});
    EXPECT_EQ(compare(array("complex64", {1}), one, far).verdict(), Verdict::different);
}

TEST(Arrays, texts_and_bytes_are_the_same_or_not) {
    const ArrayComparison result = compare(array("S2", {2}), bytes_of({'a', 'b', 'c', 'd'}),
                                           bytes_of({'a', 'b', 'c', 'x'}), {}, {.rtol = 1});
    EXPECT_EQ(result.mismatched, 1u);
    EXPECT_TRUE(result.tolerance.exact);
    EXPECT_EQ(result.first.at(0).gpu.text, "b'cx'");
    EXPECT_EQ(compare(array("bool", {1}), bytes_of({'\1'}), bytes_of({'\0'}), {}, {.atol = 2}).mismatched,
              1u);
}

TEST(Arrays, not_a_time_equals_itself) {
    constexpr auto not_a_time = std::numeric_limits<std::int64_t>::min();
    const ArrayComparison result =
        compare(array("datetime64[ns]", {2}), bytes_of({not_a_time, std::int64_t{5}}),
                bytes_of({not_a_time, not_a_time}));
    EXPECT_EQ(result.mismatched, 1u);
    EXPECT_EQ(result.first.at(0).gpu.text, "NaT");
    EXPECT_FALSE(result.greatest_absolute);
}

TEST(Arrays, single_elements_and_empty_arrays_are_arrays) {
    const ArrayComparison single = compare(array("int32", {}), bytes_of({1}), bytes_of({2}));
    EXPECT_EQ(single.mismatched, 1u);
    EXPECT_EQ(single.first.at(0).index, Index{});
    EXPECT_EQ(single.map.counts, Index{1});
    EXPECT_EQ(compare(array("int32", {0, 5}), {}, {}).verdict(), Verdict::same);
    EXPECT_EQ(compare(array("S0", {5}), {}, {}).verdict(), Verdict::same);
}

TEST(Arrays, what_is_broadcast_counts_once) {
    ArrayView view = array("int32", {1000, 2});
    view.strides = {0, 4};
    const ArrayComparison result = compare(view, bytes_of({1, 2}), bytes_of({1, 3}));
    EXPECT_EQ(result.elements, 2u);
    EXPECT_EQ(result.mismatched, 1u);
    EXPECT_EQ(result.first.at(0).index, (Index{0, 1}));
}

TEST(Arrays, views_that_are_not_within_their_memory_are_refused) {
    const Bytes bytes(64);
    const auto refused = [&](ArrayView view) {
        try {
            (void)compare(view, bytes, bytes);
            return false;
        } catch (const std::invalid_argument& error) {
            return std::string(error.what()).find("'x'") != std::string::npos;
        }
    };
    EXPECT_TRUE(refused(array("int32", {17})));
    EXPECT_TRUE(refused(array("int32", {std::uint64_t{1} << 62, 4})));
    EXPECT_TRUE(refused(array("int32", {std::uint64_t{1} << 32, std::uint64_t{1} << 32})));
    ArrayView view = array("int32", {4});
    view.strides = {-4};
    EXPECT_TRUE(refused(view));
    view.offset = 12;
    EXPECT_FALSE(refused(view));
    view.strides = {std::numeric_limits<std::int64_t>::min()};
    EXPECT_TRUE(refused(view));
    view.strides = {4, 4};
    EXPECT_TRUE(refused(view));
    view = array("int32", {2});
    view.offset = ~std::uint64_t{0} - 3;
    EXPECT_TRUE(refused(view));
    EXPECT_THROW((void)compare(array("int32", {1}), bytes, Bytes(63)), std::invalid_argument);
    EXPECT_THROW((void)compare(array("int32", {1}), bytes, bytes, Bytes(3)), std::invalid_argument);
}

TEST(Maps, show_where_in_the_last_two_axes_elements_mismatch) {
    const std::uint64_t rows = 40, columns = 200;
    Bytes simulated(2 * rows * columns), gpu = simulated;
    gpu[39 * columns + 199] = std::byte{1};                // [0, 39, 199]
    gpu[rows * columns + 0] = std::byte{1};                // [1, 0, 0]
    gpu[rows * columns + 2 * columns + 3] = std::byte{1};  // [1, 2, 3]
    const MismatchMap map = compare(array("uint8", {2, rows, columns}), simulated, gpu).map;
    EXPECT_EQ(map.cell_rows, 3u);
    EXPECT_EQ(map.cell_columns, 4u);
    EXPECT_EQ(map.rows, 14u);
    EXPECT_EQ(map.columns, 50u);
    EXPECT_EQ(map.counts.front(), 2u);
    EXPECT_EQ(map.counts.back(), 1u);
    EXPECT_EQ(std::accumulate(map.counts.begin(), map.counts.end(), std::uint64_t{0}), 3u);
}

TEST(Maps, count_every_element_where_all_mismatch) {
    for (const Index& shape :
         {Index{7, 1000}, Index{3000}, Index{5, 3000}, Index{700, 3}, Index{3, 7, 1500}, Index{40, 2100}}) {
        const std::uint64_t count =
            std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies{});
        const Bytes simulated(count), gpu(count, std::byte{1});
        const MismatchMap map = compare(array("uint8", shape), simulated, gpu).map;
        const std::uint64_t width = shape.back(), height = shape.size() > 1 ? shape[shape.size() - 2] : 1;
        const std::uint64_t layers = count / width / height;
        Index expected(map.rows * map.columns);
        for (std::uint64_t row = 0; row < height; ++row)
            for (std::uint64_t column = 0; column < width; ++column)
                expected.at(row / map.cell_rows * map.columns + column / map.cell_columns) += layers;
        EXPECT_EQ(map.counts, expected) << to_text(shape);
    }
}

TEST(Elements, that_mismatch_are_told_by_position_whatever_the_strides) {
    Bytes simulated(24), gpu(24);
    ArrayView view = array("int32", {2, 3});
    view.offset = 4;
    view.strides = {-4, 8};  // [i, j] at 4 - 4 i + 8 j
    gpu[0] = std::byte{1};   // [1, 0]
    gpu[20] = std::byte{1};  // [0, 2]
    EXPECT_EQ(mismatched_elements(view, simulated, gpu), (std::vector<std::uint64_t>{2, 3}));
    EXPECT_EQ(address_of(view, 2), 0x1000u + 16);
    EXPECT_EQ(address_of(view, 3), 0x1000u - 4);
    EXPECT_EQ(compare(view, simulated, gpu).first.at(0).address, 0x1000u - 4);
}

TEST(Reports, have_numbers_as_json_has_them) {
    Comparison comparison;
    const double greatest = std::numeric_limits<double>::max();
    comparison.arrays.push_back(compare(array("float64", {1}), bytes_of({greatest}), bytes_of({-greatest})));
    comparison.arrays.back().name = "caf\xe9";
    comparison.printed = compare_printed("a\n", "b\n");
    const std::string json = to_json(comparison);
    EXPECT_NE(json.find(R"("absolute":"inf")"), std::string::npos) << json;
    EXPECT_NE(json.find("caf\xEF\xBF\xBD"), std::string::npos) << json;
    EXPECT_NE(json.find(R"("only_gpu":["b"])"), std::string::npos) << json;
    EXPECT_NE(json.find(R"("verdict":"different")"), std::string::npos) << json;
}

}  // namespace
}  // namespace cudasim::comparison
