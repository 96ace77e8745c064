// One resident block: its threads, who of them runs, waits, spins or is over, and its barriers.
//
//   not started ──► running ──► over
//                   │    ▲
//         barrier / │    │ all that live have arrived / next turn
//           yield   ▼    │
//                  waiting, spinning
//
// Threads that wait are fibers, in lists of runners; those of a coroutine kernel wait in their frames
// (coroutine_threads.h), and a runner passes over all of them once for each phase between two barriers.
//
// advance() is the scheduler of a block: it starts threads, resumes them in order (thread_order.h), completes
// barriers (E3), and comes back when the block is over or only spinning threads are left (E5). Threads that
// spin get their turns before the rest, in the order in which they gave them up. Everything it says about
// threads it says as findings.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "simulator/execution/coroutine_threads.h"
#include "simulator/execution/interleaving.h"
#include "simulator/execution/launch.h"
#include "simulator/execution/named_barriers.h"
#include "simulator/execution/runner.h"
#include "simulator/execution/stop.h"
#include "simulator/execution/thread_order.h"
#include "simulator/execution/warp_operations.h"

namespace cudasim::execution {

class Worker;

/// Blocks start beside spinning ones only after this many rounds without any event.
inline constexpr std::uint32_t idle_rounds_before_new_block = 4;

class BlockRun {
  public:
    /// at_cluster: its threads that have not ended wait, some at the barrier of the cluster.
    enum class State { over, spinning, at_grid, at_cluster };

    /// Takes its place: fresh context, fresh shared memory.
    /// @param turn number of the block in the order in which blocks start
    /// @param shared of the blocks of its cluster, by rank
    void start(Worker& worker, Launch& launch, std::uint64_t block, std::uint64_t turn,
               std::span<std::byte* const> shared);
    /// Memory that is not there ends the launch.
    [[nodiscard]] State advance();
    /// All its threads that have not ended wait at a grid barrier, and all blocks have come: they go on in
    /// advance().
    void pass_grid_barrier();
    // Its cluster (cluster_blocks.cpp).
    /// Completes the cluster's barrier if all of its threads have arrived that have not ended.
    /// @param arriving whose thread has just arrived; null: nobody's
    void settle_cluster(const Runner* arriving = nullptr);
    /// What advance() says with State::at_cluster is so still.
    [[nodiscard]] bool waits_for_cluster() const;
    /// Those that have begun and are not over, this one among them, by rank.
    [[nodiscard]] std::vector<BlockRun*> blocks_of_cluster();
    /// The linear indices of all of its blocks, by rank.
    [[nodiscard]] std::vector<std::uint64_t> cluster_indices() const;
    /// All its threads that have not ended have arrived at the cluster's barrier.
    [[nodiscard]] bool has_come_to_cluster() const;
    /// The threads of its cluster wait for each other, and none can go on: says so, and forgets them.
    void end_stuck_cluster();
    /// The shared memory of the cluster's blocks, by rank: of those that are over, too.
    [[nodiscard]] std::span<std::byte* const> cluster_shared() const {
        return std::span(cluster_shared_).first(context_.cluster_blocks);
    }
    /// A block of the cluster, by its rank.
    struct ClusterMember {
        std::uint32_t rank = 0;
        std::uint64_t block = 0;
        bool is_over = false;
    };
    /// In whose shared memory, or just beside it, the address lies.
    [[nodiscard]] std::optional<ClusterMember> cluster_member_at(std::uint64_t address) const;
    struct LocalOfAnother {
        std::optional<std::uint32_t> thread;  ///< of the block; empty: it has ended, or is of another block
    };
    /// Whether the address is in what holds local variables of threads.
    [[nodiscard]] std::optional<LocalOfAnother> local_of_another(std::uint64_t address) const;
    /// Tells the launch's observers that the block is over, if they were told that it began.
    void tell_end();
    /// Gives the block to another worker, which runs it from now on.
    void move_to(Worker& worker);
    // Checkpoints in the middle of a block (saved_device.h), between the turns of two of its threads.
    /// The runners of its threads that have begun and are not over.
    [[nodiscard]] std::vector<Runner*> carriers() const;
    /// What a copy of this object takes.
    [[nodiscard]] std::uint64_t bytes_of_copy() const;
    /// Everything but the contents of its runners and of shared memory becomes what it was in this same
    /// object, earlier in the launch: copies keep their places in memory.
    void restore(const BlockRun& saved) { *this = saved; }
    /// Runners, shared memory and the worker's scratch() are restored, too: what only holds for the future
    /// that is undone is forgotten.
    void is_restored();
    /// Forgets every thread that is not over; `state` says why in the finding's groups.
    void abandon();
    /// Where its threads are now, in groups by place.
    [[nodiscard]] std::vector<findings::WaitingGroup> places() const;

