// What an observer is told: every event once, in order, on one and on several workers,
// whatever carries the threads.
#include "simulator/execution/observer.h"

#include <llvm/IR/IRBuilder.h>

#include <algorithm>
#include <future>
#include <map>
#include <mutex>

#include "simulator/jit/compilation.h"
#include "simulator/jit/function_context.h"
#include "tests/simulator/execution/ir_kernel.h"

namespace cudasim::execution {
namespace {

using Events = std::vector<std::string>;

class Recorder : public LaunchObserver {
  public:
    void launch_begins(const LaunchBegin& launch) override {
        add("launch begins: " + std::string(launch.kernel) + " " + std::to_string(launch.grid.x) + "x" +
            std::to_string(launch.block.x) + (launch.host_kernel ? " host" : ""));
    }
    void launch_ends(std::span<const findings::Finding> findings) override {
        add("launch ends: " + std::to_string(findings.size()));
    }
    [[nodiscard]] std::optional<jit::CheckState> sets_check_state() const override { return jit::race_state; }
    void block_begins(ObservedBlock& block) override {
        EXPECT_EQ(block.check_states[jit::race_state], nullptr);
        EXPECT_EQ(block.ctaid.x, block.block);
        const std::lock_guard lock(mutex);
        block.check_states[jit::race_state] = &states[block.block];
        shared_bytes = block.shared.size();
        blocks[block.block].push_back("begins " + std::to_string(block.threads));
        all.push_back("block begins");
    }
    void barrier(const ObservedBlock& block, jit::BarrierKind kind) override {
        add_to(block, kind == jit::BarrierKind::grid ? "grid barrier" : "barrier");
    }
    void block_ends(const ObservedBlock& block, BlockEnd end) override {
        add_to(block, end == BlockEnd::finished ? "finished" : "given up");
    }
    void allocated(std::uint64_t address, std::uint64_t bytes, std::string_view label) override {
        add("allocated " + std::to_string(bytes) + " " + std::string(label));
        last_address = address;
    }
    void freed(std::uint64_t address) override { add(address == last_address ? "freed" : "freed another"); }
    void copies(const ObservedCopy& copy) override {
        copied.push_back(copy);
        add("copies");
    }

    Events all;
    std::map<std::uint64_t, Events> blocks;
    std::map<std::uint64_t, std::uint64_t> states;
    std::vector<ObservedCopy> copied;
    std::uint64_t last_address = 0;
    std::size_t shared_bytes = 0;

  private:
    void add(std::string event) {
        const std::lock_guard lock(mutex);
        all.push_back(std::move(event));
    }
    void add_to(const ObservedBlock& block, const char* event) {
        const std::lock_guard lock(mutex);
        EXPECT_EQ(block.check_states[jit::race_state], &states[block.block]);
        blocks[block.block].push_back(event);
        all.push_back(event);
    }
    std::mutex mutex;
};

/// Counts the threads of each block in what BlockContext::check_states points to.
class CountsThreads final : public jit::Instrumentation {
  public:
    [[nodiscard]] std::string_view name() const override { return "counts_threads"; }
    [[nodiscard]] std::uint32_t version() const override { return 1; }
    void late(jit::Compilation& compilation) const override {
        llvm::Function& kernel = *compilation.kernel;
        jit::FunctionContext head(kernel);
        llvm::IRBuilder<> builder(kernel.getContext());
        llvm::Value* state = head.block_field(offsetof(jit::BlockContext, check_states),
                                              llvm::PointerType::get(kernel.getContext(), 0));
        builder.SetInsertPoint(head.head());
        llvm::LoadInst* count = builder.CreateLoad(builder.getInt64Ty(), state);
        builder.CreateStore(builder.CreateAdd(count, builder.getInt64(1)), state);
    }
};

const CountsThreads counts_threads;

class Observers : public IrKernelTest {
  protected:
    LaunchResult run_observed(std::string_view body, std::uint32_t blocks, std::uint32_t threads,
                              LaunchOptions chosen) {
        chosen.observers.add(recorder);
        chosen.compile.instrumentations = {&jit::safepoint_polls(), &counts_threads};
        image_ = device().load(ir_image(body));
        const std::uint64_t parameters[2] = {};
        return device().launch(*image_, "k", {{blocks}, {threads}, 0}, std::as_bytes(std::span(parameters)),
                               chosen);
    }
    void expect_blocks(std::uint32_t blocks, const Events& events) {
        EXPECT_EQ(recorder.blocks.size(), blocks);
        for (const auto& [block, seen] : recorder.blocks) EXPECT_EQ(seen, events) << block;
        ASSERT_GE(recorder.all.size(), 2U);
        EXPECT_TRUE(recorder.all.front().starts_with("launch begins: k"));
        EXPECT_TRUE(recorder.all.back().starts_with("launch ends"));
        EXPECT_EQ(recorder.all.size(), 2 + blocks * events.size());
    }
    void expect_threads_counted(std::uint32_t threads) {
        for (const auto& [block, count] : recorder.states) EXPECT_EQ(count, threads) << block;
    }
    Recorder recorder;
};
INSTANTIATE_TEST_SUITE_P(Modes, Observers, all_modes, mode_name);

const char* const without_waits = R"(
define void @k() {
  ret void
})";
const char* const two_barriers = R"(
@tile = internal addrspace(3) global [24 x i32] undef, align 16
define void @k() {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store i32 %t, ptr addrspace(3) @tile, align 4
  call void @llvm.nvvm.barrier0()
  %n = call i32 @llvm.nvvm.barrier0.popc(i32 %t)
  store i32 %n, ptr addrspace(3) @tile, align 4
  ret void
})";

