// Stops: a simulated thread stops without ending, everything else holds, and a handler looks at the launch
// and says who goes on. Debuggers and searches for schedules stand on it.
//
//   compiled code, host code   a statement begins ─► hook `stop` ── nobody wants it: the thread goes on
//                                                        │ a line, a thread or everything is to stop
//                                                        ▼
//   the launching thread       StopHandler::stopped(launch) ── look: threads, memory
//                                  │        ▲               ── choose the next stops
//                                  │        └── run(thread): another, or the same, goes on until it stops
//                                  ▼                         again, waits, or ends; all others hold
//                              returns: the stopped thread goes on, then the others in the policy's order
//                                       (E6, E13)
//
// **Who calls.** The handler is called on the host thread that launches, on that thread's own stack, never on
// a simulated one. The StoppedLaunch is usable inside stopped() and launch_begins() only.
//
// **What holds.** A launch with a handler has one worker. While the handler is at work no simulated thread
// runs but the one that run() names. The time limit does not count the handler's time. The device belongs to
// the launch: launches from other host threads wait. Copies by other host threads are not held back.
//
// **What a handler may do.** Anything that a host program does, for as long as it likes: it reads and writes
// memory, also by Device's copies. It calls poll() about every 50 ms while it waits, so that the host's
// signals are served and Ctrl-C ends the launch. It must not launch on the same device, which would wait for
// itself, must not free what the kernel uses, and must not throw.
//
// **Blocks.** A thread whose block has not begun may be run, too: run() then starts the block, as
// start_block() does, besides those that are on the device. When the handler returns, the block that has
// stopped goes on, then the blocks that were started, and then those whose turn it is. What a block prints
// keeps its place in the order.
//
// **Carriers (E1).** Where nobody chooses, a launch with stops runs in the same order as one without, on the
// same carriers. A stop is no wait: a thread of a loop over threads, or of a coroutine between two of its
// waits, keeps the fiber that it runs on while it is stopped, as a thread does that spins; when another
// thread is chosen meanwhile, the rest of the loop's threads go on on fibers of their own. Coroutines that
// wait at a barrier have no stack, as always.
//
// **Going back.** A handler that calls keep_history() in launch_begins() may send the launch back:
// run_again() undoes everything from a checkpoint on, and the launch runs again up to a statement, with what
// the handler did on the way (run(), set_variable(), write()) done again. Statements are counted for that:
// count() is the launch's clock. What other host threads or the host's program write into the device's memory
// meanwhile is not repeated. docs/architecture.md tells how.
//
// **What is compiled.** Launches with a handler run code that has the instrumentation statement_stops
// (jit/statement_stops.h). Everybody else's code knows nothing of stops. A launch whose handler says that
// nothing is to stop, needs_stops(), begins in its usual code all the same. Where it then fails, or somebody
// wants it to stop, it is undone and begins again in code with stops (usual_code.cpp).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulator/execution/counted_warning.h"
#include "simulator/execution/launch.h"
#include "simulator/execution/watches.h"

