// sin(pi x) and cos(pi x). The argument is reduced before it is multiplied by pi, so that multiples of 1/2
// are exact and results near zeros keep their digits.
#include <cmath>
#include <numbers>

#include "simulator/libdevice/special_functions.h"

namespace cudasim::libdevice {
namespace {

/// x as quarter turns of half a turn each: x = 2 * whole turns + quadrant / 2 + rest, |rest| <= 1/4.
struct Turn {
    int quadrant;
    double rest;
};

Turn reduced(double x) {
    const double within = std::fmod(x, 2.0);  // exact
    const double halves = std::nearbyint(2 * within);
    return {static_cast<int>(halves) & 3, within - halves / 2};
}

double sine(const Turn& turn) {
    return std::sin(static_cast<double>(turn.rest * std::numbers::pi_v<long double>));
}
double cosine(const Turn& turn) {
    return std::cos(static_cast<double>(turn.rest * std::numbers::pi_v<long double>));
}

}  // namespace

double sine_of_pi_times(double x) {
    if (!std::isfinite(x)) return std::nan("");
    const Turn turn = reduced(x);
    if (turn.rest == 0 && turn.quadrant % 2 == 0) return std::copysign(0.0, x);
    switch (turn.quadrant) {
        case 0:
            return sine(turn);
        case 1:
            return cosine(turn);
        case 2:
            return -sine(turn);
        default:
            return -cosine(turn);
    }
}

double cosine_of_pi_times(double x) {
    if (!std::isfinite(x)) return std::nan("");
    const Turn turn = reduced(x);
    if (turn.rest == 0 && turn.quadrant % 2 == 1) return 0;
    switch (turn.quadrant) {
        case 0:
            return cosine(turn);
        case 1:
            return -sine(turn);
        case 2:
            return -cosine(turn);
        default:
            return sine(turn);
    }
}

float sine_of_pi_times(float x) {
    return static_cast<float>(sine_of_pi_times(static_cast<double>(x)));
}
float cosine_of_pi_times(float x) {
    return static_cast<float>(cosine_of_pi_times(static_cast<double>(x)));
}

}  // namespace cudasim::libdevice
