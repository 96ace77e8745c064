// Taking, making and giving back runners.
#include "simulator/execution/runner_pool.h"

#include <algorithm>
#include <new>

#include "simulator/memory/host_memory.h"
#include "simulator/memory/shadow.h"

namespace cudasim::execution {

namespace {

/// Resident threads of an H100: 132 multiprocessors of 2,048.
constexpr std::size_t most_stacks = 270'336;
/// The host is asked again after so many bytes.
constexpr std::uint64_t bytes_per_question = 64 << 20;

void run_entry(void* argument) {
    auto* runner = static_cast<Runner*>(argument);
    runner->launch->entry(runner);
    runner->event = Event::finished;
}

void prepare_fiber(Runner& runner) {
    runner.fiber.prepare(runner.stack.low, runner.stack.top, run_entry, &runner);
}

void clear_locals(Runner& runner) {
    if (runner.local_low == 0) return;
    const auto top = reinterpret_cast<std::uint64_t>(runner.stack.top);
    memory::Shadow::instance().set(runner.local_low, top - runner.local_low, memory::Access::none);
    runner.local_low = 0;
}

std::uint64_t address_space_for_stacks() {
    const auto limit = memory::address_limit();
    if (!limit) return ~std::uint64_t{0};
    return limit->left - std::min(limit->left, address_reserve);
}

}  // namespace

RunnerPool::StackClass::StackClass(const StackNeed& of_each)
    : need(of_each),
      slab(of_each.address, of_each.guarded ? fiber::most_guarded_stacks : most_stacks, of_each.guarded) {}

void RunnerPool::prepare(const Launch& launch) {
    const StackNeed need = stack_need(launch);
    class_ = &classes_.try_emplace({need.address, need.guarded}, need).first->second;
}

void RunnerPool::count(std::uint64_t bytes) {
    thread_memory_.fetch_add(bytes, std::memory_order_relaxed);
    unchecked_bytes_ += bytes;
    if (unchecked_bytes_ < bytes_per_question) return;
    if (memory::host_memory_available() < memory::host_reserve) throw std::bad_alloc();
    unchecked_bytes_ = 0;
}

Runner* RunnerPool::make() {
    count(class_->need.touched);
    class_->idle.reserve(class_->slab.taken() + 1);  // so that giving it back needs no memory
    if (!class_->slab.has_stacks() && !class_->slab.grow(address_space_for_stacks())) throw std::bad_alloc();
    const fiber::Stack stack = class_->slab.take();
    if (!stack.top) throw std::bad_alloc();
    auto* place = reinterpret_cast<std::byte*>(
        (reinterpret_cast<std::uintptr_t>(stack.top) - sizeof(Runner)) & ~std::uintptr_t{63});
    auto* runner = new (place) Runner;
    runner->stack = {stack.low, place};
    prepare_fiber(*runner);
    return runner;
}

Runner* RunnerPool::acquire(Launch& launch, const jit::BlockContext* block, SkippedOperations* skipped) {
    Runner* runner = nullptr;
    std::vector<Runner*>& idle = class_->idle;
    if (!idle.empty()) {
        runner = idle.back();
        idle.pop_back();
        class_->low = std::min(class_->low, idle.size());
    } else {
        runner = make();
    }
    runner->launch = &launch;
    runner->block = block;
    runner->skipped = skipped;
    runner->fuel = jit::fuel_per_slice;
    runner->ending = false;
    runner->group = 1;
    runner->stack_limit = stack_limit(launch, reinterpret_cast<std::uintptr_t>(runner->stack.low));
    return runner;
}

void RunnerPool::take_back(std::vector<Runner*>& runners) {
    std::ranges::sort(runners);
    std::erase_if(class_->idle, [&](Runner* idle) { return std::ranges::binary_search(runners, idle); });
    class_->low = std::min(class_->low, class_->idle.size());
}

void RunnerPool::discard(Runner* runner) {
    clear_locals(*runner);
    prepare_fiber(*runner);
    release(runner);
}

bool RunnerPool::is_idle(const Runner* runner) const {
    return std::ranges::find(class_->idle, runner) != class_->idle.end();
}

ThreadMemory RunnerPool::held_for(const Launch& launch) const {
    const StackNeed need = stack_need(launch);
    const auto known = classes_.find({need.address, need.guarded});
    if (known == classes_.end()) return {};
    const StackClass& stacks = known->second;
    const std::uint64_t made = stacks.slab.taken(), cold = std::min(stacks.cold, stacks.low);
    return {made * need.address, (made - cold) * stacks.need.touched};
}

MemoryUse RunnerPool::use() const {
    MemoryUse use;
    for (const auto& [key, stacks] : classes_) {
        use.used += (stacks.idle.size() - stacks.low) * stacks.need.touched;
        use.unused += (stacks.low - std::min(stacks.cold, stacks.low)) * stacks.need.touched;
    }
    return use;
}

void RunnerPool::give_unused_back() {
    for (auto& [key, stacks] : classes_) {
        for (std::size_t i = std::min(stacks.cold, stacks.low); i < stacks.low; ++i) {
            // What the fiber goes on with, at the top, stays.
            Runner& runner = *stacks.idle[i];
            std::byte* low = runner.stack.low + (stacks.need.guarded ? fiber::guard_bytes : 0);
            fiber::StackSlab::give_pages_back(low,
                                              static_cast<const std::byte*>(runner.fiber.saved_position()));
        }
        stacks.cold = stacks.low;
    }
}

void RunnerPool::clear() {
    classes_.clear();
    class_ = nullptr;
    unchecked_bytes_ = 0;
}

void RunnerPool::start_counting() {
    for (auto& [key, stacks] : classes_) {
        stacks.cold = std::min(stacks.cold, stacks.low);
        stacks.low = stacks.idle.size();
    }
}

}  // namespace cudasim::execution