namespace cudasim::execution {

class LaunchHistory;
struct SavedDevice;
class MemoryCopy;
class Worker;
struct Choice;

/// For what the handler was called.
enum class StopEvent : std::uint8_t { stopped, faulted, ended, reports, ends_early };

/// Where a thread has stopped in the middle of a statement: directly behind an access that is watched, or
/// for a warning. Empty elsewhere.
struct AccessPlace {
    std::uint64_t address = 0;  ///< of a warning: all ones
    std::uint32_t site = ~std::uint32_t{0};
    bool operator==(const AccessPlace&) const = default;
};

/// A call of the handler. There are no two equal ones.
struct HandlerCall {
    std::uint64_t count = 0;
    StopEvent event{};
    ThreadRef thread;
    AccessPlace access;
    bool operator==(const HandlerCall&) const = default;
};

/// Where a thread is. The first four can go on: run() takes them.
enum class ThreadState : std::uint8_t {
    not_started,  ///< its turn is still to come
    stopped,      ///< at a statement
    can_run,      ///< what it waited for has come
    spins,        ///< gave up its turn (E5)
    at_barrier,   ///< waits for its block, its cluster or the grid
    in_warp,      ///< waits in a warp operation
    faulted,      ///< an error ended it, and nothing of it has been forgotten yet
    over,         ///< ended
    absent        ///< there is no such thread
};

/// For whom a thread waits.
struct ThreadWait {
    enum class Kind : std::uint8_t {
        none,           ///< it can go on, or never will
        barrier,        ///< of its block
        named_barrier,  ///< for some threads of its block
        warp,           ///< a warp operation
        cluster,        ///< the barrier of its cluster
        grid,           ///< a barrier of all blocks
        memory          ///< it gave up its turn: it waits for what others write, or computes for long
    };
    Kind kind = Kind::none;
    /// Of its block, ascending: those that have not come and can still come. Of a barrier for some threads:
    /// any of them.
    std::vector<std::uint32_t> threads;
    std::vector<std::uint32_t> ended;  ///< warp: lanes that it names and that have ended
    /// named_barrier: how many threads it is for, and as how many those that have come count.
    std::uint32_t wanted = 0, arrived = 0;
    /// cluster, grid: other blocks that have not come, as inclusive ranges, ascending.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> blocks;
};

class StoppedLaunch;

/// A kernel that is to be launched, before anything of it is compiled for the launch.
struct KernelToStop {
    const image::KernelImage& image;
    std::string_view kernel;
    /// Compiles it with stops, or has done so before. @throws what compiling throws
    std::function<std::shared_ptr<const jit::CompiledKernel>()> compile_with_stops;
};

class StopHandler {
  public:
    virtual ~StopHandler() = default;
    /// Called before launch_begins(), for compiled kernels, on the launching thread: whether the launch is to
    /// run code that can stop from its beginning. If not, it may run its usual code. That can be undone only
    /// with a history, so launch_begins() is to call keep_history().
    [[nodiscard]] virtual bool needs_stops(const KernelToStop& /*kernel*/) { return true; }
    /// The launch runs its usual code, and a thread has failed, or the launch or a block ends early: whether
    /// it is to be undone and to begin again with stops, so that faulted() or ends_early() can be called.
    [[nodiscard]] virtual bool begins_again_for(const findings::Finding& /*failure*/) { return true; }
    /// The launch has been undone, or cannot run its usual code, and has code with stops now, of which
    /// nothing has run. Says where it is to stop, as launch_begins() does.
    virtual void has_code_with_stops(StoppedLaunch& /*launch*/) {}
    /// Nothing of the launch has run. Says where it is to stop: without that, nowhere.
    virtual void launch_begins(StoppedLaunch& launch) = 0;
    /// The launch has ended, also with an error; the StoppedLaunch is no more when this returns. On the
    /// launching thread.
    virtual void launch_ends() {}
    /// A thread has come to a statement at which it is to stop, or has touched what is watched:
    /// launch.watch_hits() says which.
    virtual void stopped(StoppedLaunch& launch) = 0;
    /// A thread has come to a statement of a line that stop_at() names: whether it stops there. Called on the
    /// thread's own stack, for each thread that comes there: it must not lock, allocate or throw.
    /// @param thread linear index in its block
    [[nodiscard]] virtual bool wants(const jit::BlockContext& /*block*/, std::uint32_t /*thread*/,
                                     std::uint32_t /*site*/) noexcept {
        return true;
    }
    /// A thread has touched what is watched (StoppedLaunch::watch): whether it stops. The same rules.
    [[nodiscard]] virtual bool wants_hits(const jit::BlockContext& /*block*/, std::uint32_t /*thread*/,
                                          std::span<const WatchHit> /*hits*/) noexcept {
        return true;
    }
    /// A thread is about to do what is worth a warning (CountedWarning): whether it stops for that. The same
    /// rules. stopped() is called then, and launch.warning() says what it is about.
    [[nodiscard]] virtual bool wants_warning(const jit::BlockContext& /*block*/, std::uint32_t /*thread*/,
                                             findings::FindingKind /*kind*/,
                                             std::uint32_t /*site*/) noexcept {
        return false;
    }
    /// The thread that follow() names begins a statement. Called as wants() is, and under the same
    /// conditions.
    /// @param depth how many functions the thread is in there, as StoppedLaunch::depth() says
    virtual void passes(std::uint64_t /*count*/, std::uint32_t /*site*/, std::size_t /*depth*/) noexcept {}
    /// An error has ended a thread. What it was about to do has not happened; where it was and its variables
    /// can still be seen: its state is ThreadState::faulted until this returns. launch.fault() says which
    /// error. Errors of threads that run() lets run are not told; run() returns ThreadState::faulted.
    virtual void faulted(StoppedLaunch& /*launch*/) {}
    /// A thread that stop_thread() names has ended without coming to another statement.
    /// launch.stopped_thread() says which.
    virtual void ended(StoppedLaunch& /*launch*/) {}
    /// Threads have done what is reported and ends nobody: some of a block have ended, and the others wait at
    /// a barrier, which they pass when this returns. launch.stopped_thread() is one of them.
    virtual void reports(StoppedLaunch& /*launch*/, const findings::Finding& /*finding*/) {}
    /// A block, or the whole launch, ends although threads of it are left: a deadlock, a livelock, the time
    /// limit. None of them can go on. All can still be looked at. launch.stopped_thread() is one of them.
    virtual void ends_early(StoppedLaunch& /*launch*/, const findings::Finding& /*reason*/) {}
};

/// Where one thread is; the site where there is one.
struct ThreadPlace {
    ThreadState state = ThreadState::over;
    std::uint32_t site = ~std::uint32_t{0};  ///< all ones: none
    bool operator==(const ThreadPlace&) const = default;
};

/// A statement of a compiled kernel.
struct Statement {
    std::uint32_t site = 0;
    const findings::CallChain* place = nullptr;  ///< innermost function first
    bool is_breakpoint = false;                  ///< the program's own call of a debugger
    bool is_entry = false;                       ///< of a function: its first one, once for each call
};

/// Where threads of the kernel can stop, in no order; empty where it is not compiled for stops.
[[nodiscard]] std::vector<Statement> statements_of(const jit::CompiledKernel& kernel);

class StoppedLaunch {
  public:
    StoppedLaunch(Launch& launch, StopHandler& handler);
    StoppedLaunch(const StoppedLaunch&) = delete;
    StoppedLaunch& operator=(const StoppedLaunch&) = delete;
    ~StoppedLaunch();

