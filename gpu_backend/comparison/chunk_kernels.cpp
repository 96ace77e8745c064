#include "gpu_backend/comparison/chunk_kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "gpu_backend/comparison/float_formats.h"

namespace cudasim::comparison {
namespace {

template <class T>
const T* values(const std::byte* bytes) {
    return reinterpret_cast<const T*>(bytes);
}

// The loops below are written for the vectoriser: conditions are integers as wide as the values, sums and
// maxima are of unsigned integers, and nothing branches. Chunks are short enough for sums of 16 bits. Values
// need not be aligned, which x86-64 and AArch64 allow.

template <class Format>
struct FloatLoops {
    using Bits [[gnu::may_alias, gnu::aligned(1)]] = typename Format::Bits;
    using Plain = typename Format::Bits;
    using Real = decltype(Format::value(0));
    using RealBits = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;

    static constexpr Plain magnitude_mask = static_cast<Plain>(~sign_bit<Format>);

    [[gnu::always_inline]] static Plain steps(Plain s, Plain g) {
        const Plain a = s & magnitude_mask, b = g & magnitude_mask;
        const Plain along = a > b ? static_cast<Plain>(a - b) : static_cast<Plain>(b - a);
        return static_cast<Plain>(s ^ g) >= sign_bit<Format> ? static_cast<Plain>(a + b) : along;
    }

    template <bool WithBefore>
    [[gnu::always_inline]] static ChunkSummary summarise(const std::byte* simulated, const std::byte* gpu,
                                                         const std::byte* before, std::size_t count,
                                                         const Bounds& bounds, double best_relative) {
        const Bits *first = values<Bits>(simulated), *second = values<Bits>(gpu),
                   *third = values<Bits>(before);
        const Real atol = static_cast<Real>(bounds.atol), rtol = static_cast<Real>(bounds.rtol);
        // Of float32 values the quotient may be greater than any float32.
        const Real best =
            static_cast<Real>(std::min<double>(best_relative, std::numeric_limits<Real>::max()));
        const Plain bound = limited(bounds.ulp);
        Plain differing = 0, mismatched = 0, zeros = 0, exceeds = 0, ulp = 0, kept_simulated = 0,
              kept_gpu = 0;
        RealBits absolute = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const Plain s = first[i], g = second[i];
            const Real y = Format::value(g), difference = std::fabs(Format::value(s) - y),
                       size = std::fabs(y);
            const Plain distance = steps(s, g);
            const Plain differs = s != g;
            const Plain is_mismatched = static_cast<Plain>(!(difference <= atol + rtol * size)) &
                                        static_cast<Plain>(distance >= bound) & differs;
            differing += differs;
            mismatched += is_mismatched;
            zeros |= differs & static_cast<Plain>(distance == 0);
            // The bits of numbers that are not negative are in their order; infinity and NaN come last.
            const RealBits ordered = std::bit_cast<RealBits>(difference);
            absolute = ordered > absolute ? ordered : absolute;
            exceeds |= static_cast<Plain>(difference > best * size) & static_cast<Plain>(size > 0);
            ulp = distance > ulp ? distance : ulp;
            if constexpr (WithBefore) {
                kept_simulated += is_mismatched & static_cast<Plain>(third[i] == s);
                kept_gpu += is_mismatched & static_cast<Plain>(third[i] == g);
            }
        }
        ChunkSummary summary{.differing = differing,
                             .mismatched = mismatched,
                             .unchanged_simulated = kept_simulated,
                             .unchanged_gpu = kept_gpu,
                             .greatest_ulp = ulp};
        summary.greatest_absolute = static_cast<double>(std::bit_cast<Real>(absolute));
        summary.special =
            zeros != 0 || !(summary.greatest_absolute < std::numeric_limits<double>::infinity());
        if (exceeds != 0 && !summary.special) {
            summary.exceeds_relative = true;
            summary.greatest_relative = greatest_relative<Real>(first, second, count);
            if (std::isinf(summary.greatest_relative))
                summary.greatest_relative = greatest_relative<double>(first, second, count);
        }
        return summary;
    }

