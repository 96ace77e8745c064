// The layout that compiled kernels and the engine share. Compiled code addresses these structs by
// offset (simulator/jit lowers special registers to loads from them), so every field is pinned below.
//
//   compiled entry(ThreadContext*) ──► runs threads [context.thread, context.end) of one block, one after
//                                      another; re-reads context.end after each thread, so the engine
//                                      can cut the range short when a thread waits (E1).
//
// The entry of a coroutine kernel (CompiledKernel::resume_points) runs each thread from where its state says
// to its next barrier: there it saves what the thread needs in the thread's frame, writes the state, and goes
// on to the next thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cudasim::jit {

/// What a lane gives to a warp operation, and then, in `value`, what it gets. Coroutine kernels: one per
/// thread.
struct LaneOperation {
    std::uint64_t value;    // 0
    std::uint32_t mask;     // 8
    std::uint32_t operand;  // 12  shuffles, see below
};

/// In code compiled for stops: one for each activation of a function that was not inlined. The program's
/// variables lie behind it, at the offsets that KernelFacts::stops names (PartSource::record).
struct FrameRecord {
    FrameRecord* caller;  // 0   of the activation that called this one; null in the kernel itself
    std::uint32_t place;  // 8   index into KernelFacts::stops.places: the statement that runs now
    /// 12  of a kernel without waits: not 0 where the variables of its parameters have their values, which
    /// threads of a loop hand on. Who sets a variable sets it to 0.
    std::uint32_t keeps_parameters;
};

/// Launches with stops: where a thread is.
struct ThreadStop {
    FrameRecord*
        innermost;  ///< null: the thread has not begun, or is host code; set by the kernel, enter and leave
    const std::uint8_t* flags;  ///< of its statements; see BlockContext::stop_flags
    std::uint32_t site;         ///< where it has called hook `stop` last
    std::uint32_t steps;        ///< see below. Not 0: its flags are those that are all set
};

/// Launches with stops: statements that are to begin until one stops. In front of BlockContext::stop_flags.
/// Compiled code counts in a register: the number is here while a hook is called and when the code returns.
struct StatementCount {
    std::uint64_t left;
};
/// ThreadStop::steps: it is to stop at its next statement; its variables are watched; the handler is told of
/// its statements (StopHandler::passes()); the value that a function of it returns is kept.
inline constexpr std::uint32_t step_stops = 1, step_watches = 2, step_followed = 4, step_returns = 8;

/// Constant while its block runs, but for what says otherwise: compiled code may treat loads from it as
/// invariant.
struct BlockContext {
    std::uint32_t ctaid[3];              // 0
    std::uint32_t ntid[3];               // 12
    std::uint32_t nctaid[3];             // 24
    std::uint32_t thread_count;          // 36  ntid.x * ntid.y * ntid.z
    std::byte* shared_base;              // 40  static variables first, then dynamic shared memory
    std::uint32_t dynamic_shared_bytes;  // 48
    std::int32_t
        barrier_result;  // 52  of the last barrier the block completed; the engine's, not compiled code's
    const std::byte* parameters;     // 56  kernel parameter buffer, one for the whole launch
    std::byte* globals_base;         // 64  the image's global and constant variables (E2b)
    const std::int8_t* shadow_base;  // 72  shadow byte of address a: shadow_base[a >> 3] (C1)
    std::uint32_t* thread_states;    // 80  coroutine kernels: one per thread, see below
    std::byte* thread_frames;    // 88  coroutine kernels: CompiledKernel::coroutine_frame_bytes per thread
    std::uint8_t* thread_votes;  // 96  coroutine kernels: 0 or 1, written at barriers that vote
    LaneOperation* lane_operations;  // 104 coroutine kernels with warp operations
    std::uint64_t* captured;         // 112 what a fault's cold path leaves for the report, see below
    void* check_states[2];     // 120 of instrumentations: what observers set when the block began, else null
    ThreadStop* thread_stops;  // 136 code that is compiled for stops: one per thread
    // Such code: by site, whether hook `stop` is to be called. As many flags that are all set lie behind
    // these. ThreadStop::flags, and ThreadContext::flags while the thread runs, is one of the two.
    const std::uint8_t* stop_flags;  // 144
    // Such code: an access in or into [watch_low, watch_low + watch_bytes) calls hook `watched_access`.
    // Stops change both.
    std::uint64_t watch_low;                        // 152
    std::uint64_t watch_bytes;                      // 160 0: nothing is watched
    std::uint32_t cooperative;                      // 168 1: blocks may meet at grid barriers; else 0
    std::uint32_t multiprocessor, multiprocessors;  // 172 PTX's %smid and %nsmid
    std::uint32_t launch_number;                    // 180 PTX's %gridid
    // The block's cluster; of one block where the launch asks for none.
    std::uint32_t cluster_ctaid[3];         // 184 the block's index in it
    std::uint32_t cluster_nctaid[3];        // 196
    std::uint32_t cluster_rank;             // 208 the block's linear index in it
    std::uint32_t cluster_blocks;           // 212 cluster_nctaid.x * cluster_nctaid.y * cluster_nctaid.z
    std::uint32_t is_explicit_cluster;      // 216 1: the launch asks for clusters; else 0
    std::uint32_t unused;                   // 220
    std::byte* const* cluster_shared_base;  // 224 shared_base of its blocks, by rank
};

