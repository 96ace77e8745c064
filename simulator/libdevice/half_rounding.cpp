// See half_functions.h.
#include "simulator/libdevice/half_functions.h"

namespace cudasim::libdevice {

double rounded_to_half(double x, Rounding rounding) {
    if (!std::isfinite(x) || x == 0) return x;
    const int exponent = std::max(std::ilogb(x), -14);
    const double unit = std::ldexp(1.0, exponent - 10);  // of the last of 11 bits; below 2**-14 of subnormals
    const double scaled = x / unit;                      // exact
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
    if (size <= 65504) return std::copysign(size, x);
    const bool inward = rounding == zero || rounding == (x > 0 ? down : up);
    return std::copysign(inward ? 65504 : std::numeric_limits<double>::infinity(), x);
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
