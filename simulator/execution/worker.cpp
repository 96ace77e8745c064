// The loop of a worker, its pools of runners, and polling.
#include "simulator/execution/worker.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "simulator/execution/fault_report.h"
#include "simulator/execution/shared_memory.h"
#include "simulator/memory/shadow.h"

namespace cudasim::execution {

namespace {

constexpr std::size_t page_bytes = 4096;
/// Hooks, libm and a lazily bound call may use this much below compiled frames.
constexpr std::size_t hook_margin = 12 * 1024;
constexpr std::size_t smallest_stack = 32 * 1024;
/// Stack of a thread of a recursive kernel; a GPU's default is 1 KiB (cudaLimitStackSize), x86 frames are larger.
constexpr std::size_t recursive_stack = 256 * 1024;
/// Resident threads of an H100: 132 multiprocessors of 2,048.
constexpr std::size_t most_stacks = 270'336;
/// Blocks start beside spinning ones only after this many rounds without any event.
constexpr std::uint32_t idle_rounds_before_new_block = 4;
/// Waking another host thread costs about this much.
constexpr auto helpers_after = std::chrono::microseconds(20);
constexpr auto look_interval = std::chrono::milliseconds(1);
constexpr unsigned most_blocks_per_look = 64;

std::size_t stack_bytes_for(const Launch& launch) {
    if (launch.host_kernel) return launch.host_kernel->stack_bytes();
    std::size_t needed = launch.kernel->frame_bytes + hook_margin + sizeof(Runner) + page_bytes;
    if (launch.kernel->recursive) needed += recursive_stack;
    std::size_t bytes = smallest_stack;
    while (bytes < needed) bytes *= 2;
    return bytes;
}

thread_local Worker* current_worker = nullptr;

void run_entry(void* argument) {
    auto* runner = static_cast<Runner*>(argument);
    runner->launch->entry(runner);
    runner->event = Event::finished;
}

void clear_locals(Runner& runner) {
    if (runner.local_low == 0) return;
    const auto top = reinterpret_cast<std::uint64_t>(runner.stack.top);
    memory::Shadow::instance().set(runner.local_low, top - runner.local_low, memory::Access::none);
    runner.local_low = 0;
}

}  // namespace

Worker* Worker::current() { return current_worker; }

Worker::~Worker() {
    for (auto& [low, layout] : slot_layouts_) SharedMemory::unmap(low);
}

Runner* Worker::acquire(Launch& launch, const jit::BlockContext* block) {
    Runner* runner = nullptr;
    if (!idle_->empty()) {
        runner = idle_->back();
        idle_->pop_back();
    } else {
        if (!class_->discarded.empty()) {
            runner = class_->discarded.back();
            class_->discarded.pop_back();
        } else {
            fiber::Stack stack = class_->slab->take();
            if (!stack.top) throw std::bad_alloc();
            auto* place = reinterpret_cast<std::byte*>(
                (reinterpret_cast<std::uintptr_t>(stack.top) - sizeof(Runner)) & ~std::uintptr_t{63});
            runner = new (place) Runner;
            runner->stack = {stack.low, place};
        }
        runner->fiber.prepare(runner->stack.low, runner->stack.top, run_entry, runner);
    }
    runner->launch = &launch;
    runner->block = block;
    runner->fuel = jit::fuel_per_slice;
    runner->ending = false;
    runner->stack_limit = reinterpret_cast<std::uintptr_t>(runner->stack.low) + hook_margin +
                          (launch.kernel ? launch.kernel->frame_bytes : 0);
    return runner;
}

void Worker::discard(Runner* runner) {
    clear_locals(*runner);
    class_->discarded.push_back(runner);
}

void Worker::end(Runner* runner) {
    if (!runner->launch->host_kernel || !runner->launch->host_kernel->unwinds()) {
        discard(runner);
        return;
    }
    runner->ending = true;
    switch_to(runner);
    if (runner->event == Event::finished) release(runner);
    else discard(runner);
}

void Worker::prepare(Launch& launch) {
    current_worker = this;
    shadow_base_ = memory::Shadow::instance().base();
    const std::size_t bytes = stack_bytes_for(launch);
    const bool guarded = launch.host_kernel && launch.host_kernel->guarded_stacks();
    StackClass& stacks = classes_[{bytes, guarded}];
    if (!stacks.slab)
        stacks.slab = std::make_unique<fiber::StackSlab>(bytes, guarded ? fiber::most_guarded_stacks : most_stacks, guarded);
    class_ = &stacks;
    idle_ = &stacks.idle;
    divisions_.assign(launch.kernel ? launch.kernel->sites.size() : 0, {});
    last_poll_ = last_look_ = launch.start;
    blocks_per_look_ = 1;
    blocks_since_look_ = 0;
    spinning_ = false;
    grid_generation_ = launch.grid.generation();
    left_to_helpers_ = {};
}

void Worker::run(Launch& launch) {
    prepare(launch);
    adopt_orphans(launch);
    while (!launch.stopped()) {
        pass_grid_barrier(launch);
        run_resident(launch);
        wake_helpers(launch);
        const bool all_idle = std::all_of(resident_.begin(), resident_.end(), [](const auto& block) {
            return block->idle_rounds() >= idle_rounds_before_new_block;
        });
        if (all_idle && may_start_block(launch) && start_block(launch)) {
            poll_between_blocks(launch);
            continue;
        }
        if (resident_.empty()) {
            if (at_grid_.empty()) break;
            wait_for_grid(launch);
            continue;
        }
        if (all_idle && launch.shows_its_state()) detect_livelock(launch);
        poll(launch);
    }
    if (launch.stopped()) stop_all(launch);
    merge_division_counts(launch);
    current_worker = nullptr;
}

/// Only when the launch proves longer than waking takes, and there are blocks for others.
void Worker::wake_helpers(Launch& launch) {
    if (index_ != 0 || launch.helpers_woken || !launch.wake_helpers || !launch.blocks_left()) return;
    if (Clock::now() - launch.start < helpers_after) return;
    launch.helpers_woken = true;
    launch.wake_helpers();
}

bool Worker::start_block(Launch& launch) {
    std::uint64_t block = 0, turn = 0;
    if (!launch.take_block(block, turn)) return false;
    if (spare_.empty()) spare_.push_back(std::make_unique<BlockRun>());
    resident_.push_back(std::move(spare_.back()));
    spare_.pop_back();
    resident_.back()->start(*this, launch, block, turn, shared_slot(launch));
    return true;
}

void Worker::run_resident(Launch& launch) {
    std::uint64_t over = 0, arrived = 0;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < resident_.size(); ++i) {
        std::unique_ptr<BlockRun>& block = resident_[i];
        const BlockRun::State state = launch.stopped() ? BlockRun::State::spinning : block->advance();
        if (state == BlockRun::State::spinning) {
            if (kept != i) resident_[kept] = std::move(block);
            ++kept;
        } else if (state == BlockRun::State::at_grid) {
            at_grid_.push_back(std::move(block));
            ++arrived;
        } else {
            finish(launch, std::move(block));
            ++over;
        }
    }
    resident_.resize(kept);
    if (over != 0) launch.blocks_run.fetch_add(over, std::memory_order_relaxed);
    if (over + arrived != 0) spinning_ = false;
    if (arrived != 0) launch.grid.arrive(arrived);
}

