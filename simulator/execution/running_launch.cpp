// See running_launch.h.
#include "simulator/execution/running_launch.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <thread>
#include <utility>

#include "simulator/execution/captured_values.h"
#include "simulator/execution/departure.h"
#include "simulator/execution/fault_report.h"
#include "simulator/execution/fault_signals.h"
#include "simulator/execution/launch_limits.h"
#include "simulator/execution/launch_memory.h"
#include "simulator/execution/stop.h"
#include "simulator/fiber/stack_slab.h"
#include "simulator/memory/host_guard.h"

namespace cudasim::execution {

namespace {

/// Cores that this process may run on. Asked once: the question costs as much as an empty launch.
unsigned core_count() {
    static const unsigned count = [] {
        cpu_set_t cores;
        if (sched_getaffinity(0, sizeof cores, &cores) == 0) return static_cast<unsigned>(CPU_COUNT(&cores));
        return std::max(1U, std::thread::hardware_concurrency());  // more of them than a cpu_set_t has bits
    }();
    return count;
}

/// Beyond these, host threads only wait for cores. Enough for schedules that want some on a small machine.
constexpr unsigned most_workers_per_core = 4, always_allowed_workers = 8;

/// The number of workers that were asked for, or as many as are of use.
unsigned worker_count(const LaunchOptions& options, std::uint64_t blocks) {
    const unsigned most = std::max(most_workers_per_core * core_count(), always_allowed_workers);
    if (options.stop_handler) return 1;
    // One, where each access of a thread is a turn: that is the order to be repeated.
    const unsigned wanted = options.interleaves()  ? 1
                            : options.workers != 0 ? std::min(options.workers, most)
                                                   : core_count();
    return static_cast<unsigned>(std::min<std::uint64_t>(wanted, blocks));
}

struct HostKernelScope {
    explicit HostKernelScope(HostKernel* host_kernel) : kernel(host_kernel) {
        if (kernel) kernel->begin();
    }
    ~HostKernelScope() {
        if (kernel) kernel->end();
    }
    HostKernelScope(const HostKernelScope&) = delete;
    HostKernelScope& operator=(const HostKernelScope&) = delete;
    HostKernel* kernel;
};

/// @return on how many workers it runs
unsigned begin(Launch& launch) {
    const std::uint64_t at_a_time = launch.configuration.cluster_blocks();
    const std::uint64_t times = launch.block_count / at_a_time;
    const unsigned workers = worker_count(launch.options, times);
    launch.blocks_at_a_time = at_a_time;
    launch.grid.start(launch.block_count);
    const unsigned most = resident_blocks(*launch.profile, launch);
    launch.all_resident = launch.cooperative && launch.block_count <= most;
    launch.resident_blocks = launch.all_resident
                                 ? static_cast<std::uint32_t>(launch.block_count)
                                 : std::max(static_cast<std::uint32_t>(at_a_time), most / workers);
    launch.blocks_per_worker = (times + workers - 1) / workers * at_a_time;
    launch.start = Clock::now();
    if (launch.options.stop_handler) {
        launch.stops = std::make_unique<StoppedLaunch>(launch, *launch.options.stop_handler);
        launch.stops->begin();
    }
    launch.options.observers.launch_begins(
        {launch.kernel_name, launch.configuration.grid, launch.configuration.block,
         launch.configuration.dynamic_shared_bytes, launch.host_kernel != nullptr,
         launch.stops ? launch.stops->memory_before() : nullptr});
    launch.start = Clock::now();
    launch.has_deadline = launch.options.time_limit_seconds > 0;
    if (launch.has_deadline)
        launch.deadline =
            launch.start + std::chrono::duration_cast<Clock::duration>(
                               std::chrono::duration<double>(launch.options.time_limit_seconds));
    return workers;
}

/// @return whether they are over; else the launch leaves
bool run_blocks(WorkerPool& pool, Launch& launch, unsigned workers, LeavingLaunch* leaving) {
    do {
        try {
            HostKernelScope scope(launch.host_kernel);
            pool.run(launch, workers, leaving);
        } catch (const std::bad_alloc&) {  // before it began
            launch.run_out_of_memory({}, 0);
        }
        if (leaving != nullptr && leaving->leaves()) return false;
    } while (launch.stops && launch.stops->begins_again());
    return true;
}

LaunchResult result_of(Launch& launch) {
    if (launch.stop.load() == Stop::deadlock) launch.findings.add(describe_deadlock(launch));
    if (launch.stop.load() == Stop::out_of_memory) launch.findings.add(describe_shortage(launch));
    if (launch.output && !launch.output->write_rest()) launch.request_stop(Stop::interrupted);
    if (!launch.options.observers.empty()) {
        const auto findings = findings_of_observers(launch);
        launch.options.observers.adds_findings(*findings);
    }
    LaunchResult result;
    result.findings = launch.findings.take();
    keep_global_arrays(launch, result.findings);
    launch.options.observers.launch_ends(result.findings);
    result.blocks_run = launch.blocks_run.load();
    launch.stops.reset();  // the handler is told
    return result;
}

/// A launch that has left, with the workers that it began on.
class Rest final : public LaunchRest {
  public:
    Rest(LaunchPlaces& places, std::unique_ptr<Launch> launch, std::unique_ptr<LeavingLaunch> leaving,
         unsigned workers)
        : places_(places),
          parameters_(launch->parameters.begin(), launch->parameters.end()),
          launch_(std::move(launch)),
          leaving_(std::move(leaving)),
          workers_(workers),
          pool_(places.take_pool()) {
        launch_->parameters = parameters_;
    }