    // Where to stop -----------------------------------------------------------------------------------------

    /// Threads that come to a statement of this line stop. @param file as debug information names it
    void stop_at(const std::string& file, std::uint32_t line, bool stops = true);
    /// Every thread stops at every statement. Other host threads may call it, too, while the launch exists:
    /// the next statement of any thread stops.
    void stop_everywhere(bool stops = true);
    /// The thread stops at its next statements. False when it is over or absent, or its block has not begun.
    bool stop_thread(ThreadRef thread, bool stops = true);

    /// Tells StopHandler::passes() of the statements of one thread, which need not have begun yet; nullopt:
    /// of none any more.
    /// @param from where the launch is about to go back (run_again()): only of those behind this one. Each
    /// that is told costs some 10 ns.
    void follow(std::optional<ThreadRef> thread, std::uint64_t from = 0);

    /// Keeps the value that the thread's function returns: the one that it is in at this depth (depth()). Of
    /// one thread at a time; nullopt: of none. Compiled kernels only.
    void await_return(std::optional<ThreadRef> thread, std::size_t depth = 0);
    /// The value, with the function's name; nothing where it has not returned yet, returns nothing, or debug
    /// information does not tell its type.
    [[nodiscard]] std::optional<findings::VariableValue> returned_value() const;

    // Usual code (usual_code.cpp) ---------------------------------------------------------------------------