TEST_P(Observers, see_every_block_of_a_kernel_that_never_waits) {
    EXPECT_EQ(messages(run_observed(without_waits, 300, 40, options())), "");
    expect_blocks(300, {"begins 40", "finished"});
    expect_threads_counted(40);
    EXPECT_EQ(recorder.all.front(), "launch begins: k 300x40");
}

TEST_P(Observers, see_every_barrier_of_coroutines_and_fibers) {
    for (const bool coroutines : {true, false}) {
        recorder.blocks.clear();
        recorder.all.clear();
        recorder.states.clear();
        LaunchOptions chosen = options();
        chosen.compile.coroutines = coroutines;
        EXPECT_EQ(messages(run_observed(two_barriers, 100, 40, chosen)), "");
        expect_blocks(100, {"begins 40", "barrier", "barrier", "finished"});
        expect_threads_counted(40);
        EXPECT_EQ(recorder.shared_bytes, 96U);
    }
}

TEST_P(Observers, see_the_barriers_of_host_code) {
    LaunchOptions chosen = options();
    chosen.observers.add(recorder);
    EXPECT_EQ(messages(launch_function(
                  [](ThreadHandle& thread) {
                      thread.barrier();
                      thread.warp(jit::WarpKind::sync, ~0U, 0, 0);
                  },
                  {{20}, {33}, 64}, chosen)),
              "");
    EXPECT_EQ(recorder.all.front(), "launch begins: C++ kernel 20x33 host");
    EXPECT_EQ(recorder.all.size(), 2U + 20 * 3);
    EXPECT_EQ(recorder.shared_bytes, 64U);
    for (const auto& [block, seen] : recorder.blocks)
        EXPECT_EQ(seen, (Events{"begins 33", "barrier", "finished"}));
}

TEST_P(Observers, see_a_grid_barrier_when_all_blocks_have_come) {
    LaunchOptions chosen = options();
    chosen.observers.add(recorder);
    chosen.cooperative = true;
    (void)launch_function([](ThreadHandle& thread) { thread.barrier(0, jit::BarrierKind::grid); },
                          {{6}, {10}, 0}, chosen);
    EXPECT_EQ(recorder.blocks.size(), 6U);
    for (const auto& [block, seen] : recorder.blocks)
        EXPECT_EQ(seen, (Events{"begins 10", "grid barrier", "finished"}));
    const auto first = std::ranges::find(recorder.all, "grid barrier");
    EXPECT_EQ(std::count(recorder.all.begin(), first, "block begins"), 6);
}

TEST_P(Observers, are_told_that_a_block_was_given_up) {
    // Threads wait at different barriers (C4); a block that a thread's fault ends goes on to its own end.
    (void)run_observed(R"(
define void @k() {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %odd = trunc i32 %t to i1
  br i1 %odd, label %a, label %b
a:
  %n = call i32 @llvm.nvvm.barrier0.popc(i32 %t)
  ret void
b:
  call void @llvm.nvvm.barrier0()
  ret void
})",
                       3, 8, options());
    expect_blocks(3, {"begins 8", "given up"});
    recorder.blocks.clear();
    recorder.all.clear();
    (void)run_observed("define void @k() {\n  call void @llvm.trap()\n  unreachable\n}", 3, 8, options());
    expect_blocks(3, {"begins 8", "finished"});
}

