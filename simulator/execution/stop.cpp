// See stop.h.
#include "simulator/execution/stop.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "simulator/execution/block_run.h"
#include "simulator/execution/captured_values.h"
#include "simulator/execution/fault_report.h"
#include "simulator/execution/launch_history.h"
#include "simulator/execution/worker.h"

namespace cudasim::execution {

std::vector<std::uint64_t> stop_flag_words(std::size_t flags) {
    std::vector<std::uint64_t> words(1 + (2 * flags + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
    std::memset(stop_flags_in(words) + flags, 1, flags);
    return words;
}

StoppedLaunch::StoppedLaunch(Launch& launch, StopHandler& handler)
    : launch_(launch), handler_(handler), watches_(launch) {
    if (launch.take_code_with_stops) code_ = Code::usual;
    launch.can_stop = !launch.take_code_with_stops;
    make_flags();
}

/// For the code that the launch runs now.
void StoppedLaunch::make_flags() {
    const Launch& launch = launch_;
    const std::size_t flags = launch.kernel ? launch.kernel->sites.size() : 0;
    words_ = stop_flag_words(flags);
    armed_ = {stop_flags_in(words_), flags};
    words_[0] = never;
    arm();
    depths_.clear();
    if (!launch.kernel) return;
    for (const findings::CallChain& chain : launch.kernel->sites)
        depths_.push_back(static_cast<std::uint32_t>(findings::without_own_code(chain).size()));
}

StoppedLaunch::~StoppedLaunch() {
    if (began_) handler_.launch_ends();
}

void StoppedLaunch::begin() {
    began_ = true;
    held_since_ = Clock::now();
    handler_.launch_begins(*this);
    if (runs_usual_code() && !history_) take_code_with_stops();
}

// Where to stop --------------------------------------------------------------------------------------------

void StoppedLaunch::stop_at(const std::string& file, std::uint32_t line, bool stops) {
    {
        const std::lock_guard lock(arming_);
        if (stops)
            lines_.emplace(file, line);
        else
            lines_.erase({file, line});
    }
    arm();
}

void StoppedLaunch::stop_everywhere(bool stops) {
    if (everywhere_.exchange(stops, std::memory_order_relaxed) != stops) arm();
}

/// The kernel may run meanwhile.
void StoppedLaunch::arm() {
    if (!launch_.kernel) return;
    const std::lock_guard lock(arming_);
    const bool everywhere = everywhere_.load(std::memory_order_relaxed);
    const std::vector<findings::CallChain>& sites = launch_.kernel->sites;
    for (std::size_t site = 0; site < sites.size(); ++site) {
        const bool stops =
            everywhere ||
            (!sites[site].empty() && lines_.contains({sites[site].front().file, sites[site].front().line}));
        std::atomic_ref(armed_[site]).store(stops ? 1 : 0, std::memory_order_relaxed);
    }
}

std::vector<Statement> statements_of(const jit::CompiledKernel& kernel) {
    std::vector<Statement> found;
    const std::vector<findings::CallChain>& sites = kernel.sites;
    for (const jit::StopPlace& place : kernel.stops.places)
        if (place.site < sites.size() && !sites[place.site].empty())
            found.push_back({place.site, &sites[place.site], place.is_breakpoint, place.is_entry});
    return found;
}

const findings::Finding* StoppedLaunch::fault(ThreadRef thread) const {
    const auto found = std::ranges::find(faults_, thread, &std::pair<ThreadRef, findings::Finding>::first);
    return found != faults_.end() ? &found->second : nullptr;
}

bool StoppedLaunch::stop_thread(ThreadRef thread, bool stops) {
    if (state(thread) >= ThreadState::faulted || !exists(thread)) return false;
    BlockRun& block = *find(thread.block);
    const std::uint32_t steps = block.stop_state(thread.thread).steps;
    block.set_steps(thread.thread, stops ? steps | jit::step_stops : steps & ~jit::step_stops);
    return true;
}

// Values that are returned ---------------------------------------------------------------------------------

void StoppedLaunch::await_return(std::optional<ThreadRef> thread, std::size_t depth) {
    const auto set = [&](ThreadRef which, std::uint32_t bit) {
        if (!exists(which)) return;
        BlockRun& block = *find(which.block);
        const std::uint32_t steps = block.stop_state(which.thread).steps;
        if (steps != ((steps & ~jit::step_returns) | bit))
            block.set_steps(which.thread, (steps & ~jit::step_returns) | bit);
    };
    if (awaited_return_) set(*awaited_return_, 0);
    awaited_return_.reset();
    returned_ = ~std::uint32_t{0};
    if (!thread || !launch_.kernel) return;
    std::size_t room = 0;
    for (const jit::CapturedVariable& value : launch_.kernel->stops.returns)
        room = std::max<std::size_t>(room, value.bytes);
    returned_bytes_.assign(room, {});
    awaited_return_ = thread;
    return_depth_ = depth;
    set(*thread, jit::step_returns);
}

void StoppedLaunch::returns(const jit::ThreadStop& here, const jit::BlockContext& block, std::uint32_t thread,
                            const void* value, std::uint32_t function, std::uint32_t site) noexcept {
    if (returned_ != ~std::uint32_t{0} || !awaited_return_ || awaited_return_->thread != thread ||
        awaited_return_->block != jit::linear_index(block) || depth_at(here, site) != return_depth_)
        return;
    std::memcpy(returned_bytes_.data(), value, launch_.kernel->stops.returns[function].bytes);
    returned_ = function;
}

std::optional<findings::VariableValue> StoppedLaunch::returned_value() const {
    if (returned_ == ~std::uint32_t{0}) return std::nullopt;
    const jit::Stops& stops = launch_.kernel->stops;
    const jit::CapturedVariable& described = stops.returns[returned_];
    findings::VariableValue value;
    value.name = described.name;
    value.type = stops.types[described.type];
    value.element_bytes = described.element_bytes;
    value.dimensions = described.dimensions;
    value.bytes.assign(returned_bytes_.begin(), returned_bytes_.begin() + described.bytes);
    value.known = true;
    return value;
}

// What to watch --------------------------------------------------------------------------------------------

std::optional<WatchedSpace> StoppedLaunch::space_of(ThreadRef thread, std::uint64_t address,
                                                    std::size_t bytes) const {
    {
        const std::lock_guard lock(*launch_.arena_mutex);
        if (launch_.arena->containing(address, bytes) != nullptr) return WatchedSpace::global;
    }
    if (!accessible(thread, address, bytes, false)) return std::nullopt;
    const std::span<std::byte> own = shared(thread.block);
    return contains(own.data(), own.size(), address, bytes) ? WatchedSpace::shared : WatchedSpace::local;
}

bool StoppedLaunch::watch(const MemoryWatch& watch) {
    watches_.remove(watch.id);
    if (!launch_.kernel || (watch.space == WatchedSpace::local) != watch.frame.has_value()) return false;
    for (const WatchedRange& range : watch.ranges) {
        if (range.count == 0 || range.bytes == 0) return false;
        const std::uint64_t bytes = range.extent();
        const bool is_there =
            watch.space == WatchedSpace::shared
                ? bytes <= launch_.shared_bytes && range.address <= launch_.shared_bytes - bytes
                : space_of(watch.frame ? watch.frame->thread : ThreadRef{}, range.address, bytes) ==
                      watch.space;
        if (!is_there) return false;
    }
    if (!watch.frame) return watches_.add(watch);
    if (!exists(watch.frame->thread)) return false;
    BlockRun& block = *find(watch.frame->thread.block);
    const std::uint32_t thread = watch.frame->thread.thread;
    if (!watches_.add_local(watch, block.stop_state(thread), block.context())) return false;
    block.set_steps(thread, block.stop_state(thread).steps | jit::step_watches);
    return true;
}

bool StoppedLaunch::watch(const VariableWatch& watch) {
    const ThreadRef thread = watch.frame.thread;
    watches_.remove(watch.id);
    if (!exists(thread) || launch_.host_kernel != nullptr) return false;
    BlockRun& block = *find(thread.block);
    jit::ThreadStop& stop = block.stop_state(thread.thread);
    if (!block.site_of(thread.thread) || !watches_.add(watch, stop, block.context())) return false;
    block.set_steps(thread.thread, stop.steps | jit::step_watches);
    return true;
}

bool StoppedLaunch::declares(const FrameRef& frame, std::string_view name) const {
    if (!exists(frame.thread) || launch_.host_kernel != nullptr) return false;
    BlockRun& block = *find(frame.thread.block);
    return block.site_of(frame.thread.thread) &&
           watches_.declares(frame, name, block.stop_state(frame.thread.thread), block.context());
}

bool StoppedLaunch::touched(const jit::BlockContext& block, std::uint32_t thread, const WatchHit& access,
                            std::uint32_t flags) noexcept {
    if (!watches_.touched(block, thread, access.address, access.bytes, flags, access.site)) return false;
    access_ = {access.address, access.site};
    return (repeats_ && is_awaited(block, thread, access_)) || wants_hits(block, thread);
}

bool StoppedLaunch::variables_changed(jit::ThreadStop& here, const jit::BlockContext& block,
                                      std::uint32_t thread) noexcept {
    return watches_.variables_changed(here, block, thread, count(), repeats_) && wants_hits(block, thread);
}

/// Whether the thread stops for what it has touched. If not, nobody is told of it.
bool StoppedLaunch::wants_hits(const jit::BlockContext& block, std::uint32_t thread) noexcept {
    if (!is_silent_ && handler_.wants_hits(block, thread, watches_.hits())) return true;
    watches_.forget_hits();
    return false;
}

bool StoppedLaunch::warned(const jit::BlockContext& block, std::uint32_t thread, std::uint32_t site,
                           const CountedWarning& warning) noexcept {
    access_ = {~std::uint64_t{0}, site};
    const bool is_repeated = repeats_ && is_awaited(block, thread, access_);
    if (!is_repeated && (is_silent_ || !handler_.wants_warning(block, thread, warning.kind, site)))
        return false;
    next_warning_ = {site, warning};
    watches_.is_in_statement(block.thread_stops[thread]);
    return true;
}

std::optional<findings::Finding> StoppedLaunch::warning() const {
    if (!warning_) return std::nullopt;
    auto [site, warning] = *warning_;
    warning.count = warning.threads = 1;
    warning.first = warning.last = coordinate(last_stopped_);
    return describe_counted(launch_, site, warning);
}

// What to look at ------------------------------------------------------------------------------------------

BlockRun* StoppedLaunch::find(std::uint64_t block) const {
    return worker_ != nullptr ? worker_->block_on_device(block) : nullptr;
}

bool StoppedLaunch::exists(ThreadRef thread) const {
    return thread.thread < threads_of_block() && find(thread.block) != nullptr;
}

std::vector<std::uint64_t> StoppedLaunch::blocks() const {
    return worker_ != nullptr ? worker_->blocks_on_device() : std::vector<std::uint64_t>();
}

std::uint32_t StoppedLaunch::threads_of_block() const {
    return static_cast<std::uint32_t>(launch_.configuration.block.volume());
}

ThreadState StoppedLaunch::state(ThreadRef thread) const {
    if (thread.thread >= threads_of_block() || thread.block >= launch_.block_count)
        return ThreadState::absent;
    if (const BlockRun* block = find(thread.block)) return block->state(thread.thread);
    return launch_.was_started(thread.block) ? ThreadState::over : ThreadState::not_started;
}

std::vector<ThreadPlace> StoppedLaunch::places(std::uint64_t block) const {
    BlockRun* run = find(block);
    return run != nullptr ? run->places_of_threads() : std::vector<ThreadPlace>();
}

std::optional<std::uint32_t> StoppedLaunch::site(ThreadRef thread) const {
    return exists(thread) ? find(thread.block)->site_of(thread.thread) : std::nullopt;
}

std::size_t StoppedLaunch::depth(ThreadRef thread) const {
    return location(thread).size();
}

findings::ThreadCoordinate StoppedLaunch::coordinate(ThreadRef thread) const {
    if (state(thread) == ThreadState::absent) return {};
    const auto point = [](std::uint64_t index, const findings::Dim3& extent) {
        return findings::Dim3{static_cast<std::uint32_t>(index % extent.x),
                              static_cast<std::uint32_t>(index / extent.x % extent.y),
                              static_cast<std::uint32_t>(index / extent.x / extent.y)};
    };
    return {thread.block, thread.thread, point(thread.block, launch_.configuration.grid),
            point(thread.thread, launch_.configuration.block)};
}

const jit::BlockContext* StoppedLaunch::context(std::uint64_t block) const {
    const BlockRun* run = find(block);
    return run != nullptr ? &run->context() : nullptr;
}

findings::CallChain StoppedLaunch::location(ThreadRef thread) const {
    if (!exists(thread)) return {};
    BlockRun& block = *find(thread.block);
    const auto site = block.site_of(thread.thread);
    if (!site) return {};
    if (launch_.host_kernel != nullptr)
        if (auto chain = launch_.host_kernel->location_of(block.coordinate(thread.thread))) return *chain;
    findings::CallChain chain = findings::without_own_code(launch_.location(*site));
    if (!launch_.kernel) return chain;
    // Functions that were not inlined have records of their own, linked to their callers'.
    const std::vector<jit::StopPlace>& places = launch_.kernel->stops.places;
    const jit::FrameRecord* record = block.stop_state(thread.thread).innermost;
    while (record != nullptr && (record = record->caller) != nullptr) {
        if (record->place >= places.size()) continue;
        const findings::CallChain caller =
            findings::without_own_code(launch_.location(places[record->place].site));
        chain.insert(chain.end(), caller.begin(), caller.end());
    }
    return chain;
}

std::vector<findings::VariableValue> StoppedLaunch::variables(ThreadRef thread) const {
    if (state(thread) == ThreadState::not_started) return arguments_of(launch_);
    if (!exists(thread)) return {};
    BlockRun& block = *find(thread.block);
    if (!block.site_of(thread.thread)) return {};
    if (launch_.host_kernel != nullptr)
        return launch_.host_kernel->variables_of(block.coordinate(thread.thread));
    return variables_in_records(launch_, block, block.stop_state(thread.thread).innermost,
                                block.carrier_of(thread.thread));
}

bool StoppedLaunch::set_variable(ThreadRef thread, std::uint32_t frame, std::string_view name,
                                 std::span<const std::byte> bytes) {
    if (!exists(thread)) return false;
    BlockRun& block = *find(thread.block);
    if (!block.site_of(thread.thread)) return false;
    if (launch_.host_kernel != nullptr)
        return launch_.host_kernel->set_variable(block.coordinate(thread.thread), frame, name, bytes);
    const std::byte* place =
        set_in_record(launch_, block.stop_state(thread.thread).innermost, frame, name, bytes);
    if (place == nullptr) return false;
    watches_.refresh(reinterpret_cast<std::uint64_t>(place), bytes.size());
    if (history_)
        history_->add({.call = call_,
                       .kind = Choice::Kind::set_variable,
                       .thread = thread,
                       .frame = frame,
                       .variable = std::string(name),
                       .bytes = {bytes.begin(), bytes.end()}});
    return true;
}

std::span<std::byte> StoppedLaunch::shared(std::uint64_t block) const {
    const BlockRun* run = find(block);
    return run != nullptr ? std::span(run->shared(), launch_.shared_bytes) : std::span<std::byte>();
}

bool StoppedLaunch::accessible(ThreadRef thread, std::uint64_t address, std::size_t bytes, bool write) const {
    if (state(thread) == ThreadState::absent) return false;
    if (!exists(thread)) {
        const std::lock_guard lock(*launch_.arena_mutex);
        return !write && address + bytes >= address && launch_.arena->containing(address, bytes) != nullptr;
    }
    const BlockRun& block = *find(thread.block);
    if (block.accessible(thread.thread, address, bytes, write)) return true;
    return launch_.host_kernel != nullptr && block.site_of(thread.thread) &&
           launch_.host_kernel->keeps_memory(block.coordinate(thread.thread), address, bytes);
}

bool StoppedLaunch::read(ThreadRef thread, std::uint64_t address, std::span<std::byte> target) const {
    if (!accessible(thread, address, target.size(), false)) return false;
    std::memcpy(target.data(), reinterpret_cast<const void*>(address), target.size());
    return true;
}

/// The memory may be a variable of the thread's.
void StoppedLaunch::put(ThreadRef thread, std::uint64_t address, std::span<const std::byte> bytes) {
    std::memcpy(reinterpret_cast<void*>(address), bytes.data(), bytes.size());
    BlockRun& block = *find(thread.block);
    if (launch_.kernel && block.site_of(thread.thread))
        for (auto* record = block.stop_state(thread.thread).innermost; record != nullptr;
             record = record->caller)
            record->keeps_parameters = 0;
    watches_.refresh(address, bytes.size());
}

bool StoppedLaunch::write(ThreadRef thread, std::uint64_t address, std::span<const std::byte> source) {
    if (!accessible(thread, address, source.size(), true)) return false;
    put(thread, address, source);
    if (history_)
        history_->add({.call = call_,
                       .kind = Choice::Kind::write,
                       .thread = thread,
                       .address = address,
                       .bytes = {source.begin(), source.end()}});
    return true;
}

// Who goes on ----------------------------------------------------------------------------------------------

/// The time limit stands still while the handler looks.
void StoppedLaunch::hold(bool begins) {
    if (begins)
        held_since_ = Clock::now();
    else
        launch_.deadline += Clock::now() - held_since_;
    if (launch_.host_kernel != nullptr) launch_.host_kernel->hold(begins);
}

template <typename Call>
void StoppedLaunch::call_handler(Worker& worker, BlockRun& block, StopEvent event, Call&& call) {
    worker_ = &worker;
    stopped_block_ = &block;
    called_for_ = last_stopped_;
    hold(true);
    if (history_)
        repeat_or_call(event, call);
    else
        call();
    hold(false);
    faults_.clear();
    worker.let_held_threads_go();
    worker_ = nullptr;
}

/// A thread has stopped, for what it was noted to stop for.
void StoppedLaunch::take_hits() {
    watches_.take();
    warning_ = std::exchange(next_warning_, std::nullopt);
}

void StoppedLaunch::tell(Worker& worker, BlockRun& block, std::uint32_t thread) {
    last_stopped_ = {block.block(), thread};
    take_hits();
    if (worker_ != nullptr) return;  // run() says so
    call_handler(worker, block, StopEvent::stopped, [&] { handler_.stopped(*this); });
}

void StoppedLaunch::tell_fault(Worker& worker, BlockRun& block, std::uint32_t thread,
                               const findings::Finding& finding) {
    if (!launch_.can_stop) {
        if (runs_usual_code() && handler_.begins_again_for(finding)) stop_soon();
        return;
    }
    last_stopped_ = {block.block(), thread};
    take_hits();
    faults_.emplace_back(last_stopped_, finding);
    if (worker_ != nullptr) return;  // run() says so
    call_handler(worker, block, StopEvent::faulted, [&] { handler_.faulted(*this); });
}

void StoppedLaunch::tell_end(Worker& worker, BlockRun& block, std::uint32_t thread) {
    (void)watches_.thread_ended({block.block(), thread}, repeats_);
    take_hits();
    if (worker_ != nullptr) return;  // run() says so
    last_stopped_ = {block.block(), thread};
    call_handler(worker, block, StopEvent::ended, [&] { handler_.ended(*this); });
}

void StoppedLaunch::tell_report(Worker& worker, BlockRun& block, const findings::Finding& finding) {
    if (worker_ != nullptr || is_to_go_back()) return;
    if (!launch_.can_stop) {
        if (finding.severity == findings::Severity::error && handler_.begins_again_for(finding)) stop_soon();
        return;
    }
    last_stopped_ = {block.block(), finding.thread.thread};
    take_hits();
    call_handler(worker, block, StopEvent::reports, [&] { handler_.reports(*this, finding); });
}

void StoppedLaunch::tell_early_end(Worker& worker, BlockRun& block, const findings::Finding& reason) {
    if (worker_ != nullptr || is_to_go_back()) return;
    if (!launch_.can_stop) {
        if (handler_.begins_again_for(reason)) stop_soon();
        return;
    }
    last_stopped_ = {block.block(), reason.thread.block == block.block() ? reason.thread.thread : 0};
    call_handler(worker, block, StopEvent::ends_early, [&] { handler_.ends_early(*this, reason); });
}

/// The thread runs, and no other, while the handler is at work.
ThreadState StoppedLaunch::run_held(ThreadRef thread) {
    BlockRun& block = *find(thread.block);
    take_hits();
    stopped_block_->hold_stopped_thread();
    hold(false);
    try {
        block.run_chosen(thread.thread);
    } catch (const std::bad_alloc&) {
        launch_.run_out_of_memory(block.coordinate(thread.thread), worker_->runners().stacks());
    }
    hold(true);
    return state(thread);
}

ThreadState StoppedLaunch::run(ThreadRef thread) {
    const ThreadState before = state(thread);
    if (over() || repeats_ || before > ThreadState::spins) return before;
    if (!start_block(thread.block).empty()) return before;
    const ThreadState after = run_held(thread);
    if (history_) {
        const bool is_inside = after == ThreadState::stopped && is_inside_statement();
        history_->add({.call = call_,
                       .kind = Choice::Kind::run,
                       .thread = thread,
                       .at_statement = after == ThreadState::stopped && !is_inside,
                       .end = count(),
                       .end_access = is_inside ? access_ : AccessPlace{}});
    }
    return after;
}

void StoppedLaunch::end() {
    launch_.request_stop(Stop::interrupted);
}

bool StoppedLaunch::poll() {
    if (!over()) launch_.poll_host(Clock::now());
    return over();
}

}  // namespace cudasim::execution