void Worker::finish(Launch& launch, std::unique_ptr<BlockRun> block) {
    if (launch.shared_bytes != 0) free_slots_.push_back(block->shared());
    if (launch.output) launch.output->finish(block->turn());
    if (launch.host_kernel && !launch.host_kernel->block_over(block->block())) launch.request_stop(Stop::interrupted);
    if (launch.cooperative) launch.grid.leave(block->block(), block->broken());
    spare_.push_back(std::move(block));
}

std::byte* Worker::shared_slot(Launch& launch) {
    if (launch.shared_bytes == 0) return nullptr;
    std::byte* slot = nullptr;
    if (!free_slots_.empty()) {
        slot = free_slots_.back();
        free_slots_.pop_back();
    } else {
        slot = SharedMemory::map();
        slot_layouts_[slot] = 0;
    }
    std::uint64_t& layout = slot_layouts_[slot];
    if (layout != launch.shared_layout) {
        SharedMemory::mark(slot, launch);
        layout = launch.shared_layout;
    }
    return slot;
}

void Worker::poll(Launch& launch) {
    const Clock::time_point now = Clock::now();
    if (launch.has_deadline && now >= launch.deadline) launch.request_stop(Stop::time_limit);
    if (index_ != 0 || now - last_poll_ < host_poll_interval) return;
    last_poll_ = now;
    if (launch.output && !launch.output->write()) launch.request_stop(Stop::interrupted);
    launch.poll_host(now);
}

