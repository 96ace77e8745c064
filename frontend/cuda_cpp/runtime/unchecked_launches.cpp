// See unchecked_launches.h.
#include "frontend/cuda_cpp/runtime/unchecked_launches.h"

#include <cstdio>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "frontend/cuda_cpp/host_code/host_lines.h"

namespace cudasim::cudart {
namespace {

struct FailedLaunch {
    std::thread::id thread;  ///< that asks for its errors itself
    HostCall call;
};

/// More places than people read about.
constexpr std::size_t most_reported = 10;

struct State {
    std::mutex mutex;
    std::vector<FailedLaunch> failed;
    std::set<const void*> places;  ///< of those, each once
};

State& state() {
    static State& only = *new State;
    return only;
}

}  // namespace

void note_failed_launch(const HostCall& call) {
    const std::lock_guard lock(state().mutex);
    if (state().failed.size() >= most_reported || !state().places.insert(call.return_address).second) return;
    state().failed.push_back({std::this_thread::get_id(), call});
}

void note_errors_asked() {
    const std::lock_guard lock(state().mutex);
    if (state().failed.empty()) return;
    const auto self = std::this_thread::get_id();
    std::erase_if(state().failed, [&](const FailedLaunch& each) {
        if (each.thread != self) return false;
        state().places.erase(each.call.return_address);
        return true;
    });
}

bool report_unchecked_launches() {
    const std::lock_guard lock(state().mutex);
    std::fflush(stdout);
    for (const auto& each : state().failed)
        std::fprintf(stderr,
                     "cudasim: the launch %s failed, and the program never asked for its error "
                     "(cudaGetLastError)\n",
                     cuda_cpp::host_place(each.call.return_address).c_str());
    return !state().failed.empty();
}

}  // namespace cudasim::cudart
