#include "gpu_backend/comparison/value_comparer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "gpu_backend/comparison/float_formats.h"

namespace cudasim::comparison {
namespace {

template <class T>
T read(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

template <class Format>
struct FloatValues {
    using Bits = typename Format::Bits;
    using Real = decltype(Format::value(0));
    static constexpr bool has_ulp = true, has_distance = true;
    static constexpr double rtol = Format::rtol, atol = Format::atol;
    explicit FloatValues(std::uint64_t) {}
    [[nodiscard]] static constexpr std::uint64_t bytes() { return sizeof(Bits); }

    static Outcome evaluate(const std::byte* simulated, const std::byte* gpu, const Bounds& bounds) {
        const Bits s = read<Bits>(simulated), g = read<Bits>(gpu);
        Outcome outcome{.differs = s != g};
        if (!outcome.differs) return outcome;
        outcome.nan_bits = is_nan<Format>(s) && is_nan<Format>(g);
        outcome.nan_simulated = is_nan<Format>(s) && !is_nan<Format>(g);
        outcome.nan_gpu = is_nan<Format>(g) && !is_nan<Format>(s);
        if (outcome.nan_bits) return outcome;
        if (!is_finite<Format>(s) || !is_finite<Format>(g)) {
            outcome.mismatched = true;
            return outcome;
        }
        const Real x = Format::value(s), y = Format::value(g);
        outcome.zero_signs = x == y;
        outcome.has_distance = true;
        outcome.ulp = ulp_distance<Format>(s, g);
        outcome.absolute = std::fabs(static_cast<double>(x) - static_cast<double>(y));
        if (y != 0) outcome.relative = outcome.absolute / std::fabs(static_cast<double>(y));
        const Real apart = std::fabs(x - y);
        const bool within =
            apart <= static_cast<Real>(bounds.atol) + static_cast<Real>(bounds.rtol) * std::fabs(y);
        outcome.mismatched = !within && outcome.ulp >= bounds.ulp;
        return outcome;
    }
};

template <class Integer>
struct IntegerValues {
    static constexpr bool has_ulp = false, has_distance = true;
    static constexpr double rtol = 0, atol = -1;
    explicit IntegerValues(std::uint64_t) {}
    [[nodiscard]] static constexpr std::uint64_t bytes() { return sizeof(Integer); }

    static Outcome evaluate(const std::byte* simulated, const std::byte* gpu, const Bounds& bounds) {
        using Unsigned = std::make_unsigned_t<Integer>;
        const auto s = read<Integer>(simulated), g = read<Integer>(gpu);
        Outcome outcome{.differs = s != g};
        if (!outcome.differs) return outcome;
        const auto apart = static_cast<Unsigned>(s > g ? static_cast<Unsigned>(s) - static_cast<Unsigned>(g)
                                                       : static_cast<Unsigned>(g) - static_cast<Unsigned>(s));
        outcome.has_distance = true;
        outcome.absolute = static_cast<double>(apart);
        const double size = std::fabs(static_cast<double>(g));
        if (g != 0) outcome.relative = outcome.absolute / size;
        outcome.mismatched = !(outcome.absolute <= bounds.atol + bounds.rtol * size);
        return outcome;
    }
};

/// Format is that of the parts. Computed in double.
template <class Format>
struct ComplexValues {
    static constexpr bool has_ulp = true, has_distance = true;
    static constexpr double rtol = Format::rtol, atol = Format::atol;
    explicit ComplexValues(std::uint64_t) {}
    [[nodiscard]] static constexpr std::uint64_t bytes() { return 2 * sizeof(typename Format::Bits); }

    static Outcome evaluate(const std::byte* simulated, const std::byte* gpu, const Bounds& bounds) {
        constexpr std::size_t half = sizeof(typename Format::Bits);
        const std::array<Outcome, 2> parts = {
            FloatValues<Format>::evaluate(simulated, gpu, bounds),
            FloatValues<Format>::evaluate(simulated + half, gpu + half, bounds)};
        Outcome outcome{.differs = parts[0].differs || parts[1].differs};
        if (!outcome.differs) return outcome;
        bool finite = true;
        double apart[2] = {0, 0}, size[2] = {0, 0};
        for (int part = 0; part < 2; ++part) {
            const Outcome& one = parts[part];
            outcome.nan_simulated |= one.nan_simulated;
            outcome.nan_gpu |= one.nan_gpu;
            outcome.nan_bits |= one.nan_bits;
            outcome.zero_signs |= one.zero_signs;
            if (one.differs && !one.has_distance && !one.nan_bits) outcome.mismatched = true;
            const auto g = read<typename Format::Bits>(gpu + part * half);
            // Of parts that are equal and not finite nothing is measured.
            if (!is_finite<Format>(g) || one.nan_bits) {
                finite = false;
                continue;
            }
            apart[part] = one.absolute;
            size[part] = Format::value(g);
            outcome.ulp = std::max(outcome.ulp, one.ulp);
        }
        if (outcome.mismatched) {
            outcome.ulp = 0;
            return outcome;
        }
        const double distance = std::hypot(apart[0], apart[1]), modulus = std::hypot(size[0], size[1]);
        outcome.mismatched = !(distance <= bounds.atol + bounds.rtol * modulus) &&
                             outcome.ulp >= bounds.ulp && !only_nan_bits(parts);
        if (finite) {
            outcome.has_distance = true;
            outcome.absolute = distance;
            if (modulus != 0) outcome.relative = distance / modulus;
        } else {
            outcome.ulp = 0;
        }
        return outcome;
    }

  private:
    static bool only_nan_bits(const std::array<Outcome, 2>& parts) {
        return std::ranges::all_of(parts, [](const Outcome& part) { return !part.differs || part.nan_bits; });
    }
};

/// Booleans, dates, bytes and characters: the same or not.
struct PlainValues {
    static constexpr bool has_ulp = false, has_distance = false;
    static constexpr double rtol = 0, atol = -1;
    explicit PlainValues(std::uint64_t size) : size_(size) {}
    [[nodiscard]] std::uint64_t bytes() const { return size_; }

    [[nodiscard]] Outcome evaluate(const std::byte* simulated, const std::byte* gpu, const Bounds&) const {
        const bool differs = std::memcmp(simulated, gpu, size_) != 0;
        return {.differs = differs, .mismatched = differs};
    }

  private:
    std::uint64_t size_;
};

template <class Values>
class ComparerOf final : public ValueComparer {
  public:
    ComparerOf(const ElementType& type, const Tolerance& tolerance) : values_(type.bytes) {
        bytes_ = type.bytes;
        has_ulp_ = Values::has_ulp;
        has_distance_ = Values::has_distance;
        set_bounds(tolerance);
        kernels_ = chunk_kernels_of(type);
        if (!Values::has_ulp && bounds_.atol >= 0) kernels_ = {};  // those for integers are exact
    }

    [[nodiscard]] Outcome evaluate(const std::byte* simulated, const std::byte* gpu) const override {
        return values_.evaluate(simulated, gpu, bounds_);
    }

    [[nodiscard]] ChunkSummary tally(const std::byte* simulated, const std::byte* gpu,
                                     const std::byte* before, std::size_t count,
                                     SpecialValues& special) const override {
        ChunkSummary summary;
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint64_t at = i * values_.bytes();
            const Outcome outcome = values_.evaluate(simulated + at, gpu + at, bounds_);
            if (!outcome.differs) continue;
            ++summary.differing;
            special.nan_simulated += outcome.nan_simulated;
            special.nan_gpu += outcome.nan_gpu;
            special.nan_bits += outcome.nan_bits;
            special.zero_signs += outcome.zero_signs;
            if (outcome.has_distance) {
                summary.greatest_absolute = std::max(summary.greatest_absolute, outcome.absolute);
                summary.greatest_relative = std::max(summary.greatest_relative, outcome.relative);
                summary.greatest_ulp = std::max(summary.greatest_ulp, outcome.ulp);
            }
            if (!outcome.mismatched) continue;
            ++summary.mismatched;
            if (before == nullptr) continue;
            summary.unchanged_simulated += std::memcmp(simulated + at, before + at, values_.bytes()) == 0;
            summary.unchanged_gpu += std::memcmp(gpu + at, before + at, values_.bytes()) == 0;
        }
        summary.exceeds_relative = true;
        return summary;
    }

    void mark(const std::byte* simulated, const std::byte* gpu, std::size_t count,
              std::uint8_t* marks) const override {
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint64_t at = i * values_.bytes();
            const Outcome outcome = values_.evaluate(simulated + at, gpu + at, bounds_);
            if (outcome.differs) marks[i] |= differs_mark;
            if (outcome.mismatched) marks[i] |= mismatched_mark;
        }
    }