    [[nodiscard]] LaunchResult finish() override {
        (void)run_blocks(*pool_, *launch_, workers_, leaving_.get());
        places_.bring_back(std::move(pool_));
        return result_of(*launch_);
    }

  private:
    const memory::host_guard::EngineAccess access_;
    const FaultSignals signals_;
    LaunchPlaces& places_;
    const std::vector<std::byte> parameters_;
    const std::unique_ptr<Launch> launch_;
    const std::unique_ptr<LeavingLaunch> leaving_;
    const unsigned workers_;
    std::unique_ptr<WorkerPool> pool_;
};

/// What a launch that may leave asks about every 50 ms, before its departure and after.
std::unique_ptr<LeavingLaunch> offer_departure(Launch& launch) {
    if (launch.host_kernel != nullptr || launch.options.stop_handler != nullptr ||
        !launch.options.observers.empty())
        return nullptr;
    auto leaving = std::make_unique<LeavingLaunch>(*Departure::offered());
    leaving->take_poll(std::move(launch.options.poll_host));
    launch.options.poll_host = [asked = leaving.get()](const LaunchProgress& progress) {
        return asked->ask(progress);
    };
    return leaving;
}

}  // namespace

void LaunchPlaces::bring_back(std::unique_ptr<WorkerPool> used) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(used));
}

WorkerPool& LaunchPlaces::pool_in_use() {
    if (pool) [[likely]]
        return *pool;
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) {
        pool = std::make_unique<WorkerPool>();
    } else {
        pool = std::move(idle_.back());
        idle_.pop_back();
    }
    return *pool;
}

unsigned resident_blocks(const DeviceProfile& profile, const Launch& launch) {
    const std::uint64_t threads = launch.configuration.block.volume();
    const unsigned occupied = occupancy(profile, threads, launch.shared_bytes);
    if (!launch.host_kernel || !launch.host_kernel->guarded_stacks()) return occupied;
    return static_cast<unsigned>(std::min<std::uint64_t>(occupied, fiber::most_guarded_stacks / threads));
}

LaunchResult run_launch(LaunchPlaces& places, NewLaunch& made) {
    Launch& launch = *made;
    static std::atomic<std::uint32_t> launches{0};
    launch.number = launches.fetch_add(1, std::memory_order_relaxed) + 1;
    launch.block_count = launch.configuration.grid.volume();
    std::unique_ptr<LeavingLaunch> leaving = made.may_leave() ? offer_departure(launch) : nullptr;
    const LaunchTurns::Turn turn(places.turns, launch);
    if (!turn) return {};
    const unsigned workers = begin(launch);
    const FaultSignals signals;
    if (run_blocks(places.pool_in_use(), launch, workers, leaving.get())) return result_of(launch);
    Departure& departure = leaving->caller_goes();
    departure.leave(std::make_unique<Rest>(places, made.take(), std::move(leaving), workers));
    return {};
}

}  // namespace cudasim::execution