    /// Whether it runs code in which nothing can stop. False once it has been undone.
    [[nodiscard]] bool runs_usual_code() const { return code_.load() == Code::usual; }
    /// The next statement of any thread stops, as stop_everywhere() says. A launch that runs its usual code
    /// is undone and begins again with stops. Other host threads may call it, too.
    void stop_soon();
    /// To be called in has_code_with_stops(): every statement stops as soon as the launch is as far as it was
    /// in its usual code: as many blocks have begun, and as much time is over; or after two seconds.
    void stop_as_far_as_before();
    /// How many blocks had begun in usual code.
    [[nodiscard]] std::uint64_t blocks_before() const { return blocks_before_; }
    /// How far the block that has begun last is, in slices of its threads' turns: now, and when the launch
    /// left its usual code. Code with stops may need more of them for the same way.
    [[nodiscard]] std::uint64_t slices() const { return slices_; }
    [[nodiscard]] std::uint64_t slices_before() const { return slices_before_; }

    // What to watch (watches.h) -----------------------------------------------------------------------------

    /// Threads that touch the memory stop, directly behind the access. Another watch with the same id is
    /// forgotten. Compiled kernels only. False, and nothing is watched: memory that may not be read, a frame
    /// that is not there, or more than Watches::most_bytes. @throws std::bad_alloc
    bool watch(const MemoryWatch& watch);
    /// The thread stops at its first statement after an assignment that changes the variable, and at the one
    /// after the function has returned. False where there is no such variable.
    bool watch(const VariableWatch& watch);
    /// Whether the function has such a variable, assigned or not.
    [[nodiscard]] bool declares(const FrameRef& frame, std::string_view name) const;
    void unwatch(std::uint64_t id) { watches_.remove(id); }
    /// Why the thread that stopped last has stopped; empty: because it came to a statement, or ended.
    [[nodiscard]] const std::vector<WatchHit>& watch_hits() const { return watches_.last(); }
    [[nodiscard]] const Watches& watches() const { return watches_; }
    /// What the thread that stopped last has stopped for, if that is a warning.
    [[nodiscard]] std::optional<findings::Finding> warning() const;
    /// Whether the thread that stopped last stands behind an access or in front of what it is warned of, and
    /// not where a statement begins.
    [[nodiscard]] bool is_inside_statement() const {
        return warning_.has_value() ||
               (!watch_hits().empty() && watch_hits().front().kind <= WatchHit::Kind::write);
    }
    /// What kind of memory of the thread's the bytes are; nothing where it may not read all of them.
    [[nodiscard]] std::optional<WatchedSpace> space_of(ThreadRef thread, std::uint64_t address,
                                                       std::size_t bytes) const;

    // Going back --------------------------------------------------------------------------------------------

    /// To be called in launch_begins(): what going back needs is kept.
    /// @param limit bytes that this may take
    /// @param interval between two checkpoints, at least. Going back costs what the launch did since the last
    /// one, twice or three times. 0: there is one wherever there can be one, for tests
    /// @return why it is not; empty: it is
    [[nodiscard]] std::string keep_history(std::uint64_t limit,
                                           Clock::duration interval = std::chrono::milliseconds(20));
    [[nodiscard]] bool keeps_history() const { return history_ != nullptr; }
    /// How many statements have begun, on all threads together; the number, from 1, of the one that began
    /// last.
    [[nodiscard]] std::uint64_t count() const { return counted_ + (counting_ - left()); }
    /// What the handler is told while the launch runs again, before it comes to where it is to stop.
    enum class Repetition : std::uint8_t {
        silent,   ///< nothing
        observed  ///< of stops, as always. It may look, but not let threads run or write.
    };
    /// Sends the launch back to the last checkpoint before statement `from`. It runs again up to statement
    /// `to`, where stopped() is called. The handler is to return at once.
    /// @return how many statements had begun at the checkpoint
    std::uint64_t run_again(std::uint64_t from, std::uint64_t to, Repetition repetition);
    /// The same, up to where the launch is now, within a statement, at an error or at an end, too: stopped()
    /// is called when everything is as it is now.
    std::uint64_t run_again_to_here(std::uint64_t from, Repetition repetition);
    /// It runs again, and has not yet come to the statement.
    [[nodiscard]] bool repeats() const { return repeats_; }
    /// It ran again and did not do the same: it has stopped at another statement than it was to.
    [[nodiscard]] bool differs() const { return differs_; }

