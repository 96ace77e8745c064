// The floating types of kernels: as double, which holds all of them exactly, and as points in order, whose
// distance is ULPs.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace cudasim::comparison {

/// IEEE 754 binary16.
struct Float16 {
    using Bits = std::uint16_t;
    static constexpr Bits exponent = 0x7C00;
    static constexpr const char* name = "float16";
    static constexpr double rtol = 1e-3, atol = 1e-5;

    static float value(Bits bits) {
        // The exponent moves to a binary32's place. The multiplication corrects its bias, and makes
        // subnormals normal.
        constexpr float bias = 0x1p112f;
        const auto magnitude = static_cast<std::uint32_t>(bits & 0x7FFF) << 13;
        const float scaled = std::bit_cast<float>(magnitude) * bias;
        const std::uint32_t special = (bits & exponent) == exponent ? 0x7F800000u : 0u;
        const auto sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
        return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | special | sign);
    }
};

/// The upper half of a binary32.
struct BFloat16 {
    using Bits = std::uint16_t;
    static constexpr Bits exponent = 0x7F80;
    static constexpr const char* name = "bfloat16";
    static constexpr double rtol = 1.6e-2, atol = 1e-5;

    static float value(Bits bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};

struct Float32 {
    using Bits = std::uint32_t;
    static constexpr Bits exponent = 0x7F800000u;
    static constexpr const char* name = "float32";
    static constexpr double rtol = 1.3e-6, atol = 1e-5;

    static float value(Bits bits) { return std::bit_cast<float>(bits); }
};

struct Float64 {
    using Bits = std::uint64_t;
    static constexpr Bits exponent = 0x7FF0000000000000u;
    static constexpr const char* name = "float64";
    static constexpr double rtol = 1e-7, atol = 1e-7;

    static double value(Bits bits) { return std::bit_cast<double>(bits); }
};

template <class Format>
inline constexpr typename Format::Bits sign_bit =
    static_cast<typename Format::Bits>(1) << (8 * sizeof(typename Format::Bits) - 1);

template <class Format>
constexpr bool is_finite(typename Format::Bits bits) {
    return (bits & Format::exponent) != Format::exponent;
}

template <class Format>
constexpr bool is_nan(typename Format::Bits bits) {
    return static_cast<typename Format::Bits>(bits & ~sign_bit<Format>) > Format::exponent;
}

/// Steps between two finite values. Wraps nowhere: two finite values are less than 2^N steps apart.
template <class Format>
constexpr typename Format::Bits ulp_distance(typename Format::Bits first, typename Format::Bits second) {
    using Bits = typename Format::Bits;
    using Signed = std::make_signed_t<Bits>;
    const auto point = [](Bits bits) {
        const Bits magnitude = bits & static_cast<Bits>(~sign_bit<Format>);
        return static_cast<Signed>((bits & sign_bit<Format>) != 0 ? static_cast<Bits>(Bits{0} - magnitude)
                                                                  : magnitude);
    };
    const Signed a = point(first), b = point(second);
    const Bits difference = static_cast<Bits>(static_cast<Bits>(a) - static_cast<Bits>(b));
    return a < b ? static_cast<Bits>(Bits{0} - difference) : difference;
}

}  // namespace cudasim::comparison