/// Which of BlockContext::check_states an instrumentation uses.
enum CheckState : std::uint8_t { race_state = 0, init_state = 1 };

/// BlockContext::watch_low lies so many bytes in front of the first byte that is watched.
inline constexpr std::uint64_t watch_margin = 15;

/// The block's index in its grid, x first.
[[nodiscard]] inline std::uint64_t linear_index(const BlockContext& block) {
    return block.ctaid[0] + std::uint64_t{block.nctaid[0]} *
                                (block.ctaid[1] + std::uint64_t{block.nctaid[1]} * block.ctaid[2]);
}

/// BlockContext::captured: the index into Captures::places, then values of variables there.
inline constexpr std::uint32_t captured_slots = 512;

/// States of a coroutine's thread; in between, k + 1 for a thread that waits at
/// CompiledKernel::resume_points[k].
inline constexpr std::uint32_t thread_fresh = 0;
inline constexpr std::uint32_t thread_over = ~std::uint32_t{0};
/// In kernels with warp operations a thread that waits has this bit set besides, and stays where it is until
/// the engine clears it. Then some may go on while others of the block wait.
inline constexpr std::uint32_t thread_waits = std::uint32_t{1} << 31;
/// There too: it runs, or spins, on a fiber of its own until its next wait.
inline constexpr std::uint32_t thread_carried = ~std::uint32_t{1};

/// One per runner: the thread it is running now. Parameter 0 of every compiled function (E2).
struct ThreadContext {
    std::uint32_t tid[3];        // 0   compiled code writes it before each thread
    std::uint32_t thread;        // 12  linear index; written before each thread
    std::uint32_t end;           // 16  first linear index this runner must not run
    std::int32_t fuel;           // 20  burnt at entries of recursive functions (E11)
    const BlockContext* block;   // 24
    std::uintptr_t stack_limit;  // 32  recursive functions fault when the stack pointer is below it
    const std::uint8_t* flags;   // 40  code that is compiled for stops: the thread's ThreadStop::flags
};

/// No launch has larger extents, whatever the device: compiled code counts on it (special_registers.cpp).
inline constexpr std::uint32_t largest_block_extent = std::uint32_t{1} << 16;
inline constexpr std::uint32_t largest_grid_extent = (std::uint32_t{1} << 31) - 1;

using EntryFunction = void (*)(ThreadContext*);

static_assert(offsetof(BlockContext, shared_base) == 40 && offsetof(BlockContext, parameters) == 56 &&
              offsetof(BlockContext, globals_base) == 64 && offsetof(BlockContext, shadow_base) == 72 &&
              offsetof(BlockContext, barrier_result) == 52 && offsetof(BlockContext, thread_states) == 80 &&
              offsetof(BlockContext, thread_frames) == 88 && offsetof(BlockContext, thread_votes) == 96 &&
              offsetof(BlockContext, lane_operations) == 104 && offsetof(BlockContext, captured) == 112 &&
              offsetof(BlockContext, check_states) == 120 && offsetof(BlockContext, thread_stops) == 136 &&
              offsetof(BlockContext, stop_flags) == 144 && offsetof(BlockContext, watch_low) == 152 &&
              offsetof(BlockContext, watch_bytes) == 160 && offsetof(BlockContext, cooperative) == 168 &&
              offsetof(BlockContext, multiprocessors) == 176 &&
              offsetof(BlockContext, cluster_ctaid) == 184 && offsetof(BlockContext, cluster_nctaid) == 196 &&
              offsetof(BlockContext, cluster_rank) == 208 && offsetof(BlockContext, cluster_blocks) == 212 &&
              offsetof(BlockContext, is_explicit_cluster) == 216 &&
              offsetof(BlockContext, cluster_shared_base) == 224 && sizeof(ThreadStop) == 24 &&
              sizeof(LaneOperation) == 16 && sizeof(FrameRecord) == 16);