    // What to look at ---------------------------------------------------------------------------------------

    [[nodiscard]] const Launch& launch() const { return launch_; }
    /// Where threads can stop, of a compiled kernel, in no order.
    [[nodiscard]] std::vector<Statement> statements() const {
        return launch_.kernel ? statements_of(*launch_.kernel) : std::vector<Statement>();
    }
    /// The error of a thread that is in the state `faulted`; null for others.
    [[nodiscard]] const findings::Finding* fault(ThreadRef thread) const;

    /// Whether read() may read the bytes, or write() write them.
    [[nodiscard]] bool accessible(ThreadRef thread, std::uint64_t address, std::size_t bytes,
                                  bool write) const;
    /// Who has stopped last: the thread that the handler was called for, or the last one that run() stopped.
    [[nodiscard]] ThreadRef stopped_thread() const { return last_stopped_; }
    /// The thread for which the handler was called. It goes on first when the handler returns.
    [[nodiscard]] ThreadRef called_for() const { return called_for_; }
    /// Linear indices of the blocks that are on the device, ascending.
    [[nodiscard]] std::vector<std::uint64_t> blocks() const;
    /// Of one block.
    [[nodiscard]] std::uint32_t threads_of_block() const;
    /// Also of blocks that have not begun, and of those that are over.
    [[nodiscard]] ThreadState state(ThreadRef thread) const;
    [[nodiscard]] bool is_on_device(std::uint64_t block) const { return find(block) != nullptr; }
    /// For whom the thread waits: whom run() has to let run before it can go on.
    [[nodiscard]] ThreadWait wait_of(ThreadRef thread) const;
    /// state() and site() of every thread of a block, at the cost of one. Empty for a block that is not on
    /// the device.
    [[nodiscard]] std::vector<ThreadPlace> places(std::uint64_t block) const;
    /// Of a block on the device; null for others. What compiled code knows of its threads: thread_stops.
    [[nodiscard]] const jit::BlockContext* context(std::uint64_t block) const;
    /// Where the thread is, as a number that launch().location() takes: quicker than location().
    [[nodiscard]] std::optional<std::uint32_t> site(ThreadRef thread) const;
    /// How many functions the thread is in, that is location().size(), where it stands at a statement of
    /// compiled code.
    [[nodiscard]] std::size_t depth(ThreadRef thread) const;
    [[nodiscard]] findings::ThreadCoordinate coordinate(ThreadRef thread) const;
    /// Where the thread is, innermost function first. Empty where it has not
    /// started, is over, or nobody knows.
    [[nodiscard]] findings::CallChain location(ThreadRef thread) const;
    /// The variables of the program that are assigned where the thread is, of all its functions: `frame` of
    /// each is an index into location(). Of a thread that has not started: the kernel's arguments. Empty
    /// where else location() is, and for C++ code.
    [[nodiscard]] std::vector<findings::VariableValue> variables(ThreadRef thread) const;
    /// Gives such a variable other bytes, as many as its type has. False when there is no such variable, and
    /// for values of Python mode that are more than bytes: arrays and objects. What the thread reads later is
    /// the new value, until it assigns another; where compiled Python kernels do not see it,
    /// docs/development.md says, Open ends.
    bool set_variable(ThreadRef thread, std::uint32_t frame, std::string_view name,
                      std::span<const std::byte> bytes);
    /// The block's shared memory; empty for a block that is not on the device. Of Python mode it has nothing:
    /// there shared arrays are objects, which read() and write() know.
    [[nodiscard]] std::span<std::byte> shared(std::uint64_t block) const;
    /// Copies memory that the thread may access: global, shared, and its own local memory. What
    /// any thread has written before it stopped is there. False, and nothing is copied, where
    /// it may not access all of it.
    [[nodiscard]] bool read(ThreadRef thread, std::uint64_t address, std::span<std::byte> target) const;
    [[nodiscard]] bool write(ThreadRef thread, std::uint64_t address, std::span<const std::byte> source);

