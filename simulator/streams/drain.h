// One run of enqueued work, on the calling thread. Each stream is a fiber that waits for its turn: for the
// operations before it, in other streams too (Boost.Fiber schedules these waits). A task whose turn has come
// is handed to the thread's own stack, because what it does (compile, run Python) wants more stack than a
// fiber has:
//
//   fiber of s1:  wait for predecessors → hand over copy → wait until done → …
//   fiber of s2:  wait for predecessors (an event of s1) ………………………………………… → hand over launch → …
//   own stack:    run what is handed over, in turn; poll the host while there is nothing
//
// Callbacks are handed to the callback thread instead (Timeline::next_callback). What waits for work in the
// background, or for callbacks where the drain does not wait for them, is left for another drain.
#pragma once

#include <boost/fiber/buffered_channel.hpp>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "simulator/streams/timeline.h"

namespace cudasim::streams {

class Drain {
  public:
    Drain(Timeline& timeline, const RunOptions& options, bool waits_for_callbacks)
        : timeline_(timeline), options_(options), waits_for_callbacks_(waits_for_callbacks) {}
    /// @return false when a task or the poll stopped it
    bool run(const std::vector<OperationPtr>& targets);

  private:
    using Streams = std::map<StreamKey, std::vector<OperationPtr>>;
    [[nodiscard]] Streams needed(const std::vector<OperationPtr>& targets) const;
    [[nodiscard]] std::vector<const std::vector<OperationPtr>*> in_order(const Streams& streams) const;
    /// The body of a stream's fiber.
    void follow(const std::vector<OperationPtr>& operations);
    /// @return whether it is done; else it is left
    [[nodiscard]] bool take_turn(const OperationPtr& operation);
    void leave(std::span<const OperationPtr> operations);
    [[nodiscard]] bool is_left(const OperationPtr& operation) const;
    template <typename Condition>
    void wait_until(Condition condition);
    /// What is handed over, until every fiber has ended.
    void serve(std::size_t fibers);
    void stop();

    Timeline& timeline_;
    const RunOptions& options_;
    const bool waits_for_callbacks_;
    std::set<const Operation*> left_;  ///< guarded as the timeline's changed_ is
    /// Operations whose turn has come; null when a fiber has ended. No more than one per stream waits in it.
    std::unique_ptr<boost::fibers::buffered_channel<Operation*>> handed_over_;
    bool stopping_ = false;
};

}  // namespace cudasim::streams
