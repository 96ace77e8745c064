// A runner: one fiber, and the thread of a block that compiled code on it is running now.
//
//   stack slab:  | ... frames of compiled code ... | Runner |  the Runner sits at the top of its own stack,
//                low                                     top   next to the frames it is switched with
//
// Compiled code sees only the ThreadContext at its start. What a hook wants the scheduler to
// know it leaves in `event` and the fields behind it, then suspends (E10: everything else
// happens on the worker's own stack).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "simulator/execution/counted_warning.h"
#include "simulator/fiber/fiber.h"
#include "simulator/fiber/stack_slab.h"
#include "simulator/findings/finding.h"
#include "simulator/jit/abi.h"

namespace cudasim::execution {

class BlockRun;
class Interleaving;
class SkippedOperations;
struct Launch;

/// Why a runner came back to the scheduler.
enum class Event : std::uint8_t {
    finished,          ///< ran every thread up to `end`
    waiting,           ///< its thread waits at a barrier
    yielded,           ///< its thread used up its turn
    in_warp,           ///< its thread waits in a warp operation; `warp` says which
    at_named_barrier,  ///< its thread has come to a barrier for some threads; `named` says which
    printing,          ///< its thread printed; `print` says what
    using_heap,        ///< its thread calls malloc() or free(); `heap` says what for
    stopped,           ///< its thread has come to a statement at which it is to stop (stop.h)
    exited,            ///< its thread has ended itself within its code; the stack is to be forgotten
    faulted,           ///< its thread is over; the stack is to be forgotten
};

/// What a fault hook knew. `source` says which fields have a meaning.
struct Fault {
    enum class Source : std::uint8_t {
        kind,
        index,
        access,
        exception,
        call,
        signal,
        host,
        barrier,
        assertion,
        heap,
        cluster  ///< no block of its cluster has the rank `index`; `size`: how many there are
    };
    Source source = Source::kind;
    findings::FindingKind kind{};
    std::int64_t index = 0, size = 0;
    std::int32_t axis = 0;
    bool is_unsigned = false;  ///< the index
    std::int32_t exception = 0;
    std::uint64_t address = 0, bytes = 0;
    std::uint32_t flags = 0;
    std::uintptr_t program_counter = 0;
    int signal = 0;
    const char* what = nullptr;  ///< of a barrier or of free(): what is wrong with it; a literal
    struct {
        std::uint64_t expression = 0, file = 0, function = 0;  ///< addresses of texts
        std::uint32_t line = 0;
    } assertion;
};

/// What a switch at a barrier touches comes first and fits one cache line: with a thousand fibers the lines
/// touched per switch, not the instructions, are what a barrier costs.
struct alignas(64) Runner : jit::ThreadContext {
    Event event = Event::finished;
    jit::BarrierKind barrier_kind{};
    bool barrier_value = false;
    std::uint8_t slices = 0;  ///< fuel slices used in this turn
    std::uint32_t site = 0;
    fiber::Fiber fiber;

    /// The eight bytes above in one store: the scheduler reads them together right after the switch, and a
    /// wide load behind narrow stores stalls (it was half the cost of a barrier).
    void arrive(jit::BarrierKind kind, bool value, std::uint32_t at) {
        const std::uint64_t bits =
            static_cast<std::uint64_t>(Event::waiting) | static_cast<std::uint64_t>(kind) << 8 |
            static_cast<std::uint64_t>(value) << 16 | static_cast<std::uint64_t>(at) << 32;
        static_assert(std::endian::native == std::endian::little);
        __builtin_memcpy(&event, &bits, sizeof bits);
    }

    // Members that are used less often.
    struct {
        jit::WarpKind kind{};
        std::uint32_t mask = 0, operand = 0;
        std::uint64_t value = 0, result = 0;
    } warp;
    struct {
        jit::BarrierKind kind{};
        bool value = false;
        std::uint32_t number = 0, threads = 0;
        std::int32_t result = 0;
    } named;
    fiber::Stack stack;
    Launch* launch = nullptr;
    SkippedOperations* skipped = nullptr;  ///< of its block
    Interleaving* interleaving = nullptr;  ///< of its block, where threads take turns at accesses
    std::uint32_t group = 1;  ///< threads from `thread` on that have yielded together (jit/thread_groups.h)
    std::uint32_t slices_of =
        0;                ///< the thread that used `slices`: a runner may run several in one turn of its own
    bool ending = false;  ///< a host kernel's thread is to return
    std::uint64_t local_low =
        0;  ///< lowest local array marked addressable since the stack was fresh; 0: none
    Fault fault;
    struct {
        std::uint64_t format = 0, arguments = 0;
        std::int32_t result = 0;
    } print;
    struct {
        bool is_free = false;
        std::uint64_t bytes = 0, address = 0;  ///< malloc() takes bytes and gives an address
    } heap;

    /// Suspends for good: the thread has executed PTX's `exit`.
    [[noreturn]] void end_thread() {
        event = Event::exited;
        fiber.suspend();
        __builtin_unreachable();
    }
    /// Suspends for good with `fault` set.
    [[noreturn]] void end_with_fault() {
        event = Event::faulted;
        fiber.suspend();
        __builtin_unreachable();
    }
};

/// Fuel slices a thread runs before another gets a turn: about a millisecond of simple loop, or about 500
/// iterations of a loop that spins on memory (E5).
inline constexpr std::uint8_t slices_per_turn = 16;

/// Whether the `size` bytes at `low` contain all of the `bytes` bytes at `address`.
[[nodiscard]] inline bool contains(const std::byte* low, std::uint64_t size, std::uint64_t address,
                                   std::uint64_t bytes) {
    const auto first = reinterpret_cast<std::uint64_t>(low);
    return size >= bytes && address >= first && address - first <= size - bytes;
}

/// The same for the runner's stack.
[[nodiscard]] inline bool stack_contains(const Runner& runner, std::uint64_t address, std::uint64_t bytes) {
    const fiber::Stack& stack = runner.stack;
    return contains(stack.low, static_cast<std::uint64_t>(stack.top - stack.low), address, bytes);
}

}  // namespace cudasim::execution
