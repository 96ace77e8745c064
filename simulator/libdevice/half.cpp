// IEEE binary16 from and to float32, by bits.
#include "simulator/libdevice/bits.h"

namespace cudasim::libdevice {

std::uint32_t half_of(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t sign = bits >> 16 & 0x8000;
    if (std::isnan(x)) return 0x7fff;
    const float size = std::fabs(x);
    if (size >= 65520) return sign | 0x7c00;  // half way beyond the largest, 65504
    if (size < 0x1p-14F)                      // subnormal: units of 2**-24; nearbyint rounds ties to even
        return sign | static_cast<std::uint32_t>(std::nearbyint(size * 0x1p24F));
    const std::uint32_t magnitude = bits & 0x7fffffff;
    const std::uint32_t tie = 0xfff + (magnitude >> 13 & 1);  // ties to even
    return sign | (magnitude + tie - (std::uint32_t{127 - 15} << 23)) >> 13;
}

float float_of_half(std::uint32_t bits) {
    const std::uint32_t exponent = bits >> 10 & 0x1f, mantissa = bits & 0x3ff;
    if (exponent == 0x1f && mantissa != 0) return std::bit_cast<float>(0x7fffffffU);
    float size = std::numeric_limits<float>::infinity();
    if (exponent == 0)
        size = static_cast<float>(mantissa) * 0x1p-24F;
    else if (exponent != 0x1f)
        size = std::bit_cast<float>((exponent + 127 - 15) << 23 | mantissa << 13);
    return bits & 0x8000 ? -size : size;
}

}  // namespace cudasim::libdevice
