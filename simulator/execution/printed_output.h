// What the blocks of a launch print, on its way to the host: in the order in which blocks start, whole lines
// of one block never broken by another's (V6), and never more than a few MiB in memory.
//
//   block of turn n prints ──► its lines ──► (n is the lowest block still running?) ──► ready ──► sink
//
// Any worker adds; only the launching thread calls the sink, because Python's output may belong to that
// thread. A worker that has more to say than there is room waits until the launching thread has written.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace cudasim::execution {

class PrintedOutput {
  public:
    /// Gets whole lines (and a last one without an end, when there is one). @return false to stop the launch
    using Sink = std::function<bool(std::string_view)>;

    explicit PrintedOutput(Sink sink) : sink_(std::move(sink)) {}

    /// @param turn number of the block in the order in which blocks start
    void add(std::uint64_t turn, std::string_view text);
    void finish(std::uint64_t turn);
    /// Whether a worker should wait, or the launching thread write, before more is added.
    [[nodiscard]] bool full() const;
    /// Other workers: until there is room again, at most a few milliseconds.
    void wait_for_room();
    /// The launching thread: passes on what is ready. False when the sink wants the launch to stop.
    bool write();
    /// Writes everything that is left, in order. Called after the launch.
    bool write_rest();

  private:
    struct Block {
        std::string text;
        bool over = false;
    };
    void release_in_order();
    void release_lines(Block& block);

    Sink sink_;
    mutable std::mutex mutex_;
    std::condition_variable room_;
    std::map<std::uint64_t, Block>
        blocks_;              ///< by turn: those that printed or are over before their turn came
    std::uint64_t next_ = 0;  ///< lowest turn that is not over
    std::size_t held_ = 0;    ///< bytes in blocks_
    std::string ready_;
};

}  // namespace cudasim::execution