TEST_P(Observers, see_the_end_of_every_block_that_a_stopped_launch_leaves) {
    LaunchOptions chosen = options();
    chosen.time_limit_seconds = 0.05;
    (void)run_observed(R"(
define void @k() {
  br label %again
again:
  call void @llvm.nvvm.nanosleep(i32 1)
  br label %again
})",
                       3, 8, chosen);
    EXPECT_FALSE(recorder.blocks.empty());
    for (const auto& [block, seen] : recorder.blocks) EXPECT_EQ(seen, (Events{"begins 8", "given up"}));
    EXPECT_TRUE(recorder.all.back().starts_with("launch ends"));
}

/// Writes its name and the event into a log that several share.
class Witness final : public LaunchObserver {
  public:
    Witness(std::string name, Events& log) : name_(std::move(name)), log_(log) {}
    void launch_begins(const LaunchBegin&) override { log_.push_back(name_ + ": launch begins"); }
    void launch_ends(std::span<const findings::Finding>) override { log_.push_back(name_ + ": launch ends"); }
    void block_begins(ObservedBlock& block) override {
        log_.push_back(name_ + ": block begins");
        states.push_back(block.check_states[jit::race_state]);
        block.check_states[jit::race_state] = this;  // it did not say so: dropped
    }
    void barrier(const ObservedBlock& block, jit::BarrierKind) override {
        log_.push_back(name_ + ": barrier");
        states.push_back(block.check_states[jit::race_state]);
    }
    void block_ends(const ObservedBlock& block, BlockEnd) override {
        log_.push_back(name_ + ": block ends");
        states.push_back(block.check_states[jit::race_state]);
    }
    void allocated(std::uint64_t, std::uint64_t, std::string_view) override {
        log_.push_back(name_ + ": allocated");
    }
    void freed(std::uint64_t) override { log_.push_back(name_ + ": freed"); }
    void copies(const ObservedCopy&) override { log_.push_back(name_ + ": copies"); }

    std::vector<void*> states;  ///< ObservedBlock::check_state as it was when this was told

  private:
    std::string name_;
    Events& log_;
};

Events told_to_both(std::initializer_list<const char*> events) {
    Events all;
    for (const std::string event : events) {
        all.push_back("first: " + event);
        all.push_back("second: " + event);
    }
    return all;
}

TEST_P(Observers, of_a_launch_are_told_of_every_event_in_the_order_in_which_they_were_added) {
    Events log;
    Witness first("first", log), second("second", log);
    LaunchOptions chosen = options();
    chosen.workers = 1;
    chosen.observers.add(first);
    chosen.observers.add(second);
    EXPECT_EQ(messages(run_observed(two_barriers, 1, 40, chosen)), "");
    EXPECT_EQ(log, told_to_both(
                       {"launch begins", "block begins", "barrier", "barrier", "block ends", "launch ends"}));
}

TEST_P(Observers, that_only_look_see_the_check_state_of_the_one_that_sets_it) {
    Events log;
    Witness before("before", log), after("after", log);
    LaunchOptions chosen = options();
    chosen.workers = 1;
    chosen.observers.add(before);
    chosen.observers.add(recorder);
    chosen.observers.add(after);
    chosen.compile.instrumentations = {&jit::safepoint_polls(), &counts_threads};
    image_ = device().load(ir_image(two_barriers));
    const std::uint64_t parameters[2] = {};
    EXPECT_EQ(
        messages(device().launch(*image_, "k", {{1}, {40}, 0}, std::as_bytes(std::span(parameters)), chosen)),
        "");
    expect_threads_counted(40);
    void* const state = &recorder.states[0];
    EXPECT_EQ(before.states, (std::vector<void*>{nullptr, state, state, state}));
    EXPECT_EQ(after.states, (std::vector<void*>{state, state, state, state}));
}

TEST(ObserverList, refuses_a_second_observer_that_sets_the_check_state_and_one_that_is_in_it) {
    Events log;
    Recorder setter, second_setter;
    Witness looks("looks", log);
    ObserverList observers;
    observers.add(setter);
    observers.add(looks);
    try {
        observers.add(second_setter);
        ADD_FAILURE() << "it was taken";
    } catch (const std::invalid_argument& error) {
        EXPECT_STREQ(error.what(),
                     "two observers of a launch set the same one of ObservedBlock::check_states");
    }
    EXPECT_THROW(observers.add(looks), std::invalid_argument);
    observers.remove(second_setter);  // it is not in the list
    observers.freed(1);
    EXPECT_EQ(setter.all.size(), 1U);
    EXPECT_EQ(log.size(), 1U);
    EXPECT_TRUE(second_setter.all.empty());
    observers.remove(setter);
    observers.add(second_setter);
    observers.remove(second_setter);
    observers.remove(looks);
    EXPECT_TRUE(observers.empty());
}

