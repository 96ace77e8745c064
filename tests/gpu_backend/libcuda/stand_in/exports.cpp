// The stand-in for libcuda.so.1: every symbol of functions.def, with what CUDASIM_TEST_LIBCUDA plants in
// front of what the function does (settings.h).
//
// A symbol is an indirect function: dlsym() calls its resolver each time, which returns null for a symbol
// that is to be missing.
#include <unistd.h>

#include <csignal>

#include "gpu_backend/libcuda/functions.h"
#include "tests/gpu_backend/libcuda/stand_in/behaviour.h"
#include "tests/gpu_backend/libcuda/stand_in/settings.h"

namespace cudasim::libcuda {
namespace {

/// What a call of `symbol` does before anything else; nullopt: nothing.
std::optional<Result> planted(const char* symbol) {
    const auto settings = stand_in::settings();
    if (settings.crashing.contains(symbol)) std::raise(SIGSEGV);
    while (settings.hanging.contains(symbol)) pause();
    const auto found = settings.results.find(symbol);
    if (found == settings.results.end()) return std::nullopt;
    return static_cast<Result>(found->second);
}

template <typename Row, typename Type>
struct Exported;
template <typename Row, typename... Arguments>
struct Exported<Row, Result(Arguments...)> {
    static Result call(Arguments... arguments) {
        if (const auto result = planted(Row::symbol)) return *result;
        return Row::template run<stand_in::Behaviour>(arguments...);
    }
};

using Code = void (*)();

template <typename Row, typename Type>
Code address_unless_missing() {
    if (stand_in::settings().lacks(Row::symbol)) return nullptr;
    return reinterpret_cast<Code>(&Exported<Row, Type>::call);
}

#define FUNCTION(name, version, need, parameters)                \
    struct name##_row {                                          \
        static constexpr const char* symbol = #name #version;    \
        template <typename Behaviour, typename... Arguments>     \
        static Result run([[maybe_unused]] Arguments... given) { \
            if constexpr (requires { &Behaviour::name; })        \
                return Behaviour::name(given...);                \
            else                                                 \
                return Result::not_supported;                    \
        }                                                        \
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
