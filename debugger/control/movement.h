// A step: who moves, how far, and who goes along.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "simulator/execution/stop.h"

namespace cudasim::debugger {

enum class MovementKind : std::uint8_t {
    step_in,   ///< to the next statement
    next,      ///< to the next statement of the same function, or of one that called it
    step_out,  ///< to the next statement of a function that called it
    until,     ///< to a line, or out of the function
    barrier,   ///< to where the thread waits
    go_on      ///< until something stops it: a breakpoint, its end, or a wait
};

enum class StepUnit : std::uint8_t { thread, warp, block, grid };

struct Movement {
    MovementKind kind = MovementKind::next;
    StepUnit unit = StepUnit::thread;
    bool is_locked = false;  ///< nobody else runs: where the thread must wait, it says for whom
    execution::ThreadRef thread;
    std::string file;        ///< of `until`, as debug information names it
    std::uint32_t line = 0;  ///< of `until`; 0: one after the present one

    std::uint32_t levels = 0;  ///< of `step_out`: so many functions that called it are left, too

    // Where it began.
    std::size_t depth = 1;  ///< functions that the thread was in, without those of `levels`
    std::uint32_t first_line = 0;
    std::string first_function;

    bool has_run = false;  ///< it has, since it began
};

}  // namespace cudasim::debugger