/// Reading the clock costs as much as a small block: of those only some are followed by a look at it.
void Worker::poll_between_blocks(Launch& launch) {
    if (++blocks_since_look_ < blocks_per_look_) return;
    const Clock::time_point now = Clock::now();
    blocks_per_look_ = now - last_look_ > look_interval ? 1 : std::min(2 * blocks_per_look_, most_blocks_per_look);
    last_look_ = now;
    blocks_since_look_ = 0;
    poll(launch);
}

/// On the worker's own stack, for a thread of the block of this turn that called vprintf.
void Worker::print(Launch& launch, std::uint64_t turn, std::string_view text) {
    launch.output->add(turn, text);
    while (launch.output->full() && !launch.stopped()) {
        if (index_ == 0) {
            if (!launch.output->write()) launch.request_stop(Stop::interrupted);
        } else {
            launch.output->wait_for_room();
        }
    }
    poll(launch);
}

/// The launch is over before its threads are: says where they stand, then forgets them.
void Worker::stop_all(Launch& launch) {
    for (auto& block : at_grid_) {
        if (launch.stop.load() == Stop::deadlock) launch.grid.note_waiting(block->places());
        resident_.push_back(std::move(block));
    }
    at_grid_.clear();
    for (auto& block : resident_) {
        if (auto finding = describe_stop(launch, *block)) launch.findings.add(std::move(*finding));
        block->abandon();
        if (launch.shared_bytes != 0) free_slots_.push_back(block->shared());
        spare_.push_back(std::move(block));
    }
    resident_.clear();
}

void Worker::count_float_division(const Runner& runner, std::uint32_t site) {
    if (site >= divisions_.size()) {
        if (!runner.launch->host_kernel) return;
        divisions_.resize(site + 1);
    }
    DivisionCount& known = divisions_[site];
    const auto* run = runner.block;
    const std::uint64_t block = run->ctaid[0] + std::uint64_t{run->nctaid[0]} * (run->ctaid[1] + std::uint64_t{run->nctaid[1]} * run->ctaid[2]);
    const findings::ThreadCoordinate here{block, runner.thread, {run->ctaid[0], run->ctaid[1], run->ctaid[2]},
                                          {runner.tid[0], runner.tid[1], runner.tid[2]}};
    if (known.count == 0 || here < known.first) known.first = here;
    if (known.count == 0 || !(here == known.last)) ++known.threads;
    known.last = here;
    ++known.count;
}

void Worker::merge_division_counts(Launch& launch) {
    for (std::uint32_t site = 0; site < divisions_.size(); ++site)
        if (divisions_[site].count != 0) launch.findings.add(describe_float_division(launch, site, divisions_[site].first,
                                                             divisions_[site].count, divisions_[site].threads));
    divisions_.clear();
}

}  // namespace cudasim::execution
