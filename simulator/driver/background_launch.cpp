// See background_launch.h.
#include "simulator/driver/background_launch.h"

#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <mutex>
#include <set>
#include <thread>

#include "simulator/checks/checks.h"
#include "simulator/driver/devices.h"
#include "simulator/driver/event.h"
#include "simulator/driver/host_ranges.h"
#include "simulator/driver/stream_work.h"
#include "simulator/execution/worker_pool.h"

namespace cudasim::driver {

namespace {

/// So long no block may come to its end: shorter where threads give up their turns as quickly as spinning
/// ones do.
constexpr double longest_spin = 0.1, longest_without_end = 1;
/// A thread that waits looks at memory 32 times in a turn (jit::fuel_per_spin); one that computes does 16,384
/// iterations of a loop, which take some 10 microseconds and more.
constexpr double least_turns_of_worker_per_second = 100'000;
constexpr auto longest_end = std::chrono::seconds(5);

struct All {
    std::mutex mutex;
    std::set<BackgroundLaunch*> launches;
};
All& all() {
    static All& only = *new All;  // used until the end of the process
    return only;
}

/// 0: unknown.
unsigned threads_of_process() {
    struct stat status{};
    if (stat("/proc/self/task", &status) != 0 || status.st_nlink < 3) return 0;
    return static_cast<unsigned>(status.st_nlink - 2);
}

/// Whether a function of the program may be called by a signal while all of its threads wait.
bool handles_signals() {
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE, SIGALRM, SIGTERM, SIGCHLD,
                             SIGURG, SIGVTALRM, SIGPROF, SIGIO}) {
        struct sigaction action{};
        if (sigaction(signal, nullptr, &action) != 0) return true;
        if ((action.sa_flags & SA_SIGINFO) != 0 ||
            (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN))
            return true;
    }
    return false;
}

}  // namespace

/// The offer that a launch begins with.
struct Leaving final : execution::Departure {
    explicit Leaving(const LaunchPlan& the_plan) : plan(the_plan) {}

    std::shared_ptr<execution::DepartedLaunch> leaves(const execution::LaunchProgress& progress,
                                                      std::uint64_t turns) override {
        if (progress.blocks_done != blocks_done) {
            blocks_done = progress.blocks_done;
            since = progress.seconds;
            turns_before = turns;
            return nullptr;
        }
        const double seconds = progress.seconds - since;
        if (seconds < longest_spin) return nullptr;
        const auto workers = std::min<std::uint64_t>(std::max(1U, std::thread::hardware_concurrency()),
                                                     progress.blocks - progress.blocks_done);
        const double least = seconds * least_turns_of_worker_per_second * static_cast<double>(workers);
        if (seconds < longest_without_end && static_cast<double>(turns - turns_before) < least)
            return nullptr;
        left = std::make_shared<BackgroundLaunch>(plan);
        return left;
    }

    const LaunchPlan& plan;
    std::shared_ptr<BackgroundLaunch> left;
    std::uint64_t blocks_done = 0, turns_before = 0;
    double since = 0;

    static RunOrLeft run(const LaunchPlan& plan, std::span<const std::byte> parameters) {
        Leaving leaving(plan);
        RunOrLeft came_to;
        {
            const OfThisThread offered(leaving);
            came_to.result = driver::run(plan, parameters, plan.options);
        }
        if (auto rest = leaving.take_rest()) {
            leaving.left->rest_ = std::move(rest);
            came_to.left = std::move(leaving.left);
        }
        return came_to;
    }
};

RunOrLeft run_or_leave(const LaunchPlan& plan, std::span<const std::byte> parameters) {
    return Leaving::run(plan, parameters);
}

bool may_wait_for_others(streams::StreamKey stream) {
    return stream.handle != streams::StreamKey::legacy_default || stream_was_created() ||
           !HostRanges::of_this_process().empty();
}

BackgroundLaunch::BackgroundLaunch(const LaunchPlan& plan)
    : device_(plan.device),
      loaded_(plan.loaded),
      display_name_(plan.display_name),
      scope_(std::in_place, *device_) {
    const std::lock_guard lock(all().mutex);
    all().launches.insert(this);
}

execution::LaunchResult BackgroundLaunch::finish() {
    auto result = rest_->finish();
    checks::drop_consequences(result.findings);
    for (auto& finding : result.findings) finding.kernel = display_name_;
    rest_.reset();
    scope_.reset();
    const std::lock_guard lock(all().mutex);
    all().launches.erase(this);
    return result;
}

void BackgroundLaunch::end(const std::string& when) {
    if (is_to_end_) return;
    ended_when_ = when;
    is_to_end_ = true;
}

std::string BackgroundLaunch::ended_when() const {
    return is_to_end_ ? ended_when_ : "";
}

bool BackgroundLaunch::end_all(std::optional<int> device, const std::string& when,
                               std::chrono::milliseconds grace) {
    StreamWork& work = StreamWork::of_this_process();
    if (work.in_background() == 0 || work.wait_for_background(device, grace)) return true;
    {
        const std::lock_guard lock(all().mutex);
        for (BackgroundLaunch* each : all().launches)
            if (!device || Devices::of_this_process().get(*device, "")->engine() == each->device_)
                each->end(when);
    }
    return work.wait_for_background(device, longest_end);
}

/// Other launches, threads of the program that do not wait for this one, handlers of signals, and other
/// processes, which may have registered memory, too. Nothing is known of a thread but that it is there.
bool BackgroundLaunch::others_may_write() {
    StreamWork& work = StreamWork::of_this_process();
    if (work.in_background() != 1 || work.idle_threads() == 0 ||
        HostRanges::of_this_process().any_registered())
        return true;
    // This launch has one thread besides those of pools.
    const unsigned known = work.idle_threads() + execution::WorkerPool::threads_of_process() + 1;
    return threads_of_process() != known || handles_signals();
}

}  // namespace cudasim::driver