    /// It was started before its turn; until the next start().
    void set_before_turn() { before_turn_ = true; }
    [[nodiscard]] bool is_before_turn() const { return before_turn_; }
    [[nodiscard]] bool is_at_grid() const { return at_grid_; }
    /// GridBarrier::generation() when it came there.
    [[nodiscard]] std::uint32_t grid_generation() const { return grid_generation_; }
    /// A fault ended it or some of its threads.
    [[nodiscard]] bool broken() const { return faulted_ != 0 || abandoned_; }
    [[nodiscard]] std::byte* shared() const { return context_.shared_base; }
    [[nodiscard]] std::uint64_t block() const { return block_; }
    [[nodiscard]] std::uint64_t turn() const { return turn_; }
    [[nodiscard]] const jit::BlockContext& context() const { return context_; }
    /// Rounds of advance() in which every thread only used up its turn. Of a block that gave its turn up:
    /// enough for another one to start.
    [[nodiscard]] std::uint32_t idle_rounds() const { return idle_rounds_; }
    /// Its threads meet again and again and could go on: a GPU would run other blocks meanwhile, for which
    /// they may wait.
    [[nodiscard]] bool gave_turn_up() const { return gave_turn_up_; }
    /// What the thread that faulted last has left there (BlockContext::captured).
    [[nodiscard]] std::span<const std::uint64_t> captured() const {
        return {context_.captured, jit::captured_slots};
    }
    [[nodiscard]] const std::vector<Runner*>& spinning() const { return spinning_; }
    /// Those that could go on and do not spin, in no order.
    [[nodiscard]] std::vector<Runner*> able() const;
    /// What decides, beside the threads themselves and the lists of them, who goes on next.
    [[nodiscard]] std::vector<std::uint32_t> turns() const;
    [[nodiscard]] const Interleaving& interleaving() const { return interleaving_; }
    [[nodiscard]] const std::vector<Runner*>& waiting() const { return waiting_; }
    [[nodiscard]] const CoroutineThreads& coroutines() const { return coroutines_; }
    [[nodiscard]] const WarpOperations& warps() const { return warps_; }
    [[nodiscard]] const NamedBarriers& named_barriers() const { return named_; }
    [[nodiscard]] findings::ThreadCoordinate coordinate(std::uint32_t thread) const;
    /// A text of the kernel's memory, as far as the thread may read it.
    [[nodiscard]] std::string text_at(const Runner& runner, std::uint64_t address) const;

    // Stops (stop.h, block_stops.cpp), while the handler is at work.
    [[nodiscard]] ThreadState state(std::uint32_t thread) const;
    /// Of all threads.
    [[nodiscard]] std::vector<ThreadPlace> places_of_threads() const;
    /// Where a thread is that has started and is not over.
    [[nodiscard]] std::optional<std::uint32_t> site_of(std::uint32_t thread) const;
    /// The runner whose stack the thread is on; null where it is on none.
    [[nodiscard]] Runner* carrier_of(std::uint32_t thread) const;
    [[nodiscard]] jit::ThreadStop& stop_state(std::uint32_t thread) { return thread_stops_[thread]; }
    /// Sets ThreadStop::steps: which statements of the thread call the hook.
    void set_steps(std::uint32_t thread, std::uint32_t steps);
    [[nodiscard]] bool accessible(std::uint32_t thread, std::uint64_t address, std::size_t bytes,
                                  bool write) const;
    /// For whom the thread waits (block_waits.cpp). Other blocks are left out.
    [[nodiscard]] ThreadWait wait_of(std::uint32_t thread) const;
    /// All its threads that have not ended wait at a grid barrier.
    [[nodiscard]] bool has_come_to_grid() const;
    /// Lets the thread, which can run, go on until it stops, waits, yields or ends. @throws std::bad_alloc
    void run_chosen(std::uint32_t thread);
    /// The thread for which the handler was called no longer goes on by itself.
    void hold_stopped_thread();
    void let_held_threads_go();

