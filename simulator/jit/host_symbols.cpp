// See host_symbols.h.
#include "simulator/jit/host_symbols.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "simulator/libdevice/cuda_cpp_functions.h"
#include "simulator/libdevice/host_functions.h"

extern "C" {  // compiler-rt / libgcc: 128-bit integers
__int128 __divti3(__int128, __int128);
__int128 __modti3(__int128, __int128);
unsigned __int128 __udivti3(unsigned __int128, unsigned __int128);
unsigned __int128 __umodti3(unsigned __int128, unsigned __int128);
#if defined(__x86_64__)  // AArch64 converts float16 by instructions
// Functions of compiler-rt for float16. This compiler's C++ has no such type, so only their addresses are of
// use.
void __extendhfsf2();
void __truncsfhf2();
void __truncdfhf2();
#endif
}

namespace cudasim::jit {
namespace {

/// Functions of compiler-rt for bfloat16, which libgcc 12 lacks. The result is the lower half of a
/// floating-point register, as that of a function that returns float.
float nearest_bfloat(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    std::uint32_t upper = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    if (std::isnan(x)) upper = bits >> 16 | 0x40;
    return std::bit_cast<float>(upper);
}
float nearest_bfloat_of_double(double x) {
    // Odd in its last bit where it is not exact: then rounding twice is rounding once.
    auto narrow = static_cast<float>(x);
    if (std::isfinite(narrow) && static_cast<double>(narrow) != x) {
        if (std::fabs(static_cast<double>(narrow)) > std::fabs(x)) narrow = std::nextafter(narrow, 0.0F);
        narrow = std::bit_cast<float>(std::bit_cast<std::uint32_t>(narrow) | 1);
    }
    return nearest_bfloat(narrow);
}

template <class Type>
void* address(Type* function) {
    return reinterpret_cast<void*>(function);
}

}  // namespace

const std::vector<std::pair<std::string_view, void*>>& host_symbols() {
    using namespace libdevice;
    static const std::vector<std::pair<std::string_view, void*>> symbols = {
#define LIBDEVICE(name, type, function, lowering) {"__nv_" #name, address<type>(function)},
#include "simulator/libdevice/functions.def"
#undef LIBDEVICE
#define HOST(name, type, function) {name, address<type>(function)},
#define LLVM(name, type, intrinsic)
#define EMIT(name, type, emitter)
#include "simulator/jit/intrinsics.def"
#undef HOST
#undef LLVM
#undef EMIT
        // What LLVM's code generator calls for intrinsics and for types the CPU lacks.
        {"memcpy", address<void*(void*, const void*, std::size_t)>(::memcpy)},
        {"memmove", address<void*(void*, const void*, std::size_t)>(::memmove)},
        {"memset", address<void*(void*, int, std::size_t)>(::memset)},
#define LIBM_1(name) {#name, address<double(double)>(::name)}, {#name "f", address<float(float)>(::name##f)},
#define LIBM_2(name) \
    {#name, address<double(double, double)>(::name)}, {#name "f", address<float(float, float)>(::name##f)},
        LIBM_1(sin) LIBM_1(cos) LIBM_1(tan) LIBM_1(exp) LIBM_1(exp2) LIBM_1(exp10) LIBM_1(log) LIBM_1(log2)
            LIBM_1(log10) LIBM_1(round) LIBM_1(floor) LIBM_1(ceil) LIBM_1(trunc) LIBM_1(rint)
                LIBM_1(nearbyint) LIBM_1(roundeven) LIBM_2(pow) LIBM_2(fmod) LIBM_2(fmin) LIBM_2(fmax)
#undef LIBM_1
#undef LIBM_2
                    {"fma", address<double(double, double, double)>(::fma)},
        {"fmaf", address<float(float, float, float)>(::fmaf)},
        {"ldexp", address<double(double, int)>(::ldexp)},
        {"ldexpf", address<float(float, int)>(::ldexpf)},
        {"__divti3", address(&__divti3)},
        {"__modti3", address(&__modti3)},
        {"__udivti3", address(&__udivti3)},
        {"__umodti3", address(&__umodti3)},
        {"__truncsfbf2", address(&nearest_bfloat)},
        {"__truncdfbf2", address(&nearest_bfloat_of_double)},
#if defined(__x86_64__)
        {"__extendhfsf2", address(&__extendhfsf2)},
        {"__truncsfhf2", address(&__truncsfhf2)},
        {"__truncdfhf2", address(&__truncdfhf2)},
#endif
    };
    return symbols;
}

}  // namespace cudasim::jit
