// What CUDA C++ has beyond the functions that Numba calls (functions.def): numbers of 16 or 8 bits packed in
// a word (CUDA Math API, "SIMD Intrinsics"), norms of three and four numbers, modified Bessel functions, and
// what some PTX instructions do.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace cudasim::libdevice {

/// Operations on one of the packed numbers; `Lane` is its type, and every lane fits an int.
namespace lanes {

template <class Lane>
[[nodiscard]] int saturated(int x) {
    using Limits = std::numeric_limits<Lane>;
    return std::clamp<int>(x, Limits::min(), Limits::max());
}

struct absolute {
    template <class Lane>
    static int of(int x) {
        return x < 0 ? -x : x;
    }
};
struct saturated_absolute {
    template <class Lane>
    static int of(int x) {
        return saturated<Lane>(x < 0 ? -x : x);
    }
};
struct negative {
    template <class Lane>
    static int of(int x) {
        return -x;
    }
};
struct saturated_negative {
    template <class Lane>
    static int of(int x) {
        return saturated<Lane>(-x);
    }
};
struct sum {
    template <class Lane>
    static int of(int x, int y) {
        return x + y;
    }
};
struct saturated_sum {
    template <class Lane>
    static int of(int x, int y) {
        return saturated<Lane>(x + y);
    }
};
struct difference {
    template <class Lane>
    static int of(int x, int y) {
        return x - y;
    }
};
struct saturated_difference {
    template <class Lane>
    static int of(int x, int y) {
        return saturated<Lane>(x - y);
    }
};
struct distance {
    template <class Lane>
    static int of(int x, int y) {
        return x < y ? y - x : x - y;
    }
};
struct average {
    template <class Lane>
    static int of(int x, int y) {
        return (x + y) >> 1;
    }
};
/// Halves are rounded away from zero.
struct rounded_average {
    template <class Lane>
    static int of(int x, int y) {
        return (x + y + (x + y >= 0 ? 1 : 0)) >> 1;
    }
};
struct larger {
    template <class Lane>
    static int of(int x, int y) {
        return std::max(x, y);
    }
};
struct smaller {
    template <class Lane>
    static int of(int x, int y) {
        return std::min(x, y);
    }
};
struct equal {
    static bool of(int x, int y) { return x == y; }
};
struct unequal {
    static bool of(int x, int y) { return x != y; }
};
struct greater_equal {
    static bool of(int x, int y) { return x >= y; }
};
struct greater {
    static bool of(int x, int y) { return x > y; }
};
struct less_equal {
    static bool of(int x, int y) { return x <= y; }
};
struct less {
    static bool of(int x, int y) { return x < y; }
};
/// All bits of a lane where the relation holds.
template <class Relation>
struct mask {
    template <class Lane>
    static int of(int x, int y) {
        return Relation::of(x, y) ? -1 : 0;
    }
};
template <class Relation>
struct flag {
    template <class Lane>
    static int of(int x, int y) {
        return Relation::of(x, y) ? 1 : 0;
    }
};

}  // namespace lanes

/// The operation on each number of a word, or of two words.
template <class Operation, class Lane, class... Words>
[[nodiscard]] std::uint32_t packed(Words... words) {
    constexpr unsigned bits = 8 * sizeof(Lane);
    std::uint32_t result = 0;
    for (unsigned shift = 0; shift < 32; shift += bits) {
        const int lane = Operation::template of<Lane>(int{static_cast<Lane>(words >> shift)}...);
        result |= static_cast<std::uint32_t>(static_cast<std::make_unsigned_t<Lane>>(lane)) << shift;
    }
    return result;
}

template <class Lane>
[[nodiscard]] std::uint32_t sum_of_distances(std::uint32_t x, std::uint32_t y) {
    std::uint32_t sum = 0;
    for (unsigned shift = 0; shift < 32; shift += 8 * sizeof(Lane))
        sum += static_cast<std::uint32_t>(lanes::distance::of<Lane>(int{static_cast<Lane>(x >> shift)},
                                                                    int{static_cast<Lane>(y >> shift)}));
    return sum;
}

/// PTX ISA, prmt in its default mode: as __byte_perm(), and bit 3 of a selector asks for the sign of the byte
/// in all its bits.
[[nodiscard]] inline std::uint32_t permuted_bytes(std::uint32_t x, std::uint32_t y, std::uint32_t selector) {
    const std::uint64_t bytes = std::uint64_t{y} << 32 | x;
    std::uint32_t result = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned chosen = selector >> (4 * i) & 0xf;
        auto byte = static_cast<std::uint32_t>(bytes >> (8 * (chosen & 7)) & 0xff);
        if ((chosen & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
        result |= byte << (8 * i);
    }
    return result;
}

/// PTX ISA, fns: the number of the n-th set bit from `base` on, downwards for negative n; with n = 0 `base`
/// itself. All ones where there is none.
[[nodiscard]] inline std::uint32_t nth_set_bit(std::uint32_t mask, std::uint32_t base, std::int32_t n) {
    constexpr std::uint32_t none = ~std::uint32_t{0};
    if (base > 31) return none;
    if (n == 0) return (mask >> base & 1) != 0 ? base : none;
    std::int64_t left = n < 0 ? -std::int64_t{n} : std::int64_t{n};
    const int step = n < 0 ? -1 : 1;
    for (int bit = static_cast<int>(base); bit >= 0 && bit < 32; bit += step)
        if ((mask >> bit & 1) != 0 && --left == 0) return static_cast<std::uint32_t>(bit);
    return none;
}

/// The upper half of 1 / x, with zeros below it.
[[nodiscard]] inline double high_half_of_reciprocal(double x) {
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(1.0 / x) & ~std::uint64_t{0xffff'ffff});
}

/// The root of the sum of squares, without overflow on the way; infinite where one of them is.
template <class... Parts>
[[nodiscard]] long double wide_norm(Parts... parts) {
    if ((std::isinf(parts) || ...)) return std::numeric_limits<long double>::infinity();
    return std::sqrt(((static_cast<long double>(parts) * static_cast<long double>(parts)) + ...));
}
template <class Real>
[[nodiscard]] Real norm(Real x, Real y, Real z) {
    return static_cast<Real>(wide_norm(x, y, z));
}
template <class Real>
[[nodiscard]] Real norm(Real x, Real y, Real z, Real w) {
    return static_cast<Real>(wide_norm(x, y, z, w));
}
template <class Real>
[[nodiscard]] Real reciprocal_norm(Real x, Real y, Real z) {
    return static_cast<Real>(1 / wide_norm(x, y, z));
}
template <class Real>
[[nodiscard]] Real reciprocal_norm(Real x, Real y, Real z, Real w) {
    return static_cast<Real>(1 / wide_norm(x, y, z, w));
}

/// I0(x), which is even, and I1(x), which is odd. Far out the C++ library has NaN for infinity.
constexpr double largest_bessel_argument = 800;
template <class Real>
[[nodiscard]] Real modified_bessel_0(Real x) {
    if (std::fabs(x) > largest_bessel_argument) return std::numeric_limits<Real>::infinity();
    return static_cast<Real>(std::cyl_bessel_i(0.0L, static_cast<long double>(std::fabs(x))));
}
template <class Real>
[[nodiscard]] Real modified_bessel_1(Real x) {
    if (std::fabs(x) > largest_bessel_argument)
        return std::copysign(std::numeric_limits<Real>::infinity(), x);
    return static_cast<Real>(
        std::copysign(std::cyl_bessel_i(1.0L, static_cast<long double>(std::fabs(x))), x));
}

}  // namespace cudasim::libdevice