  private:
    [[nodiscard]] State run_threads();
    void offer_checkpoint(std::size_t next_in_batch);
    void collect_runners();
    void tell_beginning();
    [[nodiscard]] ObservedBlock observed() const;
    void start_phase();
    [[nodiscard]] bool has_threads_to_start() const {
        return not_started_ != 0 || !lanes_to_run_.empty() || !alone_.empty();
    }
    void start_threads();
    void start_lanes();
    void run_freed_lanes(std::uint32_t warp);
    void run_freed_warps();
    void release_waiting();
    void put_in_order(std::vector<Runner*>& runners);
    void look_at_warp(std::uint32_t thread);
    void resume(Runner* runner, std::size_t turn_in_batch = 0);
    void handle(Runner* runner, std::uint32_t first);
    void report_fault(Runner* runner);
    void report_end(findings::Finding finding);
    void forget_faulted_threads();
    void tell_ends(std::uint32_t first, std::uint32_t last);
    bool cut(Runner* runner);
    [[nodiscard]] bool is_group(const Runner& runner) const;
    void run_one_by_one(Runner* runner);
    void start_alone();
    [[nodiscard]] bool print(Runner& runner);
    [[nodiscard]] bool use_heap(Runner& runner);
    void report_not_cooperative();
    [[nodiscard]] bool readable(const Runner& runner, std::uint64_t address, std::size_t bytes) const;
    [[nodiscard]] bool stop(Runner* runner, std::uint32_t& first);
    void start_stops();
    [[nodiscard]] bool skip_threads_run_before();
    [[nodiscard]] std::uint32_t first_run_before(std::uint32_t first, std::uint32_t end) const;
    [[nodiscard]] bool turn_is_to_come(std::uint32_t thread) const;
    [[nodiscard]] std::span<Runner* const> rest_of_batch() const;
    [[nodiscard]] ThreadState state_of_coroutine(std::uint32_t thread) const;
    void wait_in_warp(std::uint32_t thread, const std::vector<ThreadPlace>& places, ThreadWait& wait) const;
    [[nodiscard]] bool any_can_run();
    [[nodiscard]] Runner* take(std::uint32_t thread);
    void complete_what_all_have_come_to();
    enum class Completion { goes_on, at_grid, over };
    Completion complete_barrier();
    [[nodiscard]] bool first_thread_is_over() const;
    void report_missing_first_thread();
    void ended(std::uint32_t first, std::uint32_t last);
    void lanes_end(std::uint32_t first, std::uint32_t last);
    [[nodiscard]] bool others_go_first();
    [[nodiscard]] std::uint32_t most_meetings() const;
    void arrive_in_warp(Runner* runner);
    void refuse_mask(Runner* runner);
    void report_skipped_operation();
    // Barriers for some of the threads (block_barriers.cpp).
    [[nodiscard]] bool arrive_at_named(Runner* runner, std::uint32_t& first);
    // The barrier of its cluster (cluster_blocks.cpp).
    void join_cluster(std::span<std::byte* const> shared);
    [[nodiscard]] bool arrive_at_cluster(Runner* runner);
    [[nodiscard]] std::uint64_t block_of_cluster(std::uint32_t rank) const;
    void tell_cluster_barrier(std::span<BlockRun* const> blocks) const;
    void report_missing_in_cluster(std::span<BlockRun* const> blocks, const Runner* arriving);
    void report_stuck_cluster(std::span<BlockRun* const> blocks);
    void complete_named();
    void run_named();
    void report_named_deadlock();
    void add_named_groups(std::vector<findings::WaitingGroup>& groups) const;
    [[nodiscard]] findings::Finding finding_at(findings::FindingKind kind, std::uint32_t thread,
                                               std::uint32_t site) const;
    [[nodiscard]] findings::Finding finding_of_waiters(findings::FindingKind kind) const;
    void report_missing_lanes();
    void report_divergence();
    /// Threads that ended before a barrier of the block at which these others wait, ascending by thread.
    void report_early_exit(std::span<const Waiter> waiting, std::uint64_t missing, const char* barrier);
    /// @param barrier what is called so in front of "barrier"; @param of how many threads it waits for
    void report_early_exit(findings::Severity severity, const Waiter& lowest, std::uint64_t missing,
                           std::uint64_t waiting, const char* barrier, std::uint64_t of);
    void arrive(Runner* runner);
    bool all_wait();
    [[nodiscard]] std::uint32_t lanes_waiting() const {
        return coroutines_.active() ? coroutine_lanes_waiting_ : warps_.waiting_count();
    }
    [[nodiscard]] std::vector<Waiter> waiters() const;
    [[nodiscard]] std::uint32_t place(std::uint32_t site) const;
    [[nodiscard]] bool same_barrier() const;
    [[nodiscard]] std::int32_t barrier_result() const;
    [[nodiscard]] findings::WaitingGroup group(std::string state, std::uint32_t site) const;
    void add_groups(std::vector<findings::WaitingGroup>& groups, const std::vector<Waiter>& threads,
                    const char* state) const;

