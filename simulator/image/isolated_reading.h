// Reading bytes that nobody vouches for, in a child process.
//
// LLVM's readers of bitcode and IR text are made for files that a compiler wrote: one flipped bit in about 30
// makes them read out of bounds, allocate gigabytes, recurse without end, or call abort() or exit(). None of
// this can be undone inside a process (a signal handler that jumps out leaves locks held and the heap
// broken), so it happens in a forked copy of it, with limits on its time and memory, whose end harms nobody.
// What comes back is bitcode that the child's LLVM has written anew from a module it has read and verified,
// and has then read once more exactly as the parent will: the parent never parses a byte of the untrusted
// input.
//
// The GPU back end generates PTX the same way: LLVM ends the process over code that it cannot select. So does
// simulator/jit with large kernels, whose compilation can then be given up at any moment.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "simulator/image/kernel_image.h"
#include "simulator/image/large_stack.h"

namespace cudasim::image {

/// What the child may use; a thousand times what the largest images of the tests need.
struct ReadingLimits {
    unsigned cpu_seconds = 20;
    unsigned wall_seconds = 60;
    std::uint64_t bytes = std::uint64_t{2} << 30;  ///< beyond what the process has mapped already
    /// No limits: for input that this process has made itself.
    [[nodiscard]] static ReadingLimits none() { return {0, 0, 0}; }
};

/// The system has no process to give.
struct NoChildProcess : ImageError {
    using ImageError::ImageError;
};

/// LLVM ended the child process, or the system did.
struct ChildDied : ImageError {
    using ImageError::ImageError;
};

/// Runs `read` in a child process and returns its result. `read` may do anything but touch files, other
/// threads' work or the host language. Takes about 1 ms, more where the process uses much memory.
/// @param problem what it means when the child dies, for messages: "kernel image: malformed bitcode"
/// @throws ImageError what `read` threw as one; ChildDied, also where it took too long; NoChildProcess;
/// Cancelled, at once, with the child gone
[[nodiscard]] std::string read_in_child_process(const std::string& problem,
                                                const std::function<std::string()>& read,
                                                const ReadingLimits& limits = {},
                                                const Cancellation& cancellation = {});

}  // namespace cudasim::image