    template <class Quotient>
    [[gnu::always_inline]] static double greatest_relative(const Bits* first, const Bits* second,
                                                           std::size_t count) {
        using QuotientBits = std::conditional_t<sizeof(Quotient) == 4, std::uint32_t, std::uint64_t>;
        QuotientBits greatest = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const Quotient y = Format::value(second[i]), size = std::fabs(y);
            const Quotient apart = std::fabs(static_cast<Quotient>(Format::value(first[i])) - y);
            const Quotient relative = apart / (size > 0 ? size : Quotient{1});
            const QuotientBits ordered = size > 0 ? std::bit_cast<QuotientBits>(relative) : QuotientBits{0};
            greatest = ordered > greatest ? ordered : greatest;
        }
        return static_cast<double>(std::bit_cast<Quotient>(greatest));
    }

    [[gnu::always_inline]] static void mark(const std::byte* simulated, const std::byte* gpu,
                                            std::size_t count, const Bounds& bounds,
                                            std::uint8_t* __restrict marks) {
        const Bits *first = values<Bits>(simulated), *second = values<Bits>(gpu);
        const Real atol = static_cast<Real>(bounds.atol), rtol = static_cast<Real>(bounds.rtol);
        const Plain bound = limited(bounds.ulp);
        for (std::size_t i = 0; i < count; ++i) {
            const Plain s = first[i], g = second[i];
            const Real y = Format::value(g), difference = std::fabs(Format::value(s) - y);
            const Plain differs = s != g;
            const Plain is_mismatched = static_cast<Plain>(!(difference <= atol + rtol * std::fabs(y))) &
                                        static_cast<Plain>(steps(s, g) >= bound) & differs;
            marks[i] |= static_cast<std::uint8_t>(differs | is_mismatched << 1);
        }
    }

  private:
    static Plain limited(std::uint64_t ulp) {
        constexpr Plain most = std::numeric_limits<Plain>::max();
        return ulp < most ? static_cast<Plain>(ulp) : most;
    }
};

/// Compared exactly.
template <class Integer>
struct IntegerLoops {
    using Plain = std::make_unsigned_t<Integer>;
    using Value [[gnu::may_alias, gnu::aligned(1)]] = Integer;
    using Real = std::conditional_t<sizeof(Integer) <= 4, float, double>;
    using RealBits = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;

    [[gnu::always_inline]] static Plain distance(Integer s, Integer g) {
        const Plain difference = static_cast<Plain>(static_cast<Plain>(s) - static_cast<Plain>(g));
        return s < g ? static_cast<Plain>(Plain{0} - difference) : difference;
    }
    [[gnu::always_inline]] static Plain magnitude(Integer value) {
        return value < 0 ? static_cast<Plain>(Plain{0} - static_cast<Plain>(value))
                         : static_cast<Plain>(value);
    }

    template <bool WithBefore>
    [[gnu::always_inline]] static ChunkSummary summarise(const std::byte* simulated, const std::byte* gpu,
                                                         const std::byte* before, std::size_t count,
                                                         const Bounds&, double best_relative) {
        const Value *first = values<Value>(simulated), *second = values<Value>(gpu),
                    *third = values<Value>(before);
        // Sums of bytes would overflow.
        using Sum = std::conditional_t<sizeof(Integer) == 1, std::uint16_t, Plain>;
        Sum differing = 0, kept_simulated = 0, kept_gpu = 0;
        Plain greatest = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const Integer s = first[i], g = second[i];
            const Plain apart = distance(s, g);
            differing += static_cast<Sum>(s != g);
            greatest = apart > greatest ? apart : greatest;
            if constexpr (WithBefore) {
                kept_simulated += static_cast<Sum>(s != g) & static_cast<Sum>(third[i] == s);
                kept_gpu += static_cast<Sum>(s != g) & static_cast<Sum>(third[i] == g);
            }
        }
        ChunkSummary summary{.differing = differing,
                             .mismatched = differing,
                             .unchanged_simulated = kept_simulated,
                             .unchanged_gpu = kept_gpu,
                             .greatest_absolute = static_cast<double>(greatest)};
        // No relative difference is greater than the greatest difference, as sizes are whole numbers.
        if (summary.greatest_absolute > best_relative && exceeds(first, second, count, best_relative)) {
            summary.exceeds_relative = true;
            summary.greatest_relative = greatest_relative(first, second, count);
        }
        return summary;
    }

    [[gnu::always_inline]] static bool exceeds(const Value* first, const Value* second, std::size_t count,
                                               double best_relative) {
        const Real best = static_cast<Real>(best_relative);
        RealBits found = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const Integer s = first[i], g = second[i];
            const Real size = static_cast<Real>(magnitude(g));
            found |= static_cast<RealBits>(static_cast<Real>(distance(s, g)) > best * size) &
                     static_cast<RealBits>(g != 0);
        }
        return found != 0;
    }

    [[gnu::always_inline]] static double greatest_relative(const Value* first, const Value* second,
                                                           std::size_t count) {
        RealBits greatest = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const Integer s = first[i], g = second[i];
            const Real size = static_cast<Real>(magnitude(g));
            const Real relative = static_cast<Real>(distance(s, g)) / (size > 0 ? size : Real{1});
            const RealBits ordered = size > 0 ? std::bit_cast<RealBits>(relative) : RealBits{0};
            greatest = ordered > greatest ? ordered : greatest;
        }
        return static_cast<double>(std::bit_cast<Real>(greatest));
    }

    [[gnu::always_inline]] static void mark(const std::byte* simulated, const std::byte* gpu,
                                            std::size_t count, const Bounds&,
                                            std::uint8_t* __restrict marks) {
        const Value *first = values<Value>(simulated), *second = values<Value>(gpu);
        for (std::size_t i = 0; i < count; ++i)
            marks[i] |= first[i] != second[i] ? differs_mark | mismatched_mark : 0;
    }
};