    // Who goes on -------------------------------------------------------------------------------------------

    /// The thread goes on until it stops again, waits, gives up its turn or ends; a barrier for
    /// which all have come then is complete. Where it is after that; where it was when it cannot
    /// run, when its block cannot be started, or when the launch is over.
    ThreadState run(ThreadRef thread);
    /// A block whose turn has not come begins: its threads are there, and none of them has started.
    /// @return why not; empty: it is on the device now, or was
    [[nodiscard]] std::string start_block(std::uint64_t block);
    /// The launch ends, as when the host is interrupted, as soon as the handler returns.
    void end();
    /// Serves the host (LaunchOptions::poll_host). True: the launch is over, and the handler is to return.
    bool poll();
    [[nodiscard]] bool over() const { return launch_.stopped(); }

    // The engine's ------------------------------------------------------------------------------------------

    void begin();
    /// No thread runs any more. True: the launch has been undone, has code with stops now, and is to run
    /// again.
    [[nodiscard]] bool begins_again();
    /// What the kernel can write, as it was when the launch began; null: it is not kept.
    [[nodiscard]] std::shared_ptr<const MemoryCopy> memory_before() const;
    /// A thread has used up a slice of its turn.
    void count_slice() { ++slices_; }
    void look_at_clock(Clock::time_point now) {
        if (as_far_at_ != Clock::time_point()) stop_if_as_far(now);
    }
    [[nodiscard]] const std::uint8_t* flags() const { return armed_.data(); }
    /// On simulated stacks: is the thread to stop at this site?
    [[nodiscard]] bool wants(jit::ThreadStop& here, const jit::BlockContext& block, std::uint32_t thread,
                             std::uint32_t site) {
        if ((here.steps & jit::step_followed) != 0) handler_.passes(count(), site, depth_at(here, site));
        const bool changed = (here.steps & jit::step_watches) != 0 && variables_changed(here, block, thread);
        if (left() == 0) {
            count_on(never);
            is_at_count_ = true;
            return true;
        }
        if (is_silent_ || changed) return changed;
        if (everywhere_.load(std::memory_order_relaxed) || (here.steps & jit::step_stops) != 0) return true;
        return site < armed_.size() && armed_[site] != 0 && handler_.wants(block, thread, site);
    }
    /// The same for host code, whose sites nobody knows before.
    [[nodiscard]] bool wants(const jit::ThreadStop& thread, const std::string& file,
                             std::uint32_t line) const {
        return everywhere_.load(std::memory_order_relaxed) || thread.steps != 0 ||
               lines_.contains({file, line});
    }
    /// On simulated stacks: the thread has accessed memory in or near what is watched. Is it to stop?
    [[nodiscard]] bool touched(const jit::BlockContext& block, std::uint32_t thread, const WatchHit& access,
                               std::uint32_t flags) noexcept;
    /// The same for a warning, which has been counted.
    [[nodiscard]] bool warned(const jit::BlockContext& block, std::uint32_t thread, std::uint32_t site,
                              const CountedWarning& warning) noexcept;
    void frame_left(const jit::FrameRecord* record) noexcept { watches_.frame_left(record); }
    /// On a simulated stack: a function of the thread returns the value.
    void returns(const jit::ThreadStop& here, const jit::BlockContext& block, std::uint32_t thread,
                 const void* value, std::uint32_t function, std::uint32_t site) noexcept;
    [[nodiscard]] bool awaits_return_of(ThreadRef thread) const { return awaited_return_ == thread; }
    void block_begins(jit::BlockContext& block, std::uint64_t index) {
        watches_.block_begins(block, index);
        slices_ = 0;
        if (as_far_at_ != Clock::time_point()) stop_if_as_far(Clock::now());
    }
    /// The block is as it was at a checkpoint, and the thread in the middle of its work.
    void find_frames(BlockRun& block, std::uint32_t thread);
    /// A thread has stopped. Calls the handler, unless the handler is what let it run.
    void tell(Worker& worker, BlockRun& block, std::uint32_t thread);
    /// The same for a thread that an error has ended.
    void tell_fault(Worker& worker, BlockRun& block, std::uint32_t thread, const findings::Finding& finding);
    /// The same for one that ended by itself.
    void tell_end(Worker& worker, BlockRun& block, std::uint32_t thread);
    /// Threads of the block have done what is reported and ends nobody.
    void tell_report(Worker& worker, BlockRun& block, const findings::Finding& finding);
    /// Threads of the block are left and cannot go on.
    void tell_early_end(Worker& worker, BlockRun& block, const findings::Finding& reason);
    [[nodiscard]] bool handler_is_at_work() const { return worker_ != nullptr; }
    // Going back.
    [[nodiscard]] std::optional<ThreadRef> followed() const { return followed_; }
    /// The handler was told of this thread's end, and did something then that is to be repeated, or the
    /// launch is to come there again.
    [[nodiscard]] bool repeats_end_of(ThreadRef thread) const;
    [[nodiscard]] bool repeats_an_end() const;
    /// No thread of the launch is on the device.
    void between_blocks(Worker& worker);
    /// None of those that are on the device runs.
    void between_turns(Worker& worker);
    /// Whether between_turns() is worth a call.
    [[nodiscard]] bool checkpoint_is_due() const;
    /// What the launch does until it ends is to be undone.
    [[nodiscard]] bool is_to_go_back() const { return goes_back_.has_value() || is_to_begin_again(); }
    /// No thread runs any more. True: everything is as at the checkpoint, and the launch is to run again.
    [[nodiscard]] bool goes_back();
    /// The worker is ready to run. @return what is to be on the device; null: nothing
    const SavedDevice* begin_again(std::vector<CountedWarning>& warnings) const;
    /// On a simulated stack. @return what the thread is told that the clock says
    [[nodiscard]] std::uint64_t clock(std::uint64_t now) const;
    [[nodiscard]] bool was_printed(std::uint64_t turn, std::string_view text) const;