    jit::BlockContext context_{};
    std::array<std::byte*, jit::most_cluster_blocks> cluster_shared_{};
    Worker* worker_ = nullptr;
    Launch* launch_ = nullptr;
    std::uint64_t block_ = 0, turn_ = 0;
    std::uint32_t not_started_ = 0;  ///< threads whose turn is still to come, in this phase for coroutines
    std::uint32_t over_ = 0;         ///< threads that ended by themselves
    std::uint32_t faulted_ = 0;
    std::uint32_t idle_rounds_ = 0;
    std::uint32_t meetings_ = 0;  ///< completed barriers and passes over warps, in this turn
    bool gave_turns_up_ = false;  ///< in this turn or an earlier one
    bool gave_turn_up_ = false;   ///< its threads could go on, and others are to have their turn
    // Coroutines whose lanes meet: the warp that went on last, and how often it did in a row.
    static constexpr std::uint32_t no_warp = ~std::uint32_t{0};
    std::uint32_t last_warp_ = no_warp, passes_of_warp_ = 0;
    std::uint32_t named_turns_ = 0;  ///< of threads at barriers for some of the block, in a row
    Interleaving interleaving_;
    SkippedOperations skipped_;
    bool progress_ = false;
    bool in_turns_ = false;  ///< in a checkpoint: run_threads() is at work, and goes on
    std::size_t next_in_batch_ =
        0;  ///< in a checkpoint: whose turn in the worker's batch is next; 0: there is none
    std::size_t waiting_before_ = 0;  ///< when run_threads() began
    bool at_grid_ = false, abandoned_ = false;
    bool began_ = false;        ///< observers know
    bool before_turn_ = false;  ///< started before its turn
    std::uint32_t grid_generation_ = 0;
    bool by_warp_ = false;             ///< ready_ is a phase; else threads that spun
    bool disordered_ = false;          ///< threads may have come to the barrier in another order than order_
    bool mixed_sites_ = false;         ///< the waiting threads do not all name the site of the first
    std::uint32_t votes_ = 0;          ///< waiting threads whose predicate holds
    std::uint32_t waiting_count_ = 0;  ///< when all wait: at barriers
    std::uint32_t coroutine_lanes_waiting_ = 0;  ///< when all wait: in warp operations
    jit::BarrierKind barrier_kind_{};            ///< of the first waiting thread
    std::vector<Runner*> ready_, waiting_, spinning_;
    std::vector<Runner*> by_thread_;  ///< for put_in_order()
    /// Threads of groups, [first, last), that are to be started one by one, before any others; the last
    /// range first.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> alone_;
    // Launches with stops only; else empty.
    std::vector<jit::ThreadStop> thread_stops_;  ///< BlockContext::thread_stops
    std::uint32_t steps_set_ = 0;                ///< threads whose ThreadStop::steps is not 0
    std::vector<std::uint64_t> no_stop_flags_;   ///< BlockContext::stop_flags where nobody stops the launch
    std::vector<std::uint8_t> run_before_;  ///< threads that were started before their turn in this phase
    std::vector<Runner*> held_;             ///< that stopped, and whose turn it is not now
    std::vector<Runner*> faulting_;         ///< whose threads' errors the handler is told of
    Runner* stopped_ = nullptr;        ///< the handler was called for its thread, which goes on afterwards
    std::uint32_t stopped_first_ = 0;  ///< the first thread that it ran in its turn
    std::size_t turn_in_batch_ = 0;    ///< while a batch is run, and the handler is at work: whose turn it is

    /// Coroutines whose lanes meet: where runners are to start, each for the rest of its warp; the next one
    /// is the last.
    std::vector<std::uint32_t> lanes_to_run_;
    CoroutineThreads coroutines_;
    WarpOperations warps_;
    NamedBarriers named_;
    RandomNumbers random_{0};
    ThreadOrder order_;  ///< of this phase
};

}  // namespace cudasim::execution
