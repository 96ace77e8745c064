// What a launch with stops (stop.h) keeps so that it can go back and come to the same statement again.
//
//   checkpoints   device memory and the state of the scheduler: at the beginning, and from time to time
//                 between two blocks, when no thread is on the device, or between the turns of two threads,
//                 with the threads' stacks (saved_device.h)
//   choices       what the handler did to the launch: threads that it let run, values that it set
//   readings      values of clocks
//   prints        texts; what a repeated thread prints is not printed again
//
// The launch has one worker, so with these everything repeats itself: the order of statements, and with it
// their numbers (StoppedLaunch::count()), is the same each time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulator/execution/finding_collector.h"
#include "simulator/execution/grid_barrier.h"
#include "simulator/execution/memory_history.h"
#include "simulator/execution/runner.h"
#include "simulator/execution/saved_device.h"
#include "simulator/execution/stop.h"

namespace cudasim::execution {

/// What the handler did in such a call.
struct Choice {
    enum class Kind : std::uint8_t { run, set_variable, write, start_block };
    HandlerCall call;
    Kind kind{};
    ThreadRef thread;
    bool at_statement = false;  ///< run: it ended at statement `end`
    std::uint64_t end = 0;
    AccessPlace end_access;   ///< run: it ended there, within statement `end`
    std::uint32_t frame = 0;  ///< set_variable
    std::string variable;     ///< set_variable
    std::uint64_t address = 0;
    std::vector<std::byte> bytes;  ///< set_variable, write
};

class LaunchHistory {
  public:
    using Clock = std::chrono::steady_clock;

    /// Saves the launch's beginning. @param limit bytes that the history may take
    /// @param interval between two checkpoints, at least; 0: there is one wherever there can be one
    /// @throws std::bad_alloc
    LaunchHistory(Launch& launch, std::uint64_t limit, Clock::duration interval);

    /// Whether so much has happened that look() is worth a call.
    [[nodiscard]] bool is_due(std::uint64_t count) const {
        return !is_full_ && (count - last_look_ >= statements_per_look || interval_ == Clock::duration());
    }
    /// Between two blocks, or two threads' turns: saves a checkpoint when the last one is long ago.
    /// @param count statements that have begun
    /// @param in_block threads are on the device
    void look(Worker& worker, std::uint64_t count, bool in_block);
    /// How many statements had begun at the last checkpoint before statement `count`.
    [[nodiscard]] std::uint64_t checkpoint_before(std::uint64_t count) const;
    /// Forgets what came after the last checkpoint before statement `count`, and makes the launch ready to
    /// begin there. @return how many statements had begun at that checkpoint
    std::uint64_t restore(std::uint64_t count);
    /// After restore(), when the worker is ready to run.
    /// @return what was on the device; null: nothing
    const SavedDevice* restore_warnings(std::vector<CountedWarning>& warnings) const;

    /// The launch is at its beginning and runs other code of its kernel from now on, which has other sites.
    void code_has_changed();
    /// Device memory as it was when the launch began.
    [[nodiscard]] const std::shared_ptr<const MemoryCopy>& memory_before() const { return memory_.first(); }

    // Choices -----------------------------------------------------------------------------------------------

    void add(Choice choice);
    /// The next one to be repeated; null: all have been.
    [[nodiscard]] const Choice* next_choice() const {
        return next_choice_ < choices_.size() ? &choices_[next_choice_] : nullptr;
    }
    void choice_is_repeated() { ++next_choice_; }
    /// The last choice was repeated up to this statement only, and those behind it not at all. They are
    /// forgotten when the launch goes on from here.
    void stop_repeating(bool within_a_choice, std::uint64_t count) {
        partial_ = within_a_choice;
        partial_end_ = count;
    }
    void forget_future();

    // What threads read and print --------------------------------------------------------------------------

    /// What the clock says: a repeated thread is told what it was told before.
    [[nodiscard]] std::uint64_t clock(std::uint64_t now);
    /// Whether the text was printed before the launch went back.
    [[nodiscard]] bool was_printed(std::uint64_t turn, std::string_view text);

  private:
    struct Checkpoint {
        std::uint64_t count = 0, next_block = 0, blocks_run = 0;
        std::set<std::uint64_t> started_before;
        bool no_new_blocks = false;
        FindingCollector::State findings;
        std::vector<CountedWarning> warnings;
        std::vector<std::uint64_t> early_exits;
        std::size_t choices = 0, readings = 0, prints = 0;
        GridBarrier::State grid;
        std::unique_ptr<const SavedDevice> device;  ///< null: nothing was on it
    };
    /// The clock is read once for so many statements: some microseconds.
    static constexpr std::uint64_t statements_per_look = 4096;

    [[nodiscard]] Checkpoint state(std::uint64_t count) const;
    [[nodiscard]] std::size_t index_before(std::uint64_t count) const;
    [[nodiscard]] std::uint64_t bytes() const;
    void thin_out();

    Launch& launch_;
    std::uint64_t limit_;
    MemoryHistory memory_;
    std::vector<Checkpoint> checkpoints_;  ///< as many as memory_ has states
    Clock::duration interval_;
    Clock::time_point next_look_;
    std::uint64_t last_look_ = 0;  ///< count
    bool is_full_ = false;         ///< no checkpoint fits any more
    std::vector<Choice> choices_;
    std::size_t next_choice_ = 0;
    bool partial_ = false;
    std::uint64_t partial_end_ = 0;
    std::vector<std::uint64_t> readings_;
    std::size_t next_reading_ = 0;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> prints_;  ///< turn, and the text's hash
    std::size_t next_print_ = 0;
};

}  // namespace cudasim::execution