TEST(DeviceObservers, come_and_go_one_by_one) {
    Events log;
    Witness first("first", log), second("second", log);
    device().observe(first);
    device().observe(second);
    EXPECT_THROW(device().observe(first), std::invalid_argument);
    const DevicePointer memory = device().allocate(64);
    device().fill(memory, 1, 64);
    device().free(memory);
    EXPECT_EQ(log, told_to_both({"allocated", "copies", "freed"}));
    log.clear();
    device().stop_observing(first);
    device().stop_observing(first);  // nobody tells it anything
    device().free(device().allocate(16));
    EXPECT_EQ(log, (Events{"second: allocated", "second: freed"}));
    log.clear();
    device().observe(first);
    device().free(device().allocate(16));
    EXPECT_EQ(log, (Events{"second: allocated", "first: allocated", "second: freed", "first: freed"}));
    log.clear();
    device().stop_observing(second);
    device().stop_observing(first);
    device().free(device().allocate(16));
    EXPECT_EQ(log, Events{});
}

TEST(DeviceObservers, are_told_nothing_once_they_are_taken_away) {
    struct Slow final : LaunchObserver {
        void allocated(std::uint64_t, std::uint64_t, std::string_view) override {
            told.set_value();
            go_on.get_future().wait();
        }
        std::promise<void> told, go_on;
    } slow;
    device().observe(slow);
    auto allocates = std::async(std::launch::async, [] { return device().allocate(16); });
    slow.told.get_future().wait();
    auto goes = std::async(std::launch::async, [&] { device().stop_observing(slow); });
    EXPECT_EQ(goes.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
    slow.go_on.set_value();
    goes.get();
    device().free(allocates.get());
}

TEST(DeviceObservers, see_allocations_and_what_the_host_copies) {
    Recorder recorder;
    device().observe(recorder);
    const DevicePointer memory = device().allocate(64, {.label = "x"});
    std::vector<std::uint64_t> host(8);
    device().copy_to_device(memory, host.data(), 64);
    device().copy_from_device(host.data(), memory + 8, 16);
    device().copy_within_device(memory, memory + 32, 32);
    device().fill(memory, 1, 64);
    EXPECT_THROW(device().fill(memory, 1, 65), CudaError);
    EXPECT_THROW((void)device().allocate(0), CudaError);
    device().free(memory);
    EXPECT_THROW(device().free(memory), CudaError);
    device().stop_observing(recorder);
    device().free(device().allocate(16));
    EXPECT_EQ(recorder.all, (Events{"allocated 64 x", "copies", "copies", "copies", "copies", "freed"}));
    const auto address = reinterpret_cast<std::uint64_t>(host.data());
    const ObservedCopy expected[] = {{CopyKind::to_device, memory, address, 64},
                                     {CopyKind::from_device, address, memory + 8, 16},
                                     {CopyKind::within_device, memory, memory + 32, 32},
                                     {CopyKind::fill, memory, 0, 64}};
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(recorder.copied[i].kind, expected[i].kind);
        EXPECT_EQ(recorder.copied[i].target, expected[i].target);
        EXPECT_EQ(recorder.copied[i].source, expected[i].source);
        EXPECT_EQ(recorder.copied[i].bytes, expected[i].bytes);
    }
}

TEST(DeviceObservers, see_the_variables_of_images_and_host_memory_that_kernels_may_use) {
    Recorder recorder;
    device().observe(recorder);
    {
        const auto image = device().load(ir_image(R"(
@numbers = addrspace(1) global [10 x i32] zeroinitializer, align 4
define void @k() {
  store i32 1, ptr addrspace(1) @numbers, align 4
  ret void
})"));
        (void)device().compile(*image, "k", {});
    }
    std::vector<std::uint64_t> host(64);
    const auto address = reinterpret_cast<std::uint64_t>(host.data());
    device().adopt(address, 512, "mapped");
    device().free(address);
    device().stop_observing(recorder);
    ASSERT_EQ(recorder.all.size(), 5U);
    EXPECT_TRUE(recorder.all[0].ends_with("global variables of the image"));
    EXPECT_TRUE(recorder.all[1].starts_with("copies")) << recorder.all[1];  // they have their values
    EXPECT_EQ(recorder.all[2], "freed");
    EXPECT_EQ(recorder.all[3], "allocated 512 mapped");
    EXPECT_EQ(recorder.all[4], "freed");
}

}  // namespace
}  // namespace cudasim::execution
