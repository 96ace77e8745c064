// The stand-in for libcuda.so.1: every symbol of functions.def, with what CUDASIM_TEST_LIBCUDA plants in
// front of what the function does (settings.h).
//
// A symbol is an indirect function: dlsym() calls its resolver each time, which returns null for a symbol
// that is to be missing.
#include "gpu_backend/libcuda/functions.h"
#include "tests/gpu_backend/libcuda/stand_in/behaviour.h"
#include "tests/gpu_backend/libcuda/stand_in/planting.h"
#include "tests/gpu_backend/libcuda/stand_in/settings.h"

namespace cudasim::libcuda {
namespace {

template <typename Row, typename Type>
struct Exported;
template <typename Row, typename... Arguments>
struct Exported<Row, Result(Arguments...)> {
    static Result call(Arguments... arguments) {
        if (const auto result = stand_in::planted_in_call(Row::symbol)) return *result;
        return Row::run(arguments...);
    }
};

using Code = void (*)();

template <typename Row, typename Type>
Code address_unless_missing() {
    if (stand_in::settings().lacks(Row::symbol)) return nullptr;
    return reinterpret_cast<Code>(&Exported<Row, Type>::call);
}

#define FUNCTION(name, version, need, parameters)             \
    struct name##_row {                                       \
        static constexpr const char* symbol = #name #version; \
        template <typename... Arguments>                      \
        static Result run(Arguments... given) {               \
            return stand_in::Behaviour::name(given...);       \
        }                                                     \
    };
#include "gpu_backend/libcuda/functions.def"
#undef FUNCTION

}  // namespace

#define FUNCTION(name, version, need, parameters)                                    \
    extern "C" Code resolve_##name##version() {                                      \
        return address_unless_missing<name##_row, Result parameters>();              \
    }                                                                                \
    extern "C" [[gnu::visibility("default"), gnu::ifunc("resolve_" #name #version)]] \
    void name##version();
#include "gpu_backend/libcuda/functions.def"
#undef FUNCTION

}  // namespace cudasim::libcuda