  private:
    void set_bounds(const Tolerance& asked) {
        tolerance_.exact = asked.exact || (!Values::has_ulp && !asked.rtol && !asked.atol);
        if (tolerance_.exact) return;
        const bool by_size = asked.rtol || asked.atol || !asked.ulp;
        if (by_size) {
            tolerance_.rtol = asked.rtol.value_or(Values::rtol);
            tolerance_.atol = asked.atol.value_or(std::max(Values::atol, 0.0));
            bounds_ = {.rtol = *tolerance_.rtol, .atol = *tolerance_.atol};
        }
        if (asked.ulp && Values::has_ulp) {
            tolerance_.ulp = asked.ulp;
            constexpr double most = 0x1p63;
            bounds_.ulp = static_cast<std::uint64_t>(std::min(std::floor(*asked.ulp), most)) + 1;
        }
    }

    Values values_;
};

template <class Values>
std::unique_ptr<ValueComparer> make_of(const ElementType& type, const Tolerance& tolerance) {
    return std::make_unique<ComparerOf<Values>>(type, tolerance);
}

}  // namespace

void check(const Tolerance& tolerance) {
    const auto check_one = [](const std::optional<double>& value, const char* name) {
        if (value && !(*value >= 0 && std::isfinite(*value)))
            throw std::invalid_argument(std::string("the tolerance ") + name + " is " +
                                        std::to_string(*value) +
                                        "; give a number that is finite and not negative");
    };
    check_one(tolerance.rtol, "rtol");
    check_one(tolerance.atol, "atol");
    check_one(tolerance.ulp, "ulp");
}

