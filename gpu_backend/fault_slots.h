// Faults that a kernel reports from a GPU (PtxOptions::report_faults): the memory that its threads write, and
// what is made of it afterwards. Needs no LLVM.
//
// The module of such a kernel has a variable in global memory, `__cudasim_faults`: one FaultSlot for each
// place of the source at which a thread can fail, all zero when the module is loaded. A thread that fails
// counts itself in the slot of the place, writes which thread it is and the values that the message needs,
// and ends with PTX's `exit`. The rest of the grid runs on. The slots add up what several launches of one
// module report, so that each launch needs a module of its own or zeros.
//
// A 64-bit argument is written in four pieces of 16 bits. Each piece is the lower part of a word whose upper
// part says which thread wrote it, and a thread writes with `atom.max`:
//
//   63                                16 15       0
//   |  2^48 - 1 - number of the thread  |  piece  |        0: no thread has written
//
// Threads are numbered in the order in which the simulator orders findings: by block, then by thread, both
// linear with x fastest. The lowest thread therefore wins every word, so that its words are consistent when
// the grid has ended, in whatever order the threads came. No thread waits for another one.
//
// Numbers from 2^48 - 2 on are written as 2^48 - 2: of grids with more threads, faults of those threads alone
// are told with the wrong thread and values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/findings/finding.h"
#include "simulator/records/gpu_launch.h"

namespace cudasim::gpu_backend {

/// The variable's name. A kernel without places at which it can fail has none.
using records::fault_variable;

/// Values of 64 bits that a fault can have.
inline constexpr std::size_t fault_arguments = 3;
/// Bits of a piece of an argument, and pieces of an argument.
inline constexpr unsigned fault_piece_bits = 16, fault_pieces = 64 / fault_piece_bits;
/// Subtracted from: a thread's number in the upper part of a word.
inline constexpr std::uint64_t fault_thread_mask = (std::uint64_t{1} << (64 - fault_piece_bits)) - 1;

/// What the threads that failed at one place have written. Little-endian, aligned to 8 bytes.
struct FaultSlot {
    std::uint64_t threads = 0;  ///< how many
    /// Lowest bits first. words[0][0] is written by every fault, the others where the site says that the
    /// argument varies.
    std::uint64_t words[fault_arguments][fault_pieces] = {};
};
static_assert(sizeof(FaultSlot) == 8 * (1 + fault_arguments * fault_pieces));

/// A place of the source at which a thread can fail. A check that has been inlined at several places has a
/// site for each of them.
struct FaultSite {
    findings::FindingKind kind{};
    std::string check;           ///< its identifier in simulator/image/checks.def, or "integer_division"
    std::string exception_type;  ///< Python class name
    std::string message;         ///< empty where it depends on the arguments: kinds of wrong indices
    findings::CallChain location;
    /// Of wrong indices: index, extent of the axis, number of the axis. What the compiler knows stands here;
    /// what it does not know comes from the slot.
    std::array<std::optional<std::uint64_t>, fault_arguments> arguments = {};
    bool operator==(const FaultSite&) const = default;
};

/// The bytes are not what a launch of this grid can have written.
struct DamagedFaultSlots : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The faults of one launch as the simulator reports them for the same kernel: one finding for each kind and
/// place with the lowest thread that failed there, in the order of these threads. Values of variables are
/// unknown.
/// @param slots the variable's bytes after the launch, one FaultSlot for each of `sites`; empty: no faults
/// @param kernel its name in findings
/// @throws DamagedFaultSlots
[[nodiscard]] std::vector<findings::Finding> faults_of(std::span<const std::byte> slots,
                                                       std::span<const FaultSite> sites,
                                                       std::string_view kernel, const findings::Dim3& grid,
                                                       const findings::Dim3& block);

}  // namespace cudasim::gpu_backend