#define CUDASIM_SUMMARISE(name, target)                                                                      \
    template <class Loops>                                                                                   \
    target ChunkSummary summarise_##name(const std::byte* simulated, const std::byte* gpu,                   \
                                         const std::byte* before, std::size_t count, const Bounds& bounds,   \
                                         double best_relative) {                                             \
        return before != nullptr                                                                             \
                   ? Loops::template summarise<true>(simulated, gpu, before, count, bounds, best_relative)   \
                   : Loops::template summarise<false>(simulated, gpu, before, count, bounds, best_relative); \
    }                                                                                                        \
    template <class Loops>                                                                                   \
    target void mark_##name(const std::byte* simulated, const std::byte* gpu, std::size_t count,             \
                            const Bounds& bounds, std::uint8_t* marks) {                                     \
        Loops::mark(simulated, gpu, count, bounds, marks);                                                   \
    }

CUDASIM_SUMMARISE(everywhere, )
#if defined(__x86_64__)
CUDASIM_SUMMARISE(avx2, [[gnu::target("avx2")]])
CUDASIM_SUMMARISE(avx512, [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")]])
#endif

template <class Loops>
ChunkKernels kernels() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return {&summarise_avx512<Loops>, &mark_avx512<Loops>};
    if (__builtin_cpu_supports("avx2")) return {&summarise_avx2<Loops>, &mark_avx2<Loops>};
#endif
    return {&summarise_everywhere<Loops>, &mark_everywhere<Loops>};
}

}  // namespace

ChunkKernels chunk_kernels_of(const ElementType& type) {
    switch (type.kind) {
        case Kind::boolean:
            return kernels<IntegerLoops<std::uint8_t>>();
        case Kind::signed_integer:
            if (type.bytes == 1) return kernels<IntegerLoops<std::int8_t>>();
            if (type.bytes == 2) return kernels<IntegerLoops<std::int16_t>>();
            if (type.bytes == 4) return kernels<IntegerLoops<std::int32_t>>();
            return kernels<IntegerLoops<std::int64_t>>();
        case Kind::unsigned_integer:
            if (type.bytes == 1) return kernels<IntegerLoops<std::uint8_t>>();
            if (type.bytes == 2) return kernels<IntegerLoops<std::uint16_t>>();
            if (type.bytes == 4) return kernels<IntegerLoops<std::uint32_t>>();
            return kernels<IntegerLoops<std::uint64_t>>();
        case Kind::floating:
            if (type.bytes == 2) return kernels<FloatLoops<Float16>>();
            if (type.bytes == 4) return kernels<FloatLoops<Float32>>();
            return kernels<FloatLoops<Float64>>();
        case Kind::bfloat16:
            return kernels<FloatLoops<BFloat16>>();
        case Kind::datetime:
        case Kind::timedelta:
            return kernels<IntegerLoops<std::int64_t>>();
        default:
            return {};
    }
}

}  // namespace cudasim::comparison