std::unique_ptr<ValueComparer> ValueComparer::make(const ElementType& type, const Tolerance& tolerance) {
    // Of booleans, dates, texts and bytes nothing is nearly the same.
    const Tolerance exact{.exact = true};
    switch (type.kind) {
        case Kind::signed_integer:
            if (type.bytes == 1) return make_of<IntegerValues<std::int8_t>>(type, tolerance);
            if (type.bytes == 2) return make_of<IntegerValues<std::int16_t>>(type, tolerance);
            if (type.bytes == 4) return make_of<IntegerValues<std::int32_t>>(type, tolerance);
            return make_of<IntegerValues<std::int64_t>>(type, tolerance);
        case Kind::unsigned_integer:
            if (type.bytes == 1) return make_of<IntegerValues<std::uint8_t>>(type, tolerance);
            if (type.bytes == 2) return make_of<IntegerValues<std::uint16_t>>(type, tolerance);
            if (type.bytes == 4) return make_of<IntegerValues<std::uint32_t>>(type, tolerance);
            return make_of<IntegerValues<std::uint64_t>>(type, tolerance);
        case Kind::floating:
            if (type.bytes == 2) return make_of<FloatValues<Float16>>(type, tolerance);
            if (type.bytes == 4) return make_of<FloatValues<Float32>>(type, tolerance);
            return make_of<FloatValues<Float64>>(type, tolerance);
        case Kind::bfloat16:
            return make_of<FloatValues<BFloat16>>(type, tolerance);
        case Kind::complex:
            if (type.bytes == 8) return make_of<ComplexValues<Float32>>(type, tolerance);
            return make_of<ComplexValues<Float64>>(type, tolerance);
        case Kind::boolean:
        case Kind::datetime:
        case Kind::timedelta:
        case Kind::bytes:
        case Kind::text:
        case Kind::opaque:
        case Kind::record:
            break;
    }
    return make_of<PlainValues>(type, exact);
}

}  // namespace cudasim::comparison
