// What is on the device in the middle of a launch with stops (stop.h): the blocks that have begun and are not
// over, where their threads stand, their stacks and their shared memory. A checkpoint (launch_history.h)
// keeps it, so that the launch can go back into the middle of a block.
//
// It is saved between the turns of two threads. Then every thread is suspended, and all that its future
// depends on is on its stack, from Fiber::saved_position() up, and in its Runner, which lies at the top of
// the stack. It is put back at the same addresses, into the same BlockRuns and Runners, because stacks and
// coroutine frames are full of addresses of themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace cudasim::execution {

class BlockRun;
struct Runner;

/// How far a worker has come in a round over its resident blocks (Worker::run_resident()).
struct Round {
    std::size_t next = 0, kept = 0;  ///< indices of blocks; those before `next` that go on are before `kept`
    std::uint64_t over = 0, arrived = 0;
};

struct SavedDevice {
    SavedDevice();
    SavedDevice(const SavedDevice&) = delete;
    SavedDevice& operator=(const SavedDevice&) = delete;
    ~SavedDevice();

    struct Block {
        BlockRun* block = nullptr;
        std::unique_ptr<const BlockRun> copy;
        std::size_t shared = 0;  ///< where `contents` has its shared memory
    };
    struct Stack {
        Runner* runner = nullptr;
        std::size_t place = 0, bytes = 0;       ///< in `contents`
        std::size_t first_mark = 0, marks = 0;  ///< in `marks`, from Runner::local_low on
    };
    /// Of a worker's lists, in their order.
    std::vector<Block> resident, before_turn, at_grid;
    std::vector<Stack> stacks;
    std::vector<Runner*> batch;
    std::vector<std::byte> contents;
    std::vector<std::int8_t> marks;  ///< of the shadow: local arrays
    Round round;
    std::uint32_t grid_generation = 0;

    /// Memory that it takes.
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    void add_block(BlockRun& block, std::uint64_t shared_bytes, std::vector<Block>& list);
    /// Contents of runners and of shared memory. Runners must not be in use.
    void put_contents_back(std::uint64_t shared_bytes) const;
    [[nodiscard]] std::vector<Runner*> runners() const;

  private:
    void add_stack(Runner& runner);

    std::uint64_t bytes_ = 0;
};

}  // namespace cudasim::execution