  private:
    [[nodiscard]] BlockRun* find(std::uint64_t block) const;
    [[nodiscard]] bool exists(ThreadRef thread) const;
    void arm();
    void put(ThreadRef thread, std::uint64_t address, std::span<const std::byte> bytes);
    void make_flags();
    [[nodiscard]] bool is_to_begin_again() const;
    void take_code_with_stops();
    void stop_if_as_far(Clock::time_point now);
    void renew_deadline();
    [[nodiscard]] bool wants_hits(const jit::BlockContext& block, std::uint32_t thread) noexcept;
    [[nodiscard]] bool variables_changed(jit::ThreadStop& here, const jit::BlockContext& block,
                                         std::uint32_t thread) noexcept;
    void hold(bool begins);
    template <typename Call>
    void call_handler(Worker& worker, BlockRun& block, StopEvent event, Call&& call);
    [[nodiscard]] ThreadState run_held(ThreadRef thread);
    [[nodiscard]] std::vector<std::pair<std::uint64_t, std::uint64_t>> blocks_not_at_grid(
        std::uint64_t but) const;
    // Going back.
    [[nodiscard]] std::uint64_t left() const { return words_[0]; }
    void count_on(std::uint64_t statements);
    void count_to(std::uint64_t count) { count_on(count > this->count() ? count - this->count() : never); }
    [[nodiscard]] std::size_t depth_at(const jit::ThreadStop& here, std::uint32_t site) const noexcept;
    void repeat_or_call(StopEvent event, const std::function<void()>& call);
    [[nodiscard]] HandlerCall call_for(StopEvent event) const;
    [[nodiscard]] bool is_awaited(const jit::BlockContext& block, std::uint32_t thread,
                                  const AccessPlace& access) const noexcept;
    void take_hits();
    void repeat_choices();
    [[nodiscard]] bool repeat_run(const Choice& choice);
    void arrive();
    void repeat_values();
    void repeat_value(const Choice& choice);
    void count_to_next();
    void count_to_place(std::uint64_t count);
    bool begins_to_follow();
    [[nodiscard]] const HandlerCall* next_call() const;