static_assert(offsetof(ThreadContext, thread) == 12 && offsetof(ThreadContext, end) == 16 &&
              offsetof(ThreadContext, fuel) == 20 && offsetof(ThreadContext, block) == 24 &&
              offsetof(ThreadContext, stack_limit) == 32 && offsetof(ThreadContext, flags) == 40);

/// Shadow: one byte for each 8 bytes of the whole address space (C1). 0: nothing here may be accessed;
/// n in 1..8: the first n bytes may be read and written; -n: the first n bytes may be read only.
/// Inline test for an access of `bytes` (1, 2, 4, 8) at `a`:
///     (a & 7) + bytes <= shadow_base[a >> 3]   and   (a & (bytes - 1)) == 0
/// and hook access_check decides when it fails (it returns when the access is legal after all).
inline constexpr unsigned shadow_granule_log2 = 3;

/// Loop iterations between two calls of hook `yield` (E5, E11): long enough to cost nothing, short
/// enough (about 20 µs of simple loop) that a spinning thread lets the others run soon.
inline constexpr std::int32_t fuel_per_slice = 1 << 14;
/// What one iteration burns in a loop that contains an atomic, a volatile access or a fence (E5).
inline constexpr std::int32_t fuel_per_spin = 1 << 9;

/// The threads of a block wait for each other; at `grid` those of all blocks do. `arrive` counts without
/// waiting, at barriers for some of the threads only (hook named_barrier). At `cluster_wait` a thread waits
/// until all of its cluster have come to a `cluster_arrive`, which counts without waiting: both are kinds of
/// that hook, too.
enum class BarrierKind : std::uint8_t {
    plain = 0,
    count = 1,
    all = 2,
    any = 3,
    grid = 4,
    arrive = 5,
    cluster_arrive = 6,
    cluster_wait = 7
};
[[nodiscard]] constexpr bool is_of_cluster(BarrierKind kind) {
    return kind >= BarrierKind::cluster_arrive;
}
/// Blocks of a cluster, at most (CUDA C++ Programming Guide, "Thread Block Clusters"). More than 8 a kernel
/// has to allow (cudaFuncAttributeNonPortableClusterSizeAllowed).
inline constexpr std::uint32_t most_cluster_blocks = 16, portable_cluster_blocks = 8;
/// PTX has barriers 0 to 15 for each block.
inline constexpr std::uint32_t barriers_per_block = 16;
/// Hook named_barrier's number of threads: all of the block.
inline constexpr std::uint32_t all_threads = ~std::uint32_t{0};

/// Operations of the lanes that a mask names (E4; PTX ISA: bar.warp.sync, shfl.sync, vote.sync, match.sync,
/// activemask).
enum class WarpKind : std::uint8_t {
    sync,
    shuffle_index,
    shuffle_up,
    shuffle_down,
    shuffle_xor,
    all,
    any,
    uniform,
    ballot,
    match_any,
    match_all,
    active,
    reduce
};
/// Hook warp's operand for WarpKind::reduce (PTX ISA: redux.sync).
enum class Reduction : std::uint8_t {
    add,
    signed_minimum,
    signed_maximum,
    unsigned_minimum,
    unsigned_maximum,
    bitwise_and,
    bitwise_or,
    bitwise_xor
};
/// Hook warp's operand for shuffles: PTX's operand b, below its c. The result: a word, and a predicate in
/// this bit.
inline constexpr std::uint32_t shuffle_clamp_shift = 8;
inline constexpr std::uint64_t warp_predicate = std::uint64_t{1} << 32;
inline constexpr std::uint32_t warp_size = 32;

/// Local memory of a thread in bytes, the same on every GPU (CUDA C++ Programming Guide,
/// "Compute Capabilities": 512 KB).
inline constexpr std::uint64_t local_memory_per_thread = 512 << 10;

/// Flags of hook access_check; the required alignment in bytes is in bits 8 and up.
enum AccessFlags : std::uint32_t { access_read = 0, access_write = 1, access_atomic = 2 };

}  // namespace cudasim::jit
