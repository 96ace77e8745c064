#include "tests/gpu_backend/libcuda/stand_in/planting.h"

#include <unistd.h>

#include <csignal>
#include <map>
#include <mutex>

namespace cudasim::stand_in {
namespace {

/// Calls are counted from the moment on at which the settings changed.
struct Counts {
    std::mutex mutex;
    std::uint64_t edition = 0;
    std::uint64_t calls = 0, launches = 0;
    std::map<std::string, std::uint64_t> by_symbol;
    std::optional<int> lasting;  ///< the code that every call returns

    /// With the lock.
    const Settings& current() {
        const Settings& now = settings();
        if (now.edition != edition) {
            edition = now.edition;
            calls = launches = 0;
            by_symbol.clear();
            lasting.reset();
        }
        return now;
    }
};

Counts& counts() {
    static auto* const instance = new Counts;
    return *instance;
}

/// The failure of the call that is made now.
std::optional<PlantedCall> failure_of(const char* symbol) {
    Counts& counted = counts();
    const std::lock_guard lock(counted.mutex);
    const Settings& now = counted.current();
    const std::uint64_t call = ++counted.calls, of_symbol = ++counted.by_symbol[symbol];
    if (counted.lasting) return PlantedCall{.symbol = symbol, .code = *counted.lasting};
    for (const auto& planted : now.calls) {
        if (planted.symbol != "call" && planted.symbol != symbol) continue;
        if (planted.which != 0 && planted.which != (planted.symbol == "call" ? call : of_symbol)) continue;
        if (planted.lasts) counted.lasting = planted.code;
        return planted;
    }
    return std::nullopt;
}

}  // namespace

std::optional<libcuda::Result> planted_in_call(const char* symbol) {
    const auto failure = failure_of(symbol);
    if (!failure) return std::nullopt;
    if (failure->what == PlantedCall::What::crash) std::raise(SIGSEGV);
    while (failure->what == PlantedCall::What::hang) pause();
    return static_cast<libcuda::Result>(failure->code);
}

std::vector<PlantedLaunch> planted_in_launch() {
    Counts& counted = counts();
    const std::lock_guard lock(counted.mutex);
    const Settings& now = counted.current();
    const std::uint64_t launch = ++counted.launches;
    std::vector<PlantedLaunch> found;
    for (const auto& planted : now.launches)
        if (planted.which == 0 || planted.which == launch) found.push_back(planted);
    return found;
}

}  // namespace cudasim::stand_in