    Launch& launch_;
    StopHandler& handler_;
    bool began_ = false;                 ///< the handler knows of it
    Worker* worker_ = nullptr;           ///< while the handler is at work
    BlockRun* stopped_block_ = nullptr;  ///< of the thread that the handler was called for
    ThreadRef last_stopped_, called_for_;
    Clock::time_point held_since_;  ///< the time limit stands still since then
    std::atomic<bool> everywhere_{false};
    std::vector<std::pair<ThreadRef, findings::Finding>> faults_;  ///< of threads in the state `faulted`
    std::set<std::pair<std::string, std::uint32_t>> lines_;
    Watches watches_;
    /// For what the thread that stopped last has stopped, and for what one is about to stop.
    std::optional<std::pair<std::uint32_t, CountedWarning>> warning_, next_warning_;
    std::vector<std::uint64_t> words_;  ///< jit::StatementCount, then BlockContext::stop_flags
    std::span<std::uint8_t> armed_;     ///< those of stop_at() and stop_everywhere()
    std::mutex arming_;                 ///< held while they change

    // Usual code.
    enum class Code : std::uint8_t { usual, left, with_stops };
    std::atomic<Code> code_{Code::with_stops};
    std::uint64_t blocks_before_ = 0;           ///< that had begun when it left its usual code
    std::uint64_t slices_ = 0;                  ///< since the last block began
    std::uint64_t slices_before_ = 0;           ///< the same, when it left its usual code
    Clock::duration time_before_{};             ///< that it had run for
    Clock::time_point as_far_at_{}, latest_{};  ///< it is to stop: not before, and by then; or not at all
    // The clock: `left` of StatementCount runs from counting_ to 0.
    static constexpr std::uint64_t never = std::uint64_t{1} << 62;
    std::uint64_t counted_ = 0;          ///< statements that had begun when it was set
    std::uint64_t counting_ = never;     ///< what it was set to
    bool is_at_count_ = false;           ///< it has come to its end: a thread stops for that
    std::vector<std::uint32_t> depths_;  ///< by site: functions of its call chain
    // A value that is returned.
    std::optional<ThreadRef> awaited_return_;
    std::size_t return_depth_ = 0;
    std::uint32_t returned_ = ~std::uint32_t{0};  ///< index into jit::Stops::returns; all ones: not yet
    std::vector<std::byte> returned_bytes_;       ///< room for the largest one
    // Going back.
    std::unique_ptr<LaunchHistory> history_;
    std::optional<ThreadRef> followed_, follows_later_;
    std::uint64_t follows_from_ = 0;                                    ///< with follows_later_: a statement
    std::optional<std::pair<std::uint64_t, std::uint64_t>> goes_back_;  ///< arguments of run_again()
    AccessPlace access_;                 ///< where a thread has stopped for a watch last
    std::optional<HandlerCall> awaits_;  ///< it stops there, as it did before
    HandlerCall call_;                   ///< the one that the handler is in
    std::uint64_t target_ = 0;           ///< statement to which it runs again
    std::optional<HandlerCall> until_;   ///< it runs again until this call, choices in it included
    bool repeats_ = false, is_silent_ = false, differs_ = false;
};

/// A StatementCount, so many flags that are not set, and as many that are (BlockContext::stop_flags).
[[nodiscard]] std::vector<std::uint64_t> stop_flag_words(std::size_t flags);
[[nodiscard]] inline std::uint8_t* stop_flags_in(std::vector<std::uint64_t>& words) {
    return reinterpret_cast<std::uint8_t*>(words.data() + 1);
}

}  // namespace cudasim::execution
