// See half_functions.h.
#include <bit>

#include "simulator/libdevice/half_functions.h"

namespace cudasim::libdevice {

double rounded_to(const Format& format, double x, Rounding rounding) {
    if (!std::isfinite(x) || x == 0) return x;
    const int exponent = std::max(std::ilogb(x), format.lowest);
    // The value of the last bit. Subnormal numbers share that of the smallest normal number.
    const double unit = std::ldexp(1.0, exponent - (format.precision - 1));
    const double scaled = x / unit;  // exact
    double whole = 0;
    switch (rounding) {
        case down:
            whole = std::floor(scaled);
            break;
        case up:
            whole = std::ceil(scaled);
            break;
        case zero:
            whole = std::trunc(scaled);
            break;
        case nearest:
            whole = std::nearbyint(scaled);
            break;
    }
    const double size = std::fabs(whole * unit);
    if (size <= format.largest) return std::copysign(size, x);
    const bool inward = rounding == zero || rounding == (x > 0 ? down : up);
    return std::copysign(inward ? format.largest : std::numeric_limits<double>::infinity(), x);
}

double multiply_add_odd(double x, double y, double z) {
    const double product = x * y, sum = product + z, rest = sum - product;
    const double lost = (product - (sum - rest)) + (z - rest);
    const auto bits = std::bit_cast<std::uint64_t>(sum);
    if (!(lost < 0 || lost > 0) || bits % 2 != 0) return sum;
    return std::bit_cast<double>((lost > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

bool compares(Comparison how, double x, double y) {
    const bool unordered = std::isnan(x) || std::isnan(y);
    if (unordered) return how >= Comparison::UEQ;
    switch (how) {
        case Comparison::OEQ:
        case Comparison::UEQ:
            return x == y;
        case Comparison::ONE:
        case Comparison::UNE:
            return x != y;
        case Comparison::OGE:
        case Comparison::UGE:
            return x >= y;
        case Comparison::OGT:
        case Comparison::UGT:
            return x > y;
        case Comparison::OLE:
        case Comparison::ULE:
            return x <= y;
        default:
            return x < y;
    }
}

}  // namespace cudasim::libdevice
